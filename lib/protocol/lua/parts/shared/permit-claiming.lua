-- Claims permits, "slots" in Lua: `wanted` of `k`, as strings. Returns the reply.
--@needs looking, next, permits, slots
local function claimPermits(i, token, ttl, wanted, k)
  local refusal = look(i, SEMAPHORE)
  if refusal then return refusal end
  local permits, most = tonumber(k), tonumber(wanted)
  if not what and most == 1 then
    enter(token, '0', ttl, k)
    return {1, 0, 0, 0}
  end
  want = wanted .. '/' .. k
  takeStock(token, permits)
  if others then return refuse(5, othersMs, others) end
  local own, slots = holders[token], {}
  if own then
    slots = slotsOf(own[1])
  else
    for slot = 0, permits - 1 do
      if #slots < most and not used[slot] then slots[#slots + 1] = slot end
    end
    if #slots < most then return refuse(0, soonest, 0) end
    if not mayWatch() then return refuse(0, watch[2] - now, 0) end
  end
  comeIn(token, table.concat(slots, ','), math.max(own and own[2] or 0, now + tonumber(ttl)), k)
  return withSlots(slots)
end
