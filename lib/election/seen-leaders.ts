/** The latest leaders that an instance has announced, so that it never goes back to an earlier one. */
import type { Leader } from './public.js';

/** How many elections are remembered: those with the latest looks. */
const MOST_ELECTIONS = 1_000;

/** Whether the first is later than the second, or the same. */
export function isAtLeast(one: Pick<Leader, 'fence' | 'seq'>, other: Pick<Leader, 'fence' | 'seq'>): boolean {
  return one.fence > other.fence || (one.fence === other.fence && one.seq >= other.seq);
}

export class SeenLeaders {
  readonly #latest = new Map<string, Leader>();

  /**
   * A quorum names this leader. @returns what may be announced: the latest value seen of that leader, or null if it is
   * earlier than a leader that was announced
   */
  see(election: string, leader: Leader): Leader | null {
    const latest = this.#latest.get(election);
    if (latest !== undefined && latest.fence > leader.fence) return null;
    const told = latest !== undefined && isAtLeast(latest, leader) ? latest : leader;
    this.#latest.delete(election);
    this.#latest.set(election, told);
    if (this.#latest.size > MOST_ELECTIONS)
      for (const oldest of this.#latest.keys()) return this.#forget(oldest, told);
    return told;
  }

  #forget(oldest: string, told: Leader): Leader {
    this.#latest.delete(oldest);
    return told;
  }
}
