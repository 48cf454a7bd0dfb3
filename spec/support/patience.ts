/**
 * Terms under which no deadline and no expiry decides anything, however busy the machine is: mocha ends the spec before. A
 * spec on real servers has a shorter time only where all that depends on it is that it runs out.
 */
export const PATIENT = { ttlMs: 600_000, waitMs: 150_000, nodeTimeoutMs: 60_000 } as const;

/** For `ready()` where all masters are there: otherwise it resolves at a quorum of them. */
export const EVERY_MASTER = { allWithinMs: Infinity } as const;

/** An extension to more than a lease has. */
export const LONGER_MS = 650_000;

/** A guard period for leases of either length. */
export const LONG_GUARD_MS = 700_000;
