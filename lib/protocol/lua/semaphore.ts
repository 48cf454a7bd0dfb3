/**
 * The Lua of semaphores: what each operation does to one lock, at index `i` of KEYS. `shared-scripts.ts` builds the
 * scripts for one entry and for many from it. Each function returns its reply, or the error of a command that failed.
 * They need LOOKING, PERMITS and SLOTS; claims need NEXT, the others TELLING, extensions TAKEN. Permits are "slots" in Lua.
 */
import { STORED_KIND } from './shared.js';
import { TAKEN_AWAY } from './taken.js';

const KIND = STORED_KIND.semaphore;

/**
 * The other holders' permits. `others` is their number of permits if it is not `k`, and `othersMs` for how long; `used`
 * has the permits that are not free, and `soonest` is the shortest time left among their holders.
 */
export const SLOTS = `local used, soonest, others, othersMs
local function takeStock(token, k)
  used, soonest, others, othersMs = {}, nil, nil, 0
  for name, member in pairs(members) do
    if name ~= token then
      local left = member[2] - now
      if tonumber(member[3]) ~= k then
        others, othersMs = tonumber(member[3]) or 0, math.max(othersMs, left)
      end
      soonest = math.min(soonest or left, left)
      for _, slot in ipairs(slotsOf(member[1])) do used[slot] = true end
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
`;

/** @param wanted, k  how many of how many permits, as strings */
export const SEM_CLAIMING = `local function claimPermits(i, token, ttl, wanted, k)
  local refusal = look(i, '${KIND}')
  if refusal then return refusal end
  local permits, most = tonumber(k), tonumber(wanted)
  if not what and most == 1 then
    enter(token, '0', ttl, k)
    return {1, 0, 0, 0}
  end
  want = wanted .. '/' .. k
  takeStock(token, permits)
  if others then return refuse(5, othersMs, others) end
  local own, slots = members[token], {}
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
`;

/** @param text  the permits, as in '0,3' */
export const SEM_ALIGNING = `local function alignPermits(i, token, text, k)
  local refusal = look(i, '${KIND}')
  if refusal then return refusal end
  local own, slots = members[token], slotsOf(text)
  if not own then return {0, -2, 0} end
  takeStock(token, tonumber(k))
  if others then return {5, othersMs, others} end
  if own[1] == text then return withSlots(slots) end
  local isLost = isUsed(slots)
  if isLost then drop(token) else put(token, text, own[2], k) end
  keep()
  tell()
  return isLost and {0, soonest, 0} or withSlots(slots)
end
`;

export const SEM_EXTENDING = `local function extendPermits(i, token, ttl, text, k, create)
  local refusal = look(i, '${KIND}')
  if refusal then return refusal end
  local own = members[token]
  if not own and create == '0' then return {0, -2, 0} end
  if not own and create == '2' and isTaken(token) then return {${TAKEN_AWAY}, 0, 0} end
  takeStock(token, tonumber(k))
  if others then return {5, othersMs, others} end
  local isOther = own ~= nil and own[1] ~= text
  if isUsed(slotsOf(text)) then
    if isOther then
      drop(token)
      keep()
      tell()
    end
    return {0, soonest, 0}
  end
  put(token, text, math.max(own and own[2] or 0, now + tonumber(ttl)), k)
  keep()
  if isOther then tell() end
  return {1, 0, 0}
end
`;
