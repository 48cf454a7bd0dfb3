-- Removes a token from a read-write lock or a semaphore and from its queue, for an undo or a release. Waiters are let in. Steps
-- after the deletion may fail without keeping the vote.
-- KEYS 1 resource, 2 queue; but for a lean release, 3 turn, 4 looks, 5 counter
-- ARGV 1 token, 2 the fencing token in µs that is proposed for those that are let in; LEAN for a lean release
-- → {n, -2, s} n = 1 it was there, 0 it was not; s = 2 if it has to be sent again: more waiters are gone than one call may drop,
--              or no push reaches the first one (in full then); else 0 · {0, -2, 1} the key holds something of another type
--@needs removing, spare
local reply, isAwaited = remove(1, ARGV[1], ARGV[2] == LEAN and 2 or 3)
if isAwaited then
  --@needs clock, looking, permits, leaving-shared
  local isDone, isMore = pcall(leaveShared, 1, ARGV[1], ARGV[2])
  if isDone and isMore then reply[3] = 2 end
end
return reply
