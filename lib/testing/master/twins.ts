/**
 * Twins of the scripts, in TypeScript: an in-memory master runs them in place of the Lua.
 * The specs `*-twins.spec.ts` in spec/protocol/lua compare each with its Lua source on a real Redis, by random sequences.
 *
 * Why twins instead of an embedded Lua: embedded ones implement other versions of the language than Redis does (which
 * differ in integers and floats), would need a hand-written `redis.call` anyway, and would be a dependency.
 */
import { HOLDS } from '../../protocol/lua/mutex.js';
import { MAX_DROPPED } from '../../protocol/lua/queue.js';
import { AT_REST, isOurs, RESERVED_MARK, tokenIn } from '../../runtime/random.js';
import { pushChannel } from '../../protocol/keys.js';
import { RIGHTS } from '../../protocol/lua/rights.js';
import { TAKEN_AWAY } from '../../protocol/lua/taken.js';
import {
  ACCEPT,
  BOOTSTRAP,
  CLAIM,
  EXTEND,
  HELLO,
  INSPECT,
  QUEUE,
  RELEASE,
  SCRIPTS,
  type Script,
  UNDO,
  VOUCH,
  YIELD,
} from '../../protocol/lua/scripts.js';
import { LEAVE, RW_ACCEPT, RW_CLAIM } from '../../protocol/lua/shared-scripts.js';
import { TIMESTAMP_SCRIPTS } from '../../timestamp/scripts.js';
import { scriptDigest } from '../../redis/script.js';
import type { Command } from '../../redis/transport.js';
import { entriesOf, isBatch } from './entries.js';
import { count, countAccepted, countClaim, guarded, type Reply } from './counter-twins.js';
import { WRONG_TYPE } from './keyspace.js';
import { NOTE_TWINS } from './note-twins.js';
import { SHARED_TWINS } from './shared-twins.js';
import { isOf, markedFor } from './queue-line.js';
import { queue, waiters, yieldVote } from './queue-twins.js';
import type { Spare, Store, Twin } from './store.js';
import { isPlain, PLAIN_TWINS, TIMESTAMP_TWINS } from './timestamp-twins.js';
import { isTaken, longest, release, takenAway, TAKEN_TWINS, textAt, undo } from './withdrawal-twins.js';

/** The scripts that a server knows by digest; empty after a start and after SCRIPT FLUSH. */
export type ScriptCache = Set<string>;

const TWINS: ReadonlyMap<Script, Twin> = new Map<Script, Twin>([
  [CLAIM, claim],
  [ACCEPT, accept],
  [UNDO, undo],
  [RELEASE, release],
  [EXTEND, extend],
  [QUEUE, wait],
  [YIELD, giveUp],
  [VOUCH, vouch],
  [BOOTSTRAP, bootstrap],
  [HELLO, hello],
  [INSPECT, inspect],
  [RIGHTS, () => []],
  ...TIMESTAMP_TWINS,
  ...NOTE_TWINS,
  ...SHARED_TWINS,
  ...TAKEN_TWINS,
]);

const ALL = [...SCRIPTS, RIGHTS, ...TIMESTAMP_SCRIPTS];
const BY_DIGEST = new Map(ALL.map((script) => [scriptDigest(script.source), script]));
const BY_SOURCE = new Map(ALL.map((script) => [script.source, script]));

/** The script that a command runs, by digest or by source. */
export function scriptOf(command: Command): Script | undefined {
  const { name, args } = command;
  const [text = ''] = args;
  return isPlain(command) ? undefined : name === 'eval' ? BY_SOURCE.get(text) : BY_DIGEST.get(text);
}

/** An error as sent by a server. */
export function serverError(message: string): Error {
  const error = new Error(message);
  error.name = 'ReplyError';
  return error;
}

