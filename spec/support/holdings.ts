/** The judge of exclusion: who held a lock from when to when, each by its own account. */

/** Times are ms of CLOCK_MONOTONIC. */
export interface Holding {
  readonly who: string;
  /** It knew that it holds the lock. */
  readonly fromMs: number;
  /** It began the release, or its validity ended, whichever was first. */
  readonly untilMs: number;
  readonly fence?: number;
}

/** Each holding that began before an earlier one had ended, with one of those. */
export function overlaps(holdings: readonly Holding[]): readonly string[] {
  const found: string[] = [];
  let longest: Holding | undefined;
  for (const one of inOrder(holdings)) {
    if (one.untilMs <= one.fromMs) continue;
    if (longest !== undefined && longest.untilMs > one.fromMs)
      found.push(`${longest.who} and ${one.who} for ${(longest.untilMs - one.fromMs).toFixed(1)} ms`);
    if (longest === undefined || one.untilMs > longest.untilMs) longest = one;
  }
  return found;
}

/** In the order of the grants. */
export function fencesOf(holdings: readonly Holding[]): readonly number[] {
  return inOrder(holdings).flatMap(({ fence }) => fence ?? []);
}

export function grantsOf(holdings: readonly Holding[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { who } of holdings) counts.set(who, (counts.get(who) ?? 0) + 1);
  return counts;
}

function inOrder(holdings: readonly Holding[]): Holding[] {
  return [...holdings].sort((a, b) => a.fromMs - b.fromMs);
}
