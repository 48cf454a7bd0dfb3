-- Claims a read-write lock for a reader or for the writer, and counts the writer's grant.
-- KEYS 1 resource, 2 queue, 3 turn, 4 looks, 5 counter if ARGV 5 > 0, marker if ARGV 7 ≥ 0; a lean claim names no turn and looks
-- ARGV 1 token, 2 'r' or 'w', 3 ttl in ms, 4 place, as in PERMIT_CLAIM, 5 life of the counter in ms (0 = no fencing),
--      6 the proposed fencing token in µs (0 = none), 7 guard period in ms (0 = none, −1 = none, and the marker is not
--      checked)
-- → {1, fence, us} granted, also if this token holds it already (fence and us as in CLAIM; 0 for a reader)
--   {0, ms, 0} refused; ms = the longest time left among the holders that exclude it, or that stop those in front
--   {2, what, 0} · {-1, ms, 0} · {-2, ms, 0}
if #KEYS == 0 then return {0, 0, 0} end
--@needs guard, counter, spare
local guard = tonumber(ARGV[7])
--@needs marker, looking, in-the-way
--@late claim-places
--@needs rw-claiming
return claimRole(1, ARGV[1], ARGV[2], ARGV[3], ARGV[5], ARGV[6], ARGV[4])
