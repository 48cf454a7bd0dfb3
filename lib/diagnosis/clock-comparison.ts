/**
 * Compares the masters' clocks, from what they showed and when they were asked. A reading says no more than that the clock
 * showed that time at some instant between question and answer, so only what is beyond doubt is reported.
 */

/** One answer to `TIME`; milliseconds. */
export interface Reading {
  /** When it was asked for and when it came, by the local monotonic clock. */
  readonly sentMs: number;
  readonly receivedMs: number;
  /** What the master's clock showed. */
  readonly shownMs: number;
}

/** The reading that says the most: the one with the shortest round trip. */
export function bestOf(readings: readonly Reading[]): Reading | undefined {
  return readings.reduce<Reading | undefined>(
    (best, one) => (best === undefined || tripOf(one) < tripOf(best) ? one : best),
    undefined,
  );
}

/** How far two clocks are apart at least, in ms: positive if the first is ahead, 0 if that is in doubt. */
export function apartMs(one: Reading, other: Reading): number {
  const [least, most] = aheadOf(one);
  const [otherLeast, otherMost] = aheadOf(other);
  if (least > otherMost) return least - otherMost;
  return most < otherLeast ? most - otherLeast : 0;
}

/** How far a clock is ahead of the local one, give or take half a round trip; only differences mean anything. */
export function aheadMs(reading: Reading): number {
  const [least, most] = aheadOf(reading);
  return (least + most) / 2;
}

/**
 * How much faster a clock runs than the local one at least, as a share; negative if it is slower, 0 if that is in doubt.
 */
export function driftOf(first: Reading, last: Reading): number {
  const elapsedMs = last.sentMs - first.receivedMs;
  if (elapsedMs <= 0) return 0;
  return apartMs(last, first) / elapsedMs;
}

function aheadOf({ sentMs, receivedMs, shownMs }: Reading): readonly [least: number, most: number] {
  return [shownMs - receivedMs, shownMs - sentMs];
}

function tripOf({ sentMs, receivedMs }: Reading): number {
  return receivedMs - sentMs;
}
