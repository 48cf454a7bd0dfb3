-- Makes a holder's permits here those of `text`, as in '0,3', which most masters gave it, and no others. If another holds one
-- of them, the holder gives up what it has here, since that is useless. It never makes a vote: a token that is not there stays
-- away. Returns the reply.
--@needs looking, permits, slots, telling
local function alignPermits(i, token, text, k)
  local refusal = look(i, SEMAPHORE)
  if refusal then return refusal end
  local own, slots = holders[token], slotsOf(text)
  if not own then return {0, -2, 0} end
  takeStock(token, tonumber(k))
  if others then return {5, othersMs, others} end
  if own[1] == text then return withSlots(slots) end
  local isLost = isUsed(slots)
  if isLost then drop(token) else put(token, text, own[2], k) end
  keep()
  tell()
  return isLost and {0, soonest, 0} or withSlots(slots)
end
