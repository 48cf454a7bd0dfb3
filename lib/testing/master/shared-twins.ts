/**
 * Twins of the scripts of read-write locks and semaphores, function by function as in `lua/shared.ts` and
 * `lua/shared-scripts.ts`.
 */
import { HOLDS } from '../../protocol/lua/mutex.js';
import { STORED_KIND, type StoredKind, WATCH_MS } from '../../protocol/lua/shared.js';
import { TAKEN_AWAY } from '../../protocol/lua/taken.js';
import {
  LEAVE,
  RW_ACCEPT,
  RW_CLAIM,
  RW_EXTEND,
  SEM_CLAIM,
  SEM_EXTEND,
  SEM_ALIGN,
  SURVEY_SHARED,
} from '../../protocol/lua/shared-scripts.js';
import type { Script } from '../../redis/script.js';
import { countAccepted, countClaim, guarded, type Reply } from './counter-twins.js';
import { WRONG_TYPE } from './keyspace.js';
import { waiters } from './queue-twins.js';
import { type Field, Hash, slotsOf } from './shared-hash.js';
import type { Store, Twin } from './store.js';
import { isTaken } from './withdrawal-twins.js';

/** The parts of a claim that concern the watch. */
interface Next {
  readonly watcher: string;
  readonly rank: number;
  readonly want: string;
}

function mayWatch({ watch }: Hash, { watcher, rank }: Next): boolean {
  if (watch === undefined || watch.first === watcher) return true;
  const other = Number(/^\d+/.exec(watch.rest)?.[0] ?? 0);
  if (watcher === '') return false;
  return rank === other ? secret(watcher) < secret(watch.first) : rank < other;
}

function secret(token: string): string {
  return token.slice(token.indexOf(':') + 1);
}

function refuse(hash: Hash, kind: StoredKind, next: Next, reply: Reply): Reply {
  if (next.watcher !== '' && mayWatch(hash, next)) {
    hash.put(kind, 'watch', next.watcher, hash.nowMs + WATCH_MS, `${next.rank} ${next.want}`);
    hash.keep();
  }
  return reply;
}

function comeIn(hash: Hash, kind: StoredKind, next: Next, token: string, field: Field): void {
  hash.put(kind, token, field.first, field.ends, field.rest);
  if (hash.watch !== undefined && hash.watch.first === next.watcher) hash.remove('watch');
  hash.keep();
}

/** Checks the guard and reads the hash; returns a refusal if either gives one. */
function open(
  store: Store,
  keys: readonly string[],
  kind: StoredKind,
  guard: string | undefined,
): { readonly hash: Hash; readonly least: number } | Reply {
  const word = Number(guard) >= 0 ? guarded(store, keys.at(-1) ?? '', Number(guard)) : 0;
  if (typeof word !== 'number') return word;
  const hash = new Hash(store, keys[0] ?? '', kind);
  return hash.refusal ?? { hash, least: word };
}

const isRefusal = (opened: object): opened is Reply => Array.isArray(opened);
const RW = STORED_KIND.readWrite;
const SEM = STORED_KIND.semaphore;

function claimToReadOrWrite(store: Store, keys: readonly string[], args: readonly string[]): Reply {
  const [token = '', role = '', ttl, watcher = '', rank, life, proposal, guard] = args;
  if (keys.length === 0) return [0, 0, 0];
  const opened = open(store, keys, RW, guard);
  if (isRefusal(opened)) return opened;
  const { hash, least } = opened;
  const next = { watcher, rank: Number(rank), want: role };
  const own = hash.members.get(token);
  let left = hash.inTheWay(token, role);
  if (own !== undefined && own.first !== role) return [0, own.ends - hash.nowMs, 0];
  if (left === 0 && own === undefined && !mayWatch(hash, next)) left = (hash.watch?.ends ?? 0) - hash.nowMs;
  if (left > 0) return refuse(hash, RW, next, [0, left, 0]);
  const counted =
    life === '0'
      ? { fence: 0, told: 0 }
      : countClaim(store, keys.slice(1, 2), { fence: Number(proposal), least, lifeMs: Number(life) });
  if (counted === undefined) return [2, HOLDS.counter, 0];
  const ends = Math.max(own?.ends ?? 0, hash.nowMs + Number(ttl));
  comeIn(hash, RW, next, token, { first: role, ends, rest: '' });
  return [1, counted.fence, counted.told];
}

