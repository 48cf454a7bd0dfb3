-- The last step of a release or an undo, where somebody waits.
--@needs hand-over, turn

-- The token leaves one queue, and a free lock is handed over. `isGone`: its vote was deleted together with the turn, so it has
-- no place. Returns whether more waiters are gone than one call may drop.
local function leaveQueue(own, token, isGone)
  if own.m then redis.pcall('HDEL', KEYS[own.m], token) end
  if not isGone then
    redis.call('ZREM', KEYS[own.q], token)
    if redis.call('EXISTS', KEYS[own.l]) == 1 then
      if own.m and redis.call('EXISTS', KEYS[own.q]) == 0 then redis.call('DEL', KEYS[own.m]) end
      return false
    end
  end
  local winner, isMore = handOver(own)
  return not winner and isMore
end

-- For those of `n` resources that are waited for: the indexes in `awaited`, and in `gone` whether the vote was deleted there.
-- The token leaves the queues, and free locks are handed over; directly if the caller gave a `proposal`: then looks and
-- counters follow the turns. The votes are deleted by now; a failure here does not bring votes back. Returns whether the same
-- request has to be sent again, because more waiters are gone than one call may drop.
local function leave(awaited, gone, n, token, proposal)
  local isMore = false
  for _, i in ipairs(awaited) do
    local own = {
      l = i, q = i + n, t = i + 2 * n, m = proposal and i + 3 * n, c = proposal and i + 4 * n,
      proposal = proposal, text = gone[i] and ''
    }
    local isDone, isLeft = pcall(leaveQueue, own, token, gone[i])
    if not isDone then pcall(setTurn, own, '0||', 0) end
    isMore = isMore or isDone and isLeft
  end
  return isMore
end
