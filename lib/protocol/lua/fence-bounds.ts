/** The bounds of fencing tokens and their counters (protocol A2), for the scripts that count. */

/**
 * How far, in µs, a proposed fencing token may be behind the master's clock, and ahead of it (BACK and AHEAD of protocol
 * A2). Otherwise the master takes its own clock.
 */
export const BACK_US = 1_000_000;
export const AHEAD_US = 20_000;

/** How long, in ms, a counter lives after its master's clock has passed it (LIFE of protocol A2). */
export const COUNTER_LIFE_MS = 60_000;

/**
 * The last fencing token that can be granted; a counter that has reached it is spent. Beyond 2^53 (9.007e15) numbers lose
 * precision, and close to it ioredis 6.0 reads some replies wrongly. The µs since 1970 get there in the year 2255.
 */
export const LAST_FENCE = 9_000_000_000_000_000;
