-- The other holders' permits. `others` is their number of permits if it is not `k`, and `othersMs` for how long; `used`
-- has the permits that are not free, and `soonest` is the shortest time left among their holders.
--@needs looking, permits
local used, soonest, others, othersMs
local function takeStock(token, k)
  used, soonest, others, othersMs = {}, nil, nil, 0
  for name, holder in pairs(holders) do
    if name ~= token then
      local left = holder[2] - now
      if tonumber(holder[3]) ~= k then
        others, othersMs = tonumber(holder[3]) or 0, math.max(othersMs, left)
      end
      soonest = math.min(soonest or left, left)
      for _, slot in ipairs(slotsOf(holder[1])) do used[slot] = true end
    end
  end
end
local function isUsed(slots)
  for _, slot in ipairs(slots) do if used[slot] then return true end end
  return false
end
local function withSlots(slots)
  local found = {1, 0, 0}
  for _, slot in ipairs(slots) do found[#found + 1] = slot end
  return found
end
