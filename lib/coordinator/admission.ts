/**
 * How many attempts of an instance are under way at a time. Those beyond wait here, unsent and in their order. Put to the
 * masters all at once, the last of many would have no answer before their time is up; taking them back would keep the
 * masters from the others, and in the end nothing is granted while every master does what it can.
 *
 * The bound follows what comes of it, like the congestion window of TCP (RFC 5681): while attempts are granted well in time
 * and others wait, it grows by one for each; where one runs out of time, it is halved.
 */
import type { Timer, Timers } from '../runtime/clock.js';
import { WINDOW } from '../node/send-window.js';

export const FIRST_LIMIT = 256;
export const LEAST_LIMIT = 64;
/** As many as a master is sent without an answer. */
export const MOST_LIMIT = WINDOW;
/** Granted well in time: within this share of it. */
const WELL_IN_TIME = 1 / 2;

/** Whose wait is shorter than a node timeout goes on waiting for room for so many of these at most. */
export const PATIENCE = 10;

/** How long somebody waits for room: up to so many times so long, while others get their answers. */
export interface RoomWait {
  readonly timers: Timers;
  readonly waitMs: number;
  readonly times: number;
}

/** An attempt that waits to be let in. */
export class Candidate {
  readonly #admission: Admission;
  readonly #wait: RoomWait;
  readonly #onEnd: (isLetIn: boolean) => void;
  #timer: Timer | undefined;
  #timesLeft: number;
  #isWaiting = true;

  /** @param onEnd  called once: it is let in, or its wait is over */
  constructor(admission: Admission, wait: RoomWait, onEnd: (isLetIn: boolean) => void) {
    this.#admission = admission;
    this.#wait = wait;
    this.#timesLeft = wait.times;
    this.#onEnd = onEnd;
    this.#arm(false);
  }

  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  letIn(): void {
    this.#conclude(true);
  }

  end(): void {
    if (!this.#isWaiting) return;
    this.#conclude(false);
    this.#admission.forget();
  }

  /** @param wasStill  nobody got an answer in the time before: once may be a stall of this process */
  #arm(wasStill: boolean): void {
    const { timers, waitMs } = this.#wait;
    const before = this.#admission.answered;
    this.#timesLeft--;
    // those that are under way keep the process alive
    this.#timer = timers.background(waitMs, () => {
      const isStill = this.#admission.answered === before;
      if (this.#timesLeft > 0 && !(isStill && wasStill)) this.#arm(isStill);
      else this.end();
    });
  }

  #conclude(isLetIn: boolean): void {
    if (!this.#isWaiting) return;
    this.#isWaiting = false;
    this.#timer?.cancel();
    this.#onEnd(isLetIn);
  }
}

export class Admission {
  #limit = FIRST_LIMIT;
  #inside = 0;
  /** From this place on they wait; so many of them at most do not any more. No more are kept than wait. */
  #first = 0;
  #ended = 0;
  #candidates: Candidate[] = [];
  /** So many of those inside came in under a bound that was too high. */
  #surplus = 0;
  #isLettingIn = false;
  /** How many came to an end before their time was up. */
  answered = 0;

  /** How many attempts are under way. */
  get inside(): number {
    return this.#inside;
  }

  /** How many are kept here: those that wait, and no more that do not any more. */
  get size(): number {
    return this.#candidates.length - this.#first;
  }

  /** Is there room for one more? Then it has come in, and has to `leave`. */
  admits(): boolean {
    if (this.#inside >= this.#limit) return false;
    this.#inside++;
    return true;
  }

  /** Lets it in when there is room, behind all that wait. @param onEnd  as a candidate's */
  wait(wait: RoomWait, onEnd: (isLetIn: boolean) => void): Candidate {
    const candidate = new Candidate(this, wait, onEnd);
    this.#candidates.push(candidate);
    return candidate;
  }

  /** @internal One of those that wait has ended. */
  forget(): void {
    this.#ended++;
    this.#trim();
  }

  /** An attempt is over. @param share  of its time that it took, up to its grant; 1 where it ran out of it */
  leave(share: number): void {
    this.#inside--;
    if (share < 1) this.answered++;
    if (this.#surplus > 0) this.#surplus--;
    else if (share >= 1) {
      this.#limit = Math.max(LEAST_LIMIT, Math.floor(this.#limit / 2));
      this.#surplus = this.#inside;
    } else if (share < WELL_IN_TIME && this.#first < this.#candidates.length)
      this.#limit = Math.min(MOST_LIMIT, this.#limit + 1);
    if (this.#candidates.length > 0) this.#letIn();
  }

  #letIn(): void {
    if (this.#isLettingIn) return; // one that was let in has left at once
    this.#isLettingIn = true;
    while (this.#inside < this.#limit) {
      const candidate = this.#candidates[this.#first];
      if (candidate === undefined) break;
      this.#first++;
      if (!candidate.isWaiting) continue;
      this.#inside++;
      candidate.letIn();
    }
    this.#isLettingIn = false;
    this.#trim();
  }

  #trim(): void {
    if (this.size > 0 && this.#first < MOST_LIMIT && 2 * this.#ended <= this.size) return;
    this.#candidates = this.#candidates.slice(this.#first).filter(({ isWaiting }) => isWaiting);
    this.#first = 0;
    this.#ended = 0;
  }
}
