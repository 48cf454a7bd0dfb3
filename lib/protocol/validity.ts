/**
 * Validity: how long a holder may believe in its lease. Pure arithmetic, in milliseconds. Results are whole numbers,
 * rounded to the safe side; objects store whole numbers in place, and any others would cost 16 bytes more in each held
 * lease.
 *
 * Source: "Distributed Locks with Redis" (redis.io), step 4 of Redlock: validity = ttl − elapsed − drift, where elapsed
 * is counted from the instant at which the first claim of the round was sent, by the holder's own clock.
 */

/** One millisecond for the resolution of expiry in Redis, one for rounding. */
const DRIFT_FLOOR_MS = 2;

/** How far the clocks of masters and holder may run apart during one ttl, in ms. */
export function driftMs(ttlMs: number, driftFactor: number): number {
  return Math.ceil(ttlMs * driftFactor) + DRIFT_FLOOR_MS;
}

/** The end of a lease's validity. @param sentAtMs  before its first claim or extension was sent */
export function validUntilMs(sentAtMs: number, ttlMs: number, driftFactor: number): number {
  return Math.floor(sentAtMs + ttlMs - driftMs(ttlMs, driftFactor));
}

/** When the request was sent that such a validity comes from: the inverse of `validUntilMs`. */
export function sentAtMs(validUntilMs: number, ttlMs: number, driftFactor: number): number {
  return validUntilMs - ttlMs + driftMs(ttlMs, driftFactor);
}

/** The instant by which a key has certainly expired. @param sentAtMs  the instant by which it was set at the latest */
export function expiredByMs(sentAtMs: number, ttlMs: number, driftFactor: number): number {
  return Math.ceil(sentAtMs + ttlMs + driftMs(ttlMs, driftFactor));
}

/** Renewal starts after this part of the ttl. */
export const RENEW_AT = 1 / 3;
/**
 * The first renewal of a lease that some master has not given its vote starts after this time at the latest, in ms: until
 * then, one failure may end the lease (protocol C3a).
 */
export const RENEW_PARTIAL_MS = 1_000;
/** A failed renewal is tried again after this part of the remaining validity, within these bounds (ms). */
const RETRY_AFTER = 1 / 10;
const RETRY_FIRST_MS = 5;
const RETRY_LAST_MS = 500;
/** A lease counts as lost if less than this is left when its timer fires: timers have a resolution of 1 ms. */
export const LOSS_MARGIN_MS = 2;

/** How long after a failed renewal the next one starts, in ms. @param leftMs  the remaining validity */
export function renewAgainInMs(leftMs: number): number {
  return Math.min(Math.max(leftMs * RETRY_AFTER, RETRY_FIRST_MS), RETRY_LAST_MS);
}
