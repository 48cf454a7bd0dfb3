/**
 * The Lua of exclusive locks: what each operation, such as a claim or a release, does to one entry, wherever its keys are
 * among those of the call. `scripts.ts` builds the scripts for one entry and for many from it.
 *
 * `first` is the index of the entry's first resource in KEYS, `n` its number of resources. Its counters follow them; in a
 * release or an undo, the queues and turns come in between. Each function returns the three parts of its reply. If a
 * command failed, it returns that error and nothing else, and has changed nothing.
 */
import { oursInLua, reservedInLua } from './queue.js';

/**
 * How far, in µs, a re-created counter may be ahead of the master's clock. Beyond that, the coordinator's floor is
 * ignored.
 */
export const FLOOR_LEAD_US = 20_000;

/**
 * The number after code 2 in a reply: what the key holds instead, or that its counter cannot be raised to another fencing
 * token.
 */
export const HOLDS = { data: 0, mutex: 1, readWrite: 2, semaphore: 3, counter: 4 } as const;

/**
 * The last fencing token that can be granted; a counter that has reached it is spent. Beyond 2^53 (9.007e15) numbers lose
 * precision, and close to it ioredis 6.0 reads some replies wrongly. The µs since 1970 get there in the year 2255.
 */
export const LAST_FENCE = 9_000_000_000_000_000;

/** The server's clock, and numbers as strings. */
export const CLOCK = `local function need(reply, command)
  if type(reply) == 'table' and reply.err then
    error('quorate needs ' .. command .. ' in scripts: ' .. reply.err)
  end
  return reply
end
local function micros()
  local time = need(redis.pcall('TIME'), 'TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local function int(number) return string.format('%.0f', number) end
`;

/**
 * The restart guard (protocol B): `1|run id|since ms|period ms` under the marker key. A master whose run id differs from
 * its marker's, or that has no marker, may have forgotten votes: it notes the time, and abstains for one period. A client
 * without a guard is refused by a master with a marker: it would void the guard of the others.
 *
 * `least` is the end of the master's last quarantine, in µs: a lower counter may have come back with old data.
 */
export const GUARD = `local least = 0
${CLOCK}local function runId()
  return string.match(need(redis.pcall('INFO', 'server'), 'INFO'), 'run_id:(%w+)')
end
local function guarded(m, period)
  local marker = redis.pcall('GET', KEYS[m])
  if type(marker) == 'table' and string.find(marker.err, 'WRONGTYPE', 1, true) then return -2, 0 end
  need(marker, 'GET')
  local owner, since, other
  if marker then
    owner, since, other = string.match(marker, '^1|(%w+)|(%d+)|(%d+)$')
    if not owner then return -2, 0 end
    if tonumber(other) ~= period then return -2, tonumber(other) end
  end
  if period == 0 then return end
  local run = runId()
  local ms = math.floor(micros() / 1000)
  since = tonumber(since)
  if owner ~= run or since > ms then
    redis.call('SET', KEYS[m], '1|' .. run .. '|' .. int(ms) .. '|' .. int(period))
    return -1, period
  end
  if since + period > ms then return -1, since + period - ms end
  least = (since + period) * 1000
end
`;

/**
 * Counters (protocol A). A missing counter is re-created from the master's clock, never from a token that a client sent:
 * it must be above everything that was accepted here before. So must a counter that a restart brought back. A 0 counts as
 * missing. Only the coordinator's floor may raise a new counter a little more, so that masters agree on a first grant. A
 * spent counter counts as none: it is left unchanged, and expires.
 */
export const COUNTER = `local seenAt = 0
local function counter(i, floor)
  local count = redis.pcall('GET', KEYS[i])
  if type(count) == 'table' then
    if string.find(count.err, 'WRONGTYPE', 1, true) then return nil end
    error(count.err)
  end
  if count and count ~= '0' then
    local number = string.match(count, '^%d+$') and tonumber(count)
    return number and number < ${LAST_FENCE} and math.max(number, least)
  end
  seenAt = micros()
  return math.max(seenAt, math.min(floor, seenAt + ${FLOOR_LEAD_US})), true
end
`;

