-- Deletes the keys that hold this token, and reports the holders of the others. Free locks are handed over to their
-- waiters; the token itself leaves the queues.
-- KEYS resources, queues, turns, and with ARGV 2 terms and counters
-- ARGV 1 token, 2 the fencing token in µs that is proposed for who is handed a lock directly (0 = none); without it, locks
--      are handed over by reservation
-- → {n, ms, s} n keys deleted; ms = the longest time left among keys that others hold, −1 without expiry, −2 none;
--                s = 0, or 1 if a key holds something that is not such a lock, plus 2 if the undo has to be sent again:
--                more waiters are gone than one call may drop, and the lock is free
--@needs leaving, undoing, reply
return reply(undo(1, #KEYS / (ARGV[2] and 5 or 3), ARGV[1], ARGV[2]))
