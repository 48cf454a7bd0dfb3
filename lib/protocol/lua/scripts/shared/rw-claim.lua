-- Claims a read-write lock for a reader or for the writer, and counts the writer's grant.
-- KEYS 1 resource, 2 counter if ARGV 6 > 0, marker if ARGV 8 ≥ 0
-- ARGV 1 token, 2 'r' or 'w', 3 ttl in ms, 4 watcher or '', 5 its rank, 6 life of the counter in ms (0 = no fencing),
--      7 the proposed fencing token in µs (0 = none), 8 guard period in ms (0 = none, −1 = none, and the marker is not
--      checked)
-- → {1, fence, us} granted, also if this token holds it already (fence and us as in CLAIM; 0 for a reader)
--   {0, ms, 0} refused; ms = the longest time left among the holders that exclude it, or that of another's watch
--   {2, what, 0} · {-1, ms, 0} · {-2, ms, 0}
if #KEYS == 0 then return {0, 0, 0} end
--@needs guard, counter
local guard = tonumber(ARGV[8])
--@needs marker, looking, next, in-the-way, rw-claiming
watcher, rank = ARGV[4], tonumber(ARGV[5])
return claimRole(1, ARGV[1], ARGV[2], ARGV[3], ARGV[6], ARGV[7])
