/**
 * The Lua of read-write locks: what each operation does to one lock, at index `i` of KEYS; a writer's counter is behind
 * it. `shared-scripts.ts` builds the scripts for one entry and for many from it. Each function returns its reply, or the
 * error of a command that failed. They need LOOKING and IN_THE_WAY; claims need NEXT, extensions TELLING, and whatever sets
 * the counter needs COUNTER. Extensions need TAKEN.
 */
import { HOLDS } from './mutex.js';
import { STORED_KIND } from './shared.js';
import { TAKEN_AWAY } from './taken.js';

const KIND = STORED_KIND.readWrite;

/**
 * `inTheWay` is the longest time left among the others that exclude that role; 0 if there are none. For a reader this
 * does not depend on how many readers there are.
 */
export const IN_THE_WAY = `local function inTheWay(token, role)
  if role == 'r' then return writer and writer ~= token and members[writer][2] - now or 0 end
  local left = 0
  for name, member in pairs(members) do
    if name ~= token then left = math.max(left, member[2] - now) end
  end
  return left
end
`;

/** @param life  the life of the counter in ms, as a string; '0' means: no fencing */
export const RW_CLAIMING = `local function claimRole(i, token, role, ttl, life, proposal)
  local refusal = look(i, '${KIND}')
  if refusal then return refusal end
  local isFree = not what
  if isFree and life == '0' then
    enter(token, role, ttl, '')
    return {1, 0, 0}
  end
  want = role
  local own, left = members[token], inTheWay(token, role)
  if own and own[1] ~= role then return {0, own[2] - now, 0} end
  if left == 0 and not own and not mayWatch() then left = watch[2] - now end
  if left > 0 then return refuse(0, left, 0) end
  local fence, told = 0, 0
  if life ~= '0' then
    local number = count(i + 1)
    if not number then return {2, ${HOLDS.counter}, 0} end
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
`;

export const RW_ACCEPTING = `local function acceptWriter(i, token, wanted, life)
  local refusal = look(i, '${KIND}')
  if refusal then return refusal end
  local own = members[token]
  if not own then return {0, -2, 0} end
  if own[1] ~= 'w' then return {0, own[2] - now, 0} end
  local fence, number = tonumber(wanted), count(i + 1)
  if not number then return {2, ${HOLDS.counter}, 0} end
  local isAccepted, reached = acceptable(fence, number, life)
  if not isAccepted then return {3, reached, 0} end
  countOn(i + 1, 1, fence, life)
  return {1, fence, 0}
end
`;

export const RW_EXTENDING = `local function extendRole(i, token, role, ttl, create)
  local refusal = look(i, '${KIND}')
  if refusal then return refusal end
  local own = members[token]
  if not own and create == '0' then return {0, -2, 0} end
  if not own and create == '2' and isTaken(token) then return {${TAKEN_AWAY}, 0, 0} end
  local left = own and 0 or inTheWay(token, role)
  if own and role == 'w' and own[1] ~= 'w' then left = own[2] - now end
  if left > 0 then return {0, left, 0} end
  put(token, role, math.max(own and own[2] or 0, now + tonumber(ttl)), '')
  keep()
  if own and own[1] ~= role then tell() end
  return {1, 0, 0}
end
`;
