-- Accepts a fencing token for a writer, as ACCEPT does for an exclusive lock.
-- KEYS 1 resource, 2 counter, marker if ARGV 4 ≥ 0
-- ARGV 1 token, 2 fencing token, 3 life of the counter in ms, 4 guard period in ms
-- → {1, fence, 0} accepted · {3, us, 0} not accepted, as in ACCEPT · {0, ms, 0} it is not the writer here
--   {2, what, 0} · {-1, ms, 0} · {-2, ms, 0}
--@needs guard, counter
local guard = tonumber(ARGV[4])
--@needs marker, looking, rw-accepting
return acceptWriter(1, ARGV[1], ARGV[2], ARGV[3])
