/** A weakness, and what each way to lock makes of it. */
import type { Stage } from '../stage.js';
import type { Trial, Verdict } from '../tape.js';
import type { Way } from '../ways.js';

export interface Scene {
  readonly name: string;
  readonly title: string;
  /** What goes wrong, in a sentence or two. */
  readonly weakness: string;
  /** Why those survive that do. */
  readonly answer: string;
  /** What is known; a way that is not named has no part in it. */
  readonly expected: Readonly<Partial<Record<Way, Verdict>>>;
  /** The two that are drawn. */
  readonly drawn: readonly [Way, Way];
  play(stage: Stage): Promise<ReadonlyMap<Way, Trial>>;
}

/** Plays it for each of these ways at the same time, each on a key of its own. */
export async function each<W extends Way>(
  ways: readonly W[],
  play: (way: W, key: string) => Promise<Trial>,
): Promise<Map<Way, Trial>> {
  const trials = await Promise.all(ways.map(async (way) => [way, await play(way, `lock:${way}`)] as const));
  return new Map<Way, Trial>(trials);
}
