-- Claims a read-write lock: `role` is 'r' or 'w'. `life` is the life of the counter in ms, as a string; '0' means: no fencing.
-- Returns the reply.
--@needs counter, in-the-way, looking, next
local function claimRole(i, token, role, ttl, life, proposal)
  local refusal = look(i, READ_WRITE)
  if refusal then return refusal end
  local isFree = not what
  if isFree and life == '0' then
    enter(token, role, ttl, '')
    return {1, 0, 0}
  end
  want = role
  local own, left = holders[token], inTheWay(token, role)
  if own and own[1] ~= role then return {0, own[2] - now, 0} end
  if left == 0 and not own and not mayWatch() then left = watch[2] - now end
  if left > 0 then return refuse(0, left, 0) end
  local fence, told = 0, 0
  if life ~= '0' then
    local number = count(i + 1)
    if not number then return {2, HOLDS_COUNTER, 0} end
    fence, told = taken(tonumber(proposal))
    if number >= fence then fence = number + 1 end
    countOn(i + 1, 1, fence, life)
  end
  if isFree then
    enter(token, role, ttl, '')
    return {1, fence, told}
  end
  comeIn(token, role, math.max(own and own[2] or 0, now + tonumber(ttl)), '')
  return {1, fence, told}
end
