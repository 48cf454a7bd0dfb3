/**
 * The Lua scripts, each with its keys, arguments and replies. Replies are integers (`inspect` also returns strings, and a
 * batch one reply for each entry).
 *
 * Keys are the n resources; behind them, if votes are given back or waited for, their n queues and n turns; then, if a lock
 * may be handed over directly, their n terms; then, if a fencing token is asked for or may be counted, their n counters; and
 * last, with a guard, the master's marker. All keys are declared and
 * used in place as `KEYS[i]`, as hosted Redis demands (an MGET for many takes a part of `KEYS`). On a cluster, all keys of
 * a call are in one slot. A key of another type never makes a script fail half-way: types are checked before the first
 * write, or the write is taken back. Deletions come first: a later step may fail without keeping the lock.
 *
 * Codes, the same in every reply that begins with one:
 *   1 yes · 0 no, another holds it
 *   2 no, a key holds something else, or (2, 4) a counter cannot be raised to another fencing token
 *   3 no, that fencing token is not accepted here: a counter has reached it, or it is too far from the master's clock
 *   4 no, a foreign client holds it: by its token it is not a client of this library, and does not hand over
 *   −1 quarantined: the master may have forgotten votes · −2 the deployment has another guard period
 *   −3 no, the key is gone, and its token may not set it again (`taken.ts`)
 */
import { ALL_REPLIES, ENTRIES } from './entries.js';
import { WAITERS } from './gone.js';
import { EXTENDING, EXTENDING_MANY } from './extend.js';
import { GUARD, MARKER } from './guard.js';
import {
  ACCEPTING,
  CLAIMING,
  CLAIMING_AT_ONCE,
  COUNTER,
  RELEASING,
  RELEASING_AT_ONCE,
  RELEASING_MANY,
  REPLY,
  UNDOING,
} from './mutex.js';
import { NOTE_SCRIPTS } from './note.js';
import { LEAVING, QUEUEING, SPARE, YIELDING } from './queue.js';
import { TAKE } from './taken.js';
import { SHARED_SCRIPTS } from './shared-scripts.js';
import { AT_REST } from '../../runtime/random.js';
import type { Script } from '../../redis/script.js';

export type { Script } from '../../redis/script.js';

/**
 * Claims all keys or none, and counts the grant. A waiter that claims leaves the queues, granted or not.
 * KEYS resources, queues and turns if ARGV 6 is given, counters if ARGV 3 > 0, marker if ARGV 5 ≥ 0
 * ARGV 1 token, 2 ttl in ms, 3 life of the counters in ms (0 = no fencing), 4 the proposed fencing token in µs (0 = none),
 *      5 guard period in ms (0 = none, −1 = none, and the marker is not checked), 6 '1' = it has queued
 * → {1, fence, us} granted, also if this token holds them already; fence = the new value of all counters: the proposal,
 *                  or the highest counter + 1 if that is more (0 without fencing); us = the master's clock if it took that
 *                  in place of the proposal, else 0
 *   fence          the short form of {1, fence, 0} if nothing had to be checked: one free resource
 *   {0, ms, s} refused; ms = the longest time left among the keys that others hold, −1 if one has no expiry; s = 1 if a
 *                  foreign client holds one of them
 *   {2, 0, 0} refused: a key holds something else · {2, 4, 0} refused: no counter, or a spent one
 *   {-1, ms, 0} quarantined for ms · {-2, ms, 0} the guard period here is ms (0: unreadable)
 */
export const CLAIM: Script = {
  name: 'claim',
  source: `${CLAIMING_AT_ONCE}${GUARD}${COUNTER}${CLAIMING}${REPLY}local guard, life = tonumber(ARGV[5]), ARGV[3]
${MARKER}n = n / ((ARGV[6] and 3 or 1) + (life ~= '0' and 1 or 0))
return reply(claim(1, n, ARGV[1], ARGV[2], life, ARGV[4], ARGV[6], wasTried))`,
};

/**
 * Accepts a fencing token for a grant that is held here. Masters with lower counters do this, so that a quorum has
 * accepted one and the same token. It must be above every counter: what was accepted once is never accepted again. It must
 * also be near the master's clock: not below it by more than BACK, not above it by more than the life of a counter.
 * KEYS resources, counters, marker if ARGV 4 ≥ 0
 * ARGV 1 token, 2 fencing token, 3 life of the counters in ms, 4 guard period in ms, as above
 * → {1, fence, 0} accepted · {3, us, 0} not accepted, and nothing is changed: us = the highest counter, or the master's
 *   clock if that is more · {0, ms, 0} another holds a key by now (ms left, −1 without expiry), or it is gone (−2)
 *   {2, 0, 0} · {2, 4, 0} · {-1, ms, 0} · {-2, ms, 0}
 */
