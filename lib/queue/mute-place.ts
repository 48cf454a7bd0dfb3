/**
 * The place of one that does not wait in a queue, and only claims again and again: `fair: false`, or where no pushes are
 * possible. Nothing is handed over to it. But it stops later newcomers for as long as it claims: who writes, or wants several
 * permits at once, might never succeed while others come and go.
 */
import { mutePlace, undo } from '../protocol/request.js';
import type { Kind, Scope } from '../protocol/scope.js';
import type { Round } from '../quorum/round.js';
import { Withdrawal } from '../quorum/withdrawal.js';
import { MUTE_MARK } from '../runtime/random.js';
import type { QueueParts } from './terms.js';

export class MutePlace {
  readonly #scope: Scope;
  readonly #text: string;
  readonly #token: string;
  /** The last claim that was refused. */
  #refused: Round | undefined;

  constructor(parts: QueueParts, scope: Scope) {
    this.#scope = scope;
    this.#token = parts.random.token() + MUTE_MARK;
    // the same on all masters, whose clocks it may not know yet
    this.#text = mutePlace(this.#token, parts.clocks.propose());
  }

  /** What its claims carry. */
  get text(): string {
    return this.#text;
  }

  refused(round: Round): void {
    if (round.request.place !== '') this.#refused = round;
  }

  /** Leaves it where the last claim was refused: a granted one has left it, and elsewhere it ends by itself, and soon. */
  leave(): void {
    if (this.#refused === undefined) return;
    const { outcomes, sentTo } = this.#refused;
    const targets = sentTo.filter((node) => outcomes[node.index]?.kind !== 'granted');
    const withdrawal = new Withdrawal(undo(this.#scope, this.#token), targets, [], {
      onFailed: () => undefined,
    });
    void withdrawal.send();
    withdrawal.end();
  }
}

/** Whether claims of that kind might never succeed while others come and go. */
export function isGreedy(kind: Kind): boolean {
  return kind.name === 'write' || (kind.name === 'semaphore' && kind.wanted > 1);
}
