/**
 * The floor for counters that a claim has to create: what the masters' clocks will show when it arrives, plus a margin. A
 * quorum of masters then starts counting from the same number, and agrees in one round trip.
 *
 * It is learned from the clocks that masters report when they re-create a counter, and advances with the local clock.
 * Nothing about safety depends on it: a master takes it only within `FLOOR_LEAD_US` above its own clock. Without a floor,
 * or with a wrong one, a first grant takes a second round trip.
 */
import { FLOOR_LEAD_US } from '../protocol/lua/mutex.js';
import type { Outcome } from '../protocol/quorum.js';
import type { Scope } from '../protocol/scope.js';

/** The middle of the range that masters accept: messages may be slower or faster by the same amount. */
const MARGIN_US = FLOOR_LEAD_US / 2;

/** What a round of claims reveals about the masters' clocks. */
interface Claimed {
  readonly isPrompt: boolean;
  readonly sentAtMs: number;
  readonly outcomes: readonly (Outcome | undefined)[];
}

export class CounterFloor {
  /** By the master's index: its clock at the arrival of a claim, minus the instant at which the claim was sent; µs. */
  readonly #aheadUs: (number | undefined)[] = [];
  /** The same, for a floor that as many masters as possible accept. */
  #bestUs: number | undefined;

  /** The floor, in µs, for a claim that is sent at this instant; 0 while no clock is known. */
  at(sentAtMs: number): number {
    return this.#bestUs === undefined ? 0 : Math.round(sentAtMs * 1_000 + this.#bestUs + MARGIN_US);
  }

  /** The floor for a claim of that scope: 0 without fencing, since it has no counters. */
  of({ isFenced }: Pick<Scope, 'isFenced'>, sentAtMs: number): number {
    return isFenced ? this.at(sentAtMs) : 0;
  }

  /**
   * Masters that created a counter reported their clocks. The floor makes the next new counter start alike on all of
   * them.
   */
  learnFrom({ isPrompt, outcomes, sentAtMs }: Claimed): void {
    if (!isPrompt) return; // a request waited here, so its send instant says nothing
    outcomes.forEach((outcome, index) => {
      if (outcome?.kind !== 'granted' || outcome.clockUs === 0) return;
      this.learn(index, outcome.clockUs, sentAtMs);
    });
  }

  /** A master reported its clock (µs) in its answer to a claim that was sent at that instant. */
  learn(index: number, clockUs: number, sentAtMs: number): void {
    this.#aheadUs[index] = clockUs - sentAtMs * 1_000;
    this.#bestUs = best(this.#aheadUs.filter((ahead) => ahead !== undefined));
  }
}

/** The candidate with the most others at or just below it. */
function best(aheadUs: readonly number[]): number | undefined {
  let found: number | undefined;
  let most = 0;
  for (const candidate of aheadUs) {
    const close = aheadUs.filter((other) => other <= candidate && candidate - other <= MARGIN_US).length;
    if (close < most || (close === most && found !== undefined && candidate < found)) continue;
    most = close;
    found = candidate;
  }
  return found;
}
