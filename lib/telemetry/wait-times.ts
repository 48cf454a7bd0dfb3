/**
 * How long calls took to get their leases: counts by length, in few numbers that only grow. From the difference between two
 * readings, percentiles of the calls between them can be made. Pure but for the counts.
 */

/** Each length is a fifth longer than the one before. */
const PER_DOUBLING = 4;
/** From up to 1 ms to 2^20 ms, which are 17 minutes. What takes longer counts as that. */
export const WAIT_LENGTHS = 20 * PER_DOUBLING + 1;

export class WaitTimes {
  readonly #counts = Array.from({ length: WAIT_LENGTHS }, () => 0);

  add(ms: number): void {
    const i = ms <= 1 ? 0 : Math.min(WAIT_LENGTHS - 1, Math.ceil(PER_DOUBLING * Math.log2(ms)));
    this.#counts[i] = (this.#counts[i] ?? 0) + 1;
  }

  /** How many took each length, the shortest first, without those that nobody took at the end. */
  get counts(): readonly number[] {
    return this.#counts.slice(0, this.#counts.findLastIndex((count) => count > 0) + 1);
  }
}

/** What a share of the calls did not exceed, in ms, rounded up to a length; undefined of none */
export function waitPercentile(counts: readonly number[], share: number): number | undefined {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all <= 0) return undefined;
  let below = 0;
  const i = counts.findIndex((count) => (below += count) >= share * all);
  return 2 ** ((i < 0 ? counts.length - 1 : i) / PER_DOUBLING);
}
