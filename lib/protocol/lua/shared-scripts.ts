/**
 * The scripts of shared locks, each with its keys, arguments and replies; `shared.ts` describes what they store. They
 * follow the rules of `scripts.ts`, and use its codes and one more:
 *   5 no, there are holders of a semaphore with another number of permits
 * The number after code 2 is what the key holds: 0 something that is not a lock, 1 an exclusive lock, 2 a read-write
 * lock, 3 a semaphore; or 4 for a counter that cannot be raised to another fencing token.
 *
 * A waiting claim names its *watcher*, a token that stays the same for all attempts of one acquisition, and its rank: 0
 * at the head of the gate's queue, 1 otherwise.
 */
import { SHOWN_WAITERS } from './queue.js';
import { CLOCK, GUARD, MARKER } from './guard.js';
import { COUNTER, HOLDS } from './mutex.js';
import { LOOKING, NEXT, putting, STORED_KIND } from './shared.js';
import type { Script } from '../../redis/script.js';

const READ_WRITE = `${LOOKING}${putting(STORED_KIND.readWrite)}`;
const SEMAPHORE = `${LOOKING}${putting(STORED_KIND.semaphore)}`;

/** The longest time left among the others that exclude that role; 0 if there are none. */
const IN_THE_WAY = `local function inTheWay(token, role)
  local left = 0
  for name, member in pairs(members) do
    if name ~= token and (role == 'w' or member[1] == 'w') then left = math.max(left, member[2] - now) end
  end
  return left
end
`;

/**
 * Claims a read-write lock for a reader or for the writer, and counts the writer's grant.
 * KEYS 1 resource, 2 counter if ARGV 6 > 0, marker if ARGV 8 ≥ 0
 * ARGV 1 token, 2 'r' or 'w', 3 ttl in ms, 4 watcher or '', 5 its rank, 6 life of the counter in ms (0 = no fencing),
 *      7 the proposed fencing token in µs (0 = none), 8 guard period in ms (0 = none, −1 = none, and the marker is not
 *      checked)
 * → {1, fence, us} granted, also if this token holds it already (fence and us as in CLAIM; 0 for a reader)
 *   {0, ms, 0} refused; ms = the longest time left among the holders that exclude it, or that of another's watch
 *   {2, what, 0} · {-1, ms, 0} · {-2, ms, 0}
 */
export const RW_CLAIM: Script = {
  name: 'rw-claim',
  source: `if #KEYS == 0 then return {0, 0, 0} end
${GUARD}${COUNTER}local guard, token, role, watcher = tonumber(ARGV[8]), ARGV[1], ARGV[2], ARGV[4]
local rank, want = tonumber(ARGV[5]), role
${MARKER}${READ_WRITE}${NEXT}${IN_THE_WAY}local refusal = look('${STORED_KIND.readWrite}')
if refusal then return refusal end
local own, left = members[token], inTheWay(token, role)
if own and own[1] ~= role then return {0, own[2] - now, 0} end
if left == 0 and not own and not mayWatch() then left = watch[2] - now end
if left > 0 then return refuse(0, left, 0) end
local fence, told = 0, 0
if ARGV[6] ~= '0' then
  local number = count(2)
  if not number then return {2, ${HOLDS.counter}, 0} end
  fence, told = taken(tonumber(ARGV[7]))
  if number >= fence then fence = number + 1 end
  countOn(2, 1, fence, ARGV[6])
end
comeIn(token, role, math.max(own and own[2] or 0, now + tonumber(ARGV[3])), '')
return {1, fence, told}`,
};

/**
 * Accepts a fencing token for a writer, as ACCEPT does for an exclusive lock.
 * KEYS 1 resource, 2 counter, marker if ARGV 4 ≥ 0
 * ARGV 1 token, 2 fencing token, 3 life of the counter in ms, 4 guard period in ms
 * → {1, fence, 0} accepted · {3, us, 0} not accepted, as in ACCEPT · {0, ms, 0} it is not the writer here
 *   {2, what, 0} · {-1, ms, 0} · {-2, ms, 0}
 */
