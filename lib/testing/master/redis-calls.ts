/**
 * The commands that scripts call, on the data of one server. A command that fails returns a table with `err`, as from
 * `redis.pcall`; `must` turns it into `redis.call`.
 *
 * One script runs at a time, and from beginning to end: it runs on the data of the last `runOn`.
 */
import { sha1 } from '../../redis/script.js';
import { WRONG_TYPE, type Fields, type Member } from './keyspace.js';
import { fromBytes, general, LuaError, Table, toBytes, type Value } from './lua.js';
import type { Store } from './store.js';

const WRONGTYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';
const NO_INTEGER = 'ERR value is not an integer or out of range';
const NO_CHANNEL = 'NOPERM this user has no permissions to access the channel';
const OK = new Table([], new Map([['ok', 'OK']]));

/** What a failed command returns. */
class Failure extends Table {
  constructor(message: string) {
    super([], new Map([['err', toBytes(message)]]));
  }
}

let store: Store;

export function runOn(next: Store): void {
  store = next;
}

/** `redis.call`: an error ends the script, unless a `pcall` of Lua is around it. */
export function must(reply: Value): Value {
  if (reply instanceof Failure) throw new LuaError(reply);
  return reply;
}

type Call = (...args: readonly string[]) => Value;

function content<T>(found: T | typeof WRONG_TYPE): T {
  if (found === WRONG_TYPE) throw new Error(WRONGTYPE);
  return found;
}

const textAt = (key: string): string | undefined => content(store.get(key));
const hashAt = (key: string): Fields => content(store.fields(key));
const membersAt = (key: string): readonly Member[] => content(store.members(key));
const isThere = (key: string): boolean => store.pttl(key) !== -2;
const nowMs = (): number => Math.floor(store.micros() / 1_000);
/** A text or nothing, in Lua's form. */
const orFalse = (text: string | undefined): Value => (text === undefined ? false : toBytes(text));
const listOf = (texts: readonly string[]): Table => new Table(texts.map(toBytes));

function integer(text: string | undefined): number {
  if (text === undefined || !/^-?\d+$/.test(text)) throw new Error(NO_INTEGER);
  return Number(text);
}

/** How long a key shall live. */
function life(text: string | undefined): number {
  const ms = integer(text);
  if (ms <= 0) throw new Error("ERR invalid expire time in 'set' command");
  return ms;
}

interface Setting {
  ttlMs: number | 'keep' | 'none';
  isOnlyNew: boolean;
  getsOld: boolean;
}

function settingOf(words: readonly string[]): Setting {
  const setting: Setting = { ttlMs: 'none', isOnlyNew: false, getsOld: false };
  for (let i = 0; i < words.length; i++) {
    const word = words[i];
    if (word === 'PX') setting.ttlMs = life(words[++i]);
    else if (word === 'PXAT') setting.ttlMs = life(words[++i]) - nowMs();
    else if (word === 'KEEPTTL') setting.ttlMs = 'keep';
    else if (word === 'NX') setting.isOnlyNew = true;
    else if (word === 'GET') setting.getsOld = true;
    else throw new Error('ERR syntax error');
  }
  return setting;
}

function set(key: string, text: string, ...words: readonly string[]): Value {
  const { getsOld, isOnlyNew, ttlMs } = settingOf(words);
  const old = getsOld ? orFalse(textAt(key)) : OK;
  if (isOnlyNew && isThere(key)) return getsOld ? old : false;
  store.set(key, text, ttlMs);
  return old;
}

/** Sets fields, or removes those whose text is undefined. @returns how many are new, or are gone */
function setFields(key: string, changes: readonly (readonly [string, string | undefined])[]): number {
  const before = hashAt(key);
  const after = new Map<string, string | undefined>();
  let [known, isRemoval] = [0, true];
  for (const [name, text] of changes) {
    if (!after.has(name) && before.has(name)) known++;
    if (text !== undefined) isRemoval = false;
    after.set(name, text);
  }
  if (isRemoval && known === 0) return 0;
  store.setFields(key, after);
  return isRemoval ? known : after.size - known;
}

/** Pairs each word at an even place with the next one. */
function inPairs(words: readonly string[]): readonly (readonly [string, string])[] {
  return words.flatMap((word, i) => (i % 2 === 0 ? [[word, words[i + 1] ?? ''] as const] : []));
}

