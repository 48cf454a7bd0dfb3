/**
 * The Lua of shared locks (protocol D): read-write locks and semaphores.
 *
 * Such a lock is one hash at the lock's plain key, so that its type alone distinguishes it from an exclusive lock, a
 * string:
 *   kind         `rw1` or `sem1`; what is stored is versioned
 *   a token      `r|ends|` a reader · `w|ends|` the writer · `0,3|ends|k` the holder of permits 0 and 3 of k
 *   watch        `token|ends|rank want`: the next to be let in; want is `r`, `w`, or `p/k` for p permits of k
 * `ends` is the instant, in ms of the server's clock, from which that field counts as gone. Each holder has its own, and
 * every write to the hash drops expired fields. The key lives at least as long as its last field.
 *
 * The watch is the only rule for waiting. While it stands, nobody new is let in but the claim that it names: a waiting
 * writer stops new readers, and nobody passes the next in the queue. A waiting claim sets it when it is refused. It lives
 * for `WATCH_MS` unless the claim is tried again: a client that is gone costs the others no more than that. It is not a
 * vote, and safety does not depend on it: votes exclude.
 *
 * A holder that leaves pushes `f token key` to the watcher if its claim could succeed now.
 */
import { PUSH_CHANNELS } from '../keys.js';
import { HOLDS } from './mutex.js';
import { BEFORE, MAX_DROPPED, oursInLua } from './queue.js';

/** How long, in ms, a watch stands without being renewed. */
export const WATCH_MS = 1_000;

/** The values of the field `kind`. */
export const STORED_KIND = { readWrite: 'rw1', semaphore: 'sem1' } as const;
export type StoredKind = (typeof STORED_KIND)[keyof typeof STORED_KIND];

/**
 * Reads the key. `look` puts live fields into `members` and `watch`, and the names of expired ones into `gone`. It
 * returns a refusal if the key holds something else, or the server's error. Needs CLOCK.
 *
 * `keep` drops all expired fields, in commands of bounded size: they have been read already, which costs more, and the
 * next caller would read again what is left.
 */
export const LOOKING = `local now = math.floor(micros() / 1000)
local members, gone, watch = {}, {}, nil
local function look(kind)
  local all = redis.pcall('HGETALL', KEYS[1])
  if all.err then
    if not string.find(all.err, 'WRONGTYPE', 1, true) then return all end
    local owner = redis.pcall('GET', KEYS[1])
    return {2, type(owner) == 'string' and ${oursInLua('owner')} and ${HOLDS.mutex} or ${HOLDS.data}, 0}
  end
  local found, isOdd = nil, false
  for i = 1, #all, 2 do
    local name, content = all[i], all[i + 1]
    if name == 'kind' then
      found = content
    else
      local first, ends, rest = string.match(content, '^([^|]*)|(%d+)|(.*)$')
      ends = tonumber(ends)
      if not ends then
        isOdd = true
      elseif ends <= now then
        gone[#gone + 1] = name
      elseif name == 'watch' then
        watch = {first, ends, rest}
      else
        members[name] = {first, ends, rest}
      end
    end
  end
  if not all[1] then return end
  if found == kind and not isOdd then return end
  local holds = { ${STORED_KIND.readWrite} = ${HOLDS.readWrite}, ${STORED_KIND.semaphore} = ${HOLDS.semaphore} }
  return {2, not isOdd and holds[found] or ${HOLDS.data}, 0}
end
local function keep()
  local last = watch and watch[2] or 0
  for _, member in pairs(members) do last = math.max(last, member[2]) end
  if last == 0 then
    redis.call('DEL', KEYS[1])
  else
    for i = 1, #gone, ${MAX_DROPPED} do
      redis.call('HDEL', KEYS[1], unpack(gone, i, math.min(#gone, i + ${MAX_DROPPED - 1})))
    end
    redis.call('PEXPIREAT', KEYS[1], int(last))
  end
end
local function slotsOf(text)
  local slots = {}
  for slot in string.gmatch(text, '%d+') do slots[#slots + 1] = tonumber(slot) end
  return slots
end
local function isFree(want)
  if want == 'w' then return next(members) == nil end
  local wanted, k = string.match(want, '^(%d+)/(%d+)$')
  wanted, k = tonumber(wanted), tonumber(k)
  local free = k
  for _, member in pairs(members) do
    if want == 'r' and member[1] == 'w' then return false end
    if wanted and tonumber(member[3]) ~= k then return false end
    if wanted then free = free - #slotsOf(member[1]) end
  end
  return want == 'r' or wanted ~= nil and free >= wanted
end
local function tell()
  if not watch or not isFree(string.match(watch[3], '^%d+ (.*)$') or '') then return end
  redis.pcall('PUBLISH', '${PUSH_CHANNELS}' .. string.match(watch[1], '^[^:]*'), 'f ' .. watch[1] .. ' ' .. KEYS[1])
end
`;

/** Sets a field of a lock of that kind, which lives until that instant. */
export function putting(kind: StoredKind): string {
  return `local function put(name, first, ends, rest)
  redis.call('HSET', KEYS[1], 'kind', '${kind}', name, first .. '|' .. int(ends) .. '|' .. rest)
  local field = {first, ends, rest}
  if name == 'watch' then watch = field else members[name] = field end
end
`;
}

/**
 * The watch. `passes` says whether another's watch keeps a claim out; `refuse` refuses a claim, and sets the watch if it
 * waits. (A server without memory for the watch refuses all the same.)
 *
 * Of two watchers, the lower rank comes first: the head of the gate's queue has 0, others 1. Of equals, the secret part
 * of their tokens decides. So all masters agree without asking each other: watches that differ between masters would keep
 * everybody out.
 *
 * Needs `watcher`, which is empty if the claim does not wait, `rank` and `want`.
 */
export const NEXT = `${BEFORE}local function secret(token) return string.match(token, ':(.*)$') or token end
local function mayWatch()
  if not watch or watch[1] == watcher then return true end
  local other = tonumber(string.match(watch[3], '^%d+')) or 0
  return watcher ~= '' and isBefore(rank, secret(watcher), other, secret(watch[1]))
end
local function refuse(code, left, more)
  if watcher ~= '' and mayWatch() then
    pcall(function()
      put('watch', watcher, now + ${WATCH_MS}, int(rank) .. ' ' .. want)
      keep()
    end)
  end
  return {code, left, more}
end
local function comeIn(token, first, ends, rest)
  put(token, first, ends, rest)
  if watch and watch[1] == watcher then
    redis.call('HDEL', KEYS[1], 'watch')
    watch = nil
  end
  keep()
end
`;
