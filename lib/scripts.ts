/**
 * The Lua scripts, each with its keys, arguments and replies. Replies are integers (`inspect` alone gives a text back).
 *
 * Keys are the n resources; behind them, with fencing, their n counters; and last, with a guard, the master's marker.
 * All keys are declared and used in place as `KEYS[i]`, as hosted Redis demands; all of a call's keys lie in one slot
 * where a node is a cluster. A key of another type never makes a script fail half-way: types are looked at before the
 * first write, and deletions come first: what follows them may fail without keeping the lock.
 *
 * Codes, the same in every reply that begins with one:
 *   1 yes · 0 no, another holds it · 2 no, a key holds something else · 3 no, a counter is there already
 *   −1 quarantined: the master may have forgotten votes · −2 the deployment's guard period is another one
 */

export interface Script {
  readonly name: string;
  readonly source: string;
}

/** How far, in µs, a re-created counter may run ahead of the master's clock: so far the coordinator's floor counts. */
export const FLOOR_LEAD_US = 20_000;

/**
 * The restart guard (protocol B): `1|run id|since ms|period ms` under the marker key. A master that runs under another
 * id than its marker says, or has no marker, may have forgotten votes: it notes the time and says no for one period.
 * A client without a guard says no where it finds a marker: it would void the guard of the others.
 *
 * `least` is the end of its last quarantine, in µs: a counter that stands lower may have come back with old data.
 */
const GUARD = `local least = 0
local function need(reply, command)
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
local function runId()
  return string.match(need(redis.pcall('INFO', 'server'), 'INFO'), 'run_id:(%w+)')
end
local function guarded(m, period)
  local marker = redis.pcall('GET', KEYS[m])
  if type(marker) == 'table' then return -2, 0 end
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
 * Counters (protocol A). One that is missing is re-created from the master's clock, never from a token that was handed
 * in: it must lie above all that was accepted here before. So must one that a restart brought back. Only the coordinator's floor may lift it a little more, so
 * that masters agree on a first grant.
 */
const COUNTER = `local seenAt = 0
local function counter(i, floor)
  local count = redis.pcall('GET', KEYS[i])
  if type(count) == 'table' then
    if string.find(count.err, 'WRONGTYPE', 1, true) then return nil end
    error(count.err)
  end
  if count then return string.match(count, '^%d+$') and math.max(tonumber(count), least) end
  seenAt = micros()
  return math.max(seenAt, math.min(floor, seenAt + ${FLOOR_LEAD_US})), true
end
`;

/**
 * Claims all keys or none, and counts the grant.
 * KEYS resources, counters if ARGV 3 > 0, marker if ARGV 5 ≥ 0
 * ARGV 1 token, 2 ttl in ms, 3 ttl of the counters in ms (0 = no fencing), 4 floor for missing counters in µs,
 *      5 guard period in ms (0 = none, −1 = none, and no marker is looked for)
 * → {1, fence, us} granted, also when this token holds them already; fence = highest counter + 1, which all counters
 *                  have now (0 without fencing); us = the master's clock if it re-created a counter, else 0
 *   {0, ms, 0} refused; ms = the longest time left among the keys that others hold, −1 if one has no expiry
 *   {2, 0, 0} refused: a key or a counter holds something else
 *   {-1, ms, 0} quarantined for so long · {-2, ms, 0} the guard period here is that one (0: unreadable)
 */
export const CLAIM: Script = {
  name: 'claim',
  source: `${GUARD}${COUNTER}local guard, fencing = tonumber(ARGV[5]), ARGV[3] ~= '0'
local n = #KEYS
if guard >= 0 then
  local code, ms = guarded(n, guard)
  if code then return {code, ms, 0} end
  n = n - 1
end
if fencing then n = n / 2 end
local left = false
for i = 1, n do
  local owner = redis.pcall('GET', KEYS[i])
  if type(owner) == 'table' then
    if string.find(owner.err, 'WRONGTYPE', 1, true) then return {2, 0, 0} end
    return owner
  end
  if owner and owner ~= ARGV[1] then
    local ms = redis.call('PTTL', KEYS[i])
    if not left or ms == -1 or (left ~= -1 and ms > left) then left = ms end
  end
end
if left then return {0, left, 0} end
local fence = 0
if fencing then
  for i = n + 1, 2 * n do
    local count = counter(i, tonumber(ARGV[4]))
    if not count then return {2, 0, 0} end
    if count >= fence then fence = count + 1 end
  end
  for i = n + 1, 2 * n do redis.call('SET', KEYS[i], int(fence), 'PX', ARGV[3]) end