/** Checks the marker, which is the last key, and leaves the number of the other keys in `n`. */
export const MARKER = `local n = #KEYS
if guard >= 0 then
  local code, ms = guarded(n, guard)
  if code then return {code, ms, 0} end
  n = n - 1
end
`;

/** The Lua expressions for the parts of a claim of one resource. */
interface Places {
  readonly key: string;
  readonly counter: string;
  readonly token: string;
  readonly ttl: string;
  readonly life: string;
  /** The reply without fencing. */
  readonly yes: string;
}

/**
 * One free resource, the usual case, takes as few commands as possible. If that is not enough (the counter is missing,
 * below `least`, spent or no counter at all), it is reverted, and the long way checks everything first.
 */
function shortWay({ key, counter, token, ttl, life, yes }: Places, least: string): string {
  return `if redis.call('SET', ${key}, ${token}, 'PX', ${ttl}, 'NX') then
    if ${life} == '0' then return ${yes} end
    local fence = redis.pcall('INCR', ${counter})
    local isNumber = type(fence) == 'number'
    if isNumber and fence > 1 and fence > ${least} and fence <= ${LAST_FENCE} then
      redis.call('PEXPIRE', ${counter}, ${life})
      return fence
    end
    redis.call('DEL', ${key})
    if isNumber then redis.call(fence == 1 and 'DEL' or 'DECR', ${counter}) end
  end
`;
}

const OF_ARGUMENTS: Places = {
  key: 'KEYS[1]',
  counter: 'KEYS[2]',
  token: 'ARGV[1]',
  ttl: 'ARGV[2]',
  life: 'ARGV[3]',
  yes: '{1, 0, 0}',
};

/**
 * The same at the very beginning of the script of a single claim, if no guard forbids it: a script's functions are
 * created each time it runs, and cost more than all of this.
 */
export const CLAIMING_AT_ONCE = `if not ARGV[6] then
  local n, guard = #KEYS, tonumber(ARGV[5])
  local isFree = guard < 0
  if guard == 0 then
    isFree = redis.pcall('GET', KEYS[n]) == false
    n = n - 1
  end
  if isFree and n == (ARGV[3] == '0' and 1 or 2) then
  ${shortWay(OF_ARGUMENTS, '0')}  end
end
`;

const OF_ENTRY: Places = {
  key: 'KEYS[k]',
  counter: 'KEYS[k + 1]',
  token: 'token',
  ttl: 'ttl',
  life: 'life',
  yes: '0',
};

/**
 * A claim from the queue leaves it, whatever its outcome: a token is claimed with once. If the key was handed over to it,
 * it has left already. A place that stayed would be handed the lock after the lease.
 *
 * @param life  the ttl of counters in ms, as a string; here and below, '0' means: no fencing
 */
export const CLAIMING = `local function claimOne(k, token, ttl, life)
  ${shortWay(OF_ENTRY, 'least')}end
local function claim(first, n, token, ttl, life, floor, isInLine)
  if n == 1 and not isInLine then
    local fence = claimOne(first, token, ttl, life)
    if fence then return 1, fence, 0 end
  end
  local last, left, foreign_client = first + n - 1, false, 0
  for i = first, last do
    local owner = redis.pcall('GET', KEYS[i])
    if type(owner) == 'table' then
      if string.find(owner.err, 'WRONGTYPE', 1, true) then return 2, 0, 0 end
      return owner
    end
    if owner ~= token and owner ~= ${reservedInLua('token')} then
      if isInLine then redis.pcall('ZREM', KEYS[i + n], token) end
      if owner then
        if not ${oursInLua('owner')} then foreign_client = 1 end
        local ms = redis.call('PTTL', KEYS[i])
        if not left or ms == -1 or (left ~= -1 and ms > left) then left = ms end
      end
    end
  end
  if left then return 0, left, foreign_client end
  local fence = 0
  seenAt = 0
  if life ~= '0' then
    local before = isInLine and last + 2 * n or last
    for i = before + 1, before + n do
      local count = counter(i, floor)
      if not count then return 2, ${HOLDS.counter}, 0 end
      if count >= fence then fence = count + 1 end
    end
    for i = before + 1, before + n do redis.call('SET', KEYS[i], int(fence), 'PX', life) end
  end
  for i = first, last do redis.call('SET', KEYS[i], token, 'PX', ttl) end
  return 1, fence, seenAt
end
`;

