-- Asks for votes that are in the way.
--@needs before, int, looking, permits, push

-- Whether a vote is in the way of what is wanted; of certain permits, if these are given: `wanted` has them as keys.
local function isInTheWay(want, holder, wanted)
  if not wanted then return want ~= 'r' or holder[1] == 'w' end
  for _, slot in ipairs(slotsOf(holder[1])) do
    if wanted[slot] then return true end
  end
  return false
end

-- Asks all waiters with a later ticket for votes that they have not touched, and that are in the way of this one: those who
-- have no quorum yield (protocol C1). A call asks MOST_ASKED of them; those that keep their votes do not answer, so each call
-- asks others.
local function askAll(own)
  local found = {}
  for name, holder in pairs(holders) do
    if holder[4] and isInTheWay(own.want, holder) and isBefore(own.ticket, own.token, holder[5], name) then
      found[#found + 1] = name
    end
  end
  table.sort(found, function(one, other) return isBefore(holders[other][5], other, holders[one][5], one) end)
  local n, from = #found, 0
  if n > MOST_ASKED then from = own.us - math.floor(own.us / n) * n end
  for i = from + 1, from + math.min(n, MOST_ASKED) do
    local name = found[i > n and i - n or i]
    push(own, name, 'I ' .. int(holders[name][4]))
  end
end

-- The holder of that token is refused here by votes that waiters have not touched: asks them to let the lock rest (protocol
-- C3a). Returns whether a push reached anybody.
local function askForRest(i, token, want, slots)
  local isAsked, count, wanted = false, 0, slots and {}
  for _, slot in ipairs(slots or {}) do wanted[slot] = true end
  for name, holder in pairs(holders) do
    if name ~= token and holder[4] and isInTheWay(want, holder, wanted) and count < MOST_ASKED then
      count = count + 1
      local receivers = push({l = i}, name, 'H')
      isAsked = isAsked or receivers and receivers > 0
    end
  end
  return isAsked
end
