/**
 * Agreement on a fencing token (protocol A). Each master counts the grants of a resource for itself; a token is handed
 * out only when a quorum has accepted exactly this one for this attempt. Usually the counters stand alike, and the
 * claims themselves bring the agreement. Where they do not, the highest is put to the masters that stand lower.
 *
 * Tokens are unique since two quorums share a master, and a master accepts only what is above everything it accepted
 * before. They rise since a later grant's quorum shares a master with the earlier one's. No clock is in that argument,
 * and no exclusion, as long as counters are not lost; where they are, see docs/GUARANTEES.md.
 */
import type { Ask, Node, Sink } from '../node/node.js';
import { type Outcome, quorumOf, unknown, unknownBy } from '../protocol/quorum.js';
import { countInTheWay } from '../protocol/replies.js';
import { acceptance } from '../protocol/request.js';
import type { Round } from './round.js';

/** So many times a higher token is tried, when counters have moved on meanwhile; then those masters' votes are lost. */
const MAX_RAISES = 4;

/** Brings the masters of a round that granted to one fence. Its deadline is the round's. */
export class FenceAgreement implements Sink {
  readonly #nodes: readonly Node[];
  readonly #round: Round;
  readonly #ttlMs: number;
  #ask: Ask | undefined;
  /** The fence that is put to the masters. */
  #fence = 0;
  #raises = 0;
  /** Which fence was put to each master last, by its index. */
  readonly #put: number[] = [];

  constructor(nodes: readonly Node[], round: Round, ttlMs: number) {
    this.#nodes = nodes;
    this.#round = round;
    this.#ttlMs = ttlMs;
  }

  get isWanted(): boolean {
    return this.#round.isWanted;
  }

  /** Puts the highest fence to each master that granted with another one and was not asked yet. */
  readonly proceed = (): void => {
    if (this.#fence === 0 || this.#isHopeless()) this.#raise(this.#highest());
    for (const node of this.#granting()) {
      if (!this.isWanted) return;
      if (this.#round.fenceAt(node) >= this.#fence || this.#put[node.index] === this.#fence) continue;
      if (this.#put[node.index] !== undefined) node.forget(this); // an earlier one, if it was not even sent
      this.#put[node.index] = this.#fence;
      if (this.#ask !== undefined) node.send(this.#ask);
    }
  };

  /** Masters whose votes count; those that did not answer yet may join them. */
  #granting(): readonly Node[] {
    return this.#nodes.filter((node) => this.#round.outcomes[node.index]?.kind === 'granted');
  }

  #highest(): number {
    return this.#granting().reduce((highest, node) => Math.max(highest, this.#round.fenceAt(node)), 0);
  }

  /** Masters that granted with a higher fence came in since, and without them no quorum can accept this one. */
  #isHopeless(): boolean {
    const below = this.#granting().filter((node) => this.#round.fenceAt(node) <= this.#fence).length;
    return below + this.#round.pending < quorumOf(this.#nodes.length) && this.#highest() > this.#fence;
  }

  /** Drops what was not sent; the round is over. */
  end(): void {
    if (this.#fence > 0) for (const node of this.#nodes) node.forget(this);
  }

  onSent(): void {}

  onReply(node: Node, reply: unknown): void {
    const count = countInTheWay(reply);
    if (count !== undefined) return this.#onConflict(node, count);
    const outcome = this.#ask?.request.read(reply);
    if (outcome?.kind === 'granted') this.#round.accepted(node, outcome.fence);
    else this.#round.retract(node, lost(outcome));
  }

  onFailure(node: Node, cause: Error): void {
    this.#round.retract(node, unknownBy(cause));
  }

  /** Another attempt has lifted that counter meanwhile. */
  #onConflict(node: Node, count: number): void {
    this.#round.met(count);
    if (count < this.#fence || !this.isWanted) return; // about a fence that was given up already
    if (this.#raises > MAX_RAISES) {
      const cause = new Error('its counter moved on while the fencing token was agreed on');
      this.#round.retract(node, unknown(cause));
      return;
    }
    this.#raise(Math.max(count, this.#fence) + 1);
    this.proceed();
  }

  #raise(fence: number): void {
    this.#raises++;
    this.#fence = fence;
    const { scope, token } = this.#round.request;
    this.#ask = { request: acceptance(scope, token, this.#ttlMs, fence), sink: this };
  }
}

/** A vote that was there and is not any more: of no use, whether another's is there now or none. */
function lost(outcome: Outcome | undefined): Outcome {
  if (outcome !== undefined && (outcome.kind !== 'refused' || outcome.remainingMs !== undefined))
    return outcome;
  if (outcome?.kind === 'refused' && outcome.isWrongType) return outcome;
  const cause = new Error('its vote was gone before the fencing token was agreed on');
  return unknown(cause);
}
