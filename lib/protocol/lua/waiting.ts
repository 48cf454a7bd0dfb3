/** Bounds of queues and their waiters, in ms unless something else is said (protocols C1 and C3). */

/**
 * How long a reservation waits for its claim. A waiter that died costs the next one a second, including the time to notice
 * it.
 */
export const RESERVE_MS = 990;

/**
 * How long a key rests for the holder of its lock (protocol C3a). The holder's extensions are tried again within this time;
 * if it is gone, the lock is out of use on one master for a second.
 */
export const REST_MS = 990;

/**
 * A vote is handed over directly if the waiter's last look at this master is no older than this. A waiter that has died
 * since costs the others its ttl.
 */
export const FRESH_MS = 5_000;

/**
 * How many waiters that are gone one call drops from queues, at most: a master serves nobody else meanwhile. If more of them
 * are ahead of the first waiter that a push reaches, the lock stays free, and later calls go on: the same release sent again,
 * and the polls of waiters.
 */
export const MAX_DROPPED = 500;

/** A waiter counts as gone if its last look is this long ago. The slowest waiters look again after 16 s. */
export const GONE_MS = 20_000;

/**
 * The least time between two tidyings of a queue. A look that is refused, and not the first, tidies it: so places of waiters
 * that are gone do not pile up under a holder that stays. Each tidying goes through `MOST_TIDIED` places, and the next one
 * goes on from there. It also checks the first waiter by a push, unless that has looked within TIDY_MS.
 */
export const TIDY_MS = 3_000;

/** How many tokens without a place may leave looks behind before all looks are dropped. */
export const MOST_LEFT = 64;

/** The field of the looks that has the time of the last tidying of the queue. */
export const TIDIED = 'tidied';

/** How many waiters an inspection lists. */
export const SHOWN_WAITERS = 32;

/** How long the place of one that only claims stops others after its last claim. */
export const MUTE_MS = 1_000;