end
for i = 1, n do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
return {1, fence, seenAt}`,
};

/**
 * Accepts a fence for a grant that is held here, as the masters whose counters stood lower must, so that a quorum has
 * accepted one and the same. Strictly above every counter: what was accepted once is never accepted again.
 * KEYS resources, counters, marker if ARGV 4 ≥ 0
 * ARGV 1 token, 2 fence, 3 ttl of the counters in ms, 4 guard period in ms, as above
 * → {1, fence, 0} accepted · {3, count, 0} a counter is there or beyond · {0, ms, 0} a key is another's by now
 *   (ms left, −1 without expiry) or gone (−2) · {2, 0, 0} something else · {-1, ms, 0} · {-2, ms, 0}
 */
export const ACCEPT: Script = {
  name: 'accept',
  source: `${GUARD}${COUNTER}local guard, n = tonumber(ARGV[4]), #KEYS
if guard >= 0 then
  local code, ms = guarded(n, guard)
  if code then return {code, ms, 0} end
  n = n - 1
end
n = n / 2
for i = 1, n do
  local owner = redis.pcall('GET', KEYS[i])
  if type(owner) == 'table' then
    if string.find(owner.err, 'WRONGTYPE', 1, true) then return {2, 0, 0} end
    return owner
  end
  if owner ~= ARGV[1] then return {0, redis.call('PTTL', KEYS[i]), 0} end
end
local fence, highest = tonumber(ARGV[2]), 0
for i = n + 1, 2 * n do
  local count, isNew = counter(i, 0)
  if not count then return {2, 0, 0} end
  if isNew then redis.call('SET', KEYS[i], int(count), 'PX', ARGV[3]) end
  if count > highest then highest = count end
end
if highest >= fence then return {3, highest, 0} end
for i = n + 1, 2 * n do redis.call('SET', KEYS[i], ARGV[2], 'PX', ARGV[3]) end
return {1, fence, 0}`,
};

/** Lifts counters that lag behind to what was seen elsewhere, so that the next grant finds masters of one mind. */
const LIFT = `if seen then
  for i = n + 1, 2 * n do
    local count = redis.pcall('GET', KEYS[i])
    if type(count) == 'string' and string.match(count, '^%d+$') and tonumber(count) < seen then
      redis.pcall('SET', KEYS[i], ARGV[2], 'KEEPTTL')
    end
  end
end
`;

/**
 * Deletes the keys that hold this token, and says what stands in the way on the others.
 * KEYS resources, counters if ARGV 2 is given · ARGV 1 token, 2 the highest fence seen in that attempt
 * → {n, ms, 0} n keys deleted; ms = the longest time left among keys that others hold, −1 without expiry, −2 none
 *   {n, ms, 1} likewise, and a key holds something that is no lock
 */
export const UNDO: Script = {
  name: 'undo',
  source: `local deleted, left, foreign = 0, -2, 0
local seen, n = tonumber(ARGV[2] or nil), #KEYS
if seen then n = n / 2 end
for i = 1, n do
  local owner = redis.pcall('GET', KEYS[i])
  if type(owner) == 'table' then
    if not string.find(owner.err, 'WRONGTYPE', 1, true) then return owner end
    foreign = 1
  elseif owner == ARGV[1] then
    deleted = deleted + redis.call('DEL', KEYS[i])
  elseif owner then
    local ms = redis.call('PTTL', KEYS[i])
    if left == -2 or ms == -1 or (left ~= -1 and ms > left) then left = ms end
  end
end
${LIFT}return {deleted, left, foreign}`,
};

/**
 * Deletes the keys that hold this token. "Already gone" and "another's by now" are done as well.
 * KEYS resources, counters if ARGV 2 is given · ARGV 1 token, 2 the highest fence seen with the lease
 * → the number of keys deleted
 */
export const RELEASE: Script = {
  name: 'release',
  source: `local deleted, seen, n = 0, tonumber(ARGV[2] or nil), #KEYS
if seen then n = n / 2 end
for i = 1, n do
  if redis.pcall('GET', KEYS[i]) == ARGV[1] then deleted = deleted + redis.call('DEL', KEYS[i]) end
