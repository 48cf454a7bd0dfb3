-- The last step of a release or an undo of a shared lock, where somebody waits. They are let in; but a lean release, of a holder
-- that met nobody, names the lock and its queue alone: it asks the first waiter to look, which lets the others in.
--@needs letting-in, looking, push

-- A holder has made room: others are let in.
local function goOn(i, proposal)
  return letIn({l = i, q = i + 1, t = i + 2, m = i + 3, c = i + 4, proposal = proposal, us = us})
end

-- The first waiter looks at once, in case the holder ends now: the release is sent again, in full.
local function callFirst(i)
  local first = redis.call('ZRANGE', KEYS[i + 1], 0, 0)[1]
  if first and not isMute(first) then push({l = i}, first, 'N') end
  return true
end

-- The token leaves the queue, and others are let in; the vote is deleted by now. Returns whether the same request has to be
-- sent again, because more waiters are gone than one call may drop.
local function leaveShared(i, token, proposal)
  if proposal == LEAN then return callFirst(i) end
  redis.pcall('HDEL', KEYS[i + 3], token)
  redis.call('ZREM', KEYS[i + 1], token)
  if read(i) then return false end
  forget(token)
  return goOn(i, proposal)
end
