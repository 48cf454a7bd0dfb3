-- Removes a token from a read-write lock or a semaphore, for an undo or a release; it watches no more, either. The
-- watcher is sent a push if it could be let in now. Steps after the deletion may fail without keeping the vote.
-- KEYS 1 resource · ARGV 1 token
-- → {n, -2, 0} n = 1 it was there, 0 it was not · {0, -2, 1} the key holds something of another type
--@needs removing
local reply, isWatched = remove(1, ARGV[1])
if isWatched then
  --@needs clock, looking, telling, left
  pcall(left, 1, ARGV[1], reply[1])
end
return reply