export const ACCEPT: Script = {
  name: 'accept',
  source: `${GUARD}${COUNTER}${ACCEPTING}${REPLY}local guard = tonumber(ARGV[4])
${MARKER}return reply(accept(1, n / 2, ARGV[1], ARGV[2], ARGV[3]))`,
};

/**
 * Deletes the keys that hold this token, and reports the holders of the others. Free locks are handed over to their
 * waiters; the token itself leaves the queues.
 * KEYS resources, queues, turns, and with ARGV 2 terms and counters
 * ARGV 1 token, 2 the fencing token in µs that is proposed for who is handed a lock directly (0 = none); without it, locks
 *      are handed over by reservation
 * → {n, ms, s} n keys deleted; ms = the longest time left among keys that others hold, −1 without expiry, −2 none;
 *                s = 0, or 1 if a key holds something that is not such a lock, plus 2 if the undo has to be sent again:
 *                more waiters are gone than one call may drop, and the lock is free
 */
export const UNDO: Script = {
  name: 'undo',
  source: `${LEAVING}${UNDOING}${REPLY}return reply(undo(1, #KEYS / (ARGV[2] and 5 or 3), ARGV[1], ARGV[2]))`,
};

/**
 * Deletes the keys that hold this token. "Already gone" and "another's by now" count as done. Free locks are handed over
 * to their waiters; the token itself leaves the queues.
 * KEYS and ARGV as above
 * → n keys deleted · −1 − n the same, and the release has to be sent again, as above
 */
export const RELEASE: Script = {
  name: 'release',
  source: `${RELEASING_AT_ONCE}${LEAVING}${RELEASING}if deleted then
  return leave({1}, {deleted == 1}, 1, ARGV[1], ARGV[2]) and -1 - deleted or deleted
end
return release(1, #KEYS / (ARGV[2] and 5 or 3), ARGV[1], ARGV[2])`,
};

/**
 * Extends all keys or none, and never shortens one.
 * KEYS resources, list of taken tokens if ARGV 3 is '2', marker if ARGV 4 ≥ 0
 * ARGV 1 token, 2 ttl in ms, 3 '1' = a free key, or one at rest, is set again, '2' = unless the token is listed, '0' = it is a
 *      refusal, 4 guard period in ms, as above
 * → {1, 0, 0} all keys hold this token for at least the ttl
 *   {0, ms, s} refused: others hold keys (the longest time left, −1 without expiry), or one is gone and may not be set again
 *              (−2); s = 2 if a waiter that holds one was asked to let it rest, else 0
 *   {2, 0, 0} refused: a key holds something that is not such a lock · {-1, ms, 0} · {-2, ms, 0}
 *   {-3, 0, 0} refused: a key is gone, and the token is listed
 */
export const EXTEND: Script = {
  name: 'extend',
  source: `${GUARD}${EXTENDING}${REPLY}local guard = tonumber(ARGV[4])
${MARKER}if ARGV[3] == '2' then
  takenAt = n
  n = n - 1
end
return reply(extend(1, n, ARGV[1], ARGV[2], ARGV[3]))`,
};

/** The kinds of entries in a batch; the letter is among the arguments. */
export const ENTRY = {
  claim: 'c',
  claimInLine: 'l',
  accept: 'a',
  undo: 'u',
  release: 'r',
  /** An undo and a release that hand over directly. */
  undoInLine: 'v',
  releaseInLine: 'h',
  extend: 'e',
  queue: 'q',
  yield: 'y',
} as const;

/**
 * Many entries in one call, run one after another as if each had been sent alone, in groups with shared arguments. An
 * entry that fails does not affect the others.
 * KEYS for each entry its resources, queues, turns and counters, as above; list of taken tokens, if an entry looks at it;
 *      marker if ARGV 1 ≥ 0
 * ARGV 1 guard period in ms, as above; then groups: kind, number of entries, resources of each, and
 *      c  ttl, life of counters (0 = no fencing), proposed fencing token · for each entry its token
 *      l  the same for waiters from the queue: with queues and turns
 *      a  life of counters · token, fencing token
 *      u, r  nothing · token
 *      v, h  the same with terms and counters: proposed fencing token · token
 *      q  ttl, life of counters, proposed fencing token · token, place; one resource each, with queue, turn, terms, counter
 *      y  proposed fencing token · token, place; likewise
 *      e  ttl, '2', '1' or '0' as above · token
 * → for each entry the reply of its script, with short forms: the fencing token for {1, fence, 0}, 1 for {1, 0, 0},
 *   n for an undo's {n, -2, 0}; a string `!error` for an entry that failed
 *   If that makes 1 for every entry, only the number of entries.
 */
