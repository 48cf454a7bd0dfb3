/**
 * The waits between the attempts of one call: random, longer each time, and never beyond the end of the call's wait.
 */
import type { Runtime } from '../runtime/clock.js';
import type { Cancellation } from '../runtime/cancellation.js';
import type { CallContext } from './failure.js';
import type { CallTerms } from '../protocol/terms.js';

/** How long a call keeps trying, and the bounds of its delays. */
type Retries = Pick<CallTerms, 'waitMs' | 'minDelayMs' | 'maxDelayMs'>;

/** The shortest pause at a steady pace, as a part of the longest one. */
const STEADY = 1 / 3;

export class Backoff {
  readonly #runtime: Runtime;
  readonly #retries: Retries;
  readonly #cancellation: Cancellation;
  /** Before anything is sent. */
  readonly startedAtMs: number;
  /** How many attempts were made, the one under way included. */
  attempts = 1;
  /** No attempt follows the one under way. */
  isLast: boolean;

  /** @param startedAtMs  when the call began; a suspension before it must not be charged to it */
  constructor(
    runtime: Runtime,
    retries: Retries,
    cancellation: Cancellation,
    startedAtMs = runtime.clock.recent(),
  ) {
    this.#runtime = runtime;
    this.#retries = retries;
    this.#cancellation = cancellation;
    this.startedAtMs = startedAtMs;
    this.isLast = retries.waitMs === 0;
  }

  /** The rest of the call's wait; 0 when it is over. */
  get leftMs(): number {
    return Math.max(0, this.startedAtMs + this.#retries.waitMs - this.#runtime.clock.now());
  }

  get elapsedMs(): number {
    return Math.round(this.#runtime.clock.now() - this.startedAtMs);
  }

  /** What errors report about the call so far. */
  context(resources: readonly string[]): CallContext {
    const { attempts, elapsedMs } = this;
    return { resources, attempts, elapsedMs };
  }

  /** The next attempt starts at once. */
  begin(which: 'next' | 'last'): void {
    this.attempts++;
    if (which === 'last') this.isLast = true;
  }

  /** Waits for a random time of this range, in ms, before the next attempt. */
  async pause({ least, most }: { readonly least: number; readonly most: number }): Promise<void> {
    await this.#sleep(least + this.#runtime.random.fraction() * (most - least));
  }

  /**
   * Waits before the next attempt.
   * @returns whether there is one
   *
   * @param freeInMs  the lock should be free by then: there is no use in waiting longer
   */
  next(freeInMs = Infinity): Promise<boolean> {
    const { minDelayMs, maxDelayMs } = this.#retries;
    const mostMs = Math.min(maxDelayMs, minDelayMs * 2 ** Math.min(this.attempts, 30));
    return this.#next(minDelayMs, mostMs, freeInMs);
  }

  /** The same, but at a steady pace: not longer each time. @param paceMs  the longest pause, unless the caller wants longer ones */
  nextAtPace(paceMs: number, freeInMs = Infinity): Promise<boolean> {
    const { minDelayMs, maxDelayMs } = this.#retries;
    if (minDelayMs >= paceMs) return this.next(freeInMs);
    const mostMs = Math.min(maxDelayMs, paceMs);
    return this.#next(Math.max(minDelayMs, mostMs * STEADY), mostMs, freeInMs);
  }

  async #next(leastMs: number, mostMs: number, freeInMs: number): Promise<boolean> {
    const { random } = this.#runtime;
    if (this.isLast || this.leftMs <= 0) return false;
    const drawnMs = leastMs + random.fraction() * (mostMs - leastMs);
    const freeMs = freeInMs + 1 + random.fraction() * this.#retries.minDelayMs;
    await this.#sleep(Math.min(drawnMs, freeMs));
    return true;
  }

  async #sleep(wantedMs: number): Promise<void> {
    const { leftMs } = this;
    const delayMs = Math.min(wantedMs, leftMs);
    this.isLast = delayMs === leftMs;
    this.attempts++;
    await this.#cancellation.sleep(this.#runtime.timers, delayMs);
  }
}
