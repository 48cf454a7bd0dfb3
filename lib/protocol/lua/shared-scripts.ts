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
import { WAITERS } from './gone.js';
import { CLOCK, GUARD, MARKER } from './guard.js';
import { ALL_REPLIES, ENTRIES } from './entries.js';
import { COUNTER } from './mutex.js';
import { IN_THE_WAY, RW_ACCEPTING, RW_CLAIMING, RW_EXTENDING } from './read-write.js';
import { SEM_ALIGNING, SEM_CLAIMING, SEM_EXTENDING, SLOTS } from './semaphore.js';
import { LEFT, LOOKING, NEXT, PERMITS, REMOVING, TELLING } from './shared.js';
import { TAKEN } from './taken.js';
import type { Script } from '../../redis/script.js';

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
${GUARD}${COUNTER}local guard = tonumber(ARGV[8])
${MARKER}${LOOKING}${NEXT}${IN_THE_WAY}${RW_CLAIMING}watcher, rank = ARGV[4], tonumber(ARGV[5])
return claimRole(1, ARGV[1], ARGV[2], ARGV[3], ARGV[6], ARGV[7])`,
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
${MARKER}${LOOKING}${RW_ACCEPTING}return acceptWriter(1, ARGV[1], ARGV[2], ARGV[3])`,
};

/**
 * Extends a reader or the writer, and never shortens. A writer that is extended as a reader is a reader from then on; the
 * reverse is not possible.
 * KEYS 1 resource, 2 list of taken tokens if ARGV 4 is '2', marker if ARGV 5 ≥ 0
 * ARGV 1 token, 2 'r' or 'w', 3 ttl in ms, 4 '1' = set again if it is gone and nobody excludes it, '2' = unless the token is
 *      listed, '0' = gone is a refusal, 5 guard period in ms
 * → {1, 0, 0} this token has that role for at least the ttl
 *   {0, ms, 0} refused: others exclude it, or it is a reader here and wants to write (ms left), or it is gone (−2)
 *   {2, what, 0} · {-1, ms, 0} · {-2, ms, 0} · {-3, 0, 0} it is gone, and listed
 */
export const RW_EXTEND: Script = {
  name: 'rw-extend',
  source: `if #KEYS == 0 then return {0, 0, 0} end
${GUARD}local guard = tonumber(ARGV[5])
${MARKER}${TAKEN}${LOOKING}${TELLING}${IN_THE_WAY}${RW_EXTENDING}takenAt = 2
return extendRole(1, ARGV[1], ARGV[2], ARGV[3], ARGV[4])`,
};

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
${GUARD}local guard = tonumber(ARGV[7])
${MARKER}${LOOKING}${NEXT}${PERMITS}${SLOTS}${SEM_CLAIMING}watcher, rank = ARGV[5], tonumber(ARGV[6])
return claimPermits(1, ARGV[1], ARGV[2], ARGV[3], ARGV[4])`,
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
  source: `${GUARD}local guard = tonumber(ARGV[4])
${MARKER}${LOOKING}${TELLING}${SLOTS}${SEM_ALIGNING}return alignPermits(1, ARGV[1], ARGV[2], ARGV[3])`,
};

/**
 * Extends a holder of permits, with exactly these permits, and never shortens. Others that it has here are given up.
 * KEYS 1 resource, 2 list of taken tokens if ARGV 5 is '2', marker if ARGV 6 ≥ 0
 * ARGV 1 token, 2 ttl in ms, 3 permits, as '0,3', 4 k, 5 '1' = set again if it is gone and the permits are free, '2' = unless
 *      the token is listed, '0' = gone is a refusal, 6 guard period in ms
 * → {1, 0, 0} this token holds these permits for at least the ttl
 *   {0, ms, 0} refused: another holds one (the shortest time left among the others), or it is gone (−2)
 *   {5, ms, k} · {2, what, 0} · {-1, ms, 0} · {-2, ms, 0} · {-3, 0, 0} it is gone, and listed
 */
export const SEM_EXTEND: Script = {
  name: 'sem-extend',
  source: `if #KEYS == 0 then return {0, 0, 0} end
