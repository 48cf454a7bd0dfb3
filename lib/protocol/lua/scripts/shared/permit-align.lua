-- Makes a holder's permits here those that most masters gave it, and no others. If another holds one of them, the holder
-- gives up what it has here, since that is useless. It never makes a vote: a token that is not there stays away.
-- KEYS 1 resource, marker if ARGV 4 ≥ 0 · ARGV 1 token, 2 permits, as '0,3', 3 k, 4 guard period in ms
-- → {1, 0, 0, slot…} the permits that it holds here now · {0, ms, 0} another holds one (the shortest time left among the
--   others), or the token is not there (−2) · {5, ms, k} · {2, what, 0} · {-1, ms, 0} · {-2, ms, 0}
--@needs guard
local guard = tonumber(ARGV[4])
--@needs marker, looking, telling, slots, permit-aligning
return alignPermits(1, ARGV[1], ARGV[2], ARGV[3])
