/**
 * Asks several masters for their votes at once. A round settles as soon as it is decided, or when its caller ends it because
 * time is up. Votes that arrive later go to a callback. It sets no timer: the caller has one deadline for everything.
 */
import { Deliveries } from './deliveries.js';
import { FenceAgreement } from './fence-agreement.js';
import type { Node, Sink } from '../node/node.js';
import {
  classOf,
  type Counts,
  decideClaim,
  decideExtension,
  type Decision,
  holdersVerdict,
  type Outcome,
  quorumOf,
  unknown,
  unknownBy,
  verdict,
} from '../protocol/quorum.js';
import type { Request } from '../protocol/request.js';
import { PermitAgreement } from './permit-agreement.js';

/** Receives what a round yields apart from its decision. */
export interface RoundObserver {
  /** A vote has arrived after the round was over. */
  onLateVote(node: Node, round: Round): void;
  /** A master reported its clock, in µs. */
  onClock?(node: Node, clockUs: number, round: Round): void;
  /** A master refused because of another's vote. */
  onRefused?: ((node: Node) => void) | undefined;
}

/** What a round has to know about its grant. */
export interface Outgrowth {
  /** Released or lost: a vote that arrives from now on is undone. */
  readonly isEnded: boolean;
  /** Neither ended nor given away. */
  readonly isHeld: boolean;
  /** Some master has not given its vote, as far as is known. */
  lacksVotes(): void;
  /** Called when the last master has answered. */
  closed(round: Round): void;
}

/** One fan-out of claims or extensions to N masters. */
export class Round implements Sink, Counts {
  readonly request: Request;
  /** The instant before the first request was sent: validity is measured from here. */
  readonly sentAtMs: number;
  /** The masters' outcomes, by their index. */
  readonly outcomes: (Outcome | undefined)[];
  granted = 0;
  held = 0;
  wrongType = 0;
  quarantined = 0;
  misconfigured = 0;
  unknown = 0;
  pending: number;
  /** The fencing token that a quorum accepted; 0 until then. */
  fence = 0;
  /** The permits that a quorum gave, as in `0,3`; undefined until then. */
  slots: string | undefined;
  /** Whether it does not wait for other calls, because its time is short. */
  isUrgent = false;
  /** The agreement that a quorum needs beyond its yes; undefined as long as all give the same. */
  #agreement: FenceAgreement | PermitAgreement | undefined;
  /** The grant of this round, once it has one. */
  #grant: Outgrowth | undefined;
  #hasFailed = false;
  readonly #nodes: readonly Node[];
  readonly #observer: RoundObserver;
  readonly #deliveries: Deliveries;
  /** The fencing token that each master accepted for this attempt, by its index. */
  readonly #fences: number[];
  /** The permits that each master gave, by its index; empty unless permits were claimed. */
  readonly #slots: (string | undefined)[] = [];
  #alignedOn: string | undefined;
  #asked = 0;
  #answered = 0;
  /** How many votes have arrived since it was over. */
  #lateVotes = 0;
  #isOver = false;
  #settle: (() => void) | undefined;

  constructor(nodes: readonly Node[], request: Request, sentAtMs: number, observer: RoundObserver) {
    this.#nodes = nodes;
    this.request = request;
    this.sentAtMs = sentAtMs;
    this.#observer = observer;
    this.outcomes = new Array<Outcome | undefined>(nodes.length).fill(undefined);
    this.#deliveries = new Deliveries(nodes.length);
    this.#fences = new Array<number>(nodes.length);
    this.pending = nodes.length;
  }

  get isWanted(): boolean {
    return !this.#isOver;
  }

  /** While the lease is held, a slow master's vote is useful; the undo or release will follow it. */
  get mayResend(): boolean {
    return !this.#isOver || this.#grant?.isHeld === true;
  }