export const BATCH: Script = {
  name: 'batch',
  source: `${GUARD}${COUNTER}${CLAIMING}${ACCEPTING}${LEAVING}${UNDOING}${RELEASING}${RELEASING_MANY}${EXTENDING}${EXTENDING_MANY}${QUEUEING}${YIELDING}${ENTRIES}local function vote(operation, ...)
  local trouble = check()
  if trouble then return trouble end
  if barred then return {barred, barredMs, 0} end
  local ok, code, x, y = pcall(operation, k, ...)
  if not ok or type(code) == 'table' then return failed(code) end
  if code == 1 and y == 0 then return x > 0 and x or 1 end
  return {code, x, y}
end
while a <= #ARGV do
  local kind, count, n = ARGV[a], tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  a = a + 3
  local first = #replies
  if kind == 'c' or kind == 'l' then
    local ttl, life, proposal = ARGV[a], ARGV[a + 1], ARGV[a + 2]
    local isInLine = kind == 'l'
    local step = (isInLine and 3 * n or n) + (life == '0' and 0 or n)
    a = a + 3
    for i = first + 1, first + count do
      replies[i] = vote(claim, n, ARGV[a], ttl, life, proposal, isInLine)
      take(step, 1)
    end
  elseif kind == 'e' then
    local ttl, create = ARGV[a], ARGV[a + 1]
    a, takenAt = a + 2, #KEYS - (guard < 0 and 0 or 1)
    local done = {}
    if n == 1 and not check() and not barred then
      local ok, many = pcall(extendMany, k, a, count, ttl)
      if ok then done = many end
    end
    for i = first + 1, first + count do
      replies[i] = done[i - first] or vote(extend, n, ARGV[a], ttl, create)
      take(n, 1)
    end
  elseif kind == 'a' then
    local life = ARGV[a]
    a = a + 1
    for i = first + 1, first + count do
      replies[i] = vote(accept, n, ARGV[a], ARGV[a + 1], life)
      take(2 * n, 2)
    end
  elseif kind == 'q' then
    local ttl, life, proposal = ARGV[a], ARGV[a + 1], ARGV[a + 2]
    a = a + 3
    for i = first + 1, first + count do
      local trouble = check()
      if trouble or barred then
        replies[i] = trouble or {barred, barredMs, 0}
      else
        local ok, told = pcall(queue, k, ARGV[a], ARGV[a + 1], ttl, life, proposal, guard)
        replies[i] = ok and not told.err and told or failed(told)
      end
      take(5, 2)
    end
  elseif kind == 'y' then
    local proposal = ARGV[a]
    a = a + 1
    for i = first + 1, first + count do
      local ok, told = pcall(yield, k, ARGV[a], ARGV[a + 1], proposal)
      replies[i] = ok and told or failed(told)
      take(5, 2)
    end
  else
    local isUndo, step, done, proposal = kind == 'u' or kind == 'v', 3, {}, nil
    if kind == 'v' or kind == 'h' then
      step, proposal = 5, ARGV[a]
      a = a + 1
    end
    if not isUndo and n == 1 then
      local ok, many = pcall(releaseMany, k, a, count, step)
      if ok then done = many end
    end
    for i = first + 1, first + count do
      replies[i] = done[i - first]
      if not replies[i] then
        local ok, code, x, y = pcall(isUndo and undo or release, k, n, ARGV[a], proposal)
        if not ok or type(code) == 'table' then
          replies[i] = failed(code)
        elseif isUndo and (x ~= -2 or y ~= 0) then
          replies[i] = {code, x, y}
        else
          replies[i] = code
        end
      end
      take(step * n, 1)
    end
  end
end
${ALL_REPLIES}`,
};

/**
 * Asks whether the master may vote, and starts its quarantine if it has none yet.
 * KEYS 1 marker · ARGV 1 guard period in ms
 * → {1, 0, 0} it votes · {-1, ms, 0} quarantined for ms · {-2, ms, 0} the guard period here is another one
 */
export const VOUCH: Script = {
  name: 'vouch',
  source: `${GUARD}local code, ms = guarded(1, tonumber(ARGV[1]))
if code then return {code, ms, 0} end
return {1, 0, 0}`,
};

