/**
 * Agreement on a fencing token (protocol A2). Each master counts by itself. A token is handed out only when a quorum has
 * accepted exactly this token for this attempt. Usually all masters take the token that the claim proposes, and the claims
 * alone bring the agreement. Otherwise the highest token that one of them granted is put to the others.
 *
 * Tokens are unique, because two quorums share a master, and a master accepts only what is above everything that it
 * accepted before. Each is the first of a block, which its instance may hand out one after another (protocol C4). Tokens
 * rise, because a later grant's quorum shares a master with the earlier one's. This argument needs neither clocks nor
 * exclusion, as long as counters are not lost; for lost counters see docs/GUARANTEES.md.
 */
import type { Ask, Node, Sink } from '../node/node.js';
import { FENCE_BLOCK } from '../protocol/lua/stored.js';
import { type Outcome, quorumOf, unknown, unknownBy } from '../protocol/quorum.js';
import { leastAccepted } from '../protocol/replies.js';
import { acceptance } from '../protocol/request.js';
import type { Round } from './round.js';

/**
 * How many times a higher token is put, if counters have moved on meanwhile. After that, such a master's vote is lost.
 */
const MAX_RAISES = 4;

/** A fencing token that is put to masters. */
class Ballot implements Sink {
  readonly fence: number;
  readonly ask: Ask;
  readonly #agreement: FenceAgreement;

  constructor(agreement: FenceAgreement, round: Round, fence: number) {
    const { scope, token } = round.request;
    this.fence = fence;
    this.#agreement = agreement;
    this.ask = { request: acceptance(scope, token, fence), sink: this };
  }

  /** Asked of what has not been sent; the end of the round drops that as well. */
  get isWanted(): boolean {
    return this.#agreement.isWanted;
  }

  onSent(): void {}

  onReply(node: Node, reply: unknown): void {
    this.#agreement.onReply(this, node, reply);
  }

  onFailure(node: Node, cause: Error): void {
    this.#agreement.onFailure(node, cause);
  }
}

/** Brings the granting masters of a round to one fencing token. Its deadline is the round's. */
export class FenceAgreement {
  readonly #nodes: readonly Node[];
  readonly #round: Round;
  /** What is put to the masters now. */
  #ballot: Ballot | undefined;
  #raises = 0;
  /** What was put to each master last, by its index. */
  readonly #put: (Ballot | undefined)[] = [];
  /** Masters whose clocks are too far behind a ballot. */
  readonly #behind = new Set<Node>();

  constructor(nodes: readonly Node[], round: Round) {
    this.#nodes = nodes;
    this.#round = round;
  }

  get isWanted(): boolean {
    return this.#round.isWanted;
  }

  /** Puts the highest token to each master that granted with a lower one and was not asked yet. */
  proceed(): void {
    if (this.#round.pending === 0) this.#dropThoseBehind();
    let ballot = this.#ballot;
    if (ballot === undefined || this.#isHopeless(ballot.fence)) ballot = this.#raise(this.#acceptable());
    for (const node of this.#granting()) {
      if (!this.isWanted) return;
      const before = this.#put[node.index];
      if (this.#round.fenceAt(node) >= ballot.fence || before === ballot) continue;
      if (before !== undefined) node.forget(before); // if it was not even sent
      this.#put[node.index] = ballot;
      node.send(ballot.ask);
    }
  }

  /** The round is over: drops what was not sent. */
  end(): void {
    for (const node of this.#nodes) {
      const put = this.#put[node.index];
      if (put !== undefined) node.forget(put);
    }
  }

  onReply(ballot: Ballot, node: Node, reply: unknown): void {
    const least = leastAccepted(reply);
    if (least !== undefined) return this.#onRefusal(ballot, node, least);
    const outcome = ballot.ask.request.read(reply);
    if (outcome?.kind === 'granted') this.#round.accepted(node, outcome.fence);
    else this.#round.retract(node, lost(outcome));
  }

  onFailure(node: Node, cause: Error): void {
    this.#round.retract(node, unknownBy(cause));
  }

  /** Masters whose votes count so far. */
  #granting(): readonly Node[] {
    return this.#nodes.filter((node) => this.#round.outcomes[node.index]?.kind === 'granted');
  }

  #highest(): number {
    return this.#granting().reduce((highest, node) => Math.max(highest, this.#round.fenceAt(node)), 0);
  }

  /** The highest token that was granted; or the one behind its block, if that is where another one's block ends. */
  #acceptable(): number {
    const highest = this.#highest();
    const fences = this.#granting().map((node) => this.#round.fenceAt(node));
    const isWithin = fences.some((fence) => fence < highest && fence + FENCE_BLOCK > highest);
    return isWithin ? highest + FENCE_BLOCK : highest;
  }

  /** Masters have granted with a higher token since, and without them no quorum can accept this one. */
  #isHopeless(fence: number): boolean {
    const below = this.#granting().filter((node) => this.#round.fenceAt(node) <= fence).length;
    return below + this.#round.pending < quorumOf(this.#nodes.length) && this.#highest() > fence;
  }

  /** Another attempt has raised that counter meanwhile, or the master's clock is far from the others. */
  #onRefusal(ballot: Ballot, node: Node, least: number): void {
    const fence = this.#ballot?.fence ?? 0;
    if (least < fence) {
      if (ballot === this.#ballot) this.#onBehind(node); // else it was given up already
      return;
    }
    if (this.#raises > MAX_RAISES) {
      const cause = new Error('its counter moved on while the fencing token was agreed on');
      return this.#round.retract(node, unknown(cause));
    }
    this.#raise(Math.max(least, fence + FENCE_BLOCK - 1) + 1); // above the block that others accepted with this one
    this.proceed();
  }

  /**
   * Perhaps it is the ballot that is wrong, since the clock of its master is far ahead. So votes of masters that are
   * behind it count as long as others may still grant with their token.
   */
  #onBehind(node: Node): void {
    this.#behind.add(node);
    if (this.#round.pending === 0) this.#dropThoseBehind();
  }

  #dropThoseBehind(): void {
    const cause = new Error('its clock is far behind the fencing token');
    for (const node of this.#behind) this.#round.retract(node, unknown(cause)); // leads here again, to those left
  }

  #raise(fence: number): Ballot {
    this.#raises++;
    this.#ballot = new Ballot(this, this.#round, fence);
    return this.#ballot;
  }
}

/** The outcome for a vote that has gone since: useless, whether another vote is there now or none. */
function lost(outcome: Outcome | undefined): Outcome {
  if (outcome !== undefined && (outcome.kind !== 'refused' || outcome.remainingMs !== undefined))
    return outcome;
  if (outcome?.kind === 'refused' && outcome.isWrongType) return outcome;
  const cause = new Error('its vote was gone before the fencing token was agreed on');
  return unknown(cause);
}