  /** The round led to this grant, which learns of answers that arrive from now on. */
  became(grant: Outgrowth): void {
    this.#grant = grant;
    if (this.#isOver && this.isAnswered && !this.isWhole) grant.lacksVotes();
  }

  /** The attempt failed: its votes are undone. */
  fail(): void {
    this.#hasFailed = true;
  }

  /** Votes that arrive from now on are useless. */
  get isGone(): boolean {
    return this.#hasFailed || this.#grant?.isEnded === true;
  }

  /** Whether the late vote that has just arrived makes a quorum, counting the votes of this round alone. */
  get isCompletedLate(): boolean {
    return this.granted + this.#lateVotes === quorumOf(this.#nodes.length);
  }

  /** The decision; only once the round is over. */
  get decision(): Decision {
    const { mayCreate, operation } = this.request;
    return operation.isClaim ? verdict(this) : holdersVerdict(this, mayCreate);
  }

  /** The highest fencing token that any master accepted for it; 0 without one. */
  get highestFence(): number {
    return this.#fences.reduce((highest, fence) => Math.max(highest, fence), 0);
  }

  /** The fencing token that this master accepted for it; 0 without one. */
  fenceAt(node: Node): number {
    return this.#fences[node.index] ?? 0;
  }

  /** The masters that may have carried the request out; `nodes` itself if that is all of them. */
  get sentTo(): readonly Node[] {
    return this.#deliveries.sent === this.#nodes.length
      ? this.#nodes
      : this.#nodes.filter((node) => this.#deliveries.wasSent(node));
  }

  /** The permits that this master gave. */
  slotsAt(node: Node): string | undefined {
    return this.#slots[node.index];
  }

  /** Whether it gave its vote, even if that does not count. */
  hasVoted(node: Node): boolean {
    return this.fenceAt(node) > 0 || this.slotsAt(node) !== undefined;
  }

  /** Asks these masters. Resolves when the round is decided, or all that were asked have answered. */
  ask(targets: readonly Node[]): Promise<void> {
    return new Promise((resolve) => this.askThen(targets, resolve));
  }

  /**
   * The same without a promise, for many leases in one turn of the event loop. Calls back synchronously if the round is
   * already decided.
   */
  askThen(targets: readonly Node[], onSettled: () => void): void {
    if (this.#isOver) return onSettled();
    this.#asked += targets.length;
    this.#settle = onSettled;
    const ask = { request: this.request, sink: this, isUrgent: this.isUrgent };
    for (const node of targets) {
      if (this.#isOver) break;
      node.send(ask);
    }
  }

  /** Ends the round with the answers it has; `silence` is the cause for the missing ones. */
  end(silence: Error, isTimeout: boolean): void {
    if (this.#isOver) return;
    if (!this.#isAgreed) this.#dropUnagreed(silence);
    for (const node of this.#nodes) {
      if (this.outcomes[node.index] !== undefined) continue;
      const isUnsent = !this.#deliveries.wasSent(node);
      const cause = isUnsent ? node.unsentFor(silence) : silence;
      this.#count(node, unknown(cause));
      if (isTimeout && !isUnsent) node.markSilent(silence);
    }
    this.#finish();
  }

  /** The master accepted this fencing token for its vote. */
  accepted(node: Node, fence: number): void {
    if (this.#isOver || this.outcomes[node.index]?.kind !== 'granted') return;
    this.#noteFence(node, fence);
    this.#proceed();
  }

  /**
   * From here on, agreement on other permits is impossible: these are proposed to masters that gave others, and will replace
   * the others there.
   */
  alignOn(slots: string): void {
    this.#alignedOn = slots;
  }

  /** The master gives these permits in place of its earlier ones. */
  aligned(node: Node, slots: string): void {
    if (this.#isOver || this.outcomes[node.index]?.kind !== 'granted') return;
    this.#noteSlots(node, slots);
    this.#proceed();
  }

  /** The master's vote cannot count after all: it did not accept the fencing token, or cannot give those permits. */
  retract(node: Node, outcome: Outcome): void {
    if (this.#isOver || !this.#uncount(node)) return;
    this.#count(node, outcome);
    this.#proceed();
  }

  /** Whether no missing answer can change the decision. */
  get isDecided(): boolean {
    return this.#decide() !== undefined;
  }

  /** A second look says more about a refusal, or replaces a missing answer. */
  revise(node: Node, seen: Outcome): void {
    const before = this.outcomes[node.index];
    if (before?.kind === 'refused' && seen.kind === 'refused') {
      this[classOf(before)]--;
      this.pending++;
    } else if (before !== undefined) return;
    this.#count(node, seen);
  }

  onSent(node: Node): void {
    this.#deliveries.send(node);
  }

  follow(node: Node): boolean {
    return this.#deliveries.follow(node);
  }

  onReply(node: Node, reply: unknown): void {
    // on a cluster, requests may overtake each other
    const isFollowed = this.#deliveries.isFollowed(node) && !node.isCluster;
    const outcome = this.request.read(reply);
    if (this.#isOver && outcome?.kind === 'granted') this.#lateVotes++;
    this.#noteAnswer(node);
    if (outcome?.kind === 'granted' && outcome.clockUs !== 0)
      this.#observer.onClock?.(node, outcome.clockUs, this);
    else if (outcome?.kind === 'quarantined') node.quarantine.lasts(outcome.remainingMs);
    else if (outcome?.kind === 'refused' && mayPass(outcome)) this.#observer.onRefused?.(node);
    if (this.#isOver) {
      if (outcome?.kind !== 'granted') return;
      if (outcome.slots !== undefined) this.#slots[node.index] = outcome.slots;
      if (!isFollowed) this.#observer.onLateVote(node, this);
      return;
    }
    this.#add(node, outcome ?? odd(reply));
  }

  onFailure(node: Node, cause: Error, mayRun = false): void {
    if (!mayRun) this.#noteAnswer(node);
    if (this.#isOver) return; // unknown already, and undone
    this.#add(node, unknownBy(cause));
  }

  /** Whether a request that may leave a vote is in flight there, with no undo or release behind it. */
  owes(node: Node): boolean {
    return this.#deliveries.owes(node);
  }

  drop(): void {
    if (!this.#isOver) this.end(new Error('no reply before the lease ended'), false); // an Error costs more than a release
  }

  get isAnswered(): boolean {
    return this.#deliveries.isAnswered;
  }

  /** Whether every master has given its vote. */
  get isWhole(): boolean {
    return this.granted + this.#lateVotes === this.#nodes.length;
  }

  #noteAnswer(node: Node): void {
    if (this.#deliveries.answer(node) && this.#isOver) this.#closeIfAnswered(); // until then it is closed as it finishes
  }

  #closeIfAnswered(): void {
    if (!this.isAnswered) return;
    if (!this.isWhole) this.#grant?.lacksVotes();
    this.#grant?.closed(this);
  }

  #add(node: Node, outcome: Outcome): void {
    this.#answered++;
    this.#count(node, outcome);
    this.#proceed();
  }

  #decide(): Decision | undefined {
    const { mayCreate, operation } = this.request;
    return operation.isClaim ? decideClaim(this) : decideExtension(this, mayCreate);
  }

  #proceed(): void {
    const decision = this.#decide();
    if (decision === undefined) {
      if (this.#answered === this.#asked) this.#settle?.();
    } else if (decision === 'granted' && !this.#isAgreed) {
      this.#agree(); // the votes are there, the agreement is not
    } else this.#finish();
  }

  /** A quorum granted, but not the same: asks the masters that granted something else to agree. */
  #agree(): void {
    this.#agreement ??= this.request.takesPermits
      ? new PermitAgreement(this.#nodes, this)
      : new FenceAgreement(this.#nodes, this);
    this.#agreement.proceed();
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

  /** Whether a quorum's yes is a grant: no further agreement is needed, or a quorum agrees. */
  get #isAgreed(): boolean {
    if (this.request.isFenced) return this.fence !== 0;
    return !this.request.takesPermits || this.slots !== undefined;
  }

  /**
   * Time is up without an agreement: votes for another than the highest fencing token, or the first permits, do not
   * count.
   */
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

  /** Takes a grant out of the counts. @returns false without a grant */
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
    this.#agreement?.end();
    if (this.#deliveries.sent < this.#nodes.length) for (const node of this.#nodes) node.forget(this);
    this.#closeIfAnswered();
    this.#settle?.();
  }
}

/** Whether the reason of a refusal passes: another's vote does, but data does not, nor does a lease that was taken away. */
export function mayPass({ isTaken, isWrongType }: Outcome & { readonly kind: 'refused' }): boolean {
  return !isWrongType && isTaken !== true;
}

function odd(reply: unknown): Outcome {
  const cause = new Error(`the reply does not fit the request: ${typeof reply}`);
  return unknown(cause);
}