export const ACCEPTING = `local function accept(first, n, token, wanted, life)
  local last = first + n - 1
  for i = first, last do
    local owner = redis.pcall('GET', KEYS[i])
    if type(owner) == 'table' then
      if string.find(owner.err, 'WRONGTYPE', 1, true) then return 2, 0, 0 end
      return owner
    end
    if owner ~= token then return 0, redis.call('PTTL', KEYS[i]), 0 end
  end
  local fence, highest = tonumber(wanted), 0
  for i = last + 1, last + n do
    local count, isNew = counter(i, 0)
    if not count then return 2, ${HOLDS.counter}, 0 end
    if isNew then redis.call('SET', KEYS[i], int(count), 'PX', life) end
    if count > highest then highest = count end
  end
  if highest >= fence then return 3, highest, 0 end
  for i = last + 1, last + n do redis.call('SET', KEYS[i], wanted, 'PX', life) end
  return 1, fence, 0
end
`;

/**
 * Raises lower counters to the highest count seen elsewhere, so that masters agree on the next grant; but not to a count
 * that allows no next grant.
 */
export const LIFTING = `local function lift(from, n, seen)
  if tonumber(seen) >= ${LAST_FENCE} then return end
  for i = from, from + n - 1 do
    local count = redis.pcall('GET', KEYS[i])
    if type(count) == 'string' and string.match(count, '^%d+$') and tonumber(count) < tonumber(seen) then
      redis.pcall('SET', KEYS[i], seen, 'KEEPTTL')
    end
  end
end
`;

/**
 * A vote is deleted together with the turn beside it: the number of deleted keys shows whether anybody waits, without
 * another command. `leave` sets the turn again for a queue that needs it. If there is no vote, the turn is looked up:
 * `leave` gives back reservations, too.
 *
 * @param seen  the highest count that was met; false without fencing, and then there are no counters
 */
export const UNDOING = `local function undo(first, n, token, seen)
  local deleted, left, wrong_type, failed, awaited = 0, -2, 0, false, {}
  for i = first, first + n - 1 do
    local owner, isAwaited = redis.pcall('GET', KEYS[i]), nil
    if owner == token then
      deleted = deleted + 1
      isAwaited = redis.call('DEL', KEYS[i], KEYS[i + 2 * n]) == 2
    else
      if type(owner) == 'table' then
        if string.find(owner.err, 'WRONGTYPE', 1, true) then wrong_type = 1 else failed = owner end
      elseif owner and owner ~= ${reservedInLua('token')} then
        local ms = redis.call('PTTL', KEYS[i])
        if left == -2 or ms == -1 or (left ~= -1 and ms > left) then left = ms end
      end
      isAwaited = redis.pcall('EXISTS', KEYS[i + 2 * n]) == 1
    end
    if isAwaited then awaited[#awaited + 1] = i end
  end
  if seen then lift(first + 3 * n, n, seen) end
  if awaited[1] and leave(awaited, n, token) then wrong_type = wrong_type + 2 end
  if failed then return failed end
  return deleted, left, wrong_type
end
`;

/**
 * The release of one resource at the very beginning of the script. If nobody waits, the usual case, its functions would
 * cost more than all of this.
 */
export const RELEASING_AT_ONCE = `local deleted
if not KEYS[4] then
  if redis.pcall('GET', KEYS[1]) == ARGV[1] then
    if redis.call('DEL', KEYS[1], KEYS[3]) == 1 then return 1 end
    deleted = 1
  elseif redis.pcall('EXISTS', KEYS[3]) == 1 then
    deleted = 0
  else
    return 0
  end
end
`;

