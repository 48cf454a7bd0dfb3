-- Gives the lock back.
-- KEYS the lock · ARGV 1 and 2 from and up to which instant it is the caller's own → 1 deleted · 0 it is not its own
--@needs owning
return redis.call('DEL', KEYS[1])
