/** What the seed decides: in which order a worker tries the jobs, and how long each job's work takes. */

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function jobName(number: number): string {
  return `job:${number}`;
}

interface Work {
  readonly seed: number;
  readonly ttlMs: number;
}

/**
 * How long job `number` works. Most take tens of ms; every third takes long enough to be struck in the middle; a few
 * outlive the ttl and end well only because their lease is renewed.
 */
export function workMs(number: number, { seed, ttlMs }: Work): number {
  const share = seeded(seed + number * 7919)();
  if (number % 40 === 12) return Math.round(ttlMs * (1.1 + 0.3 * share));
  if (number % 3 === 1) return Math.round(160 + 240 * share);
  return Math.round(25 + 65 * share);
}
