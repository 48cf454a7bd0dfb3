/**
 * The Lua of exclusive locks: what each operation, such as a claim or a release, does to one entry, wherever its keys are
 * among those of the call. `scripts.ts` builds the scripts for one entry and for many from it.
 *
 * `first` is the index of the entry's first resource in KEYS, `n` its number of resources. Queues and turns follow them in
 * a release, in an undo and in the claim of a waiter, then the counters of a claim or an acceptance. Each function returns
 * the three parts of its reply. If a command failed, it returns that error and nothing else, and has changed nothing.
 */
import { AHEAD_US, BACK_US, LAST_FENCE } from './fence-bounds.js';
import { AT_REST } from '../../runtime/random.js';
import { markedInLua, oursInLua } from './queue.js';

/**
 * The number after code 2 in a reply: what the key holds instead, or that its counter cannot be raised to another fencing
 * token.
 */
export const HOLDS = { data: 0, mutex: 1, readWrite: 2, semaphore: 3, counter: 4 } as const;

/**
 * Counters (protocol A2). A counter is the last fencing token that this master accepted for the resource; a missing one,
 * or a 0, is below all others. A claim proposes a fencing token, which lifts every counter to it. The master takes the
 * proposal if that is near its own clock and not below `least`; else it takes its clock, and reports it. So whatever it
 * accepts is BACK below its clock at most, and a counter that was lost does not matter once its clock is that far ahead.
 *
 * `count` returns nothing for a spent counter, or for anything else than a counter: it stays as it is. A script reads the
 * clock at most once for all entries of a call. Counters live equally long in all of them, and most entries of a call
 * have one fencing token: what `countOn` writes is worked out once for them.
 */
export const COUNTER = `local clockUs
local function readClock()
  if not clockUs then
    local time = redis.pcall('TIME')
    if not time.err then clockUs = time[1] * 1000000 + time[2] end
  end
  return clockUs
end
local function clock() return readClock() or micros() end
local function count(i)
  local found = redis.pcall('GET', KEYS[i])
  if type(found) == 'table' then
    if string.find(found.err, 'WRONGTYPE', 1, true) then return nil end
    error(found.err)
  end
  if not found then return 0 end
  local number = string.match(found, '^%d+$') and tonumber(found)
  return number and number < ${LAST_FENCE} and number
end
local function taken(proposal)
  local us = clock()
  if proposal < us - ${BACK_US} or proposal > us + ${AHEAD_US} or proposal < least then return us, us end
  return proposal, 0
end
local counted, countedText, countedMs
local function countOn(from, n, fence, life)
  if fence ~= counted then
    counted, countedText = fence, int(fence)
    countedMs = int(life + math.max(0, math.ceil((fence - clock()) / 1000)))
  end
  for i = from, from + n - 1 do redis.call('SET', KEYS[i], countedText, 'PX', countedMs) end
end
local function acceptable(fence, highest, life)
  local us = clock()
  if fence > highest and fence > least and fence >= us - ${BACK_US} and fence <= us + life * 1000 then return true end
  return false, math.max(highest, us)
end
`;

/** The Lua expressions for the parts of a claim of one resource. */
interface Places {
  readonly key: string;
  readonly counter: string;
  readonly token: string;
  readonly ttl: string;
  readonly life: string;
  /** The proposed fencing token, as a string. */
  readonly proposal: string;
  /** The reply without fencing. */
  readonly yes: string;
}

/** Reads the clock into `now`, which is false or nil if that is not allowed. */
const READING_CLOCK = `local time = redis.pcall('TIME')
    local now = not time.err and time[1] * 1000000 + time[2]`;

/**
 * One free resource, the usual case, takes as few commands as possible: the vote, the clock, and the proposal in place of
 * the counter. If the counter was ahead of the proposal, it is set once more. If it was none, it is put back
 * (without an expiry: that is lost), and if it is spent, for the life of a counter; the vote is deleted, and the long way
 * refuses.
 *
 * @param reading  reads the master's clock, in µs, into `now`
 */
