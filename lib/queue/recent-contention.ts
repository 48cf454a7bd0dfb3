/**
 * How often each lock was held by others lately. It decides whether an acquisition queues at once or tries first.
 *
 * A try takes one round trip if the lock is free; if not, it was in vain. Queueing at once takes one more round trip if the
 * lock is free. So it pays where the lock is held more often than not. The share is estimated by an exponentially weighted
 * moving average of what the acquisitions of this instance met, and halves in each 5 s in which nobody asks.
 */
import type { Clock } from '../runtime/clock.js';

/** The weight of the latest acquisition in the average. */
const GAIN = 1 / 8;
/** From this share on, a lock is more likely to be held than free. */
const LIKELY = 1 / 2;
const HALF_LIFE_MS = 5_000;
/** Lower shares are forgotten. */
const LEAST = 1 / 32;
const MAX_LOCKS = 1_000;

interface Estimate {
  /** At `atMs`. */
  readonly share: number;
  readonly atMs: number;
  /** An acquisition that may queue was among them. */
  readonly mayQueue: boolean;
}

export class RecentContention {
  readonly #clock: Clock;
  /** By key; ordered by their instants. A lock without one was free whenever somebody asked lately. */
  readonly #estimates = new Map<string, Estimate>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the lock is more likely to be held by others than to be free. */
  isLikely(key: string): boolean {
    return this.#shareOf(key) >= LIKELY;
  }

  /** Whether others held the lock lately, but it is more likely to be free. */
  isOccasional(key: string): boolean {
    const share = this.#shareOf(key);
    return share >= LEAST && share < LIKELY;
  }

  /** Whether somebody may be in the lock's queues: others held it lately when it was asked for by who may queue. */
  mayHaveQueue(key: string): boolean {
    return this.#estimates.get(key)?.mayQueue === true;
  }

  /**
   * An acquisition has asked for the lock.
   * @param wasHeld  others held it, or waited for it
   * @param mayQueue  whether this acquisition may queue
   * @returns whether others held it, now and before
   */
  note(key: string, wasHeld: boolean, mayQueue: boolean): boolean {
    const before = this.#estimates.get(key);
    if (before === undefined && !wasHeld) return false;
    const atMs = this.#clock.earliest();
    const share = before === undefined ? 0 : this.#shareAt(atMs, before);
    const next = share + ((wasHeld ? 1 : 0) - share) * GAIN;
    this.#estimates.delete(key);
    if (next < LEAST) return false;
    this.#estimates.set(key, { share: next, atMs, mayQueue: mayQueue || before?.mayQueue === true });
    for (const oldest of this.#estimates.keys()) {
      if (this.#estimates.size <= MAX_LOCKS) break;
      this.#estimates.delete(oldest);
    }
    return wasHeld && before !== undefined;
  }

  #shareOf(key: string): number {
    const estimate = this.#estimates.get(key);
    if (estimate === undefined) return 0; // the usual case reads no clock
    return this.#shareAt(this.#clock.earliest(), estimate);
  }

  #shareAt(nowMs: number, { share, atMs }: Estimate): number {
    return share * 2 ** ((atMs - nowMs) / HALF_LIFE_MS);
  }
}