export const RW_ACCEPT: Script = {
  name: 'rw-accept',
  source: `${GUARD}${COUNTER}local guard = tonumber(ARGV[4])
${MARKER}${LOOKING}local refusal = look('${STORED_KIND.readWrite}')
if refusal then return refusal end
local own = members[ARGV[1]]
if not own then return {0, -2, 0} end
if own[1] ~= 'w' then return {0, own[2] - now, 0} end
local fence, number = tonumber(ARGV[2]), count(2)
if not number then return {2, ${HOLDS.counter}, 0} end
local isAccepted, reached = acceptable(fence, number, ARGV[3])
if not isAccepted then return {3, reached, 0} end
countOn(2, 1, fence, ARGV[3])
return {1, fence, 0}`,
};

/**
 * Extends a reader or the writer, and never shortens. A writer that is extended as a reader is a reader from then on; the
 * reverse is not possible.
 * KEYS 1 resource, marker if ARGV 5 ≥ 0
 * ARGV 1 token, 2 'r' or 'w', 3 ttl in ms, 4 '1' = set again if it is gone and nobody excludes it, '0' = gone is a refusal,
 *      5 guard period in ms
 * → {1, 0, 0} this token has that role for at least the ttl
 *   {0, ms, 0} refused: others exclude it, or it is a reader here and wants to write (ms left), or it is gone (−2)
 *   {2, what, 0} · {-1, ms, 0} · {-2, ms, 0}
 */
export const RW_EXTEND: Script = {
  name: 'rw-extend',
  source: `if #KEYS == 0 then return {0, 0, 0} end
${GUARD}local guard, token, role = tonumber(ARGV[5]), ARGV[1], ARGV[2]
${MARKER}${READ_WRITE}${IN_THE_WAY}local refusal = look('${STORED_KIND.readWrite}')
if refusal then return refusal end
local own = members[token]
if not own and ARGV[4] == '0' then return {0, -2, 0} end
local left = own and 0 or inTheWay(token, role)
if own and role == 'w' and own[1] ~= 'w' then left = own[2] - now end
if left > 0 then return {0, left, 0} end
put(token, role, math.max(own and own[2] or 0, now + tonumber(ARGV[3])), '')
keep()
if own and own[1] ~= role then tell() end
return {1, 0, 0}`,
};

/**
 * The other holders' permits ("slots" in Lua). `others` is their number of permits if it is not `k`, and `othersMs` for
 * how long; `taken` has the permits that are not free, and `soonest` is the shortest time left among their holders.
 */
const SLOTS = `local taken, soonest, others, othersMs = {}, nil, nil, 0
local function takeStock(token, k)
  for name, member in pairs(members) do
    if name ~= token then
      local left = member[2] - now
      if tonumber(member[3]) ~= k then
        others, othersMs = tonumber(member[3]) or 0, math.max(othersMs, left)
      end
      soonest = math.min(soonest or left, left)
      for _, slot in ipairs(slotsOf(member[1])) do taken[slot] = true end
    end
  end
end
local function isTaken(slots)
  for _, slot in ipairs(slots) do if taken[slot] then return true end end
  return false
end
local function withSlots(slots)
  local found = {1, 0, 0}
  for _, slot in ipairs(slots) do found[#found + 1] = slot end
  return found
end
`;

