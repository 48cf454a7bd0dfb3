/**
 * Which locks were contended lately. The next acquisition of one of them queues at once, since a first try would probably
 * be refused.
 */
import type { Clock } from '../runtime/clock.js';

/** Contention is expected for this time after somebody had to wait. */
const LATELY_MS = 1_000;
const MAX_LOCKS = 1_000;

export class RecentContention {
  readonly #clock: Clock;
  /** Until when, by key; ordered by these instants. */
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
