/**
 * The floor for counters that a claim finds missing: what the masters' clocks will show as it arrives, and a little
 * more, so that a quorum of them begins to count from the same number and agrees in one round trip.
 *
 * It is learned from the clocks that masters tell when they re-create a counter, and goes on by the local clock. Nothing
 * about safety depends on it: a master takes it only within `FLOOR_LEAD_US` above its own clock. Without one, or where it
 * is off, a first grant takes a second round trip.
 */
import { FLOOR_LEAD_US } from '../protocol/lua/mutex.js';
import type { Outcome } from '../protocol/quorum.js';

/** Halfway into what masters accept: as much room for messages that take longer as for ones that come sooner. */
const MARGIN_US = FLOOR_LEAD_US / 2;

/** A round of claims, as far as it tells of clocks. */
interface Claimed {
  readonly isPrompt: boolean;
  readonly sentAtMs: number;
  readonly outcomes: readonly (Outcome | undefined)[];
}

export class CounterFloor {
  /** By the master's index: its clock on a claim's arrival, less the instant at which the claim was sent; µs. */
  readonly #aheadUs: (number | undefined)[] = [];
  /** The same for a floor that as many masters as possible accept. */
  #bestUs: number | undefined;

  /** A floor in µs for a claim that is sent at this instant; 0 while nothing is known. */
  at(sentAtMs: number): number {
    return this.#bestUs === undefined ? 0 : Math.round(sentAtMs * 1_000 + this.#bestUs + MARGIN_US);
  }

  /** Masters that had to make a new counter told their clocks: the next new one starts alike on all. */
  learnFrom({ isPrompt, outcomes, sentAtMs }: Claimed): void {
    if (!isPrompt) return; // the request waited here, and its instant says nothing
    outcomes.forEach((outcome, index) => {
      if (outcome?.kind !== 'granted' || outcome.clockUs === 0) return;
      this.learn(index, outcome.clockUs, sentAtMs);
    });
  }

  /** A master told its clock (µs) in its answer to a claim that was sent at that instant. */
  learn(index: number, clockUs: number, sentAtMs: number): void {
    this.#aheadUs[index] = clockUs - sentAtMs * 1_000;
    this.#bestUs = best(this.#aheadUs.filter((ahead) => ahead !== undefined));
  }
}

/** The one that has most others just behind it. */
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
