/** Locks that clients take away from others: what is drawn for it, and how long it may take. */
import { OUST_STAY_MS } from '../../../lib/coordinator/ousting.js';
import type { Checker } from '../checker/checker.js';
import type { Seeded } from '../world/seeded.js';

/** How much slower than true time a client's clock may run, and how much longer it waits for a master's time. */
const DRIFT = 0.02;

/** How many answers of the masters it may wait for, one after another: holders are looked for and replaced again where others came in. */
export const STEAL_ROUNDS = 10;

export interface DrawnSteal {
  readonly how: { readonly graceMs: number; readonly passWaiters: boolean };
  /** The longest time until the holders have had theirs, in ms. */
  readonly atMostMs: number;
}

/** With the whole grace, never two hold it by validity. */
export function drawSteal(seeded: Seeded, checker: Checker, maxTtlMs: number): DrawnSteal {
  const graceMs = seeded.chance(0.5) ? Infinity : seeded.whole(0, 300);
  const passWaiters = seeded.chance(0.5);
  // it may come upon the token of another that stays for a while after the holder's vote, and that one upon another's
  const votesMs = maxTtlMs + OUST_STAY_MS * (2 + checker.stays);
  return { how: { graceMs, passWaiters }, atMostMs: Math.min(graceMs, votesMs) * (1 + DRIFT) };
}