/** Carries out a command. @returns its reply @throws the error that a server would send */
export function execute(store: Store, cache: ScriptCache, command: Command): unknown {
  const { name, args } = command;
  if (name !== 'eval' && name !== 'evalsha') return PLAIN_TWINS[name](store, args);
  const script = scriptOf(command);
  if (name === 'evalsha' && !cache.has(args[0] ?? '')) {
    throw serverError('NOSCRIPT No matching script. Please use EVAL.');
  }
  if (script === undefined) throw serverError('ERR there is no twin of this script');
  cache.add(scriptDigest(script.source));
  const spare = { left: MAX_DROPPED };
  if (isBatch(command)) {
    const replies = entriesOf(command).map((entry) => {
      const reply = runEntry(store, entry, spare);
      return typeof reply === 'number' && reply === tokenPut(entry) ? 1 : reply;
    });
    return replies.every((reply) => reply === 1) ? replies.length : replies;
  }
  return run(store, script, args, spare);
}

/** Runs one entry of a batch; if it fails, the others are not affected. */
function runEntry(store: Store, entry: Command, spare: Spare): unknown {
  const script = scriptOf(entry);
  try {
    return script === undefined ? undefined : inShort(script, run(store, script, entry.args, spare));
  } catch (error) {
    return `!${error instanceof Error ? error.message : String(error)}`;
  }
}

/** The fencing token that an entry for a shared lock puts to the master: its reply need not repeat it. */
export function tokenPut(entry: Command): number | undefined {
  const args = entry.args.slice(2 + Number(entry.args[1]));
  const script = scriptOf(entry);
  const text = script === RW_CLAIM ? args[6] : script === RW_ACCEPT ? args[1] : undefined;
  return text === undefined ? undefined : Number(text);
}

/** The short form of a reply in a batch. */
function inShort(script: Script, reply: unknown): unknown {
  if (!Array.isArray(reply)) return reply;
  const [code, amount, more, slot, ...slots] = reply as readonly number[];
  if (script === QUEUE) return reply;
  if (script === UNDO || script === LEAVE) return amount === -2 && more === 0 ? code : reply;
  if (slot !== undefined) return slots.length === 0 ? slot + 1 : reply;
  return code === 1 && more === 0 ? amount || 1 : reply;
}

function run(store: Store, script: Script, args: readonly string[], spare: Spare): unknown {
  const count = Number(args[1]);
  return TWINS.get(script)?.(store, args.slice(2, 2 + count), args.slice(2 + count), spare);
}

interface Parts {
  readonly locks: readonly string[];
  /** Only for a waiter from the queue; else empty. */
  readonly queues: readonly string[];
  readonly counters: readonly string[];
  readonly refusal: Reply | undefined;
  /** The least that its counters must be, in µs. */
  readonly least: number;
}

/** Which keys there are beside the locks. */
interface Beside {
  readonly hasCounters: boolean;
  readonly hasQueues?: boolean;
}

/** Splits up the keys, and checks the marker if there is one. */
function parts(store: Store, keys: readonly string[], beside: Beside, guard: number): Parts {
  const rest = guard >= 0 ? keys.slice(0, -1) : keys;
  const [queues, counters] = [beside.hasQueues === true ? 2 : 0, beside.hasCounters ? 1 : 0];
  const n = rest.length / (1 + queues + counters);
  const word = guard >= 0 ? guarded(store, keys.at(-1) ?? '', guard) : 0;
  const [refusal, least] = typeof word === 'number' ? [undefined, word] : [word, 0];
  return {
    locks: rest.slice(0, n),
    queues: queues === 0 ? [] : rest.slice(n, 2 * n),
    counters: rest.slice((1 + queues) * n),
    refusal,
    least,
  };
}

