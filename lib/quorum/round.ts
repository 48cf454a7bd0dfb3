/**
 * Asking several masters for their votes at once. A round settles as soon as it is decided, and when its caller says that
 * time is up; votes that come later go to the callback that it was given. It sets no timer: who waits has one deadline
 * for all.
 */
import { atEndOfTurn } from '../runtime/clock.js';
import { Deliveries } from './deliveries.js';
import type { Node, Sink } from '../node/node.js';
import {
  classOf,
  type Counts,
  decideClaim,
  type Decision,
  type Outcome,
  quorumOf,
  unknown,
  unknownBy,
  verdict,
} from '../protocol/quorum.js';
import type { Request } from '../protocol/request.js';

/** Told of votes that came in after their round was over. */
export interface LateVotes {
  onLateVote(node: Node, round: Round): void;
}

/** What a round has to know of the grant that came of it. */
export interface Outgrowth {
  /** Given back or lost: a vote that comes in from now on is undone. */
  readonly isEnded: boolean;
  /** Neither ended nor in another process's hands. */
  readonly isHeld: boolean;
  /** A master that answered late counts from that number. */
  counted(count: number): void;
  /** Told when the last master has answered. */
  closed(round: Round): void;
}

/** One fan-out of claims or extensions over N masters. */
export class Round implements Sink, Counts {
  readonly request: Request;
  /** The instant before the first request was sent: validity is measured from here. */
  readonly sentAtMs: number;
  /** What each master said, by its index. */
  readonly outcomes: (Outcome | undefined)[];
  granted = 0;
  held = 0;
  wrongType = 0;
  quarantined = 0;
  misconfigured = 0;
  unknown = 0;
  pending: number;
  /** The fencing token that a quorum accepted; 0 while there is none. */
  fence = 0;
  /** The permits that a quorum gave, as `0,3`; undefined while there are none. */
  slots: string | undefined;
  /** Called when a quorum granted, but not the same to all: somebody has to bring about an agreement. */
  onSplit: (() => void) | undefined;
  /** Every request went out in the turn in which it was asked: none had to wait for a connection or for room. */
  isPrompt = true;
  /** What came of it, once it is over. */
  #grant: Outgrowth | undefined;
  #hasFailed = false;
  readonly #nodes: readonly Node[];
  readonly #late: LateVotes;
  readonly #deliveries: Deliveries;
  /** What each master accepted as the fence of this attempt, by its index; empty without fencing. */
  readonly #fences: number[];
  /** Which permits each master gave, by its index; empty where none were asked for. */
  readonly #slots: (string | undefined)[] = [];
  #alignedOn: string | undefined;
  #met = 0;
  #asked = 0;
  #answered = 0;
  #isOver = false;
  #isAsking = false;
  #settle: (() => void) | undefined;

  constructor(nodes: readonly Node[], request: Request, sentAtMs: number, late: LateVotes) {
    this.#nodes = nodes;
    this.request = request;
    this.sentAtMs = sentAtMs;
    this.#late = late;
    this.outcomes = new Array<Outcome | undefined>(nodes.length);
    for (let i = 0; i < nodes.length; i++) this.outcomes[i] = undefined;
    this.#deliveries = new Deliveries(nodes.length);
    this.#fences = request.isFenced ? new Array<number>(nodes.length) : [];
    this.pending = nodes.length;
  }

  get isWanted(): boolean {
    return !this.#isOver;
  }

  /** While the lease is held, a slow master's vote is of use; what takes it back will follow it. */
  get mayResend(): boolean {
    return !this.#isOver || this.#grant?.isHeld === true;
  }

  /** This came of it: it is told of answers that come in from now on. */
  became(grant: Outgrowth): void {
    this.#grant = grant;
  }

  /** Nothing came of it: what it got is taken back. */
  fail(): void {
    this.#hasFailed = true;
  }

  /** Nobody has a use any more for a vote that comes in. */
  get isGone(): boolean {
    return this.#hasFailed || this.#grant?.isEnded === true;
  }

  /** What the round says; only once it is over. */
  get decision(): Decision {
    return verdict(this);
  }

  /** The highest fence that any master accepted for it; 0 without one. */
  get highestFence(): number {
    return this.#fences.reduce((highest, fence) => Math.max(highest, fence), 0);
  }

