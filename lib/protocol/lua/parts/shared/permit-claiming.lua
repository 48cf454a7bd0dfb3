-- Claims permits, "slots" in Lua: `wanted` of `k`, as strings; `place` as in `claim-places`. Returns the reply.
--@needs claim-places, in-the-way, looking, permits, slots
local function claimPermits(i, token, ttl, wanted, k, place)
  local isLean = place == LEAN
  local there = redis.pcall('EXISTS', KEYS[i], KEYS[i + (isLean and 1 or 2)])
  local refusal = look(i, HOLDS_SEMAPHORE, there == 0)
  if refusal then return refusal end
  local isAwaited = there == 2 or there == 1 and not what
  if not what and wanted == '1' and not isAwaited then
    enter(token, '0', ttl, k)
    return {1, 0, 0, 0}
  end
  local want, own = wanted .. '/' .. k, holders[token]
  local text = own and own[1] or roomFor(token, want)
  local left = text and 0 or waitFor(token, want)
  if isLean and isAwaited and text and not own then left = RESERVE_MS end
  local queue = not isLean and (isAwaited or place ~= '' and not text) and queueOf(i, place)
  if queue and place == 'q' and not (own and own[4]) then leavePlace(queue, token) end
  takeStock(token, tonumber(k))
  if others then return queue and refuseClaim(queue, want, othersMs, 5, others) or {5, othersMs, others} end
  if text and queue and not own and place ~= 'q' then left = stopped(queue) end
  if left > 0 or not text then return queue and refuseClaim(queue, want, left) or {0, left, 0} end
  if queue and place ~= 'q' then leavePlace(queue) end
  put(token, text, math.max(own and own[2] or 0, now + tonumber(ttl)), k)
  keep()
  return withSlots(slotsOf(text))
end