function claim(store: Store, keys: readonly string[], args: readonly string[]): unknown {
  const [token = '', ttl, life, proposal, guard, isInLine] = args;
  const isShort = isClaimedAtOnce(store, keys, args);
  const hasCounters = life !== '0';
  const { locks, queues, counters, refusal, least } = parts(
    store,
    keys,
    { hasCounters, hasQueues: isInLine !== undefined },
    Number(guard),
  );
  if (refusal !== undefined) return refusal;
  const own = [token, markedFor(token)];
  for (const [i, key] of locks.entries()) {
    const owner = store.get(key);
    if (owner === WRONG_TYPE) return [2, 0, 0];
    if (isInLine !== undefined && !own.includes(owner ?? '')) store.removeMember(queues[i] ?? '', token);
  }
  const others = locks.filter((key) => ![undefined, ...own].includes(textAt(store, key)));
  if (others.length > 0) {
    const owners = others.map((key) => String(store.get(key)));
    const isForeignClient = owners.some((owner) => owner !== AT_REST && !isOurs(owner));
    return [0, longest(others.map((key) => store.pttl(key))), isForeignClient ? 1 : 0];
  }
  const counted = hasCounters
    ? countClaim(store, counters, { fence: Number(proposal), least, lifeMs: Number(life) })
    : { fence: 0, told: 0 };
  if (counted === undefined) {
    if (locks.length === 1 && isInLine === undefined && textAt(store, locks[0] ?? '') === undefined)
      putBack(store, counters[0] ?? '', Number(life));
    return [2, HOLDS.counter, 0];
  }
  const { fence, told } = counted;
  for (const key of locks) store.set(key, token, Number(ttl));
  return isShort && told === 0 ? fence : [1, fence, told];
}

/** The short way of a claim found a spent counter, or none, and puts it back. What is no counter loses its expiry. */
function putBack(store: Store, key: string, lifeMs: number): void {
  const found = textAt(store, key);
  if (found !== undefined) store.set(key, found, /^\d+$/.test(found) ? lifeMs : 'none');
}

/** One free resource, a usable counter, and no guard: the script takes its short way, and replies in the short form. */
function isClaimedAtOnce(store: Store, keys: readonly string[], args: readonly string[]): boolean {
  const [, , life, , guard, isInLine] = args;
  if (isInLine !== undefined) return false;
  const [lock = '', ...others] = keys;
  const marker = Number(guard) === 0 ? others.pop() : undefined;
  const isUnguarded = Number(guard) < 0 || (marker !== undefined && store.get(marker) === undefined);
  if (!isUnguarded || store.get(lock) !== undefined || life === '0' || others.length !== 1) return false;
  return count(store, others[0] ?? '') !== undefined;
}

function accept(store: Store, keys: readonly string[], args: readonly string[]): Reply {
  const [token, fence, life, guard] = args;
  const { locks, counters, refusal, least } = parts(store, keys, { hasCounters: true }, Number(guard));
  if (refusal !== undefined) return refusal;
  for (const key of locks) {
    const owner = store.get(key);
    if (owner === WRONG_TYPE) return [2, 0, 0];
    if (!isOf(token ?? '', owner)) return [0, store.pttl(key), 0];
  }
  const reply = countAccepted(store, counters, { fence: Number(fence), least, lifeMs: Number(life) });
  if (reply[0] === 1) for (const key of locks) store.set(key, token ?? '', 'keep');
  return reply;
}

function wait(store: Store, keys: readonly string[], args: readonly string[], spare: Spare): unknown {
  const [lock = '', own = '', turn = '', terms = '', counter = '', marker = ''] = keys;
  const [token = '', place = '', ttl = '', life = '', proposal, guard] = args;
  if (keys.length === 0) return [0, 0, 0, 0];
  const word = Number(guard) >= 0 ? guarded(store, marker, Number(guard)) : 0;
  if (typeof word !== 'number') return word;
  const [ticket, lifeMs, sent = ''] = place.split('|');
  const runId = Number(guard) > 0 ? store.runId : '';
  const waiter = { token, ticket: Number(ticket), lifeMs: Number(lifeMs) };
  const direct = { terms, counter, proposal: Number(proposal) };
  return queue(store, [lock, own, turn], { ...waiter, sent, ttl, life, runId, least: word }, direct, spare);
}