${GUARD}local guard = tonumber(ARGV[6])
${MARKER}${TAKEN}${LOOKING}${TELLING}${SLOTS}${SEM_EXTENDING}takenAt = 2
return extendPermits(1, ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5])`,
};

/**
 * Removes a token from a read-write lock or a semaphore, for an undo or a release; it watches no more, either. The
 * watcher is sent a push if it could be let in now. Steps after the deletion may fail without keeping the vote.
 * KEYS 1 resource · ARGV 1 token
 * → {n, -2, 0} n = 1 it was there, 0 it was not · {0, -2, 1} the key holds something of another type
 */
export const LEAVE: Script = {
  name: 'leave',
  source: `${REMOVING}local reply, isWatched = remove(1, ARGV[1])
if isWatched then
  ${CLOCK}${LOOKING}${TELLING}${LEFT}pcall(left, 1, ARGV[1], reply[1])
end
return reply`,
};

/** The kinds of entries in a batch of shared locks; the letter is among the arguments. */
export const SHARED_ENTRY = {
  claim: 'C',
  accept: 'A',
  extend: 'E',
  claimPermits: 'P',
  align: 'S',
  extendPermits: 'X',
  leave: 'L',
} as const;

/**
 * Many entries for shared locks in one call, as in BATCH. Entries that are about one lock read it once.
 * KEYS for each entry its resource, and its counter as above; list of taken tokens, if an entry looks at it; marker if
 *      ARGV 1 ≥ 0
 * ARGV 1 guard period in ms, as above; then groups: kind, number of entries, resources of each (1), and
 *      C  'r' or 'w', ttl, life of counters (0 = no fencing), proposed fencing token, rank of the watchers ('' = none) ·
 *         for each entry its token, and its watcher if there is a rank
 *      A  life of counters · token, fencing token
 *      E  'r' or 'w', ttl, '2', '1' or '0' as above · token
 *      P  ttl, how many permits, k, rank as above · token, and its watcher if there is a rank
 *      S  k · token, permits
 *      X  ttl, k, '2', '1' or '0' as above · token, permits
 *      L  nothing · token
 * → for each entry the reply of its script, with short forms: 1 for {1, 0, 0}, and for {1, fence, 0} with the fencing token
 *   that the entry put to the master, else the fencing token; the permit + 1 for {1, 0, 0, permit}; n for {n, -2, 0} of L;
 *   a string `!error` for an entry that failed
 *   If that makes 1 for every entry, only the number of entries.
 */
export const SHARED_BATCH: Script = {
  name: 'shared-batch',
  source: `${GUARD}${COUNTER}${ENTRIES}${TAKEN}${LOOKING}${TELLING}${NEXT}${IN_THE_WAY}${RW_CLAIMING}${RW_ACCEPTING}${RW_EXTENDING}${SLOTS}${SEM_CLAIMING}${SEM_ALIGNING}${SEM_EXTENDING}${REMOVING}${LEFT}local function vote(operation, ...)
  local trouble = check()
  if trouble then return trouble end
  if barred then return {barred, barredMs, 0} end
  local ok, reply = pcall(operation, k, ...)
  if not ok or reply.err then
    known = nil
    return failed(reply)
  end
  local code, x, y, slot = unpack(reply, 1, 4)
  if code ~= 1 or y ~= 0 or reply[5] then return reply end
  if slot then return slot + 1 end
  return x > 0 and x or 1
end
local function leave(token)
  local reply, isWatched = remove(k, token)
  if reply.err then return failed(reply) end
  if isWatched then
    if not pcall(left, k, token, reply[1]) then known = nil end
  elseif isKnown(KEYS[k]) then
    if isWatched == nil then known = nil else forget(token) end
  end
  return reply[3] == 0 and reply[1] or reply
