-- What is in the way of one who wants to be let in.
--@needs looking, permits, slots

-- The longest time left among the others that exclude that role, and of a rest; 0 if nothing does. For a reader, this does not
-- depend on the number of readers. `mayRest`: it is a holder, for whom a rest is.
local function inTheWay(token, role, mayRest)
  local left = resting and not mayRest and resting - now or 0
  if role == 'r' then return math.max(left, writer and writer ~= token and holders[writer][2] - now or 0) end
  for name, holder in pairs(holders) do
    if name ~= token then left = math.max(left, holder[2] - now) end
  end
  return left
end

-- The lowest free permits, as a list; nothing if there are not as many, or holders have another k.
local function freeSlots(token, wanted, k)
  takeStock(token, k)
  if others or resting then return nil end
  local slots = {}
  for slot = 0, k - 1 do
    if #slots < wanted and not used[slot] then slots[#slots + 1] = slot end
  end
  return #slots == wanted and slots or nil
end

-- The kind of lock in which that is wanted.
local function kindOf(want)
  return string.find(want, '/', 1, true) and HOLDS_SEMAPHORE or HOLDS_READ_WRITE
end

-- What is wanted: `r`, `w`, or `p/k` for p permits of k. Returns what one gets who is let in now: the role or the permits, and
-- k. Nothing if it does not fit.
local function roomFor(token, want)
  if what and what ~= kindOf(want) then return nil end
  local wanted, k = string.match(want, '^(%d+)/(%d+)$')
  if not wanted then return inTheWay(token, want) == 0 and want or nil, '' end
  local slots = freeSlots(token, tonumber(wanted), tonumber(k))
  return slots and table.concat(slots, ','), k
end

-- How long until there may be room, in ms, if nobody lengthens or shortens anything.
local function waitFor(token, want)
  local wanted, k = string.match(want, '^(%d+)/(%d+)$')
  if not wanted then return inTheWay(token, want) end
  local held, free = {}, tonumber(k)
  for name, holder in pairs(holders) do
    if name ~= token then
      if holder[3] ~= k then return inTheWay(token, 'w') end
      held[#held + 1] = {holder[2], #slotsOf(holder[1])}
      free = free - #slotsOf(holder[1])
    end
  end
  table.sort(held, function(one, other) return one[1] < other[1] end)
  local left = resting and resting - now or 0
  for _, holder in ipairs(held) do
    if free >= tonumber(wanted) then break end
    free, left = free + holder[2], math.max(left, holder[1] - now)
  end
  return left
end