function shortWay(
  { key, counter, token, ttl, life, proposal, yes }: Places,
  reading: string,
  least?: string,
): string {
  const isLow = least === undefined ? '' : ` or fence < ${least}`;
  return `if redis.call('SET', ${key}, ${token}, 'PX', ${ttl}, 'NX') then
    if ${life} == '0' then return ${yes} end
    ${reading}
    if now then
      local fence, text, told = tonumber(${proposal}), ${proposal}, 0
      if fence < now - ${BACK_US} or fence > now + ${AHEAD_US}${isLow} then
        fence, text, told = now, string.format('%.0f', now), now
      end
      local ms = ${life}
      if fence > now then ms = ms + math.ceil((fence - now) / 1000) end
      local before = redis.pcall('SET', ${counter}, text, 'PX', ms, 'GET')
      local number = before and not before.err and string.match(before, '^%d+$') and tonumber(before)
      local isAhead = number and number >= fence and number < ${LAST_FENCE}
      if isAhead then
        fence = number + 1
        ms = ${life} + math.max(0, math.ceil((fence - now) / 1000))
        redis.call('SET', ${counter}, string.format('%.0f', fence), 'PX', string.format('%.0f', ms))
      end
      if not before or isAhead or (number and number < fence) then
        if told == 0 then return fence end
        return {1, fence, told}
      end
      if number then
        redis.call('SET', ${counter}, before, 'PX', ${life})
      elseif not before.err then
        redis.call('SET', ${counter}, before)
      end
    end
    redis.call('DEL', ${key})
  end
`;
}

const OF_ARGUMENTS: Places = {
  key: 'KEYS[1]',
  counter: 'KEYS[2]',
  token: 'ARGV[1]',
  ttl: 'ARGV[2]',
  life: 'ARGV[3]',
  proposal: 'ARGV[4]',
  yes: '{1, 0, 0}',
};

/**
 * The same at the very beginning of the script of a single claim, if no guard forbids it: a script's functions are
 * created each time it runs, and cost more than all of this.
 */
export const CLAIMING_AT_ONCE = `local wasTried = false
if not ARGV[6] then
  local n, guard = #KEYS, tonumber(ARGV[5])
  local isFree = guard < 0
  if guard == 0 then
    isFree = redis.pcall('GET', KEYS[n]) == false
    n = n - 1
  end
  if isFree and n == (ARGV[3] == '0' and 1 or 2) then
  wasTried = true
  ${shortWay(OF_ARGUMENTS, READING_CLOCK)}  end
end
`;

const OF_ENTRY: Places = {
  key: 'KEYS[k]',
  counter: 'KEYS[k + 1]',
  token: 'token',
  ttl: 'ttl',
  life: 'life',
  proposal: 'proposal',
  yes: '0',
};

/**
 * A claim from the queue leaves it, whatever its outcome: a token is claimed with once. If the key was handed over to it,
 * it has left already. A place that stayed would be handed the lock after the lease.
 *
 * @param life  the life of counters in ms, as a string; here and below, '0' means: no fencing
 * @param proposal  the fencing token that is proposed, as a string; '0' for none
 */
export const CLAIMING = `local function claimOne(k, token, ttl, life, proposal)
  ${shortWay(OF_ENTRY, 'local now = readClock()', 'least')}end
local function claim(first, n, token, ttl, life, proposal, isInLine, wasTried)
  if n == 1 and not isInLine and not wasTried then
    local fence = claimOne(first, token, ttl, life, proposal)
    if type(fence) == 'table' then return fence[1], fence[2], fence[3] end
    if fence then return 1, fence, 0 end
  end
  local last, left, foreign_client = first + n - 1, false, 0
  for i = first, last do
    local owner = redis.pcall('GET', KEYS[i])
    if type(owner) == 'table' then
      if string.find(owner.err, 'WRONGTYPE', 1, true) then return 2, 0, 0 end
      return owner
    end
    if owner ~= token and owner ~= ${markedInLua('token')} then
      if isInLine then redis.pcall('ZREM', KEYS[i + n], token) end
      if owner then
        if owner ~= '${AT_REST}' and not ${oursInLua('owner')} then foreign_client = 1 end
        local ms = redis.call('PTTL', KEYS[i])
        if not left or ms == -1 or (left ~= -1 and ms > left) then left = ms end
      end
    end
  end
  if left then return 0, left, foreign_client end
  local fence, told = 0, 0
  if life ~= '0' then
    local from = isInLine and last + 2 * n + 1 or last + 1
    fence, told = taken(tonumber(proposal))
    for i = from, from + n - 1 do
      local number = count(i)
      if not number then return 2, ${HOLDS.counter}, 0 end
      if number >= fence then fence = number + 1 end
    end
    countOn(from, n, fence, life)
  end
  for i = first, last do redis.call('SET', KEYS[i], token, 'PX', ttl) end
  return 1, fence, told
end
`;