  /** The highest count that any master was seen to have come to; 0 without fencing. */
  get highestCount(): number {
    return Math.max(this.#met, this.highestFence);
  }

  /** All masters that granted so far count from the same number. */
  get isOfOneMind(): boolean {
    return !this.request.isFenced || (this.#met === 0 && this.#fences.every((fence) => fence === this.fence));
  }

  /** A counter stands there already, by another's doing or by a command that was carried out twice. */
  met(count: number): void {
    this.#met = Math.max(this.#met, count);
  }

  /** The fence that this master accepted for it; 0 without one. */
  fenceAt(node: Node): number {
    return this.#fences[node.index] ?? 0;
  }

  /** The masters that may have carried the request out; `nodes` itself when it is all of them. */
  get sentTo(): readonly Node[] {
    return this.#deliveries.sent === this.#nodes.length
      ? this.#nodes
      : this.#nodes.filter((node) => this.#deliveries.wasSent(node));
  }

  /** The permits that this master gave. */
  slotsAt(node: Node): string | undefined {
    return this.#slots[node.index];
  }

  /** It gave its vote, whether that counts or not. */
  hasVoted(node: Node): boolean {
    return this.fenceAt(node) > 0 || this.slotsAt(node) !== undefined;
  }

  /** Asks these masters, and resolves when the round is decided, or all that were asked have answered. */
  ask(targets: readonly Node[]): Promise<void> {
    return new Promise((resolve) => this.askThen(targets, resolve));
  }

  /** The same without a promise, for what is done to many leases in one turn: calls back at once where it is decided. */
  askThen(targets: readonly Node[], onSettled: () => void): void {
    if (this.#isOver) return onSettled();
    this.#asked += targets.length;
    this.#settle = onSettled;
    if (this.#asked > targets.length) this.isPrompt = false;
    this.#isAsking = true;
    const ask = { request: this.request, sink: this };
    for (const node of targets) {
      if (this.#isOver) break;
      node.send(ask);
    }
    if (this.#deliveries.sent < this.#asked && this.request.isFenced)
      atEndOfTurn(() => void (this.#isAsking = false)); // after the masters' own
    else this.#isAsking = false;
  }

  /** Ends the round with the answers it has; `silence` is the cause for those that are missing. */
  end(silence: Error, isTimeout: boolean): void {
    if (this.#isOver) return;
    if (!this.#isAgreed) this.#dropUnagreed(silence);
    for (const node of this.#nodes) {
      if (this.outcomes[node.index] !== undefined) continue;
      const isUnsent = !this.#deliveries.wasSent(node);
      const cause = isTimeout && isUnsent ? node.unsentFor(silence) : silence;
      this.#count(node, unknown(cause));
      if (isTimeout && !isUnsent) node.markSilent();
    }
    this.#finish();
  }

  /** The master accepted this fence for the vote that it gave. */
  accepted(node: Node, fence: number): void {
    if (this.#isOver || this.outcomes[node.index]?.kind !== 'granted') return;
    this.#noteFence(node, fence);
    this.#proceed();
  }

  /**
   * From here on no other permits can be agreed on: they are put to masters that gave others, and whoever had counted on
   * those would be wrong.
   */
  alignOn(slots: string): void {
    this.#alignedOn = slots;
  }

  /** The master gives these permits instead of those that it gave. */
  aligned(node: Node, slots: string): void {
    if (this.#isOver || this.outcomes[node.index]?.kind !== 'granted') return;
    this.#noteSlots(node, slots);
    this.#proceed();
  }

  /** The master's vote cannot be counted after all: it did not accept the fence, or cannot give those permits. */
  retract(node: Node, outcome: Outcome): void {
    if (this.#isOver || !this.#uncount(node)) return;
    this.#count(node, outcome);
    this.#proceed();
  }

  /** A second look told more about a refusal, or of one whose answer is not in yet. */
  revise(node: Node, seen: Outcome): void {
    if (seen.kind !== 'refused') return;
    const before = this.outcomes[node.index];
    if (before?.kind === 'refused') {
      this[classOf(before)]--;
      this.pending++;
    } else if (before !== undefined) return;
    this.#count(node, seen);
  }

  onSent(node: Node): void {
    const isSecondStep = this.#deliveries.isInFlight(node); // after NOSCRIPT
    if (!isSecondStep && !this.#isAsking) this.isPrompt = false;
    this.#deliveries.send(node);
  }

  follow(node: Node): boolean {
    return this.#deliveries.follow(node);
  }

  onReply(node: Node, reply: unknown): void {
    // on a cluster, requests may overtake each other
    const isFollowed = this.#deliveries.isFollowed(node) && !node.isCluster;
    this.#noteAnswer(node);
    const outcome = this.request.read(reply);
    if (this.#isOver) {
      if (outcome?.kind !== 'granted') return;
      if (this.request.isFenced) this.#grant?.counted(outcome.fence);
      if (outcome.slots !== undefined) this.#slots[node.index] = outcome.slots;
      if (!isFollowed) this.#late.onLateVote(node, this);
      return;
    }
    this.#add(node, outcome ?? odd(reply));
  }

  onFailure(node: Node, cause: Error, mayRun = false): void {
    if (!mayRun) this.#noteAnswer(node);
    if (this.#isOver) return; // unknown it was, and undone it is
    this.#add(node, unknownBy(cause));
  }

  /** Is a request that may leave a vote unanswered there, with no withdrawal behind it? */
  owes(node: Node): boolean {
    return this.#deliveries.owes(node);
  }

  drop(): void {
    if (!this.#isOver) this.end(new Error('no reply before the lease ended'), false); // an Error costs more than all else of a release
  }

  get isAnswered(): boolean {
    return this.#deliveries.isAnswered;
  }

  #noteAnswer(node: Node): void {
    if (this.#deliveries.answer(node) && this.isAnswered && this.#isOver) this.#grant?.closed(this);
  }

  #add(node: Node, outcome: Outcome): void {
    this.#answered++;
    this.#count(node, outcome);
    this.#proceed();
  }

  #proceed(): void {
    const decision = decideClaim(this);
    if (decision === undefined) {
      if (this.#answered === this.#asked) this.#settle?.();
    } else if (decision === 'granted' && !this.#isAgreed) {
      this.onSplit?.(); // the votes are there, the agreement is not
    } else this.#finish();
  }

  #noteFence(node: Node, fence: number): void {
    this.#fences[node.index] = fence;
    let agreed = 0;
    for (const other of this.#fences) if (other === fence) agreed++;
    if (agreed >= quorumOf(this.#nodes.length)) this.fence = fence;
  }

  #noteSlots(node: Node, slots: string): void {
    this.#slots[node.index] = slots;
    if ((this.#alignedOn ?? slots) !== slots) return;
    const agreed = this.#slots.filter((other) => other === slots).length;
    if (agreed >= quorumOf(this.#nodes.length)) this.slots = slots;
  }

  /** A quorum's yes is a grant: nothing beside it is asked for, or it is the same to all. */
  get #isAgreed(): boolean {
    if (this.request.isFenced) return this.fence !== 0;
    return !this.request.takesPermits || this.slots !== undefined;
  }

  /** Time is up, and no quorum is of one mind: votes for other than the highest fence, or the first permits, do not count. */
  #dropUnagreed(silence: Error): void {
    const highest = this.highestFence;
    const first = this.#alignedOn ?? this.#slots.find((slots) => slots !== undefined);
    const cause = new Error(`its vote is for something else than that of others, and ${silence.message}`);
    for (const node of this.#nodes) {
      if (this.fenceAt(node) === highest && this.slotsAt(node) === first) continue;
      if (!this.#uncount(node)) continue;
      this.#count(node, unknown(cause));
    }
  }

  /** Takes a grant out of the counts; false where there is none. */
  #uncount(node: Node): boolean {
    if (this.outcomes[node.index]?.kind !== 'granted') return false;
    this.granted--;
    this.pending++;
    return true;
  }

  #count(node: Node, outcome: Outcome): void {
    this.outcomes[node.index] = outcome;
    this.pending--;
    this[classOf(outcome)]++;
    if (outcome.kind !== 'granted') return;
    if (this.request.isFenced) this.#noteFence(node, outcome.fence);
    else if (outcome.slots !== undefined && this.request.takesPermits) this.#noteSlots(node, outcome.slots);
  }

  #finish(): void {
    this.#isOver = true;
    if (this.#deliveries.sent < this.#nodes.length) for (const node of this.#nodes) node.forget(this);
    this.#settle?.();
  }
}

function odd(reply: unknown): Outcome {
  const cause = new Error(`a reply that no master gives to this request: ${typeof reply}`);
  return unknown(cause);
}
