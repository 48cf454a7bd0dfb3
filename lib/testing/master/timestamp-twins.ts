/** Plain commands on an in-memory master, most of them of timestamp locks, and twins of the scripts of these. */
import { readInstant, type TimestampUnit } from '../../timestamp/instant.js';
import type { Script } from '../../protocol/lua/scripts.js';
import { TIMESTAMP_CLAIM, TIMESTAMP_EXTEND, TIMESTAMP_RELEASE } from '../../timestamp/scripts.js';
import type { Command, PlainCommand } from '../../redis/transport.js';
import { WRONG_TYPE } from './keyspace.js';
import { SERVER_TWINS } from './server-twins.js';
import type { Store } from './store.js';

const WRONGTYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';

type Plain = (store: Store, args: readonly string[]) => unknown;

/** @throws Error as from a server for a key of another type */
function textOf(store: Store, key: string): string | undefined {
  const text = store.get(key);
  if (text === WRONG_TYPE) throw new Error(WRONGTYPE);
  return text;
}

/** The commands without a script, by name. */
export const PLAIN_TWINS: Readonly<Record<PlainCommand, Plain>> = {
  /** SET key token PX ttl NX */
  set(store, [key = '', token = '', , ttl]) {
    if (store.get(key) !== undefined) return null;
    store.set(key, token, Number(ttl));
    return 'OK';
  },
  setnx(store, [key = '', text = '']) {
    if (store.get(key) !== undefined) return 0;
    store.set(key, text, 'none');
    return 1;
  },
  get: (store, [key = '']) => textOf(store, key) ?? null,
  getset(store, [key = '', text = '']) {
    const before = textOf(store, key);
    store.set(key, text, 'none');
    return before ?? null;
  },
  del: (store, keys) => keys.filter((key) => store.delete(key)).length,
  ...SERVER_TWINS,
};

/** Whether it is a command without a script. */
export function isPlain({ name }: Command): boolean {
  return Object.hasOwn(PLAIN_TWINS, name);
}

type Twin = (store: Store, keys: readonly string[], args: readonly string[]) => unknown;

function claim(store: Store, [key = '']: readonly string[], args: readonly string[]): unknown {
  const [own = '', below = '', life = '', unit = 's'] = args;
  const text = store.get(key);
  if (text === WRONG_TYPE) return [4];
  if (text !== undefined) {
    const instant = readInstant(text, unit as TimestampUnit); // as the caller gave it
    if (instant === undefined) return [4];
    if (instant >= Number(below)) return [2, text];
  }
  store.set(key, own, Number(life));
  return [0];
}

/** The instant at the key if it is the caller's own. */
function ownInstant(store: Store, key: string, [from = '', to = '']: readonly string[]): number | undefined {
  const text = store.get(key);
  const instant = typeof text === 'string' && text.trim() !== '' ? Number(text) : NaN;
  return instant >= Number(from) && instant <= Number(to) ? instant : undefined;
}

function release(store: Store, [key = '']: readonly string[], args: readonly string[]): unknown {
  return ownInstant(store, key, args) === undefined ? 0 : Number(store.delete(key));
}

function extend(store: Store, [key = '']: readonly string[], args: readonly string[]): unknown {
  const [, , next = '', life] = args;
  const instant = ownInstant(store, key, args);
  if (instant === undefined) return 0;
  if (instant < Number(next)) store.set(key, next, Number(life));
  return 1;
}

export const TIMESTAMP_TWINS: readonly (readonly [Script, Twin])[] = [
  [TIMESTAMP_CLAIM, claim],
  [TIMESTAMP_RELEASE, release],
  [TIMESTAMP_EXTEND, extend],
];
