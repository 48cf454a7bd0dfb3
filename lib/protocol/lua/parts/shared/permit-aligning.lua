-- Makes a holder's permits here those of `text`, as in '0,3', which most masters gave it, and no others. If another holds one
-- of them, the holder gives up what it has here, since that is useless. It never makes a vote: a token that is not there stays
-- away. Returns the reply.
--@needs leaving-shared, looking, permits, slots
local function alignPermits(i, token, text, k, proposal)
  local refusal = look(i, HOLDS_SEMAPHORE)
  if refusal then return refusal end
  local own, slots = holders[token], slotsOf(text)
  if not own then return {0, -2, 0} end
  takeStock(token, tonumber(k))
  if others then return {5, othersMs, others} end
  if own[1] == text and not own[4] then return withSlots(slots) end
  local isLost, left = isUsed(slots), soonest
  if isLost then drop(token) else put(token, text, own[2], k) end
  keep()
  if redis.pcall('EXISTS', KEYS[i + 2]) == 1 then goOn(i, proposal) end
  return isLost and {0, left, 0} or withSlots(slots)
end
