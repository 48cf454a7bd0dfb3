-- Accepts a fencing token for a writer: `wanted`, and the life of the counter in ms, as strings. What was handed over loses its
-- mark. Returns the reply.
--@needs counter, looking
local function acceptWriter(i, token, wanted, life)
  local refusal = look(i, HOLDS_READ_WRITE)
  if refusal then return refusal end
  local own = holders[token]
  if not own then return {0, -2, 0} end
  if own[1] ~= 'w' then return {0, own[2] - now, 0} end
  local fence, number = tonumber(wanted), count(i + 1)
  if not number then return {2, HOLDS_COUNTER, 0} end
  local isAccepted, reached = acceptable(fence, number, life)
  if not isAccepted then return {3, reached, 0} end
  countOn(i + 1, 1, fence, life)
  if own[4] then put(token, 'w', own[2], '') end
  return {1, fence, 0}
end
