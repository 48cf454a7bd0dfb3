/**
 * The masters' time, as it is known here: the median of their clocks, as read from a quorum, carried on by the local clock.
 * It tells when to claim. Whether a tick is due, and done, is decided by what the masters say under the claim.
 */
import type { Coordination } from '../lease/coordination.js';
import { clockOf } from '../protocol/replies.js';
import { clockReading } from '../protocol/request.js';
import { quorumOf } from '../protocol/quorum.js';
import { medianOf } from '../runtime/statistics.js';

/** A reading is good for so long: clocks of machines run apart by a millisecond in it, and are seldom set. */
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

  /** Reads the clocks if the last reading is old. @returns whether the time is known, be it by an older reading */
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

  /** A quorum told its clocks, in µs, in replies to what was sent at that instant, and that have just come. */
  learn(clocksUs: readonly number[], sentAtMs: number): void {
    const nowMs = this.#coordination.clock.earliest();
    this.#aheadMs = medianOf(clocksUs) / 1_000 - (sentAtMs + nowMs) / 2;
    this.#readAtMs = nowMs;
  }
}
