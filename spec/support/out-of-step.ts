/** Calls that begin one after another while the ones before are under way, as those of a busy service do. */
import type { RedlockOptions } from '../../lib/input/options.js';
import type { FakeTime } from './fake-time.js';

/** Nothing is renewed, and no attempt runs out of time meanwhile. */
export const LONG_TTL: RedlockOptions = { ttlMs: 3_600_000, nodeTimeoutMs: 500 };

/** One each 0.1 ms. @returns their promises, in order */
export async function outOfStep<Result>(
  time: FakeTime,
  count: number,
  begin: (i: number) => Promise<Result>,
): Promise<Promise<Result>[]> {
  const begun: Promise<Result>[] = [];
  for (let i = 0; i < count; i++) {
    begun.push(begin(i));
    await time.advance(0.1);
  }
  return begun;
}