end
${LIFT}return deleted`,
};

/**
 * Extends all keys or none, and never shortens one. Counters follow, as far as they can: a lease does not depend on it.
 * KEYS resources, counters if ARGV 4 > 0, marker if ARGV 6 ≥ 0
 * ARGV 1 token, 2 ttl in ms, 3 '1' = a key that is free is set again, '0' = that refuses, 4 ttl of the counters in ms
 *      (0 = no fencing), 5 the lease's fence, 6 guard period in ms, as above
 * → {1, 0, 0} all keys hold this token for at least the ttl
 *   {0, ms, 0} refused: another holds a key (ms left, −1 without expiry), or it is gone and may not be set again (−2)
 *   {2, 0, 0} refused: a key holds something that is no lock · {-1, ms, 0} · {-2, ms, 0}
 */
export const EXTEND: Script = {
  name: 'extend',
  source: `${GUARD}${COUNTER}local guard, fencing, n = tonumber(ARGV[6]), ARGV[4] ~= '0', #KEYS
if guard >= 0 then
  local code, ms = guarded(n, guard)
  if code then return {code, ms, 0} end
  n = n - 1
end
if fencing then n = n / 2 end
for i = 1, n do
  local owner = redis.pcall('GET', KEYS[i])
  if type(owner) == 'table' then
    if string.find(owner.err, 'WRONGTYPE', 1, true) then return {2, 0, 0} end
    return owner
  end
  if owner and owner ~= ARGV[1] then return {0, redis.call('PTTL', KEYS[i]), 0} end
  if not owner and ARGV[3] == '0' then return {0, -2, 0} end
end
local ttl = tonumber(ARGV[2])
for i = 1, n do
  local ms = redis.call('PTTL', KEYS[i])
  if ms == -2 then
    redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
  elseif ms ~= -1 and ms < ttl then
    redis.call('PEXPIRE', KEYS[i], ARGV[2])
  end
end
if fencing then
  for i = n + 1, 2 * n do
    local ok, count = pcall(counter, i, 0)
    if ok and count then
      redis.pcall('SET', KEYS[i], int(math.max(count, tonumber(ARGV[5]))), 'PX', ARGV[4])
    end
  end
end
return {1, 0, 0}`,
};

/**
 * Asks whether the master may vote, and starts its quarantine where it has none yet.
 * KEYS 1 marker · ARGV 1 guard period in ms
 * → {1, 0, 0} it votes · {-1, ms, 0} quarantined for so long · {-2, ms, 0} the guard period here is another one
 */
export const VOUCH: Script = {
  name: 'vouch',
  source: `${GUARD}local code, ms = guarded(1, tonumber(ARGV[1]))
if code then return {code, ms, 0} end
return {1, 0, 0}`,
};

/**
 * Declares that the master has forgotten nothing: it votes from now on.
 * KEYS 1 marker · ARGV 1 guard period in ms (0 with force: the marker is removed), 2 '1' = even if there is a marker
 * → {1, 0, 0} declared, or removed · {0, 0, 0} unchanged, it votes already, or there was none to remove
 *   {-1, ms, 0} unchanged, quarantined for so long
 *   {-2, ms, 0} unchanged: the guard period here is another one
 */
export const BOOTSTRAP: Script = {
  name: 'bootstrap',
  source: `${GUARD}local period = tonumber(ARGV[1])
if ARGV[2] == '1' and period == 0 then
  return {redis.call('DEL', KEYS[1]), 0, 0}
end
if ARGV[2] ~= '1' and redis.call('EXISTS', KEYS[1]) == 1 then
  local code, ms = guarded(1, period)
  return {code or 0, ms or 0, 0}
end
local since = math.floor(micros() / 1000) - period
redis.call('SET', KEYS[1], '1|' .. runId() .. '|' .. int(since) .. '|' .. int(period))
return {1, 0, 0}`,
};

/**
 * Looks at one key and changes nothing.
 * KEYS 1 the resource
 * → {0, −2, ''} free · {1, ms, owner} held; ms left, −1 without expiry · {2, ms, ''} something that is no lock
 */
export const INSPECT: Script = {
  name: 'inspect',
  source: `local owner = redis.pcall('GET', KEYS[1])
if type(owner) == 'table' then
  if string.find(owner.err, 'WRONGTYPE', 1, true) then return {2, redis.call('PTTL', KEYS[1]), ''} end
  return owner
end
if not owner then return {0, -2, ''} end
return {1, redis.call('PTTL', KEYS[1]), owner}`,
};

/** All of them, for specs and for those who must allow scripts by hand. */
export const SCRIPTS: readonly Script[] = [CLAIM, ACCEPT, UNDO, RELEASE, EXTEND, VOUCH, BOOTSTRAP, INSPECT];
