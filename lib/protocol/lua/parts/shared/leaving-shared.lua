-- The last step of a release or an undo of a shared lock, where somebody waits.
--@needs letting-in, looking

-- A holder has made room: others are let in.
local function goOn(i, proposal)
  return letIn({l = i, q = i + 1, t = i + 2, m = i + 3, c = i + 4, proposal = proposal, us = us})
end

-- The token leaves the queue, and others are let in; the vote is deleted by now. Returns whether the same request has to be
-- sent again, because more waiters are gone than one call may drop.
local function leaveShared(i, token, proposal)
  redis.pcall('HDEL', KEYS[i + 3], token)
  redis.call('ZREM', KEYS[i + 1], token)
  if read(i) then return false end
  forget(token)
  return goOn(i, proposal)
end