function acceptWriter(store: Store, keys: readonly string[], args: readonly string[]): Reply {
  const [token = '', fence = '', life, guard] = args;
  const opened = open(store, keys, RW, guard);
  if (isRefusal(opened)) return opened;
  const { hash, least } = opened;
  const own = hash.members.get(token);
  if (own === undefined) return [0, -2, 0];
  if (own.first !== 'w') return [0, own.ends - hash.nowMs, 0];
  return countAccepted(store, keys.slice(1, 2), { fence: Number(fence), least, lifeMs: Number(life) });
}

function extendReaderOrWriter(store: Store, keys: readonly string[], args: readonly string[]): Reply {
  const [token = '', role = '', ttl, create, guard] = args;
  if (keys.length === 0) return [0, 0, 0];
  const opened = open(store, keys, RW, guard);
  if (isRefusal(opened)) return opened;
  const { hash } = opened;
  const own = hash.members.get(token);
  if (own === undefined && create === '0') return [0, -2, 0];
  if (own === undefined && create === '2' && isTaken(store, keys[1], token)) return [TAKEN_AWAY, 0, 0];
  const isUpgrade = own !== undefined && role === 'w' && own.first !== 'w';
  const left = isUpgrade ? own.ends - hash.nowMs : own === undefined ? hash.inTheWay(token, role) : 0;
  if (left > 0) return [0, left, 0];
  hash.put(RW, token, role, Math.max(own?.ends ?? 0, hash.nowMs + Number(ttl)), '');
  hash.keep();
  if (own !== undefined && own.first !== role) hash.tell();
  return [1, 0, 0];
}

/** The permits of the other holders. */
function takeStock(
  hash: Hash,
  token: string,
  permits: number,
): { readonly taken: ReadonlySet<number>; readonly soonestMs: number; readonly refusal: Reply | undefined } {
  const taken = new Set<number>();
  let soonestMs = Infinity;
  let others: number | undefined;
  let othersMs = 0;
  for (const [name, { first, ends, rest }] of hash.members) {
    if (name === token) continue;
    const leftMs = ends - hash.nowMs;
    if (rest === '' || Number(rest) !== permits) {
      others = Number(rest);
      othersMs = Math.max(othersMs, leftMs);
    }
    soonestMs = Math.min(soonestMs, leftMs);
    for (const slot of slotsOf(first)) taken.add(slot);
  }
  return { taken, soonestMs, refusal: others === undefined ? undefined : [5, othersMs, others] };
}

function claimPermits(store: Store, keys: readonly string[], args: readonly string[]): unknown {
  const [token = '', ttl, wanted, permits, watcher = '', rank, guard] = args;
  if (keys.length === 0) return [0, 0, 0];
  const opened = open(store, keys, SEM, guard);
  if (isRefusal(opened)) return opened;
  const { hash } = opened;
  const next = { watcher, rank: Number(rank), want: `${wanted}/${permits}` };
  const { taken, soonestMs, refusal } = takeStock(hash, token, Number(permits));
  if (refusal !== undefined) return refuse(hash, SEM, next, refusal);
  const own = hash.members.get(token);
  const free = Array.from({ length: Number(permits) }, (_, slot) => slot).filter((slot) => !taken.has(slot));
  const slots = own === undefined ? free.slice(0, Number(wanted)) : slotsOf(own.first);
  if (own === undefined && slots.length < Number(wanted)) return refuse(hash, SEM, next, [0, soonestMs, 0]);
  if (own === undefined && !mayWatch(hash, next))
    return refuse(hash, SEM, next, [0, (hash.watch?.ends ?? 0) - hash.nowMs, 0]);
  const ends = Math.max(own?.ends ?? 0, hash.nowMs + Number(ttl));
  comeIn(hash, SEM, next, token, { first: slots.join(), ends, rest: permits ?? '' });
  return [1, 0, 0, ...slots];
}

