-- Looks at a lock: claims it if it is free or was handed over to this token, else takes a place in its queue. The client
-- has to be subscribed to its channel. A ttl of 0 asks for a reservation in place of the vote.
-- KEYS 1 resource, 2 queue, 3 turn, 4 looks, 5 counter, 6 marker if ARGV 6 ≥ 0
-- ARGV 1 token, 2 place: `ticket|life|sent` (µs of the masters' time; how long the place is kept, ms; when this look was
--      sent by the client's clock, ms), 3 ttl in ms (0 = only a reservation), 4 life of the counter in ms (0 = no fencing),
--      5 the proposed fencing token in µs (0 = none), 6 guard period in ms, as above
-- → {6, serial, us, fence, sent}  claimed for the ttl; us = the master's clock; fence as a claim's; sent as given
--   {1, serial, us}    reserved for this token for RESERVE_MS at least, or claimed by it before
--   {0, ms, us, rank}  another client holds it (ms left, −1 without expiry): queued behind `rank` others; {0, 0, us, 0}
--                      also if it is free, and more waiters before it are gone than one call may drop
--   {4, ms, us}        a foreign client holds it: no place is taken, and an earlier place stays
--   {2, 0, 0} a key holds something else · {-1, ms, 0} · {-2, ms, 0}
if #KEYS == 0 then return {0, 0, 0, 0} end
--@needs guard, queueing
local guard = tonumber(ARGV[6])
--@needs marker
return queue(1, ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], guard)
