-- Claims permits of a semaphore: the lowest ones that are free here. All of them or none.
--
-- A master with a live holder that uses another k gives nothing. So there are never holders of two different k at once:
-- each would have a quorum of masters with its k, the two quorums share a master, and that master refused the later one.
-- KEYS 1 resource, marker if ARGV 7 ≥ 0
-- ARGV 1 token, 2 ttl in ms, 3 how many permits, 4 k: how many there are, 5 watcher or '', 6 its rank, 7 guard period in ms
-- → {1, 0, 0, slot…} granted, also if this token holds them already: the permits
--   {0, ms, 0} refused; ms = the shortest time left among the holders, or that of another's watch
--   {5, ms, k} refused: the holders use that k; ms = the longest time left among them
--   {2, what, 0} · {-1, ms, 0} · {-2, ms, 0}
if #KEYS == 0 then return {0, 0, 0} end
--@needs guard
local guard = tonumber(ARGV[7])
--@needs marker, looking, next, permits, slots, permit-claiming
watcher, rank = ARGV[5], tonumber(ARGV[6])
return claimPermits(1, ARGV[1], ARGV[2], ARGV[3], ARGV[4])
