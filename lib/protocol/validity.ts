/**
 * Validity: until when a holder may believe in its lease. Pure arithmetic, milliseconds throughout; the results are whole
 * numbers, rounded to the safe side, which objects hold as they are: any other takes 16 bytes more in each held lease.
 *
 * Source: "Distributed Locks with Redis" (redis.io), step 4 of Redlock: validity = ttl − elapsed − drift, where elapsed
 * is counted from the instant at which the first claim of the round was sent, by the holder's own clock.
 */

/** One millisecond for the resolution of expiry in Redis, one for rounding. */
const DRIFT_FLOOR_MS = 2;

/** How much the clocks of masters and holder may run apart during one ttl, in ms. */
export function driftMs(ttlMs: number, driftFactor: number): number {
  return Math.ceil(ttlMs * driftFactor) + DRIFT_FLOOR_MS;
}

/** The instant at which a lease ends whose claims (or extensions) were sent from `sentAtMs` on. */
export function validUntilMs(sentAtMs: number, ttlMs: number, driftFactor: number): number {
  return Math.floor(sentAtMs + ttlMs - driftMs(ttlMs, driftFactor));
}

/** The instant by which a key that was set no later than `sentAtMs` plus its delivery is surely gone, drift included. */
export function expiredByMs(sentAtMs: number, ttlMs: number, driftFactor: number): number {
  return Math.ceil(sentAtMs + ttlMs + driftMs(ttlMs, driftFactor));
}

/** Renewal starts when this part of the ttl is over. */
export const RENEW_AT = 1 / 3;
/** A failed renewal is tried again after this part of what is left, within these bounds (ms). */
const RETRY_AFTER = 1 / 10;
const RETRY_FIRST_MS = 5;
const RETRY_LAST_MS = 500;
/** A lease counts as lost when less than this is left as its timer fires: timers have a resolution of 1 ms. */
export const LOSS_MARGIN_MS = 2;

/** When a renewal that failed is tried again, in ms. @param leftMs  of the validity */
export function renewAgainInMs(leftMs: number): number {
  return Math.min(Math.max(leftMs * RETRY_AFTER, RETRY_FIRST_MS), RETRY_LAST_MS);
}
