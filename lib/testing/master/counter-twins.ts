/** Twins of what the scripts do to the guard's marker and to counters, function by function as in lua.ts. */
import { FLOOR_LEAD_US, LAST_FENCE } from '../../protocol/lua/mutex.js';
import { WRONG_TYPE } from './keyspace.js';
import type { Store } from './store.js';

export type Reply = readonly [number, number, number];

/** @returns why the master may not vote; when it may, the end of its last quarantine in µs, or 0 */
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

/** A counter, re-created where it is missing; undefined for something that is no counter, or one that no fence can follow. */
export interface Counter {
  readonly count: number;
  /** The clock by which it was re-created. */
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

/** Lifts counters that lag behind to what was seen elsewhere; not to where no fence could follow. */
export function lift(store: Store, counters: readonly string[], seen: string | undefined): void {
  if (Number(seen) >= LAST_FENCE) return;
  for (const key of counters) {
    const count = store.get(key);
    if (typeof count !== 'string' || !/^\d+$/.test(count)) continue;
    if (Number(count) < Number(seen)) store.set(key, String(seen), 'keep');
  }
}
