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
