/**
 * One master among coordinators that do anything: claims with any proposal, acceptances of anything that masters can have
 * accepted by then, however late. It loses its data, and its clock steps. Whatever it accepts must rise for ever (T1 of
 * protocol A2); for the order of tokens, no coordinator is trusted.
 *
 * The model: clocks are at most S apart, steps included. From a loss to the next vote, more than S + AHEAD + BACK passes;
 * under a restart guard, that waits for more than S + AHEAD. A counter that has expired stays away: no clock steps back by
 * nearly the life of a counter.
 */
import { AHEAD_US, BACK_US, COUNTER_LIFE_MS } from '../../lib/protocol/lua/stored.js';
import { entryReplies } from '../support/entries.js';
import { counterKey, markerKey } from '../../lib/protocol/keys.js';
import { acceptance, type Request, scriptedClaim } from '../../lib/protocol/request.js';
import { MUTEX, NO_MARKER, type Scope } from '../../lib/protocol/scope.js';
import { MemoryServer } from '../../lib/testing/master/server.js';
import type { Violation } from './checker/checker.js';
import { Fences, pauseAfterLossMs } from './checker/fences.js';
import { Seeded } from './world/seeded.js';
import { type HistoryLine, WALL_US } from './world/world.js';

export interface OneMasterReport {
  readonly seed: number;
  /** How many requests it carried out. */
  readonly events: number;
  readonly broken: 0;
  /** How many numbers it accepted. */
  readonly accepted: number;
  readonly violations: readonly Violation[];
  readonly lines: readonly HistoryLine[];
}

const REQUESTS = 300;
const LOCK = 'a';
const TOKEN = 'c1:1';
const VOTE_MS = 1_000;
/** S, in ms; the last one is more than a counter lives. */
const SPREADS_MS = [0, 30, 500, 0.8 * COUNTER_LIFE_MS, 1.5 * COUNTER_LIFE_MS] as const;
/** Clocks that are further apart do not step: a step back of that size may bring back the time of an expired counter. */
const MOST_STEPPED_MS = COUNTER_LIFE_MS - (BACK_US + AHEAD_US) / 1_000;
/** How far off the mark numbers are, in µs. */
const OFF_US = 2_500_000;

/** Runs one seed to its end. */
export function simulateOneMaster(seed: number): OneMasterReport {
  const run = new OneMaster(new Seeded(`one master ${seed}`));
  run.toItsEnd();
  const { accepted, events, lines, violations } = run;
  return { seed, events, broken: 0, accepted, violations, lines };
}

class OneMaster {
  readonly violations: Violation[] = [];
  readonly lines: HistoryLine[] = [];
  events = 0;
  accepted = 0;
  readonly #seeded: Seeded;
  readonly #spreadMs: number;
  readonly #scope: Scope;
  readonly #server: MemoryServer;
  readonly #fences: Fences;
  #nowMs = 0;
  /** How far its clock is ahead of the earliest. */
  #aheadMs = 0;
  #highest = 0;

