/**
 * Agreement on permits (protocol D). Each master gives the lowest slots that are free there; a set of slots is held when a
 * quorum of masters gave exactly this one. Usually they stand alike, and the claims themselves bring the agreement. Where
 * they do not, the set that most of them gave is put to the others, which give up what they had given instead. That set is
 * the only one that this token can get from then on: a master may carry the change out at any time, also long after.
 *
 * Each slot is a lock of its own: two holders of one would have a quorum of masters each, the two quorums share a master, and
 * a master has one holder for a slot. So there are never more holders than slots, whichever masters are up. (Counting holders
 * at each master by itself does not do: of three masters with two places each, three holders get two masters each.)
 */
import type { Ask, Node, Sink } from '../node/node.js';
import { type Outcome, quorumOf, unknown, unknownBy } from '../protocol/quorum.js';
import { aligning } from '../protocol/request.js';
import type { Round } from './round.js';
import type { Scope } from '../protocol/scope.js';
import { IGNORED_ANSWER } from '../node/unanswered.js';

/** Brings the masters of a round that granted to the same permits. Its deadline is the round's. */
export class PermitAgreement implements Sink {
  readonly #nodes: readonly Node[];
  readonly #round: Round;
  #ask: Ask | undefined;
  /** The permits that are put to the masters. */
  #slots: string | undefined;
  /** Which masters they were put to, by their index. */
  readonly #put: boolean[] = [];

  constructor(nodes: readonly Node[], round: Round) {
    this.#nodes = nodes;
    this.#round = round;
  }

  get isWanted(): boolean {
    return this.#round.isWanted;
  }

  /** Puts the permits to each master that gave others and was not asked yet. */
  readonly proceed = (): void => {
    const granting = this.#nodes.filter((node) => this.#round.outcomes[node.index]?.kind === 'granted');
    if (this.#slots === undefined) {
      const sets = granting.map((node) => this.#round.slotsAt(node) ?? '');
      const slots = mostGiven(sets);
      if (this.#mayAgree(sets.filter((set) => set === slots).length)) return;
      this.#slots = slots;
      this.#round.alignOn(slots);
    }
    const { scope, token } = this.#round.request;
    this.#ask ??= { request: aligning(scope, token, this.#slots), sink: this };
    for (const node of granting) {
      if (!this.isWanted) return;
      if (this.#round.slotsAt(node) === this.#slots || this.#put[node.index] === true) continue;
      this.#put[node.index] = true;
      node.send(this.#ask);
    }
  };

  /** Answers that are about to come may bring the agreement by themselves; those of silent masters are not waited for. */
  #mayAgree(most: number): boolean {
    const awaited = this.#nodes.filter(
      (node) => this.#round.outcomes[node.index] === undefined && node.isHealthy,
    );
    return awaited.length > 0 && most + awaited.length >= quorumOf(this.#nodes.length);
  }

  /** Drops what was not sent; the round is over. */
  end(): void {
    for (const node of this.#nodes) node.forget(this);
  }

  onSent(): void {}

  onReply(node: Node, reply: unknown): void {
    const outcome = this.#ask?.request.read(reply);
    if (outcome?.kind === 'granted') this.#round.aligned(node, outcome.slots ?? '');
    else this.#round.retract(node, gone(outcome));
  }

  onFailure(node: Node, cause: Error): void {
    this.#round.retract(node, unknownBy(cause));
  }
}

/** Has masters that gave other permits than the ones that are held give them up: they are of use to others only. */
export function alignRest(nodes: readonly Node[], round: Round, scope: Scope): void {
  const { slots } = round;
  if (slots === undefined) return;
  const others = nodes.filter((node) => (round.slotsAt(node) ?? slots) !== slots);
  if (others.length === 0) return;
  const ask = { request: aligning(scope, round.request.token, slots), sink: IGNORED_ANSWER };
  for (const node of others) node.send(ask); // the next extension says the same
}

/**
 * The set that most gave. Among several, the one with the highest slot: each master gives the lowest that are free there, so
 * whoever gave lower ones probably has these as well, and not the other way round.
 */
function mostGiven(sets: readonly string[]): string {
  const count = (set: string): number => sets.filter((other) => other === set).length;
  const highest = (set: string): number => Math.max(...set.split(',').map(Number));
  const ranked = [...new Set(sets)].sort(
    (a, b) => count(b) - count(a) || highest(b) - highest(a) || (a < b ? -1 : 1),
  );
  return ranked[0] ?? '';
}

/** A vote that was there and is not any more. */
function gone(outcome: Outcome | undefined): Outcome {
  if (outcome !== undefined && (outcome.kind !== 'refused' || outcome.remainingMs !== undefined))
    return outcome;
  const cause = new Error('its vote was gone before the permits were agreed on');
  return unknown(cause);
}
