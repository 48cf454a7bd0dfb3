/**
 * Which locks were contended lately: whoever waits for one of them queues at once, since a try would only be refused.
 */
import type { Clock } from '../runtime/clock.js';

/** So long after somebody had to wait, the next one is expected to. */
const LATELY_MS = 1_000;
const MAX_LOCKS = 1_000;

export class RecentContention {
  readonly #clock: Clock;
  /** Until when, by key; in the order of those instants. */
  readonly #untilMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isRecent(key: string): boolean {
    if (this.#untilMs.size === 0) return false; // the usual case reads no clock
    const untilMs = this.#untilMs.get(key);
    return untilMs !== undefined && untilMs > this.#clock.earliest();
  }

  note(key: string): void {
    this.#untilMs.delete(key);
    this.#untilMs.set(key, this.#clock.earliest() + LATELY_MS);
    if (this.#untilMs.size <= MAX_LOCKS) return;
    const [oldest] = this.#untilMs.keys();
    if (oldest !== undefined) this.#untilMs.delete(oldest);
  }
}
