/**
 * Paces the calls of an instance, so that requests which come out of step share calls. While little is under way, a request
 * goes at once. Otherwise it waits until the call before is through, and all requests that have come by then go as one call,
 * the same for all masters: Nagle's algorithm (RFC 896) over N connections at once. A call costs client and masters far more
 * than a request in it, so under load the waits get shorter, too.
 *
 * A call is through when a quorum has answered: its callers go on then, and a silent minority holds nobody up. A call to
 * fewer masters, such as the release that follows a claim to a slow one, holds nobody up at all. And no call holds others up
 * for longer than `MOST_HELD_MS`. So this does not bound the number of requests under way: it is the rate times the round
 * trip, however long that is, and distant masters get a call every few ms.
 */
import { atEndOfTurn, type Clock, type Timer, type Timers } from '../runtime/clock.js';
import type { Command } from '../redis/transport.js';

/** How long a call holds others up, in ms, if it is not through before: longer than a round trip on a local network. */
export const MOST_HELD_MS = 2;
/** How many requests of young calls may be under way without holding others up: one, and another one. */
export const AT_ONCE = 2;

/** A sender that holds requests back. */
export interface Paced {
  /** The requests that it holds may go. All senders that wait are called in the same turn of the event loop. */
  goOn(): void;
}

/** A call to one or more masters. */
export interface PacedCall {
  readonly command: Command;
  readonly requests: number;
  readonly sentAtMs: number;
  /** How many masters it was sent to. */
  sent: number;
  /** How many of them have answered, or failed. */
  answers: number;
  /** Whether others wait for it. */
  isHolding: boolean;
}

export class Pace {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #quorum: number;
  /**
   * How many calls have to be under way to hold others up. A single master works on one while we handle its answer to another
   * (`shareOf`); several masters do so anyway.
   */
  readonly #callsAtOnce: number;
  /** The last call and the one before: one of each script that carries many requests. */
  #latest: PacedCall | undefined;
  #before: PacedCall | undefined;
  /** Calls that hold others up, oldest first. */
  readonly #calls: PacedCall[] = [];
  /** How many requests they have. */
  #requests = 0;
  /** Whether little was under way when the first request of this turn was sent: then the others of this turn may go, too. */
  #isPassing = false;
  readonly #waiting = new Set<Paced>();
  #timer: Timer | undefined;

  constructor(clock: Clock, timers: Timers, quorum: number) {
    this.#clock = clock;
    this.#timers = timers;
    this.#quorum = quorum;
    this.#callsAtOnce = quorum === 1 ? 2 : 1;
  }

  /** How many requests are under way and hold others up. */
  get requests(): number {
    return this.#requests;
  }

  /** Whether new requests have to wait. */
  get #isFull(): boolean {
    return this.#requests >= AT_ONCE && this.#calls.length >= this.#callsAtOnce;
  }

  /** Whether waiting requests may go now. If not, `goOn` is called when they may. */
  admits(one: Paced): boolean {
    if (this.#isPassing) return true;
    if (this.#isFull) this.#dropOld();
    if (this.#isFull) {
      this.#waiting.add(one);
      this.#arm();
      return false;
    }
    return true;
  }

  /** A call with this many requests goes to a master. The same command to another master is the same call. */
  sent(command: Command, requests: number): PacedCall {
    if (!this.#isPassing && !this.#isFull) this.#pass();
    const call = this.#callOf(command) ?? this.#begin(command, requests);
    call.sent++;
    if (call.sent === this.#quorum) {
      if (this.#calls.length > 0) this.#dropOld();
      call.isHolding = true;
      this.#calls.push(call);
      this.#requests += requests;
    }
    return call;
  }

  /** A master has answered the call, or its connection is lost. */
  answered(call: PacedCall): void {
    call.answers++;
    if (!call.isHolding || call.answers < this.#quorum) return;
    this.#through(call);
    this.#goOn();
  }

  #begin(command: Command, requests: number): PacedCall {
    const sentAtMs = this.#clock.earliest();
    this.#before = this.#latest;
    this.#latest = { command, requests, sentAtMs, sent: 0, answers: 0, isHolding: false };
    return this.#latest;
  }

  /** The call by which other masters were sent this command. */
  #callOf(command: Command): PacedCall | undefined {
    if (this.#latest?.command === command) return this.#latest;
    return this.#before?.command === command ? this.#before : undefined;
  }

  /** Lets requests pass until those of the end of this turn have been sent. */
  #pass(): void {
    this.#isPassing = true;
    atEndOfTurn(this.#onEndOfTurn);
  }

  readonly #onEndOfTurn = (): void => {
    atEndOfTurn(this.#endPassing);
  };

  readonly #endPassing = (): void => {
    this.#isPassing = false;
  };

  #arm(): void {
    const [oldest] = this.#calls;
    if (this.#timer !== undefined || oldest === undefined) return;
    const leftMs = oldest.sentAtMs + MOST_HELD_MS - this.#clock.earliest();
    this.#timer = this.#timers.deadline(Math.max(leftMs, 0), () => {
      this.#timer = undefined;
      // its time is up, even if a sum of the clock's numbers was rounded: no timer is set twice for one call
      if (oldest.isHolding) this.#through(oldest);
      this.#goOn();
      if (this.#waiting.size > 0) this.#arm();
    });
  }

  #dropOld(): void {
    const untilMs = this.#clock.earliest() - MOST_HELD_MS;
    for (
      let [oldest] = this.#calls;
      oldest !== undefined && oldest.sentAtMs <= untilMs;
      [oldest] = this.#calls
    )
      this.#through(oldest);
  }

  #through(call: PacedCall): void {
    call.isHolding = false;
    this.#calls.splice(this.#calls.indexOf(call), 1);
    this.#requests -= call.requests;
  }

  #goOn(): void {
    if (this.#waiting.size === 0 || this.#isFull) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const one of waiting) one.goOn();
  }
}
