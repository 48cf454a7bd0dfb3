/** When a waiter looks again at a master, by the local clock, in ms. */
import type { Clock } from '../runtime/clock.js';
import { FRESH_MS, RESERVE_MS } from '../protocol/lua/waiting.js';
import type { Random } from '../runtime/random.js';
import { lookAgainMs, pollMs, type QueuePlace } from './queue-place.js';

/** A master without a clear answer is asked again after this time. */
const FAILED_POLL_MS = 1_000;
/** A look comes 1 to this many ms after the instant at which the master's vote should be free. */
const SOON_MS = 5;
/**
 * A waiter whose last look is older than this looks again when it becomes the first: after a fresh look, the hand-over is
 * direct.
 */
export const STALE_MS = FRESH_MS / 2;

/** What a master said as it refused. */
interface Refusal {
  readonly remainingMs: number;
  /** How many waiters are ahead. */
  readonly rank: number;
  readonly isForeignClient: boolean;
}

export class LookTimes {
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  soonAfter(delayMs: number): number {
    return this.#clock.earliest() + delayMs + 1 + this.#random.fraction() * (SOON_MS - 1);
  }

  /**
   * The waiter has become the first: its turn may come before its next look. @param directTtlMs  0 if votes are only reserved
   */
  asFirst(place: QueuePlace, directTtlMs: number): number {
    const isStale = this.#clock.earliest() - place.sentAtMs > STALE_MS;
    return isStale && directTtlMs > 0 ? this.soonAfter(0) : this.soonAfter(RESERVE_MS);
  }

  afterFailure(): number {
    return this.#clock.earliest() + FAILED_POLL_MS * (0.75 + this.#random.fraction() / 2);
  }

  /** Also notes when the vote may be free. */
  afterRefusal(place: QueuePlace, { isForeignClient, rank, remainingMs }: Refusal): number {
    const nowMs = this.#clock.earliest();
    const isRenewed = nowMs + remainingMs > place.freeAtMs;
    place.freeAtMs = nowMs + remainingMs;
    const freeInMs = this.soonAfter(remainingMs) - nowMs;
    const pollInMs = pollMs(rank, isForeignClient) * (0.75 + this.#random.fraction() / 4);
    return nowMs + lookAgainMs({ rank, freeInMs, pollInMs, isRenewed }, this.#random.fraction());
  }
}
