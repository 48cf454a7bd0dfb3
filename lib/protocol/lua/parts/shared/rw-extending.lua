-- Extends a reader or the writer, and never shortens. A writer that is extended as a reader is a reader from then on; the
-- reverse is not possible. `create` is '1' to set one again that is gone, '2' unless its token is listed, '0' to refuse. What
-- was handed over loses its mark. `isAwaited`: its keys include the queue, and others may be let in. Returns the reply.
--@needs asking, in-the-way, leaving-shared, looking, taken
local function extendRole(i, token, role, ttl, create, isAwaited, proposal)
  local refusal = look(i, HOLDS_READ_WRITE)
  if refusal then return refusal end
  local own = holders[token]
  if not own and create == '0' then return {0, -2, 0} end
  if not own and create == '2' and isTaken(token) then return {TAKEN_AWAY, 0, 0} end
  local left = own and 0 or inTheWay(token, role, true)
  if own and role == 'w' and own[1] ~= 'w' then left = own[2] - now end
  if left > 0 then return {0, left, not own and askForRest(i, token, role) and 2 or 0} end
  if resting and not own then drop(AT_REST) end
  put(token, role, math.max(own and own[2] or 0, now + tonumber(ttl)), '')
  keep()
  if isAwaited and redis.pcall('EXISTS', KEYS[i + 2]) == 1 then goOn(i, proposal) end
  return {1, 0, 0}
end