/**
 * Claims permits of a semaphore: the lowest ones that are free here. All of them or none.
 *
 * A master with a live holder that uses another k gives nothing. So there are never holders of two different k at once:
 * each would have a quorum of masters with its k, the two quorums share a master, and that master refused the later one.
 * KEYS 1 resource, marker if ARGV 7 ≥ 0
 * ARGV 1 token, 2 ttl in ms, 3 how many permits, 4 k: how many there are, 5 watcher or '', 6 its rank, 7 guard period in ms
 * → {1, 0, 0, slot…} granted, also if this token holds them already: the permits
 *   {0, ms, 0} refused; ms = the shortest time left among the holders, or that of another's watch
 *   {5, ms, k} refused: the holders use that k; ms = the longest time left among them
 *   {2, what, 0} · {-1, ms, 0} · {-2, ms, 0}
 */
export const SEM_CLAIM: Script = {
  name: 'sem-claim',
  source: `if #KEYS == 0 then return {0, 0, 0} end
${GUARD}local guard, token, wanted, k, watcher = tonumber(ARGV[7]), ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local rank, want = tonumber(ARGV[6]), ARGV[3] .. '/' .. ARGV[4]
${MARKER}${SEMAPHORE}${NEXT}${SLOTS}local refusal = look('${STORED_KIND.semaphore}')
if refusal then return refusal end
takeStock(token, k)
if others then return refuse(5, othersMs, others) end
local own, slots = members[token], {}
if own then
  slots = slotsOf(own[1])
else
  for slot = 0, k - 1 do
    if #slots < wanted and not taken[slot] then slots[#slots + 1] = slot end
  end
  if #slots < wanted then return refuse(0, soonest, 0) end
  if not mayWatch() then return refuse(0, watch[2] - now, 0) end
end
comeIn(token, table.concat(slots, ','), math.max(own and own[2] or 0, now + tonumber(ARGV[2])), ARGV[4])
return withSlots(slots)`,
};

/**
 * Makes a holder's permits here those that most masters gave it, and no others. If another holds one of them, the holder
 * gives up what it has here, since that is useless. It never makes a vote: a token that is not there stays away.
 * KEYS 1 resource, marker if ARGV 4 ≥ 0 · ARGV 1 token, 2 permits, as '0,3', 3 k, 4 guard period in ms
 * → {1, 0, 0, slot…} the permits that it holds here now · {0, ms, 0} another holds one (the shortest time left among the
 *   others), or the token is not there (−2) · {5, ms, k} · {2, what, 0} · {-1, ms, 0} · {-2, ms, 0}
 */
export const SEM_ALIGN: Script = {
  name: 'sem-settle',
  source: `${GUARD}local guard, token, k = tonumber(ARGV[4]), ARGV[1], tonumber(ARGV[3])
${MARKER}${SEMAPHORE}${SLOTS}local refusal = look('${STORED_KIND.semaphore}')
if refusal then return refusal end
local own, slots = members[token], slotsOf(ARGV[2])
if not own then return {0, -2, 0} end
takeStock(token, k)
if others then return {5, othersMs, others} end
if own[1] == ARGV[2] then return withSlots(slots) end
local isLost = isTaken(slots)
if isLost then
  redis.call('HDEL', KEYS[1], token)
  members[token] = nil
else
  put(token, ARGV[2], own[2], ARGV[3])
end
keep()
tell()
return isLost and {0, soonest, 0} or withSlots(slots)`,
};

/**
 * Extends a holder of permits, with exactly these permits, and never shortens. Others that it has here are given up.
 * KEYS 1 resource, marker if ARGV 6 ≥ 0
 * ARGV 1 token, 2 ttl in ms, 3 permits, as '0,3', 4 k, 5 '1' = set again if it is gone and the permits are free, '0' = gone
 *      is a refusal, 6 guard period in ms
 * → {1, 0, 0} this token holds these permits for at least the ttl
 *   {0, ms, 0} refused: another holds one (the shortest time left among the others), or it is gone (−2)
 *   {5, ms, k} · {2, what, 0} · {-1, ms, 0} · {-2, ms, 0}
 */
