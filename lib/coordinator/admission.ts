/**
 * Limits how many attempts of an instance are under way. Further ones wait here, unsent, in order. If all were sent at
 * once, the last of many would get no answer before their time is up. Undoing them would cost the masters the time that
 * the others need, and in the end nothing would be granted while every master is busy.
 *
 * The limit adapts like the congestion window of TCP (RFC 5681). It grows by one for each attempt that is granted well in
 * time while others wait, and is halved when one runs out of time. After a break it starts anew (section 4.1 there): what
 * was learned may be wrong by then, and a crowd would find out all at once.
 */
import type { Clock, Timer, Timers } from '../runtime/clock.js';
import { WINDOW } from '../node/send-window.js';

export const FIRST_LIMIT = 256;
export const LEAST_LIMIT = 64;
/** As many requests as may be in flight to one master. */
export const MOST_LIMIT = WINDOW;
/** A break in which no attempt is under way is at least this long. */
export const BREAK_MS = 200;
/** "Well in time" is within this part of an attempt's time. */
const WELL_IN_TIME = 1 / 2;

/** A wait that is shorter than a node timeout may last this many node timeouts, while it waits for room. */
const PATIENCE = 10;

/** How long an applicant waits for room: `waitMs`, or up to `times` times as long while other attempts get answers. */
export interface RoomWait {
  readonly timers: Timers;
  readonly waitMs: number;
  readonly times: number;
}

/**
 * How long a call waits for room: until its wait ends. A wait that is shorter than a node timeout may last longer, as long as
 * other attempts get answers.
 */
export function roomWait(
  timers: Timers,
  waitMs: number,
  { leftMs, nodeTimeoutMs }: { readonly leftMs: number; readonly nodeTimeoutMs: number },
): RoomWait {
  if (waitMs < nodeTimeoutMs) return { timers, waitMs: nodeTimeoutMs, times: PATIENCE };
  return { timers, waitMs: leftMs, times: 1 };
}

/** An attempt that waits for admission. */
export class Applicant {
  readonly #admission: Admission;
  readonly #wait: RoomWait;
  readonly #onEnd: (isLetIn: boolean) => void;
  #timer: Timer | undefined;
  #timesLeft: number;
  #isWaiting = true;

  /** @param onEnd  called once: with true when it is let in, with false when its wait is over */
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

  /** @param wasStill  no attempt was answered in the period before. One such period may be a stall of this process. */
  #arm(wasStill: boolean): void {
    const { timers, times, waitMs } = this.#wait;
    const before = this.#admission.answered;
    this.#timesLeft--;
    const onEnd = (): void => {
      const isStill = this.#admission.answered === before;
      if (this.#timesLeft > 0 && !(isStill && wasStill)) this.#arm(isStill);
      else this.end();
    };
    // The attempts under way keep the process alive. A deadline costs little, and replies that have come in are read first.
    this.#timer = times > 1 ? timers.deadline(waitMs, onEnd) : timers.background(waitMs, onEnd);
  }

  #conclude(isLetIn: boolean): void {
    if (!this.#isWaiting) return;
    this.#isWaiting = false;
    this.#timer?.cancel();
    this.#onEnd(isLetIn);
  }
}

export class Admission {
  readonly #clock: Clock;
  #limit = FIRST_LIMIT;
  #inside = 0;
  /**
   * Applicants before `#first` have been let in. From there on, at most `#ended` have ended their wait; `#trim` keeps
   * these from outnumbering those that wait.
   */
  #first = 0;
  #ended = 0;
  #applicants: Applicant[] = [];
  /** How many of those inside were admitted under a limit that proved too high. */
  #surplus = 0;
  #isLettingIn = false;
  /** When the last attempt left; only while the limit is above the first one. */
  #idleSinceMs = Infinity;
  /** How many attempts have ended before their time was up. */
  answered = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many attempts are under way. */
  get inside(): number {
    return this.#inside;
  }

  /** How many applicants are kept, those that have ended their wait included. */
  get size(): number {
    return this.#applicants.length - this.#first;
  }

  /** Whether there is room for one more attempt. If so, it counts as under way and has to call `leave`. */
  admits(): boolean {
    if (this.#inside === 0 && this.#limit > FIRST_LIMIT) this.#startAnew();
    if (this.#inside >= this.#limit) return false;
    this.#inside++;
    return true;
  }

  /**
   * Queues an applicant behind all others; it is let in when there is room.
   * @param onEnd  see the constructor of `Applicant`
   */
  wait(wait: RoomWait, onEnd: (isLetIn: boolean) => void): Applicant {
    const applicant = new Applicant(this, wait, onEnd);
    this.#applicants.push(applicant);
    return applicant;
  }

  /** @internal A waiting applicant has ended. */
  forget(): void {
    this.#ended++;
    this.#trim();
  }

  /**
   * An attempt is over.
   * @param share  the part of its time that it took up to its grant; 1 if it ran out of time, and more if it was granted
   *   although its answers were later than they should be
   */
  leave(share: number, isAnswered = share < 1): void {
    this.#inside--;
    if (isAnswered) this.answered++;
    if (this.#surplus > 0) this.#surplus--;
    else if (share >= 1) {
      this.#limit = Math.max(LEAST_LIMIT, Math.floor(this.#limit / 2));
      this.#surplus = this.#inside;
    } else if (share < WELL_IN_TIME && this.#first < this.#applicants.length)
      this.#limit = Math.min(MOST_LIMIT, this.#limit + 1);
    if (this.#applicants.length > 0) this.#letIn();
    if (this.#inside === 0 && this.#limit > FIRST_LIMIT) this.#idleSinceMs = this.#clock.earliest();
  }

  #startAnew(): void {
    if (this.#clock.earliest() - this.#idleSinceMs >= BREAK_MS) this.#limit = FIRST_LIMIT;
  }

  #letIn(): void {
    if (this.#isLettingIn) return; // an applicant that was just let in has left already
    this.#isLettingIn = true;
    while (this.#inside < this.#limit) {
      const applicant = this.#applicants[this.#first];
      if (applicant === undefined) break;
      this.#first++;
      if (!applicant.isWaiting) continue;
      this.#inside++;
      applicant.letIn();
    }
    this.#isLettingIn = false;
    this.#trim();
  }

  #trim(): void {
    if (this.size > 0 && this.#first < MOST_LIMIT && 2 * this.#ended <= this.size) return;
    this.#applicants = this.#applicants.slice(this.#first).filter(({ isWaiting }) => isWaiting);
    this.#first = 0;
    this.#ended = 0;
  }
}

/** Limits how many acquisitions of an instance wait for others, in a queue or between attempts. */
export class Waiters {
  readonly #most: number;
  #count = 0;
  #total = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** How many wait. */
  get count(): number {
    return this.#count;
  }

  /** How many have waited so far, those that wait included. */
  get total(): number {
    return this.#total;
  }

  /** Whether one more may wait. If so, it counts, and has to call `leave`. */
  admits(): boolean {
    if (this.#count >= this.#most) return false;
    this.#count++;
    this.#total++;
    return true;
  }

  leave(): void {
    this.#count--;
  }
}
