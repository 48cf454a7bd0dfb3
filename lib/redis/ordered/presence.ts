/**
 * Whether a master is there, for a client that does not report its connections: it is lost once a request failed with its
 * connection, and there again once it has answered a PING.
 */
import type { Timer, Timers } from '../../runtime/clock.js';
import { isServerError } from '../server-errors.js';
import { reconnectMs } from '../waits.js';

export class Presence {
  /** No connection has been made or lost yet. */
  isFresh = true;
  lossReason: Error | undefined;
  #isThere: boolean;
  readonly #ping: () => Promise<unknown>;
  readonly #timers: Timers;
  readonly #listeners = new Set<() => void>();
  #isAsked = false;
  #losses = 0;
  #failures = 0;
  #next: Timer | undefined;
  #isClosed = false;

  /** @param isThere  what is known at first */
  constructor(isThere: boolean, ping: () => Promise<unknown>, timers: Timers) {
    this.#isThere = isThere;
    this.#ping = ping;
    this.#timers = timers;
  }

  get isThere(): boolean {
    return this.#isThere;
  }

  /** A connection was lost, or could not be made. */
  lose(error: Error): void {
    this.#losses++;
    this.isFresh = false;
    this.#isThere = false;
    this.lossReason = error;
    this.ask();
    this.changed();
  }

  /** Asks until it answers, unless it is being asked. */
  ask(): void {
    if (this.#isAsked || this.#isClosed) return;
    this.#isAsked = true;
    const losses = this.#losses;
    this.#ping().then(
      () => this.#onAnswer(losses),
      (error: Error) => (isServerError(error) ? this.#onAnswer(losses) : this.#onSilence(error)),
    );
  }

  /** Calls back whenever something may have changed, until the returned function is called. */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  readonly changed = (): void => {
    for (const listener of [...this.#listeners]) listener();
  };

  close(): void {
    this.#isClosed = true;
    this.#next?.cancel();
  }

  /** @param losses  when it was asked: an answer from before the last loss shows nothing */
  #onAnswer(losses: number): void {
    this.#isAsked = false;
    if (losses < this.#losses) return this.ask();
    this.#failures = 0;
    this.#isThere = true;
    this.isFresh = false;
    this.lossReason = undefined;
    this.changed();
  }

  #onSilence(error: Error): void {
    this.isFresh = false;
    this.lossReason ??= error;
    this.#next = this.#timers.background(reconnectMs(this.#failures++), () => {
      this.#isAsked = false;
      this.ask();
    });
    this.changed();
  }
}
