/** How much CI runs: it has a few minutes of a core for it. */

/** How many fixed seeds CI runs, and how many that were never run. */
export const [CI_SEEDS, CI_FRESH] = [50, 20];

/** The most deviations of a schedule in CI. */
export const CI_K = 1;
/** The most steps in the usual order of such a world. Longer ones are gone through at night, and by `--small` alone. */
export const CI_STEPS = 150;
/** The most deviations in its nightly run, in worlds of up to `FULL_STEPS`. */
export const FULL_K = 2;
/** The most steps in the usual order of such a world: all worlds together would be three times as many schedules. */
export const FULL_STEPS = 60;
/** The most faults of a schedule. */
export const MOST_FAULTS = 2;

/** A world that takes longer hangs. */
export const LONGEST_MS = 3 * 3_600_000;
