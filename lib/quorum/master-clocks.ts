/**
 * What is known about the masters' clocks: the source of the fencing tokens that claims propose (protocol A2), and of the
 * tickets of waiters.
 *
 * A proposal is the masters' time now. A master takes a proposal that is near its own clock, so that masters agree on a
 * fencing token in one round trip. Safety does not depend on it: a master takes its own clock in place of a proposal that is
 * not near. Before the first reading, the proposal is the wall clock of this machine.
 */
import { BACK_US } from '../protocol/lua/stored.js';
import type { Clock, WallClock } from '../runtime/clock.js';

/**
 * Clocks within this of each other get one proposal: half of the distance by which a proposal may be behind a master's clock.
 */
const GROUP_US = BACK_US / 2;
/** How far, in µs, proposals of one turn may be ahead of the estimate: each is above the one before. */
const MOST_AHEAD_US = 10_000;
/** The clocks of machines run apart by this many µs in a ms at most; beyond that, a new reading corrects it. */
const DRIFT_US_PER_MS = 0.1;
/** A ticket's reading loses this many µs of precision for each ms of its age: clocks run apart by 1 % at most. */
const AGEING_US_PER_MS = 10;
/** A reading for tickets that is older than the latest one by more than this does not count. */
const FRESH_MS = 1_000;
/** After this time, a clock is read again. */
const STALE_MS = 10_000;

/** What is known about one master's clock. All values are in µs ahead of the local clock. */
class Reading {
  /** The clock is not behind this. */
  lowestUs: number | undefined;
  boundAtMs = -Infinity;
  /** Its clock in the middle of the shortest recent round trip. */
  middleUs: number | undefined;
  uncertainUs = Infinity;
  middleAtMs = -Infinity;

  /**
   * Learns from a reply with the master's clock, which the master sent between these instants, and which arrived at the second.
   */
  learn(clockUs: number, sentAtMs: number, nowMs: number): void {
    const [lowestUs, highestUs] = [clockUs - nowMs * 1_000, clockUs - sentAtMs * 1_000];
    const beforeUs = this.lowestAt(nowMs) ?? -Infinity;
    const wasSetBack = beforeUs > highestUs; // or it is another server
    this.lowestUs = wasSetBack ? lowestUs : Math.max(lowestUs, beforeUs);
    this.boundAtMs = nowMs;
    const uncertainUs = (nowMs - sentAtMs) * 500;
    if (uncertainUs > this.uncertainUs + (nowMs - this.middleAtMs) * AGEING_US_PER_MS) return;
    this.middleUs = clockUs - (sentAtMs + nowMs) * 500;
    this.uncertainUs = uncertainUs;
    this.middleAtMs = nowMs;
  }

  /** The lowest that it may be at this instant; undefined while it is not known. */
  lowestAt(nowMs: number): number | undefined {
    if (this.lowestUs === undefined) return undefined;
    return this.lowestUs - (nowMs - this.boundAtMs) * DRIFT_US_PER_MS;
  }
}

export class MasterClocks {
  readonly #readings: readonly Reading[];
  readonly #clock: Clock;
  readonly #wall: WallClock | undefined;
  #proposedUs = 0;

  /** @param wall  for proposals before the first reading; without it, nothing is proposed until then */
  constructor(masters: number, clock: Clock, wall?: WallClock) {
    this.#readings = Array.from({ length: masters }, () => new Reading());
    this.#clock = clock;
    this.#wall = wall;
  }

  /** A master, by its index, reported its clock, in µs, in its reply to a request that was sent at that instant. */
  learn(index: number, clockUs: number, sentAtMs: number): void {
    if (clockUs !== 0) this.#readings[index]?.learn(clockUs, sentAtMs, this.#clock.earliest());
  }

  isKnown(index: number): boolean {
    return this.#readings[index]?.lowestUs !== undefined;
  }

  /** Whether its clock has not been read for a while. */
  isStale(index: number): boolean {
    return this.#clock.earliest() - (this.#readings[index]?.boundAtMs ?? Infinity) >= STALE_MS;
  }

  /**
   * A fencing token to propose, in µs: the masters' time now, and above the one before. 0 while nothing is known.
   */
  propose(): number {
    const nowUs = this.#nowUs();
    if (nowUs === undefined) return 0;
    const next = Math.min(this.#proposedUs + 1, nowUs + MOST_AHEAD_US);
    return (this.#proposedUs = Math.max(nowUs, next));
  }

  /** A ticket: the masters' time at that instant, now by default, in µs, as far as it is known; the median of their clocks. */
  ticket(atMs = this.#clock.earliest()): number {
    return Math.max(1, Math.round(atMs * 1_000 + (this.#medianAheadUs() ?? 0)));
  }

  /** The same in ms since 1970, by this machine's wall clock while no master's is known; undefined without either. */
  at(atMs: number): number | undefined {
    const aheadUs = this.#medianAheadUs();
    if (aheadUs !== undefined) return Math.round(atMs + aheadUs / 1_000);
    return this.#wall && Math.round(this.#wall() - (this.#clock.earliest() - atMs));
  }

  #medianAheadUs(): number | undefined {
    const freshMs = Math.max(...this.#readings.map(({ middleAtMs }) => middleAtMs)) - FRESH_MS;
    const fresh = this.#readings.filter(({ middleAtMs }) => middleAtMs >= freshMs);
    const ahead = fresh.flatMap(({ middleUs }) => (middleUs === undefined ? [] : [middleUs]));
    ahead.sort((a, b) => a - b);
    return ahead[(ahead.length - 1) >> 1];
  }

  /** What the masters' clocks show now, or a little less. */
  #nowUs(): number | undefined {
    const nowMs = this.#clock.earliest();
    const lowest = this.#readings.map((one) => one.lowestAt(nowMs)).filter((one) => one !== undefined);
    if (lowest.length > 0) return Math.round(nowMs * 1_000 + lowestOfMost(lowest));
    return this.#wall === undefined ? undefined : Math.round(this.#wall() * 1_000);
  }
}

/** The lowest of the largest group; of groups of the same size, that of the earliest clocks. */
function lowestOfMost(aheadUs: number[]): number {
  aheadUs.sort((a, b) => a - b);
  let [found, most] = [0, 0];
  for (const lowest of aheadUs) {
    const size = aheadUs.filter((other) => other >= lowest && other - lowest <= GROUP_US).length;
    if (size > most) [found, most] = [lowest, size];
  }
  return found;
}
