/**
 * Agreement on a fencing token (protocol A). Each master counts the grants of a resource by itself. A token is handed out
 * only when a quorum has accepted exactly this token for this attempt. Usually the counters are equal, and the claims
 * alone bring the agreement. Otherwise the highest count is proposed to the masters with lower ones.
 *
 * Tokens are unique, because two quorums share a master, and a master accepts only what is above everything that it
 * accepted before. Tokens rise, because a later grant's quorum shares a master with the earlier one's. This argument
 * needs neither clocks nor exclusion, as long as counters are not lost; for lost counters see docs/GUARANTEES.md.
 */
import type { Ask, Node, Sink } from '../node/node.js';
import { type Outcome, quorumOf, unknown, unknownBy } from '../protocol/quorum.js';
import { countInTheWay } from '../protocol/replies.js';
import { acceptance } from '../protocol/request.js';
import type { Round } from './round.js';

/**
 * How many times a higher token is proposed, if counters have moved on meanwhile. After that, such a master's vote is
 * lost.
 */
const MAX_RAISES = 4;

/** Brings the granting masters of a round to one fencing token. Its deadline is the round's. */
export class FenceAgreement implements Sink {
  readonly #nodes: readonly Node[];
  readonly #round: Round;
  readonly #ttlMs: number;
  #ask: Ask | undefined;
  /** The fencing token that is proposed to the masters. */
  #fence = 0;
  #raises = 0;
  /** The token that was proposed to each master last, by its index. */
  readonly #put: number[] = [];

  constructor(nodes: readonly Node[], round: Round, ttlMs: number) {
    this.#nodes = nodes;
    this.#round = round;
    this.#ttlMs = ttlMs;
  }

  get isWanted(): boolean {
    return this.#round.isWanted;
  }

  /** Proposes the highest token to each master that granted with a lower one and was not asked yet. */
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

  /** Masters whose votes count so far. */
  #granting(): readonly Node[] {
    return this.#nodes.filter((node) => this.#round.outcomes[node.index]?.kind === 'granted');
  }

  #highest(): number {
    return this.#granting().reduce((highest, node) => Math.max(highest, this.#round.fenceAt(node)), 0);
  }

  /** Masters have granted with a higher token since, and without them no quorum can accept this one. */
  #isHopeless(): boolean {
    const below = this.#granting().filter((node) => this.#round.fenceAt(node) <= this.#fence).length;
    return below + this.#round.pending < quorumOf(this.#nodes.length) && this.#highest() > this.#fence;
  }

  /** The round is over: drops what was not sent. */
  end(): void {
    for (const node of this.#nodes) node.forget(this);
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

  /** Another attempt has raised that counter meanwhile. */
  #onConflict(node: Node, count: number): void {
    this.#round.met(count);
    if (count < this.#fence || !this.isWanted) return; // about a proposal that was given up already
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

/** The outcome for a vote that has gone since: useless, whether another vote is there now or none. */
function lost(outcome: Outcome | undefined): Outcome {
  if (outcome !== undefined && (outcome.kind !== 'refused' || outcome.remainingMs !== undefined))
    return outcome;
  if (outcome?.kind === 'refused' && outcome.isWrongType) return outcome;
  const cause = new Error('its vote was gone before the fencing token was agreed on');
  return unknown(cause);
}
