-- Extends a holder of permits, with exactly these permits, and never shortens. Others that it has here are given up. `text` has
-- the permits, as '0,3'; `create` is as in `rw-extending`. Returns the reply.
--@needs asking, looking, permits, slots, taken
local function extendPermits(i, token, ttl, text, k, create)
  local refusal = look(i, HOLDS_SEMAPHORE)
  if refusal then return refusal end
  local own = holders[token]
  if not own and create == '0' then return {0, -2, 0} end
  if not own and create == '2' and isTaken(token) then return {TAKEN_AWAY, 0, 0} end
  takeStock(token, tonumber(k))
  if others then return {5, othersMs, others} end
  local isOther = own ~= nil and own[1] ~= text
  if isUsed(slotsOf(text)) then
    if isOther then
      drop(token)
      keep()
    end
    return {0, soonest, not own and askForRest(i, token, nil, slotsOf(text)) and 2 or 0}
  end
  if resting and not own then drop(AT_REST) end
  put(token, text, math.max(own and own[2] or 0, now + tonumber(ttl)), k)
  keep()
  return {1, 0, 0}
end
