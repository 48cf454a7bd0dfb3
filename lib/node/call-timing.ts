/**
 * Measures the round trip to one master: one call at a time, as TCP does, and nothing of what is sent meanwhile.
 *
 * Not measured are calls that an attempt gave up on, failures, and calls during which this process was busy for most of
 * the time: their answers may have waited here. While a process is that busy throughout, what was known before stands.
 * An answer that comes after an attempt would have given up is a timeout as well, though no attempt needed it.
 */
import type { Clock, IdleTime } from '../runtime/clock.js';
import { LEAST_MS } from '../protocol/node-timeout.js';
import { RoundTrip } from './round-trip.js';
import { Silence, toError } from '../redis/server-errors.js';
import type { Command, Transport } from '../redis/transport.js';

/** What is sent sooner than this after the last measured call is not measured, in ms: measuring takes time. */
const EVERY_MS = 10;
/** Being busy for less does not matter, in ms: it adds little to what an attempt waits anyway. */
const BRIEF_MS = 25;
/** The part of a round trip that this process may be busy for. */
const MOST_BUSY = 1 / 2;

export class CallTiming {
  readonly trip = new RoundTrip();
  readonly #clock: Clock;
  readonly #idle: IdleTime;
  #state: 'free' | 'timing' | 'void' = 'free';
  #sentAtMs = -Infinity;
  #idleAtMs = 0;

  /** @param idle  without it, the event loop is taken to be idle all the time */
  constructor(clock: Clock, idle: IdleTime = () => clock.earliest()) {
    this.#clock = clock;
    this.#idle = idle;
  }

  /**
   * For how long the call that is being measured, or was given up on, has had no answer; 0 where there is none. A master
   * that stands still is noticed by it although nobody waits for its answers: a quorum of the others decides.
   */
  get unansweredMs(): number {
    return this.#state === 'free' ? 0 : this.#clock.earliest() - this.#sentAtMs;
  }

  /** Sends a call, and measures it unless another one is being measured. */
  call(transport: Transport, command: Command): Promise<unknown> {
    try {
      const answer = transport.call(command);
      if (this.#state === 'free') this.#time(answer);
      return answer;
    } catch (error) {
      return Promise.reject(toError(error));
    }
  }

  #time(answer: Promise<unknown>): void {
    const nowMs = this.#clock.earliest();
    if (nowMs - this.#sentAtMs < EVERY_MS) return;
    this.#state = 'timing';
    this.#sentAtMs = nowMs;
    this.#idleAtMs = this.#idle();
    answer.then(this.#onAnswer, this.#onFailure);
  }

  /** An attempt gave up waiting. @param silence  tells for how long, unless something else cut it short */
  gaveUp(silence: Error | undefined): void {
    if (this.#state === 'timing') this.#state = 'void';
    if (silence instanceof Silence) this.trip.gaveUp(silence.withinMs);
  }

  readonly #onAnswer = (): void => {
    if (this.#state === 'timing') this.#measure(this.#clock.earliest() - this.#sentAtMs);
    this.#state = 'free';
  };

  readonly #onFailure = (): void => {
    this.#state = 'free';
    this.#sentAtMs = -Infinity;
  };

  #measure(tripMs: number): void {
    if (tripMs > BRIEF_MS) {
      const busyMs = tripMs - (this.#idle() - this.#idleAtMs);
      if (busyMs > Math.max(BRIEF_MS, tripMs * MOST_BUSY)) return;
    }
    const dueInMs = Math.max(this.trip.patienceMs, LEAST_MS);
    if (tripMs > dueInMs) this.trip.gaveUp(dueInMs);
    else this.trip.measured(tripMs);
  }
}