end
takenAt = #KEYS - (guard < 0 and 0 or 1)
while a <= #ARGV do
  local letter, count, n = ARGV[a], tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  a = a + 3
  if letter == 'C' then
    local role, ttl, life, proposal, place = unpack(ARGV, a, a + 4)
    local proposed = tonumber(proposal)
    a, rank = a + 5, tonumber(place)
    for _ = 1, count do
      watcher = rank and ARGV[a + 1] or ''
      local reply = vote(claimRole, ARGV[a], role, ttl, life, proposal)
      add(reply == proposed and 1 or reply)
      take(life == '0' and n or 2 * n, rank and 2 or 1)
    end
  elseif letter == 'E' then
    local role, ttl, create = unpack(ARGV, a, a + 2)
    a = a + 3
    for _ = 1, count do
      add(vote(extendRole, ARGV[a], role, ttl, create))
      take(n, 1)
    end
  elseif letter == 'A' then
    local life = ARGV[a]
    a = a + 1
    for _ = 1, count do
      local reply = vote(acceptWriter, ARGV[a], ARGV[a + 1], life)
      add(reply == tonumber(ARGV[a + 1]) and 1 or reply)
      take(2 * n, 2)
    end
  elseif letter == 'P' then
    local ttl, wanted, permits, place = unpack(ARGV, a, a + 3)
    a, rank = a + 4, tonumber(place)
    for _ = 1, count do
      watcher = rank and ARGV[a + 1] or ''
      add(vote(claimPermits, ARGV[a], ttl, wanted, permits))
      take(n, rank and 2 or 1)
    end
  elseif letter == 'X' then
    local ttl, permits, create = unpack(ARGV, a, a + 2)
    a = a + 3
    for _ = 1, count do
      add(vote(extendPermits, ARGV[a], ttl, ARGV[a + 1], permits, create))
      take(n, 2)
    end
  elseif letter == 'S' then
    local permits = ARGV[a]
    a = a + 1
    for _ = 1, count do
      add(vote(alignPermits, ARGV[a], ARGV[a + 1], permits))
      take(n, 2)
    end
  else
    for _ = 1, count do
      add(leave(ARGV[a]))
      take(n, 1)
    end
  end
end
${ALL_REPLIES}`,
};

/**
 * Looks at a read-write lock or a semaphore, and at the queue of its gate, and changes nothing.
 * KEYS 1 resource, 2 the gate, 3 the gate's queue, 4 its terms
 * → {code, ms, now, fields, head, waiting, tokens}
 *   code 0 free · 1 held · 2 something of another type, and `fields` is empty; ms left of the key, −1 without expiry
 *   now = the server's clock in ms; fields = names and values in turn, expired ones included
 *   head = the token at the head of the gate, or ''; waiting = how many are behind it, without those that are gone as far
 *   as their terms say; tokens = the first of them
 */
export const SURVEY_SHARED: Script = {
  name: 'survey-members',
  source: `${CLOCK}${WAITERS}local all = redis.pcall('HGETALL', KEYS[1])
local head = redis.pcall('GET', KEYS[2])
local waiting, tokens = waiters(3, 4)
if type(head) ~= 'string' then head = '' end
local code = all.err and 2 or all[1] and 1 or 0
if all.err and not string.find(all.err, 'WRONGTYPE', 1, true) then return all end
local now = math.floor(micros() / 1000)
return {code, redis.call('PTTL', KEYS[1]), now, all.err and {} or all, head, waiting, tokens}`,
};

export const SHARED_SCRIPTS: readonly Script[] = [
  RW_CLAIM,
  RW_ACCEPT,
  RW_EXTEND,
  SEM_CLAIM,
  SEM_ALIGN,
  SEM_EXTEND,
  LEAVE,
  SHARED_BATCH,
  SURVEY_SHARED,
];
