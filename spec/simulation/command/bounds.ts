/** How far small worlds are explored. */
import type { Bounds } from '../small/explorer.js';

export const CI_BOUNDS: Bounds = { k: 1, faults: 1 };
export const FULL_BOUNDS: Bounds = { k: 2, faults: 2 };

/** A world that takes longer hangs. */
export const LONGEST_MS = 3 * 3_600_000;
