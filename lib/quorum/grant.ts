/**
 * A quorum's yes, and what has to be known to extend it or give it back. A lease is a grant in a holder's hands.
 *
 * Each held lease has one: it is its own scope, and its instants are whole numbers, so that it takes little memory.
 */
import type { Node, Withdrawn } from '../node/node.js';
import type { Outgrowth } from './round.js';
import { READ, type Scope, SettledScope, settingOf } from '../protocol/scope.js';

/** `kept` while it is in nobody's hands but the holder's here. */
type GrantState = 'kept' | 'handed over' | 'ended';

export class Grant extends SettledScope implements Outgrowth {
  readonly token: string;
  /** The fencing token that a quorum accepted; 0 without fencing. */
  readonly fence: number;
  /** The highest count met, where masters were seen to count differently: the release lifts the others to it. Else 0. */
  seen = 0;
  /** The masters that were sent something for it, and therefore may hold its votes. */
  sentTo: readonly Node[];
  /** The holder may believe in it up to this instant, by the local clock. */
  validUntilMs = 0;
  /** No vote of it is left on any master that is up after this instant. */
  expiredByMs = 0;
  /** Its counters were set to live on at this instant. */
  countedAtMs = 0;
  #state: GrantState = 'kept';
  /** What of it some master has not answered; nothing for a lease on healthy masters. */
  #open: Withdrawn[] | undefined;

  constructor(scope: Scope, token: string, fence: number, sentTo: readonly Node[]) {
    super(scope.keys, settingOf(scope));
    this.token = token;
    this.fence = fence;
    this.sentTo = sentTo;
  }

  /** Given back or lost: a vote that comes in from now on is undone. */
  get isEnded(): boolean {
    return this.#state === 'ended';
  }

  get isHeld(): boolean {
    return this.#state === 'kept';
  }

  /** A writer is a reader from now on, whatever the masters know of it yet. */
  downgrade(): void {
    this.setting = { ...this.setting, kind: READ };
  }

  /** In another process's hands from now on. */
  handOver(): void {
    this.#state = 'handed over';
  }

  end(): void {
    this.#state = 'ended';
  }

  /** What of it was not sent yet must not be sent any more: rounds that are still open end here. */
  setAside(): void {
    for (const sent of this.open) sent.drop();
  }

  /** What takes the grant back has to follow those requests. */
  get open(): readonly Withdrawn[] {
    return this.#open ?? NONE;
  }

  counted(count: number): void {
    if (count !== this.fence) this.seen = Math.max(this.seen, this.fence, count);
  }

  opened(round: Withdrawn): void {
    if (this.#open === undefined) this.#open = [round];
    else this.#open.push(round);
  }

  closed(round: Withdrawn): void {
    if (this.#open === undefined) return;
    if (this.#open.length > 1) this.#open = this.#open.filter((other) => other !== round);
    else if (this.#open[0] === round) this.#open = undefined;
  }
}

const NONE: readonly Withdrawn[] = Object.freeze([]);
