/**
 * Measures the round trip to one master: one call at a time, as TCP does, and none that is sent meanwhile.
 *
 * It does not measure calls that an attempt gave up on, failures, and calls during which this process was busy for most of
 * the time: their answers may have waited here. While a process is that busy throughout, the previous estimate remains. An
 * answer that comes after an attempt would have given up counts as a timeout, too, though no attempt needed it.
 */
import type { Clock, IdleTime } from '../runtime/clock.js';
import { LEAST_MS } from '../protocol/node-timeout.js';
import { RoundTrip } from './round-trip.js';
import { Silence, toError } from '../redis/server-errors.js';
import type { Command, Transport } from '../redis/transport.js';

/** The least time between two calls that are measured, in ms: measuring takes time. */
const EVERY_MS = 10;
/** Busy times below this do not matter, in ms: they add little to the time that an attempt waits anyway. */
const BRIEF_MS = 25;
/** The part of a round trip during which this process may be busy. */
const MOST_BUSY = 1 / 2;

export class CallTiming {
  readonly trip = new RoundTrip();
  readonly #clock: Clock;
  readonly #idle: IdleTime;
  #state: 'free' | 'timing' | 'void' = 'free';
  #sentAtMs = -Infinity;
  #idleAtMs = 0;

  /** @param idle  without it, the event loop counts as idle all the time */
  constructor(clock: Clock, idle: IdleTime = () => clock.earliest()) {
    this.#clock = clock;
    this.#idle = idle;
  }

  /**
   * For how long the call that is being measured, or was given up on, has had no answer; 0 without such a call. It shows that
   * a master has stopped even if nobody waits for its answers, since a quorum of the others decides.
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

  /** An attempt gave up waiting. @param silence  how long it waited, unless something else cut the wait short */
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
