/** What a master last said of its quarantine: until when it gives no votes, after it may have forgotten some. */
import type { Clock } from '../runtime/clock.js';

export class Quarantine {
  /** Called with the time left, in ms, when it is first heard of. */
  onBegin: ((remainingMs: number) => void) | undefined;
  readonly #clock: Clock;
  #untilMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** For how long it still lasts, in ms; 0 without one. */
  get remainingMs(): number {
    if (this.#untilMs === -Infinity) return 0; // the usual case reads no clock
    return Math.max(0, Math.round(this.#untilMs - this.#clock.earliest()));
  }

  /** The master said that it abstains for so long. */
  lasts(remainingMs: number): void {
    const isNew = this.remainingMs === 0;
    this.#untilMs = this.#clock.earliest() + remainingMs;
    if (isNew) this.onBegin?.(remainingMs);
  }

  /** It is known to vote. */
  isOver(): void {
    this.#untilMs = -Infinity;
  }
}
