/** What keys hold, what scripts say of it, and the bounds of its numbers: for the library, and for the scripts' Lua. */

/**
 * The number after code 2 in a reply: what the key holds instead, or that its counter cannot be raised to another fencing
 * token.
 */
export const HOLDS = { data: 0, mutex: 1, readWrite: 2, semaphore: 3, counter: 4 } as const;

/**
 * A field of a shared lock, as a pattern of Lua's: what the holder has, the end of it in ms, and k if it has permits; and the
 * mark of a hand-over.
 */
export const SHARED_FIELD = '^([rw~%d,]+)|(%d+)|(%d*)(.*)$';

/** The code of the reply to an extension whose token is listed as taken away. */
export const TAKEN_AWAY = -3;

/** The most tokens that are listed; the latest are kept. */
export const MOST_TAKEN = 1_000;

// --- fencing tokens and their counters

/**
 * How far, in µs, a proposed fencing token may be behind the master's clock, and ahead of it (BACK and AHEAD of protocol
 * A2). Otherwise the master takes its own clock.
 */
export const BACK_US = 1_000_000;
export const AHEAD_US = 20_000;

/**
 * How many fencing tokens a master accepts at a time: the first one is for the first lease on a grant, and the next ones are for
 * the leases to which an instance hands the grant on (protocol C4). A counter is the last of them.
 */
export const FENCE_BLOCK = 64;

/** How long, in ms, a counter lives after its master's clock has passed it (LIFE of protocol A2). */
export const COUNTER_LIFE_MS = 60_000;

/**
 * The last fencing token that a master can accept (others of its block are higher); a counter that has reached it is spent.
 * Beyond 2^53 (9.007e15) numbers lose precision, and close to it ioredis 6.0 reads some replies wrongly. The µs since 1970 get
 * there in the year 2255.
 */
export const LAST_FENCE = 9_000_000_000_000_000;

// --- timestamp locks

/**
 * No instant of our days is out of these bounds, so a number that is, was written in the other unit or is no instant.
 * To take one over would be to take a lock that is held (1 790 000 000 read as milliseconds is 1970).
 */
export const INSTANT_BOUNDS = Object.freeze({
  /** The year 5138, in seconds: above it, only milliseconds can be meant. */
  mostSeconds: 1e11,
  /** 1973 in seconds, a day of 1970 in ms: a number below it has run out in either unit. */
  leastSeconds: 1e8,
  mostMs: 1e14,
});