function settle(store: Store, keys: readonly string[], args: readonly string[]): unknown {
  const [token = '', slots = '', permits, guard] = args;
  const opened = open(store, keys, SEM, guard);
  if (isRefusal(opened)) return opened;
  const { hash } = opened;
  const own = hash.members.get(token);
  if (own === undefined) return [0, -2, 0];
  const { taken, soonestMs, refusal } = takeStock(hash, token, Number(permits));
  if (refusal !== undefined) return refusal;
  if (own.first === slots) return [1, 0, 0, ...slotsOf(slots)];
  const isLost = slotsOf(slots).some((slot) => taken.has(slot));
  if (isLost) hash.remove(token);
  else hash.put(SEM, token, slots, own.ends, permits ?? '');
  hash.keep();
  hash.tell();
  return isLost ? [0, soonestMs, 0] : [1, 0, 0, ...slotsOf(slots)];
}

function extendPermits(store: Store, keys: readonly string[], args: readonly string[]): Reply {
  const [token = '', ttl, slots = '', permits, create, guard] = args;
  if (keys.length === 0) return [0, 0, 0];
  const opened = open(store, keys, SEM, guard);
  if (isRefusal(opened)) return opened;
  const { hash } = opened;
  const own = hash.members.get(token);
  if (own === undefined && create === '0') return [0, -2, 0];
  if (own === undefined && create === '2' && isTaken(store, keys[1], token)) return [TAKEN_AWAY, 0, 0];
  const { taken, soonestMs, refusal } = takeStock(hash, token, Number(permits));
  if (refusal !== undefined) return refusal;
  const isOther = own !== undefined && own.first !== slots;
  if (slotsOf(slots).some((slot) => taken.has(slot))) {
    if (isOther) {
      hash.remove(token);
      hash.keep();
      hash.tell();
    }
    return [0, soonestMs, 0];
  }
  hash.put(SEM, token, slots, Math.max(own?.ends ?? 0, hash.nowMs + Number(ttl)), permits ?? '');
  hash.keep();
  if (isOther) hash.tell();
  return [1, 0, 0];
}

function leave(store: Store, [key = '']: readonly string[], [token = '']: readonly string[]): Reply {
  const before = store.fields(key);
  if (before === WRONG_TYPE) return [0, -2, 1];
  const deleted = before.has(token) ? 1 : 0;
  if (deleted === 1) store.setFields(key, { [token]: undefined });
  const left = before.size - deleted;
  if (left === 1 && deleted === 1) store.delete(key);
  else if (before.has('watch')) {
    const hash = new Hash(store, key, undefined);
    if (hash.watch?.first === token) {
      hash.remove('watch');
      hash.keep();
    } else if (deleted === 1) {
      hash.keep();
      hash.tell();
    }
  }
  return [deleted, -2, 0];
}

function survey(store: Store, [key = '', gate = '', line = '', terms = '']: readonly string[]): unknown {
  const all = store.fields(key);
  const head = store.get(gate);
  const code = all === WRONG_TYPE ? 2 : all.size > 0 ? 1 : 0;
  const nowMs = Math.floor(store.micros() / 1_000);
  const fields = all === WRONG_TYPE ? [] : [...all].flat();
  const shown = typeof head === 'string' ? head : '';
  return [code, store.pttl(key), nowMs, fields, shown, ...waiters(store, line, terms)];
}

export const SHARED_TWINS: readonly (readonly [Script, Twin])[] = [
  [RW_CLAIM, claimToReadOrWrite],
  [RW_ACCEPT, acceptWriter],
  [RW_EXTEND, extendReaderOrWriter],
  [SEM_CLAIM, claimPermits],
  [SEM_ALIGN, settle],
  [SEM_EXTEND, extendPermits],
  [LEAVE, leave],
  [SURVEY_SHARED, survey],
];
