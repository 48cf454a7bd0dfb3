/** What scripts find in keys, and say of it in their replies. */

/**
 * The number after code 2 in a reply: what the key holds instead, or that its counter cannot be raised to another fencing
 * token.
 */
export const HOLDS = { data: 0, mutex: 1, readWrite: 2, semaphore: 3, counter: 4 } as const;

/** The values of the field `kind` of a shared lock. */
export const STORED_KIND = { readWrite: 'rw1', semaphore: 'sem1' } as const;

/** The code of the reply to an extension whose token is listed as taken away. */
export const TAKEN_AWAY = -3;

/** The most tokens that are listed; the latest are kept. */
export const MOST_TAKEN = 1_000;
