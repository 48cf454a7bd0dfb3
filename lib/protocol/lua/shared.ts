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

/**
 * Reads the lock at index `i` of KEYS, on which the functions below then work: live fields go into `members` and `watch`,
 * the names of expired ones into `gone`. `writer` is the name of the member that writes, `last` the end of the last
 * field (nil: to be counted again), and `what` the lock's kind: nil without a key, '' for something else. `look` returns
 * the refusal if the key holds something else, or the server's error. Needs CLOCK.
 *
 * Entries of a batch that are about one lock share one look: however many holders it has, they are read once. So whatever
 * writes to the hash keeps these variables in step. An entry that failed in between sets `known` to nil: read again.
 *
 * `enter` lets the first holder in, where there is no key: the usual case, in as few steps as possible.
 *
 * `put` sets a field; one that had expired is there again. `keep` drops all others that have, in commands of bounded
 * size: they have been read already, which costs more, and the next caller would read again what is left.
 */
export const LOOKING = `local now, at, known, kind, what, gone, watch, writer, last
local members = {}
local function isKnown(name) return known == name end
local function know(name) known = name end
local function read(i)
  at = i
  if isKnown(KEYS[i]) then return end
  now = now or math.floor(micros() / 1000)
  local all = redis.pcall('HGETALL', KEYS[i])
  if all.err then
    if not string.find(all.err, 'WRONGTYPE', 1, true) then return all end
    local owner = redis.pcall('GET', KEYS[i])
    return {2, type(owner) == 'string' and ${oursInLua('owner')} and ${HOLDS.mutex} or ${HOLDS.data}, 0}
  end
  if next(members) then members = {} end
  what, gone, watch, writer, last = nil, {}, nil, nil, 0
  local isOdd = false
  for j = 1, #all, 2 do
    local name, content = all[j], all[j + 1]
    if name == 'kind' then
      what = content
    else
      local first, ends, rest = string.match(content, '^([^|]*)|(%d+)|(.*)$')
      ends = tonumber(ends)
      if not ends then
        isOdd = true
      elseif ends <= now then
        gone[name] = true
      else
        last = math.max(last, ends)
        if name == 'watch' then
          watch = {first, ends, rest}
        else
          members[name] = {first, ends, rest}
          if first == 'w' then writer = name end
        end
      end
    end
  end
  if all[1] and (isOdd or not what) then what = '' end
  know(KEYS[i])
end
local function look(i, wanted)
  local trouble = read(i)
  if trouble then return trouble end
  kind = wanted
  if not what or what == kind then return end
  local holds = { ${STORED_KIND.readWrite} = ${HOLDS.readWrite}, ${STORED_KIND.semaphore} = ${HOLDS.semaphore} }
  return {2, holds[what] or ${HOLDS.data}, 0}
end
local function put(name, first, ends, rest)
  redis.call('HSET', KEYS[at], 'kind', kind, name, first .. '|' .. int(ends) .. '|' .. rest)
  what, gone[name] = kind, nil
  if name == 'watch' then
    watch, last = {first, ends, rest}, nil
  else
    members[name] = {first, ends, rest}
    last = last and math.max(last, ends)
    if first == 'w' then writer = name elseif writer == name then writer = nil end
  end
end
local endsIn = {}
local function enter(token, first, ttl, rest)
  local ends = endsIn[ttl] or int(now + tonumber(ttl))
  endsIn[ttl], known = ends, nil
  redis.call('HSET', KEYS[at], 'kind', kind, token, first .. '|' .. ends .. '|' .. rest)
  redis.call('PEXPIREAT', KEYS[at], ends)
end
local function forget(name)
  members[name], last = nil, nil
  if writer == name then writer = nil end
end
local function drop(name)
  redis.call('HDEL', KEYS[at], name)
  if name == 'watch' then watch, last = nil, nil else forget(name) end
end
local function keep()
  if not last then
    last = watch and watch[2] or 0
    for _, member in pairs(members) do last = math.max(last, member[2]) end
  end
  if last == 0 then
    redis.call('DEL', KEYS[at])
    known = nil
  else
    local names = {}
    for name in pairs(gone) do names[#names + 1] = name end
    for i = 1, #names, ${MAX_DROPPED} do
      redis.call('HDEL', KEYS[at], unpack(names, i, math.min(#names, i + ${MAX_DROPPED - 1})))
    end
    gone = {}
    redis.call('PEXPIREAT', KEYS[at], int(last))
  end
end
`;

/** The permits in a text, as in '0,3'. */
export const PERMITS = `local parsed = {}
local function slotsOf(text)
  local slots = parsed[text]
  if not slots then
    slots = {}
    for slot in string.gmatch(text, '%d+') do slots[#slots + 1] = tonumber(slot) end
    parsed[text] = slots
  end
  return slots
end
`;

/** Sends the watcher a push if it could be let in now. */
export const TELLING = `${PERMITS}local function isFree(want)
  if want == 'w' then return next(members) == nil end
  if want == 'r' then return not writer end
  local wanted, k = string.match(want, '^(%d+)/(%d+)$')
  if not wanted then return false end
  wanted, k = tonumber(wanted), tonumber(k)
  local free = k
  for _, member in pairs(members) do
    if tonumber(member[3]) ~= k then return false end
    free = free - #slotsOf(member[1])
  end
  return free >= wanted
end
local function tell()
  if not watch or not isFree(string.match(watch[3], '^%d+ (.*)$') or '') then return end
  redis.pcall('PUBLISH', '${PUSH_CHANNELS}' .. string.match(watch[1], '^[^:]*'), 'f ' .. watch[1] .. ' ' .. KEYS[at])
end
`;

/**
 * The watch. `mayWatch` says whether a claim may pass it, or take its place; `refuse` refuses a claim, and sets the watch
 * if it waits. (A server without memory for the watch refuses all the same.)
 *
 * Of two watchers, the lower rank comes first: the head of the gate's queue has 0, others 1. Of equals, the secret part
 * of their tokens decides. So all masters agree without asking each other: watches that differ between masters would keep
 * everybody out.
 *
 * A claim sets `watcher`, which is empty if it does not wait, `rank` and `want` first.
 */
export const NEXT = `${BEFORE}local watcher, rank, want
local function secret(token) return string.match(token, ':(.*)$') or token end
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
  if watch and watch[1] == watcher then drop('watch') end
  keep()
end
`;

/**
 * Removes a token. Returns the reply, and whether somebody watches: nil without a key. What follows needs LOOKING, whose
 * functions cost more than all of this.
 */
export const REMOVING = `local function remove(i, token)
  local deleted = redis.pcall('HDEL', KEYS[i], token)
  if type(deleted) == 'table' then
    if not string.find(deleted.err, 'WRONGTYPE', 1, true) then return deleted end
    return {0, -2, 1}
  end
  local fields = redis.pcall('HLEN', KEYS[i])
  if fields == 0 then return {deleted, -2, 0} end
  if fields == 1 and deleted == 1 then
    redis.pcall('DEL', KEYS[i])
    return {1, -2, 0}
  end
  return {deleted, -2, 0}, redis.pcall('HEXISTS', KEYS[i], 'watch') == 1
end
`;

/** After that, if somebody watches: the token watches no more, or the watcher is sent a push if it could be let in now. */
export const LEFT = `local function left(i, token, deleted)
  if read(i) then return end
  forget(token)
  if watch and watch[1] == token then
    drop('watch')
    keep()
  elseif deleted == 1 then
    keep()
    tell()
  end
end
`;
