/**
 * A quorum's yes, and what has to be known to extend it or give it back. A lease is a grant in a holder's hands.
 */
import type { Node } from './node.js';
import type { Outgrowth, Round } from './round.js';
import type { Scope } from './scope.js';

export class Grant implements Outgrowth {
  readonly scope: Scope;
  readonly token: string;
  /** The fencing token that a quorum accepted; 0 without fencing. */
  readonly fence: number;
  /** The highest count met, where masters were seen to count differently: the release lifts the others to it. Else 0. */
  seen = 0;
  /** The masters that were sent something for it, and therefore may hold its votes. */
  sentTo: readonly Node[];
  /** The holder may believe in it up to this instant, by the local clock. */
  validUntilMs = -Infinity;
  /** No vote of it is left on any master that is up after this instant. */
  expiredByMs = -Infinity;
  /** Its counters were set to live on at this instant. */
  countedAtMs = -Infinity;
  /** Given back or lost: a vote that comes in from now on is undone. */
  isEnded = false;
  /** In another process's hands by now. */
  isHandedOver = false;
  /** The extension under way: what of it was not sent yet must not be sent once the grant has ended. */
  extension: Round | undefined;
  /** Rounds of it whose requests some master has not answered; nothing for a lease on healthy masters. */
  #open: Round[] | undefined;

  constructor(scope: Scope, token: string, fence: number, sentTo: readonly Node[]) {
    this.scope = scope;
    this.token = token;
    this.fence = fence;
    this.sentTo = sentTo;
  }

  get isHeld(): boolean {
    return !this.isEnded && !this.isHandedOver;
  }

  /** Those rounds: what takes the grant back has to follow their requests. */
  get open(): readonly Round[] {
    return this.#open ?? NONE;
  }

  counted(count: number): void {
    if (count !== this.fence) this.seen = Math.max(this.seen, this.fence, count);
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