function giveUp(store: Store, keys: readonly string[], args: readonly string[], spare: Spare): number {
  const [lock = '', own = '', turn = '', terms = '', counter = ''] = keys;
  const [token = '', place = '', proposal] = args;
  const [serial, ticket, lifeMs, rests] = place.split('|').map(Number);
  const yielding = {
    token,
    serial: serial ?? 0,
    ticket: ticket ?? 0,
    lifeMs: lifeMs ?? 0,
    rests: rests === 1,
  };
  return yieldVote(store, [lock, own, turn], yielding, { terms, counter, proposal: Number(proposal) }, spare);
}

function extend(store: Store, keys: readonly string[], args: readonly string[]): Reply {
  const [token = '', ttl, mayCreate, guard] = args;
  const { keys: named, taken } = takenAway(keys, mayCreate, Number(guard));
  const { locks, refusal } = parts(store, named, { hasCounters: false }, Number(guard));
  if (refusal !== undefined) return refusal;
  const refusing: string[] = [];
  let isAsked = false;
  for (const key of locks) {
    const found = store.get(key);
    if (found === WRONG_TYPE) return [2, 0, 0];
    const owner = found === AT_REST && mayCreate !== '0' ? undefined : found;
    if (owner === undefined && mayCreate === '0') return [0, -2, 0];
    if (owner === undefined && isTaken(store, taken, token)) return [TAKEN_AWAY, 0, 0];
    if (owner === undefined || isOf(token, owner)) continue;
    refusing.push(key);
    if (mayCreate !== '0' && askToRest(store, key, owner)) isAsked = true;
  }
  if (refusing.length > 0) return [0, longest(refusing.map((key) => store.pttl(key))), isAsked ? 2 : 0];
  for (const key of locks) {
    const ms = store.pttl(key);
    if (store.get(key) !== token) store.set(key, token, Math.max(ms, Number(ttl)));
    else if (ms !== -1 && ms < Number(ttl)) store.expire(key, Number(ttl));
  }
  return [1, 0, 0];
}

/** Asks the waiter whose vote is in the way, if it has not touched it. @returns whether that reached anybody */
function askToRest(store: Store, key: string, owner: string): boolean {
  const other = tokenIn(owner);
  if (!owner.endsWith(RESERVED_MARK) || !isOurs(owner)) return false;
  return (store.publish(pushChannel(other), `h ${other} ${key}`) ?? 0) > 0;
}

function vouch(store: Store, [key = '']: readonly string[], [period]: readonly string[]): Reply {
  const word = guarded(store, key, Number(period));
  return typeof word === 'number' ? [1, 0, 0] : word;
}

function hello(store: Store, _keys: readonly string[], args: readonly string[]): unknown {
  const [channel = '', message = ''] = args;
  const receivers = store.publish(channel, message);
  if (receivers === undefined) throw serverError('NOPERM this user has no permissions to access the channel');
  return [receivers, store.micros()];
}

function bootstrap(store: Store, [key = '']: readonly string[], [period, force]: readonly string[]): Reply {
  if (force === '1' && Number(period) === 0) {
    const was = store.get(key);
    store.delete(key);
    return [was === undefined ? 0 : 1, 0, 0];
  }
  if (force !== '1' && store.get(key) !== undefined) {
    const word = guarded(store, key, Number(period));
    return typeof word === 'number' ? [0, 0, 0] : word;
  }
  const sinceMs = Math.floor(store.micros() / 1_000) - Number(period);
  store.set(key, `1|${store.runId}|${sinceMs}|${period}`, 'none');
  return [1, 0, 0];
}

function inspect(store: Store, [key = '', line = '', terms = '']: readonly string[]): unknown {
  const owner = store.get(key);
  const waiting = waiters(store, line, terms);
  if (owner === undefined || owner === AT_REST) return [0, -2, '', ...waiting];
  return owner === WRONG_TYPE
    ? [2, store.pttl(key), '', ...waiting]
    : [1, store.pttl(key), owner, ...waiting];
}