export const SEM_EXTEND: Script = {
  name: 'sem-extend',
  source: `if #KEYS == 0 then return {0, 0, 0} end
${GUARD}local guard, token, k = tonumber(ARGV[6]), ARGV[1], tonumber(ARGV[4])
${MARKER}${SEMAPHORE}${SLOTS}local refusal = look('${STORED_KIND.semaphore}')
if refusal then return refusal end
local own = members[token]
if not own and ARGV[5] == '0' then return {0, -2, 0} end
takeStock(token, k)
if others then return {5, othersMs, others} end
local isOther = own ~= nil and own[1] ~= ARGV[3]
if isTaken(slotsOf(ARGV[3])) then
  if isOther then
    redis.call('HDEL', KEYS[1], token)
    members[token] = nil
    keep()
    tell()
  end
  return {0, soonest, 0}
end
put(token, ARGV[3], math.max(own and own[2] or 0, now + tonumber(ARGV[2])), ARGV[4])
keep()
if isOther then tell() end
return {1, 0, 0}`,
};

/**
 * Removes a token from a read-write lock or a semaphore, for an undo or a release; it watches no more, either. The
 * watcher is sent a push if it could be let in now. Steps after the deletion may fail without keeping the vote.
 * KEYS 1 resource · ARGV 1 token
 * → {n, -2, 0} n = 1 it was there, 0 it was not · {0, -2, 1} the key holds something of another type
 */
export const LEAVE: Script = {
  name: 'leave',
  source: `local token = ARGV[1]
local deleted = redis.pcall('HDEL', KEYS[1], token)
if type(deleted) == 'table' then
  if not string.find(deleted.err, 'WRONGTYPE', 1, true) then return deleted end
  return {0, -2, 1}
end
local fields = redis.pcall('HLEN', KEYS[1])
if fields == 1 and deleted == 1 then
  redis.pcall('DEL', KEYS[1])
elseif fields ~= 0 and redis.pcall('HEXISTS', KEYS[1], 'watch') == 1 then
  pcall(function()
    ${CLOCK}${LOOKING}look('')
    if watch and watch[1] == token then
      redis.call('HDEL', KEYS[1], 'watch')
      watch = nil
      keep()
    elseif deleted == 1 then
      keep()
      tell()
    end
  end)
end
return {deleted, -2, 0}`,
};

/**
 * Looks at a read-write lock or a semaphore, and at the queue of its gate, and changes nothing.
 * KEYS 1 resource, 2 the gate, 3 the gate's queue
 * → {code, ms, now, fields, head, waiting, tokens}
 *   code 0 free · 1 held · 2 something of another type, and `fields` is empty; ms left of the key, −1 without expiry
 *   now = the server's clock in ms; fields = names and values in turn, expired ones included
 *   head = the token at the head of the gate, or ''; waiting = how many are behind it; tokens = the first of them
 */
export const SURVEY_SHARED: Script = {
  name: 'survey-members',
  source: `${CLOCK}local function list(reply) return reply.err and {} or reply end
local all = redis.pcall('HGETALL', KEYS[1])
local head, waiting = redis.pcall('GET', KEYS[2]), redis.pcall('ZCARD', KEYS[3])
local tokens = list(redis.pcall('ZRANGE', KEYS[3], 0, ${SHOWN_WAITERS - 1}))
if type(head) ~= 'string' then head = '' end
if type(waiting) ~= 'number' then waiting = 0 end
local code = all.err and 2 or all[1] and 1 or 0
if all.err and not string.find(all.err, 'WRONGTYPE', 1, true) then return all end
local now = math.floor(micros() / 1000)
return {code, redis.call('PTTL', KEYS[1]), now, list(all), head, waiting, tokens}`,
};

export const SHARED_SCRIPTS: readonly Script[] = [
  RW_CLAIM,
  RW_ACCEPT,
  RW_EXTEND,
  SEM_CLAIM,
  SEM_ALIGN,
  SEM_EXTEND,
  LEAVE,
  SURVEY_SHARED,
];
