/**
 * Estimates the round trip to one master as TCP does (RFC 6298), and from it how long an attempt has to wait for an answer.
 *
 * Before the first measurement that is one second, as there: with less, a first attempt on masters that are 900 ms away
 * could not succeed, and where a quorum answers, nobody waits for it.
 *
 * An answer that comes after an attempt would have given up is a timeout, and is not measured, nor is one that an attempt
 * did give up on: a master that was frozen for a minute is as near as before. So measurements alone could not follow a
 * network that becomes slower than an attempt waits, and every attempt would fail. Therefore an attempt that gives up
 * doubles the time for its next one (RFC 6298, 5.5), until the next measurement. It doubles the time that it has waited,
 * not the master's: a thousand attempts that give up together double it once.
 */
import { TRIPS } from '../protocol/node-timeout.js';

/** What an attempt waits before anything is measured, and the most that it ever needs; in ms. */
export const FIRST_MS = 1_000;
/** The granularity of what is measured, in ms. */
const GRAIN_MS = 1;
/** The shares of a new measurement in the mean, and in the mean deviation from it. */
const MEAN_GAIN = 1 / 8;
const DEVIATION_GAIN = 1 / 4;
/** How many mean deviations an answer may be late. */
const DEVIATIONS = 4;
/** The share of a longer measurement in the bare round trip: a load passes sooner than that follows it. */
const BARE_GAIN = 1 / 64;

export class RoundTrip {
  #isMeasured = false;
  #meanMs = 0;
  #deviationMs = 0;
  #patienceMs = FIRST_MS;
  /** Without load: it follows a shorter round trip at once, and a longer one slowly. */
  bareMs = 0;

  /** The average of late; undefined before anything is measured. */
  get meanMs(): number | undefined {
    return this.#isMeasured ? this.#meanMs : undefined;
  }

  /** An answer should come within this time; 0 before anything is measured. */
  get expectedMs(): number {
    return this.#isMeasured ? this.#meanMs + Math.max(GRAIN_MS, DEVIATIONS * this.#deviationMs) : 0;
  }

  /** How long an attempt has to wait for this master. */
  get patienceMs(): number {
    return this.#patienceMs;
  }

  /** A call was answered after this time. */
  measured(tripMs: number): void {
    if (this.#isMeasured) {
      this.#deviationMs += (Math.abs(this.#meanMs - tripMs) - this.#deviationMs) * DEVIATION_GAIN;
      this.#meanMs += (tripMs - this.#meanMs) * MEAN_GAIN;
      this.bareMs = Math.min(tripMs, this.bareMs + (tripMs - this.bareMs) * BARE_GAIN);
    } else {
      this.#isMeasured = true;
      this.#meanMs = tripMs;
      this.#deviationMs = tripMs / 2;
      this.bareMs = tripMs;
    }
    this.#patienceMs = Math.min(TRIPS * this.expectedMs, FIRST_MS);
  }

  /** An attempt that waited for this long gave up. */
  gaveUp(withinMs: number): void {
    this.#patienceMs = Math.max(this.#patienceMs, Math.min(2 * withinMs, FIRST_MS));
  }
}
