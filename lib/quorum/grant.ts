/**
 * An attempt that was granted, with what is needed to extend it or give it back. A lease is a grant in its holder's
 * hands.
 *
 * Each held lease has one; an instance hands it on from lease to lease (protocol C4). To save memory, it is its own scope, and
 * its instants are whole numbers.
 */
import type { Node, Withdrawn } from '../node/node.js';
import type { Outgrowth, Round } from './round.js';
import { DOWNGRADED, type Scope, SettledScope, settingOf, withSlots } from '../protocol/scope.js';

/** `kept` while its only holder is here. */
type GrantState = 'kept' | 'given away' | 'ended';

/** Where its votes came from: `asked` for, or from a queue; `marked` votes were handed over, and not extended since. */
export type GrantOrigin = 'asked' | 'queue' | 'marked';

export class Grant extends SettledScope implements Outgrowth {
  readonly token: string;
  /** The first fencing token of the block that a quorum accepted; 0 without fencing. */
  readonly #block: number;
  #turn = 0;
  /** The local line that waits for it, `none` if nobody does; undefined if it is not handed on. */
  line: object | 'none' | undefined;
  #sentTo: readonly Node[];
  #validUntilMs = 0;
  #expiredByMs = 0;
  #state: GrantState = 'kept';
  #origin: GrantOrigin = 'asked';
  /** Its requests that some master has not answered; undefined for a lease on healthy masters. */
  #open: Withdrawn[] | undefined;

  constructor(scope: Scope, token: string, fence: number, sentTo: readonly Node[]) {
    super(scope.keys, settingOf(scope));
    this.token = token;
    this.#block = fence;
    this.#sentTo = sentTo;
  }

  /** The fencing token of the lease that has it now; 0 without fencing. */
  get fence(): number {
    return this.fenceOf(this.#turn);
  }

  /** That of one of its leases. @param turn  how many had it before that one */
  fenceOf(turn: number): number {
    return this.#block === 0 ? 0 : this.#block + turn;
  }

  /** How many leases have had it before. */
  get turn(): number {
    return this.#turn;
  }

  /** Another lease has it from here on. */
  handOn(): void {
    this.#turn++;
  }

  /** The end of its validity, by the local clock. */
  get validUntilMs(): number {
    return this.#validUntilMs;
  }

  /** After this instant, no master that is up holds a vote of it. */
  get expiredByMs(): number {
    return this.#expiredByMs;
  }

  /** The masters that were sent a request for it, and so may hold its votes. */
  get sentTo(): readonly Node[] {
    return this.#sentTo;
  }

  /** A quorum lets the holder rely on it up to this instant. The validity is never shortened. */
  prolong(validUntilMs: number): void {
    this.#validUntilMs = Math.max(this.#validUntilMs, validUntilMs);
  }

  /** A master may keep a vote of it up to this instant. */
  keptUntil(expiredByMs: number): void {
    this.#expiredByMs = Math.max(this.#expiredByMs, expiredByMs);
  }

  /** It was waited for in the masters' queues. @param origin  whether its votes have the mark of a hand-over */
  cameFrom(origin: GrantOrigin): void {
    this.#origin = origin;
  }

  get origin(): GrantOrigin {
    return this.#origin;
  }

  /** A quorum has extended it: its votes have lost the mark of a hand-over. */
  extended(): void {
    if (this.#origin === 'marked') this.#origin = 'queue';
  }

  /** These masters may hold its votes, too. @param all  the instance's masters, in their order */
  wasSentTo(nodes: readonly Node[], all: readonly Node[]): void {
    const before = this.#sentTo;
    if (before === all) return;
    const now = all.filter((node) => nodes.includes(node) || before.includes(node));
    this.#sentTo = now.length === all.length ? all : now;
  }

  /** Released or lost: a vote that arrives from now on is undone. */
  get isEnded(): boolean {
    return this.#state === 'ended';
  }

  get isHeld(): boolean {
    return this.#state === 'kept';
  }

  /** The write lock is a read lock from now on, whether or not the masters know it yet. */
  downgrade(): void {
    this.setting = { ...this.setting, kind: DOWNGRADED };
  }

  /**
   * Other processes may take it over and give it back by its token alone, without a word to this one. So it never sets votes
   * again that are gone, and what is left at its end stays.
   */
  lend(): void {
    LENT.add(this);
  }

  get isLent(): boolean {
    return LENT.has(this);
  }

  /** It belongs to another process from now on. */
  giveAway(): void {
    this.#state = 'given away';
  }

  end(): void {
    this.#state = 'ended';
  }

  /** Requests for it that were not sent yet must not be sent any more: open rounds end here. */
  setAside(): void {
    for (const sent of this.open) sent.drop();
  }

  /** Requests that the undo or release of this grant has to follow. */
  get open(): readonly Withdrawn[] {
    return this.#open ?? NONE;
  }

  /** Every master has given its vote. */
  get isWhole(): boolean {
    return this.#open === undefined && !PARTIAL.has(this);
  }

  lacksVotes(): void {
    PARTIAL.add(this);
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

/** Grants that lack votes; a field would cost each of the others, too. */
const PARTIAL = new WeakSet<Grant>();
/** Likewise those that are lent. */
const LENT = new WeakSet<Grant>();

/** The grant of a round that a quorum said yes to. @param scope  what was asked for @param sentTo  the masters that may have a vote */
export function grantOf(round: Round, scope: Scope, sentTo: readonly Node[], untilMs: number): Grant {
  const grant = new Grant(withSlots(scope, round.slots), round.request.token, round.fence, sentTo);
  grant.prolong(untilMs);
  round.became(grant);
  if (!round.isAnswered) grant.opened(round);
  return grant;
}