  constructor(seeded: Seeded) {
    this.#seeded = seeded;
    this.#spreadMs = seeded.pick(SPREADS_MS);
    const guardMs = seeded.chance(0.5) ? Math.ceil(this.#spreadMs + AHEAD_US / 1_000) + 1 : NO_MARKER;
    const marker = guardMs === NO_MARKER ? undefined : markerKey('');
    this.#scope = { keys: [LOCK], isFenced: true, marker, guardMs, kind: MUTEX };
    const micros = (): number => Math.round(WALL_US + (this.#nowMs + this.#aheadMs) * 1_000);
    this.#server = new MemoryServer('m1', { micros, trueMs: () => this.#nowMs });
    this.#fences = new Fences(() => this.#nowMs, undefined);
  }

  toItsEnd(): void {
    this.#note(`clocks are up to ${this.#spreadMs} ms apart, the guard is ${this.#scope.guardMs} ms`);
    while (this.events < REQUESTS && this.violations.length === 0) {
      this.#pass();
      const way = this.#seeded.next();
      if (way < 0.06) this.#lose();
      else if (way < 0.16) this.#server.save();
      else if (way < 0.24) this.#stepClock();
      else if (way < 0.62) this.#claim();
      else this.#accept();
    }
  }

  /** Far apart or close together, and sometimes for about as long as a counter lives. */
  #pass(): void {
    const [way, share] = [this.#seeded.whole(0, 40), this.#seeded.next()];
    if (way === 0) this.#nowMs += COUNTER_LIFE_MS + (share - 0.2) * 1_000;
    else this.#nowMs += 0.01 + share * (way < 6 ? 1_200 : way < 20 ? 150 : 1);
  }

  #stepClock(): void {
    if (this.#spreadMs > MOST_STEPPED_MS) return;
    this.#aheadMs = this.#seeded.between(0, this.#spreadMs);
    this.#note(`its clock steps, and is ${this.#aheadMs.toFixed(1)} ms ahead of the earliest`);
  }

  #lose(): void {
    const data = this.#seeded.pick(['lost', 'old', 'old'] as const);
    this.#note(`crashes, and comes back with its data ${data}`);
    this.#server.start(data);
    this.#fences.lost(this.#server.name, this.#nowMs);
    if (this.#scope.marker === undefined) this.#nowMs += pauseAfterLossMs(this.#spreadMs);
  }

  #claim(): void {
    const proposal = this.#number(this.#server.micros() + OFF_US);
    this.#server.delete(LOCK); // its ttl may have ended
    this.#send(`claim with proposal ${proposal}`, scriptedClaim(this.#scope, TOKEN, VOTE_MS, proposal));
  }

  #accept(): void {
    const fence = this.#number(this.#latestUs);
    this.#server.set(LOCK, TOKEN, VOTE_MS); // the vote that it is for may be there at any time
    this.#send(`acceptance of ${fence}`, acceptance(this.#scope, TOKEN, fence));
  }

  /** No master can have accepted more by now, in µs. */
  get #latestUs(): number {
    return Math.floor(WALL_US + (this.#nowMs + this.#spreadMs) * 1_000) + AHEAD_US;
  }

  /** A number up to `mostUs`: near a bound, near what was accepted last, or any. */
  #number(mostUs: number): number {
    const us = this.#server.micros();
    const marks = [us - BACK_US, us + AHEAD_US, us + COUNTER_LIFE_MS * 1_000, this.#highest, us];
    const offUs = this.#seeded.pick([2, 50_000, OFF_US]);
    const drawn = this.#seeded.pick(marks) + this.#seeded.whole(-offUs, offUs);
    return Math.max(1, Math.min(drawn, mostUs));
  }

  #send(what: string, request: Request): void {
    this.events++;
    const count = this.#server.get(counterKey(LOCK));
    this.#server.receive(request.whole(), (error, reply) => {
      this.#note(`count ${String(count)}, ${what} → ${error?.message ?? String(reply)}`);
      if (error !== undefined) return;
      const outcome = request.read(request.isLoneEntry ? entryReplies([request], reply)[0] : reply);
      if (outcome?.kind === 'granted') this.#onAccepted(outcome.fence);
    });
  }

  #onAccepted(fence: number): void {
    this.accepted++;
    this.#highest = Math.max(this.#highest, fence);
    const fault = this.#fences.accepted(this.#server.name, counterKey(LOCK), fence);
    if (fault === undefined) return;
    const [property, text] = fault;
    this.#note(`${property}: ${text}`, 'CHECK');
    this.violations.push({ property, atMs: this.#nowMs, text });
  }

  #note(what: string, who = this.#server.name): void {
    this.lines.push({ atMs: this.#nowMs, who, what: `clock ${this.#server.micros()}: ${what}` });
  }
}
