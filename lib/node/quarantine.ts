/** What a master last said about its quarantine: the time for which it gives no votes, after it may have forgotten some. */
import type { Clock } from '../runtime/clock.js';

export class Quarantine {
  /** Called with the time left, in ms, when the quarantine becomes known. */
  onBegin: ((remainingMs: number) => void) | undefined;
  readonly #clock: Clock;
  #untilMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long it still lasts, in ms; 0 without one. */
  get remainingMs(): number {
    if (this.#untilMs === -Infinity) return 0; // the usual case reads no clock
    return Math.max(0, Math.round(this.#untilMs - this.#clock.earliest()));
  }

  /** The master said that it abstains for `remainingMs`. */
  lasts(remainingMs: number): void {
    const isNew = this.remainingMs === 0;
    this.#untilMs = this.#clock.earliest() + remainingMs;
    if (isNew) this.onBegin?.(remainingMs);
  }

  /** The master votes, as its answer shows. */
  isOver(): void {
    this.#untilMs = -Infinity;
  }
}
