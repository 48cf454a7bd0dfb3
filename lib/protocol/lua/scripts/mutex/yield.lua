-- Yields a handed-over vote to an earlier ticket, and queues again with the same ticket, so that the vote comes back if
-- nobody is ahead. Or gives the vote up for good. Or lets the key rest for the holder of the lock, and queues again. A vote
-- that was claimed meanwhile stays.
-- KEYS 1 resource, 2 queue, 3 turn, 4 looks, 5 counter
-- ARGV 1 token, 2 place: `serial|ticket|life` (of the hand-over; in µs; how long the place is kept in ms, 0 = no place), and
--      `|1` behind it if the key is to rest, 3 the fencing token in µs that is proposed for who is handed the lock directly
--      (0 = none)
-- → 1 done · 0 that hand-over is no longer the current one, or was claimed: nothing changes
--@needs yielding
return yield(1, ARGV[1], ARGV[2], ARGV[3])
