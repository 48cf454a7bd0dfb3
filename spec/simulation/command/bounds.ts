/** How far small worlds are explored. */

/** The most deviations of a schedule in CI. */
export const CI_K = 1;
/** The same in its nightly run, in worlds whose usual order has no more steps than this: half a million schedules, not two. */
export const FULL_K = 2;
export const FULL_STEPS = 60;
/** The most faults of a schedule. */
export const MOST_FAULTS = 2;

/** A world that takes longer hangs. */
export const LONGEST_MS = 3 * 3_600_000;
