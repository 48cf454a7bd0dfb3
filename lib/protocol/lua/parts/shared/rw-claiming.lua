-- Claims a read-write lock: `role` is 'r' or 'w'. `life` is the life of the counter in ms, as a string; '0' means: no fencing.
-- Returns the reply.
--@needs claim-places, counter, in-the-way, looking
local function claimRole(i, token, role, ttl, life, proposal, place)
  local isLean = place == LEAN
  local there = redis.pcall('EXISTS', KEYS[i], KEYS[i + (isLean and 1 or 2)])
  local refusal = look(i, HOLDS_READ_WRITE, there == 0)
  if refusal then return refusal end
  local isFree, own = not what, holders[token]
  local isAwaited = there == 2 or there == 1 and not what
  if isFree and life == '0' and not isAwaited then
    enter(token, role, ttl, '')
    return {1, 0, 0}
  end
  local left = inTheWay(token, role)
  if isLean and isAwaited and left == 0 and not own then left = RESERVE_MS end
  local queue = not isLean and (isAwaited or place ~= '' and left > 0) and queueOf(i, place)
  if queue and place == 'q' and not (own and own[4]) then leavePlace(queue, token) end
  if own and own[1] ~= role then return {0, own[2] - now, 0} end
  if left == 0 and queue and not own and place ~= 'q' then left = stopped(queue) end
  if left > 0 and not own then return queue and refuseClaim(queue, role, left) or {0, left, 0} end
  local fence, told, counter = 0, 0, i + (isLean and 2 or 4)
  if life ~= '0' then
    local number = count(counter)
    if not number then return {2, HOLDS_COUNTER, 0} end
    fence, told = taken(tonumber(proposal))
    if number >= fence then fence = number + 1 end
    countOn(counter, 1, fence, life)
  end
  if queue and place ~= 'q' then leavePlace(queue) end
  if isFree then
    enter(token, role, ttl, '')
  else
    put(token, role, math.max(own and own[2] or 0, now + tonumber(ttl)), '')
    keep()
  end
  return {1, fence, told}
end
