-- The last step of a release or an undo, for those of its `n` resources that are waited for: the indexes in `awaited`, and
-- in `gone` whether its vote was deleted there, together with the turn: then it has no place. Its token leaves the queues,
-- and free locks are handed over; directly if the caller gave a `proposal`: then terms and counters follow the turns. The
-- votes are deleted by now; a failure here does not bring votes back. Returns whether the same request has to be sent
-- again, because more waiters are gone than one call may drop.
--@needs spare, tokens, gone
local function leave(awaited, gone, n, token, proposal)
  --@paste line
local isMore = false
  for _, i in ipairs(awaited) do
    local m, c = proposal and i + 3 * n, proposal and i + 4 * n
    local own = line(i, i + n, i + 2 * n, m, c, proposal, gone[i] and '')
    local isDone, isLeft = pcall(own.leave, token, gone[i])
    if not isDone then pcall(own.setTurn, '0||', 0) end
    isMore = isMore or isDone and isLeft
  end
  return isMore
end
