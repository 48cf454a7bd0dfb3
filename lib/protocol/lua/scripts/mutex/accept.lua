-- Accepts a fencing token for a grant that is held here. Masters with lower counters do this, so that a quorum has
-- accepted one and the same token. It must be above every counter: what was accepted once is never accepted again. It must
-- also be near the master's clock: not below it by more than BACK, not above it by more than the life of a counter.
-- KEYS resources, counters, marker if ARGV 4 ≥ 0
-- ARGV 1 token, 2 fencing token, 3 life of the counters in ms, 4 guard period in ms, as above
-- → {1, fence, 0} accepted · {3, us, 0} not accepted, and nothing is changed: us = the highest counter, or the master's
--   clock if that is more · {0, ms, 0} another holds a key by now (ms left, −1 without expiry), or it is gone (−2)
--   {2, 0, 0} · {2, 4, 0} · {-1, ms, 0} · {-2, ms, 0}
--@needs guard, counter, accepting, reply
local guard = tonumber(ARGV[4])
--@needs marker
return reply(accept(1, n / 2, ARGV[1], ARGV[2], ARGV[3]))
