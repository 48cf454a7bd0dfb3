/** Twins of the scripts' functions for the guard's marker and for counters, one by one as in `lua/mutex.ts`. */
import { FLOOR_LEAD_US, LAST_FENCE } from '../../protocol/lua/mutex.js';
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

/** A counter, re-created if it is missing; undefined for something else, or for a spent counter. */
export interface Counter {
  readonly count: number;
  /** The clock from which it was re-created. */
  readonly bornUs: number | undefined;
}

export function counter(store: Store, key: string, least: number, floor = 0): Counter | undefined {
  const count = store.get(key);
  if (count === WRONG_TYPE) return undefined;
  if (count !== undefined && count !== '0') {
    const canGoOn = /^\d+$/.test(count) && Number(count) < LAST_FENCE;
    return canGoOn ? { count: Math.max(Number(count), least), bornUs: undefined } : undefined;
  }
  const us = store.micros();
  return { count: Math.max(us, Math.min(floor, us + FLOOR_LEAD_US)), bornUs: us };
}

/** Raises lower counters to the highest count seen elsewhere; not to a count that allows no next grant. */
export function lift(store: Store, counters: readonly string[], seen: string | undefined): void {
  if (Number(seen) >= LAST_FENCE) return;
  for (const key of counters) {
    const count = store.get(key);
    if (typeof count !== 'string' || !/^\d+$/.test(count)) continue;
    if (Number(count) < Number(seen)) store.set(key, String(seen), 'keep');
  }
}
