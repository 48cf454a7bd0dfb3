/** Twins of the scripts' functions for the guard's marker and for counters, one by one as in `lua/guard.ts` and `lua/mutex.ts`. */
import { AHEAD_US, BACK_US, LAST_FENCE } from '../../protocol/lua/fence-bounds.js';
import { HOLDS } from '../../protocol/lua/mutex.js';
import { WRONG_TYPE } from './keyspace.js';
import type { Store } from './store.js';

export type Reply = readonly [number, number, number];

/** @returns the refusal if the master may not vote; else the end of its last quarantine in µs, or 0 */
export function guarded(store: Store, key: string, period: number): Reply | number {
  const marker = store.get(key);
  if (marker === WRONG_TYPE) return [-2, 0, 0];
  const [, owner, since, other] = /^1\|(\w+)\|(\d+)\|(\d+)$/.exec(marker ?? '') ?? [];
  if (marker !== undefined && owner === undefined) return [-2, 0, 0];
  if (marker !== undefined && Number(other) !== period) return [-2, Number(other), 0];
  if (period === 0) return 0;
  const nowMs = Math.floor(store.micros() / 1000);
  const sinceMs = Number(since);
  if (owner !== store.runId || sinceMs > nowMs) {
    store.set(key, `1|${store.runId}|${nowMs}|${period}`, 'none');
    return [-1, period, 0];
  }
  return sinceMs + period > nowMs ? [-1, sinceMs + period - nowMs, 0] : (sinceMs + period) * 1_000;
}

/** The count at that key, 0 if it is missing; undefined for something else, or for a spent counter. */
export function count(store: Store, key: string): number | undefined {
  const found = store.get(key);
  if (found === undefined) return 0;
  if (found === WRONG_TYPE || !/^\d+$/.test(found) || Number(found) >= LAST_FENCE) return undefined;
  return Number(found);
}

/** What the scripts are given for their counters, beside the keys. */
interface Counting {
  /** The fencing token: proposed by a claim, or put to a master. */
  readonly fence: number;
  /** The end of the master's last quarantine. */
  readonly least: number;
  readonly lifeMs: number;
}

/** What a claim makes of the counters; undefined if one of them is none, or spent. `told`: the clock, if it took that. */
export function countClaim(
  store: Store,
  keys: readonly string[],
  { fence: proposal, least, lifeMs }: Counting,
): { readonly fence: number; readonly told: number } | undefined {
  const us = store.micros();
  const isTaken = proposal >= us - BACK_US && proposal <= us + AHEAD_US && proposal >= least;
  let fence = isTaken ? proposal : us;
  for (const key of keys) {
    const number = count(store, key);
    if (number === undefined) return undefined;
    if (number >= fence) fence = number + 1;
  }
  countOn(store, keys, fence, lifeOf(fence, us, lifeMs));
  return { fence, told: isTaken ? 0 : us };
}

/** The reply to an acceptance by the holder of the vote. */
export function countAccepted(
  store: Store,
  keys: readonly string[],
  { fence, least, lifeMs }: Counting,
): Reply {
  let highest = 0;
  for (const key of keys) {
    const number = count(store, key);
    if (number === undefined) return [2, HOLDS.counter, 0];
    highest = Math.max(highest, number);
  }
  const us = store.micros();
  const isNear = fence >= us - BACK_US && fence <= us + lifeMs * 1_000;
  if (fence <= highest || fence <= least || !isNear) return [3, Math.max(highest, us), 0];
  countOn(store, keys, fence, lifeOf(fence, us, lifeMs));
  return [1, fence, 0];
}

function lifeOf(fence: number, us: number, lifeMs: number): number {
  return lifeMs + Math.max(0, Math.ceil((fence - us) / 1_000));
}

function countOn(store: Store, keys: readonly string[], fence: number, lifeMs: number): void {
  for (const key of keys) store.set(key, String(fence), lifeMs);
}
