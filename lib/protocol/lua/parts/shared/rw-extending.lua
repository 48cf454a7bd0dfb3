-- Extends a reader or the writer, and never shortens. A writer that is extended as a reader is a reader from then on; the
-- reverse is not possible. `create` is '1' to set one again that is gone, '2' unless its token is
-- listed, '0' to refuse. Returns the reply.
--@needs in-the-way, looking, taken, telling
local function extendRole(i, token, role, ttl, create)
  local refusal = look(i, READ_WRITE)
  if refusal then return refusal end
  local own = holders[token]
  if not own and create == '0' then return {0, -2, 0} end
  if not own and create == '2' and isTaken(token) then return {TAKEN_AWAY, 0, 0} end
  local left = own and 0 or inTheWay(token, role)
  if own and role == 'w' and own[1] ~= 'w' then left = own[2] - now end
  if left > 0 then return {0, left, 0} end
  put(token, role, math.max(own and own[2] or 0, now + tonumber(ttl)), '')
  keep()
  if own and own[1] ~= role then tell() end
  return {1, 0, 0}
end
