/**
 * The masters' time, as far as this process knows it: the median of a quorum's clocks, carried forward by the local clock. It
 * says when to claim. What the masters say under the claim decides whether a tick is due, and done.
 */
import type { Coordination } from '../lease/coordination.js';
import { clockOf } from '../protocol/replies.js';
import { clockReading } from '../protocol/request.js';
import { quorumOf } from '../protocol/quorum.js';
import { medianOf } from '../runtime/statistics.js';

/** How long a reading is good, in ms: clocks of machines run apart by a millisecond in this time, and are seldom set. */
const FRESH_MS = 10_000;

export class MastersTime {
  readonly #coordination: Coordination;
  #aheadMs = 0;
  #readAtMs = -Infinity;

  constructor(coordination: Coordination) {
    this.#coordination = coordination;
  }

  /** In ms since 1970. */
  get nowMs(): number {
    return this.#coordination.clock.earliest() + this.#aheadMs;
  }

  get isKnown(): boolean {
    return this.#readAtMs > -Infinity;
  }

  /** Reads the clocks if the last reading is old. @returns whether the time is known, if only by an older reading */
  async refresh(): Promise<boolean> {
    const { clock, coordinator, terms } = this.#coordination;
    if (clock.earliest() - this.#readAtMs < FRESH_MS) return true;
    const quorum = quorumOf(coordinator.nodes.length);
    const sentAtMs = clock.earliest();
    const looks = await coordinator.survey(clockReading(), coordinator.nodeTimeoutFor(terms), {
      isEnough: (some) => some.filter((look) => look?.kind === 'answered').length >= quorum,
    });
    const clocksUs = looks.flatMap((look) => (look.kind === 'answered' ? [clockOf(look.reply)] : []));
    const read = clocksUs.filter((us) => us > 0);
    if (read.length >= quorum) this.learn(read, sentAtMs);
    return this.isKnown;
  }

  /** A quorum reported its clocks, in µs, in replies that have just come, to requests that were sent at `sentAtMs`. */
  learn(clocksUs: readonly number[], sentAtMs: number): void {
    const nowMs = this.#coordination.clock.earliest();
    this.#aheadMs = medianOf(clocksUs) / 1_000 - (sentAtMs + nowMs) / 2;
    this.#readAtMs = nowMs;
  }
}