export const RELEASING = `local function release(first, n, token, seen)
  local deleted, awaited = 0, {}
  for i = first, first + n - 1 do
    local isAwaited
    if redis.pcall('GET', KEYS[i]) == token then
      deleted = deleted + 1
      isAwaited = redis.call('DEL', KEYS[i], KEYS[i + 2 * n]) == 2
    else
      isAwaited = redis.pcall('EXISTS', KEYS[i + 2 * n]) == 1
    end
    if isAwaited then awaited[#awaited + 1] = i end
  end
  if seen then lift(first + 3 * n, n, seen) end
  if awaited[1] and leave(awaited, n, token) then return -1 - deleted end
  return deleted
end
`;

/**
 * Releases of one resource each, from index `first` of KEYS and `a` of ARGV on, for those where nobody waits: one MGET
 * for all. Returns how many votes each deleted, and nothing for those that are left to `release`. (A turn of another type
 * counts as none.)
 */
export const RELEASING_MANY = `local function releaseMany(first, a, count)
  local deleted, found = {}, redis.pcall('MGET', unpack(KEYS, first, first + 3 * count - 1))
  for i = 1, found.err and 0 or count do
    if not found[3 * i] then
      deleted[i] = found[3 * i - 2] == ARGV[a + i - 1] and redis.call('DEL', KEYS[first + 3 * i - 3]) or 0
    end
  end
  return deleted
end
`;

/**
 * Counters follow as far as possible: a lease does not depend on them. A reservation for the token, left because its
 * claim was lost, becomes its vote, as a free key does.
 */
export const EXTENDING = `local function extend(first, n, token, ttl, create, life, fence)
  local last, reserved = first + n - 1, nil
  for i = first, last do
    local owner = redis.pcall('GET', KEYS[i])
    if type(owner) == 'table' then
      if string.find(owner.err, 'WRONGTYPE', 1, true) then return 2, 0, 0 end
      return owner
    end
    if owner and owner ~= token then
      if create == '0' or owner ~= ${reservedInLua('token')} then return 0, redis.call('PTTL', KEYS[i]), 0 end
      reserved = owner
    end
    if not owner and create == '0' then return 0, -2, 0 end
  end
  for i = first, last do
    local ms = redis.call('PTTL', KEYS[i])
    if ms == -2 or (reserved and redis.call('GET', KEYS[i]) == reserved) then
      redis.call('SET', KEYS[i], token, 'PX', math.max(ms, tonumber(ttl)))
    elseif ms ~= -1 and ms < tonumber(ttl) then
      redis.call('PEXPIRE', KEYS[i], ttl)
    end
  end
  if life ~= '0' then
    for i = last + 1, last + n do
      local ok, count = pcall(counter, i, 0)
      if ok and count and tonumber(fence) < ${LAST_FENCE} then
        redis.pcall('SET', KEYS[i], int(math.max(count, tonumber(fence))), 'PX', life)
      end
    end
  end
  return 1, 0, 0
end
`;

/**
 * Extensions of one resource each, without counters, from index `first` of KEYS and `a` of ARGV on, up to the first whose
 * key does not hold its token: one MGET for all (if it fails, there are none). Returns 1 for each that is done; the
 * others are left to `extend`.
 */
export const EXTENDING_MANY = `local function extendMany(first, a, count, ttl)
  local done, found = {}, redis.pcall('MGET', unpack(KEYS, first, first + count - 1))
  for i = 1, count do
    if found[i] ~= ARGV[a + i - 1] then break end
    local ms = redis.call('PTTL', KEYS[first + i - 1])
    if ms ~= -1 and ms < tonumber(ttl) then redis.call('PEXPIRE', KEYS[first + i - 1], ttl) end
    done[i] = 1
  end
  return done
end
`;

/** The reply of a script of one entry, from its three parts. */
export const REPLY = `local function reply(code, x, y)
  if type(code) == 'table' then return code end
  return {code, x, y}
end
`;
