/**
 * Agreement on permits (protocol D). Each master gives the lowest permits that are free there; a set of permits is held
 * when a quorum of masters gave exactly this set. Usually the masters give the same, and the claims alone bring the
 * agreement. Otherwise the set that most of them gave is proposed to the others, which give it in place of their own.
 * From then on, this token can get no other set: a master may carry the change out at any time, even long after.
 *
 * Each permit is a lock of its own. Two holders of one permit would each have a quorum of masters, the two quorums share
 * a master, and a master has one holder for a permit. So there are never more holders than permits, whichever masters are
 * up. (It would not do to count holders on each master: with three masters and two permits, three holders could each get
 * two of the masters.)
 */
import type { Ask, Node, Sink } from '../node/node.js';
import { type Outcome, quorumOf, unknown, unknownBy } from '../protocol/quorum.js';
import { aligning } from '../protocol/request.js';
import type { Round } from './round.js';
import type { Scope } from '../protocol/scope.js';
import { IGNORED_ANSWER } from '../node/sink.js';

/** Brings the granting masters of a round to one set of permits. Its deadline is the round's. */
export class PermitAgreement implements Sink {
  readonly #nodes: readonly Node[];
  readonly #round: Round;
  #ask: Ask | undefined;
  /** The permits that are proposed to the masters. */
  #slots: string | undefined;
  /** Whether they were proposed to each master, by its index. */
  readonly #put: boolean[] = [];

  constructor(nodes: readonly Node[], round: Round) {
    this.#nodes = nodes;
    this.#round = round;
  }

  get isWanted(): boolean {
    return this.#round.isWanted;
  }

  /** Proposes the permits to each master that gave others and was not asked yet. */
  proceed(): void {
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
  }

  /** Whether answers that are due soon may bring the agreement. Silent masters are not waited for. */
  #mayAgree(most: number): boolean {
    const awaited = this.#nodes.filter(
      (node) => this.#round.outcomes[node.index] === undefined && node.isHealthy,
    );
    return most + awaited.length >= quorumOf(this.#nodes.length);
  }

  /** The round is over: drops what was not sent. */
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

/** Makes masters that gave other permits than those held give them up, for others to use. */
export function alignRest(nodes: readonly Node[], round: Round, scope: Scope): void {
  const { slots } = round;
  if (slots === undefined) return;
  const others = nodes.filter((node) => (round.slotsAt(node) ?? slots) !== slots);
  if (others.length === 0) return;
  const ask = { request: aligning(scope, round.request.token, slots), sink: IGNORED_ANSWER };
  for (const node of others) node.send(ask); // if it is lost, the next extension says the same
}

/**
 * The set that most masters gave. Of several, the one with the highest permit: each master gives its lowest free permits,
 * so a master that gave lower ones probably has these free as well, but not the other way round.
 */
function mostGiven(sets: readonly string[]): string {
  const count = (set: string): number => sets.filter((other) => other === set).length;
  const highest = (set: string): number => Math.max(...set.split(',').map(Number));
  const ranked = [...new Set(sets)].sort(
    (a, b) => count(b) - count(a) || highest(b) - highest(a) || (a < b ? -1 : 1),
  );
  return ranked[0] ?? '';
}

/** The outcome for a vote that has gone since. */
function gone(outcome: Outcome | undefined): Outcome {
  if (outcome !== undefined && (outcome.kind !== 'refused' || outcome.remainingMs !== undefined))
    return outcome;
  const cause = new Error('its vote was gone before the permits were agreed on');
  return unknown(cause);
}
