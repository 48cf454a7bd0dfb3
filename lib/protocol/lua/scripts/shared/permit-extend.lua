-- Extends a holder of permits, with exactly these permits, and never shortens. Others that it has here are given up.
-- KEYS 1 resource, 2 list of taken tokens if ARGV 5 is '2', marker if ARGV 6 ≥ 0
-- ARGV 1 token, 2 ttl in ms, 3 permits, as '0,3', 4 k, 5 '1' = set again if it is gone and the permits are free, '2' = unless
--      the token is listed, '0' = gone is a refusal, 6 guard period in ms
-- → {1, 0, 0} this token holds these permits for at least the ttl
--   {0, ms, 0} refused: another holds one (the shortest time left among the others), or it is gone (−2)
--   {5, ms, k} · {2, what, 0} · {-1, ms, 0} · {-2, ms, 0} · {-3, 0, 0} it is gone, and listed
if #KEYS == 0 then return {0, 0, 0} end
--@needs guard
local guard = tonumber(ARGV[6])
--@needs marker, taken, looking, telling, slots, permit-extending
takenAt = 2
return extendPermits(1, ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5])
