/**
 * A quorum's yes, and what has to be known to extend it or give it back. A lease is a grant in a holder's hands.
 */
import type { Node } from './node.js';
import type { Outgrowth, Round } from './round.js';

export class Grant implements Outgrowth {
  readonly keys: readonly string[];
  readonly token: string;
  /** The masters that were sent something for it, and therefore may hold its votes. */
  sentTo: readonly Node[];
  /** The holder may believe in it up to this instant, by the local clock. */
  validUntilMs: number;
  /** No vote of it is left on any master that is up after this instant. */
  expiredByMs: number;
  /** Given back or lost: a vote that comes in from now on is undone. */
  isEnded = false;
  /** The extension under way: what of it was not sent yet must not be sent once the grant has ended. */
  extension: Round | undefined;
  /** Rounds of it whose requests some master has not answered; nothing for a lease on healthy masters. */
  #open: Round[] | undefined;

  constructor(
    keys: readonly string[],
    token: string,
    sentTo: readonly Node[],
    validUntilMs: number,
    expiredByMs: number,
  ) {
    this.keys = keys;
    this.token = token;
    this.sentTo = sentTo;
    this.validUntilMs = validUntilMs;
    this.expiredByMs = expiredByMs;
  }

  /** Those rounds: what takes the grant back has to follow their requests. */
  get open(): readonly Round[] {
    return this.#open ?? NONE;
  }

  opened(round: Round): void {
    if (this.#open === undefined) this.#open = [round];
    else this.#open.push(round);
  }

  closed(round: Round): void {
    if (this.#open === undefined) return;
    if (this.#open.length > 1) this.#open = this.#open.filter((other) => other !== round);
    else if (this.#open[0] === round) this.#open = undefined;
  }
}

const NONE: readonly Round[] = Object.freeze([]);