export const ACCEPTING = `local function accept(first, n, token, wanted, life)
  local last, marked = first + n - 1, false
  for i = first, last do
    local owner = redis.pcall('GET', KEYS[i])
    if type(owner) == 'table' then
      if string.find(owner.err, 'WRONGTYPE', 1, true) then return 2, 0, 0 end
      return owner
    end
    if owner ~= token and owner ~= ${markedInLua('token')} then return 0, redis.call('PTTL', KEYS[i]), 0 end
    if owner ~= token then marked = true end
  end
  local fence, highest = tonumber(wanted), 0
  for i = last + 1, last + n do
    local number = count(i)
    if not number then return 2, ${HOLDS.counter}, 0 end
    if number > highest then highest = number end
  end
  local isAccepted, reached = acceptable(fence, highest, life)
  if not isAccepted then return 3, reached, 0 end
  countOn(last + 1, n, fence, life)
  for i = first, marked and last or 0 do redis.call('SET', KEYS[i], token, 'KEEPTTL') end
  return 1, fence, 0
end
`;

/**
 * A vote, with the mark or without, is deleted together with the turn beside it: the number of deleted keys shows whether
 * anybody waits, without another command. `leave` sets the turn again for a queue that needs it. If there is no vote, the
 * turn is looked up: the token may have a place. With a `proposal`, terms and counters follow the turns.
 */
export const UNDOING = `local function undo(first, n, token, proposal)
  local deleted, left, wrong_type, failed, awaited, gone = 0, -2, 0, false, {}, {}
  for i = first, first + n - 1 do
    local owner, isAwaited = redis.pcall('GET', KEYS[i]), nil
    if owner == token or owner == ${markedInLua('token')} then
      deleted = deleted + 1
      isAwaited = redis.call('DEL', KEYS[i], KEYS[i + 2 * n]) == 2
      gone[i] = true
    else
      if type(owner) == 'table' then
        if string.find(owner.err, 'WRONGTYPE', 1, true) then wrong_type = 1 else failed = owner end
      elseif owner then
        local ms = redis.call('PTTL', KEYS[i])
        if left == -2 or ms == -1 or (left ~= -1 and ms > left) then left = ms end
      end
      isAwaited = redis.pcall('EXISTS', KEYS[i + 2 * n]) == 1
    end
    if isAwaited then awaited[#awaited + 1] = i end
  end
  if awaited[1] and leave(awaited, gone, n, token, proposal) then wrong_type = wrong_type + 2 end
  if failed then return failed end
  return deleted, left, wrong_type
end
`;

/**
 * The release of one resource at the very beginning of the script. If nobody waits, the usual case, its functions would
 * cost more than all of this.
 */
export const RELEASING_AT_ONCE = `local deleted
if not KEYS[6] then
  local owner = redis.pcall('GET', KEYS[1])
  if owner == ARGV[1] or owner == ${markedInLua('ARGV[1]')} then
    if redis.call('DEL', KEYS[1], KEYS[3]) == 1 then return 1 end
    deleted = 1
  elseif redis.pcall('EXISTS', KEYS[3]) == 1 then
    deleted = 0
  else
    return 0
  end
end
`;

export const RELEASING = `local function release(first, n, token, proposal)
  local deleted, awaited, gone = 0, {}, {}
  for i = first, first + n - 1 do
    local isAwaited
    local owner = redis.pcall('GET', KEYS[i])
    if owner == token or owner == ${markedInLua('token')} then
      deleted = deleted + 1
      isAwaited = redis.call('DEL', KEYS[i], KEYS[i + 2 * n]) == 2
      gone[i] = true
    else
      isAwaited = redis.pcall('EXISTS', KEYS[i + 2 * n]) == 1
    end
    if isAwaited then awaited[#awaited + 1] = i end
  end
  if awaited[1] and leave(awaited, gone, n, token, proposal) then return -1 - deleted end
  return deleted
end
`;

/**
 * Releases of one resource each, from index `first` of KEYS and `a` of ARGV on, for those where nobody waits: one MGET
 * for all. Each has `step` keys. Returns how many votes each deleted, and nothing for those that are left to `release`. (A
 * turn of another type counts as none.)
 */
export const RELEASING_MANY = `local function releaseMany(first, a, count, step)
  local deleted, found = {}, redis.pcall('MGET', unpack(KEYS, first, first + step * count - 1))
  for i = 1, found.err and 0 or count do
    local at, token = step * (i - 1), ARGV[a + i - 1]
    if not found[at + 3] then
      local owner = found[at + 1]
      local isOwn = owner and (owner == token or owner == ${markedInLua('token')})
      deleted[i] = isOwn and redis.call('DEL', KEYS[first + at]) or 0
    end
  end
  return deleted
end
`;

/** The reply of a script of one entry, from its three parts. */
export const REPLY = `local function reply(code, x, y)
  if type(code) == 'table' then return code end
  return {code, x, y}
end
`;
