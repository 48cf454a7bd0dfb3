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
  #seen = 0;
  #sentTo: readonly Node[];
  #validUntilMs = 0;
  #expiredByMs = 0;
  #countedAtMs = 0;
  #state: GrantState = 'kept';
  /** What of it some master has not answered; nothing for a lease on healthy masters. */
  #open: Withdrawn[] | undefined;

  constructor(scope: Scope, token: string, fence: number, sentTo: readonly Node[]) {
    super(scope.keys, settingOf(scope));
    this.token = token;
    this.fence = fence;
    this.#sentTo = sentTo;
  }

  /** The holder may believe in it up to this instant, by the local clock. */
  get validUntilMs(): number {
    return this.#validUntilMs;
  }

  /** No vote of it is left on any master that is up after this instant. */
  get expiredByMs(): number {
    return this.#expiredByMs;
  }

  /** Its counters were set to live on at this instant. */
  get countedAtMs(): number {
    return this.#countedAtMs;
  }

  /** The masters that were sent something for it, and therefore may hold its votes. */
  get sentTo(): readonly Node[] {
    return this.#sentTo;
  }

  /** The highest count met, where masters were seen to count differently: the release lifts the others to it. Else 0. */
  get seen(): number {
    return this.#seen;
  }

  /** A quorum lets the holder believe in it up to this instant; it is never shortened. */
  prolong(validUntilMs: number): void {
    this.#validUntilMs = Math.max(this.#validUntilMs, validUntilMs);
  }

  /** A master may keep a vote of it up to this instant. */
  keptUntil(expiredByMs: number): void {
    this.#expiredByMs = Math.max(this.#expiredByMs, expiredByMs);
  }

  /** These masters may hold votes of it, too. @param all  the instance's, in their order */
  wasSentTo(nodes: readonly Node[], all: readonly Node[]): void {
    const before = this.#sentTo;
    if (before === all) return;
    const now = all.filter((node) => nodes.includes(node) || before.includes(node));
    this.#sentTo = now.length === all.length ? all : now;
  }

  /** Its counters live on from this instant. */
  countersTouched(atMs: number): void {
    this.#countedAtMs = Math.floor(atMs);
  }

  /** How the masters count is not known: the release lifts those that stand lower. */
  countsUnknown(): void {
    this.#seen = this.fence;
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
    if (count !== this.fence) this.#seen = Math.max(this.#seen, this.fence, count);
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