function range(key: string, from: string, to: string, scores?: string): Table {
  const members = membersAt(key);
  const place = (text: string): number =>
    integer(text) < 0 ? members.length + integer(text) : integer(text);
  const part = members.slice(Math.max(place(from), 0), Math.max(place(to) + 1, 0));
  const shown = part.flatMap(({ name, score }) =>
    scores === undefined ? [name] : [name, general(score, 17)],
  );
  return listOf(shown);
}

const calls = {
  GET: (key: string) => orFalse(textAt(key)),
  SET: set,
  SETNX: (key: string, text: string) => (set(key, text, 'NX') === false ? 0 : 1),
  GETSET: (key: string, text: string) => set(key, text, 'GET'),
  MGET: (...keys: readonly string[]) =>
    new Table(
      keys.map((key) => {
        const found = store.get(key);
        return found === WRONG_TYPE ? false : orFalse(found);
      }),
    ),
  DEL: (...keys: readonly string[]) => keys.filter((key) => store.delete(key)).length,
  EXISTS: (...keys: readonly string[]) => keys.filter(isThere).length,
  PTTL: (key: string) => store.pttl(key),
  PEXPIRE(key: string, ms: string) {
    const ttlMs = integer(ms);
    if (!isThere(key)) return 0;
    store.expire(key, ttlMs);
    return 1;
  },
  PEXPIREAT: (key: string, ms: string): Value => calls.PEXPIRE(key, String(integer(ms) - nowMs())),
  TIME() {
    const us = store.micros();
    return listOf([String(Math.floor(us / 1_000_000)), String(us % 1_000_000)]);
  },
  INFO: () => `run_id:${store.runId}\r\n`,
  HGET: (key: string, field: string) => orFalse(hashAt(key).get(field)),
  HSET: (key: string, ...fields: readonly string[]) => setFields(key, inPairs(fields)),
  HDEL: (key: string, ...fields: readonly string[]) =>
    setFields(
      key,
      fields.map((name) => [name, undefined]),
    ),
  HGETALL: (key: string) => listOf([...hashAt(key)].flat()),
  HLEN: (key: string) => hashAt(key).size,
  ZADD(key: string, score: string, name: string) {
    const isNew = !membersAt(key).some((one) => one.name === name);
    store.addMember(key, name, Number(score));
    return isNew ? 1 : 0;
  },
  ZREM(key: string, ...names: readonly string[]) {
    const there = new Set(membersAt(key).map(({ name }) => name));
    const gone = names.filter((name) => there.has(name));
    for (const name of gone) store.removeMember(key, name);
    return gone.length;
  },
  ZCARD: (key: string) => membersAt(key).length,
  ZRANK(key: string, name: string) {
    const place = membersAt(key).findIndex((one) => one.name === name);
    return place < 0 ? false : place;
  },
  ZRANGE: range,
  PUBLISH(channel: string, text: string) {
    const receivers = store.publish(channel, text);
    if (receivers === undefined) throw new Error(NO_CHANNEL);
    return receivers;
  },
} satisfies Readonly<Record<string, (...args: string[]) => Value>>;

/** A number goes with all its digits, and not as Lua prints it. */
function argument(value: Value): string {
  if (typeof value === 'string') return fromBytes(value);
  if (typeof value === 'number') return general(value, 17);
  throw new LuaError('ERR Lua redis lib command arguments must be strings or integers');
}

/**
 * An error that the store throws, for example when it is out of memory, is the command's error. A mistake in this code is not.
 */
function command(call: Call): (...args: readonly Value[]) => Value {
  return (...args) => {
    const words: string[] = [];
    for (const arg of args) words.push(argument(arg));
    try {
      return call(...words);
    } catch (error) {
      if (!(error instanceof Error) || error.constructor !== Error) throw error;
      return new Failure(error.message);
    }
  };
}

type Name = keyof typeof calls;

/** By name, in capitals. */
export const redis = Object.fromEntries(
  Object.entries(calls).map(([name, call]) => [name, command(call)]),
) as Readonly<Record<Name, (...args: readonly Value[]) => Value>>;

/** A command whose name a script chooses while it runs: `redis.pcall(name, …)`. */
export function named(name: Value, ...args: readonly Value[]): Value {
  const word = typeof name === 'string' ? name.toUpperCase() : undefined;
  const called = Object.entries(redis).find(([one]) => one === word);
  return called === undefined
    ? new Failure('ERR Unknown Redis command called from script')
    : called[1](...args);
}

export function sha1hex(text: Value): string {
  return sha1(argument(text));
}

/** Every user may run every command here. */
export function acl_check_cmd(): boolean {
  return true;
}