/**
 * Declares that the master has not forgotten anything: it votes from now on.
 * KEYS 1 marker · ARGV 1 guard period in ms (0 with force: the marker is removed), 2 '1' = even if there is a marker
 * → {1, 0, 0} declared, or removed · {0, 0, 0} unchanged: it votes already, or there was none to remove
 *   {-1, ms, 0} unchanged: quarantined for ms
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
 * Publishes a message to the client itself, and reports the master's clock.
 * ARGV 1 channel, 2 message → {receivers, us}
 */
export const HELLO: Script = {
  name: 'hello',
  source: `local time = redis.call('TIME')
return {redis.call('PUBLISH', ARGV[1], ARGV[2]), time[1] * 1000000 + time[2]}`,
};

/**
 * Looks at a lock: claims it if it is free or was handed over to this token, else takes a place in its queue. The client
 * has to be subscribed to its channel. A ttl of 0 asks for a reservation in place of the vote.
 * KEYS 1 resource, 2 queue, 3 turn, 4 terms, 5 counter, 6 marker if ARGV 6 ≥ 0
 * ARGV 1 token, 2 place: `ticket|life|sent` (µs of the masters' time; how long the place is kept, ms; when this look was
 *      sent by the client's clock, ms), 3 ttl in ms (0 = only a reservation), 4 life of the counter in ms (0 = no fencing),
 *      5 the proposed fencing token in µs (0 = none), 6 guard period in ms, as above
 * → {6, serial, us, fence, sent}  claimed for the ttl; us = the master's clock; fence as a claim's; sent as given
 *   {1, serial, us}    reserved for this token for RESERVE_MS at least, or claimed by it before
 *   {0, ms, us, rank}  another client holds it (ms left, −1 without expiry): queued behind `rank` others; {0, 0, us, 0}
 *                      also if it is free, and more waiters before it are gone than one call may drop
 *   {4, ms, us}        a foreign client holds it: no place is taken, and an earlier place stays
 *   {2, 0, 0} a key holds something else · {-1, ms, 0} · {-2, ms, 0}
 */
export const QUEUE: Script = {
  name: 'queue',
  source: `if #KEYS == 0 then return {0, 0, 0, 0} end
${GUARD}${SPARE}${QUEUEING}local guard = tonumber(ARGV[6])
${MARKER}return queue(1, ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], guard)`,
};

/**
 * Yields a vote that was handed over to an earlier ticket, and queues again with the same ticket, so that it comes back if
 * nobody is before it. Or gives it up for good. Or lets the key rest for the holder of the lock, and queues again. A vote
 * that was claimed meanwhile stays.
 * KEYS 1 resource, 2 queue, 3 turn, 4 terms, 5 counter
 * ARGV 1 token, 2 place: `serial|ticket|life` (of the hand-over; in µs; how long the place is kept in ms, 0 = no place), and
 *      `|1` behind it if the key is to rest, 3 the fencing token in µs that is proposed for who is handed the lock directly (0 = none)
 * → 1 done · 0 that hand-over does not stand any more, or was claimed: nothing is changed
 */
export const YIELD: Script = {
  name: 'yield',
  source: `${SPARE}${YIELDING}return yield(1, ARGV[1], ARGV[2], ARGV[3])`,
};

/**
 * Looks at one key and its queue, and changes nothing.
 * KEYS 1 resource, 2 queue, 3 terms
 * → {code, ms, owner, waiting, tokens} · waiting = how many wait, without those that are gone as far as their terms say;
 *   tokens = the first of them, in order
 *   0, −2, '' free, or at rest · 1, ms, owner held; ms left, −1 without expiry · 2, ms, '' something that is not such a lock
 */
export const INSPECT: Script = {
  name: 'inspect',
  source: `${WAITERS}local owner = redis.pcall('GET', KEYS[1])
local waiting, tokens = waiters(2, 3)
if type(owner) == 'table' then
  if not string.find(owner.err, 'WRONGTYPE', 1, true) then return owner end
  return {2, redis.call('PTTL', KEYS[1]), '', waiting, tokens}
end
if not owner or owner == '${AT_REST}' then return {0, -2, '', waiting, tokens} end
return {1, redis.call('PTTL', KEYS[1]), owner, waiting, tokens}`,
};

/** All scripts, for specs and for those who have to allow scripts by hand. */
export const SCRIPTS: readonly Script[] = [
  CLAIM,
  ACCEPT,
  UNDO,
  RELEASE,
  EXTEND,
  BATCH,
  VOUCH,
  BOOTSTRAP,
  HELLO,
  QUEUE,
  YIELD,
  INSPECT,
  TAKE,
  ...NOTE_SCRIPTS,
  ...SHARED_SCRIPTS,
];
