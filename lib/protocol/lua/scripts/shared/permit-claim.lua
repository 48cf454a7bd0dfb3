-- Claims permits of a semaphore: the lowest ones that are free here. All of them or none.
--
-- A master with a live holder that uses another k gives nothing. So there are never holders of two different k at once:
-- each would have a quorum of masters with its k, the two quorums share a master, and that master refused the later one.
-- KEYS 1 resource, 2 queue, 3 turn, 4 looks, marker if ARGV 6 ≥ 0; a lean claim names no turn and looks
-- ARGV 1 token, 2 ttl in ms, 3 how many permits, 4 k: how many there are, 5 place: '' none, 'q' it leaves the queue, LEAN it
--      queues if it is refused, else `token|ticket`, a mute place; 6 guard period in ms
-- → {1, 0, 0, slot…} granted, also if this token holds them already: the permits
--   {0, ms, 0} refused; ms = how long until as many may be free, or until those in front may be let in
--   {5, ms, k} refused: the holders use that k; ms = the longest time left among them
--   {2, what, 0} · {-1, ms, 0} · {-2, ms, 0}
if #KEYS == 0 then return {0, 0, 0} end
--@needs guard, spare
local guard = tonumber(ARGV[6])
--@needs marker, looking, permits, slots, in-the-way
--@late claim-places
--@needs permit-claiming
return claimPermits(1, ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5])
