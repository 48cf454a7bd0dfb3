/**
 * Waiting for a shared lock: first at its gate, then at its door.
 *
 * At the gate: the *gate* is an exclusive lock beside the shared one, with a queue like any other. The waiter with a
 * quorum of the gate's votes is the head. That is order and nothing more: exclusion rests on the votes for the shared
 * lock itself.
 *
 * At the door: the head claims. If it is refused, the masters watch for it: nobody new passes it, and a holder that
 * leaves sends it a push. It claims again when a quorum of masters may admit it. Since a push may be lost and a holder
 * may be dead, it also claims again when the holders' votes expire, and before its watch does. Once it is in, or gives
 * up, it leaves the gate, which hands over to the next waiter.
 */
import type { Timer } from '../runtime/clock.js';
import { type Answers, failureOf, type RoundFailure } from '../quorum/failure.js';
import { gateKey } from '../protocol/keys.js';
import { WATCH_MS } from '../protocol/lua/waiting.js';
import type { Node } from '../node/node.js';
import { countOutcomes, quorumOf, verdict } from '../protocol/quorum.js';
import { undoQueued } from '../protocol/request.js';
import { owe } from '../quorum/repairs.js';
import type { Round } from '../quorum/round.js';
import { MUTEX, type Scope, SettledScope } from '../protocol/scope.js';
import { LONGEST_LIFE_MS } from './queue-place.js';
import { SOON_MS } from './look-times.js';
import { QueueWait } from './queue-wait.js';
import type { QueueParts, QueueWaitEnd, QueueWaitTerms } from './queue.js';
import { Withdrawal } from '../quorum/withdrawal.js';

export interface TurnstileTerms extends Pick<
  QueueWaitTerms,
  'ticket' | 'untilMs' | 'ttlMs' | 'nodeTimeoutMs'
> {
  /** The shared lock that is waited for. */
  readonly scope: Scope;
  /** Names the place at the gate, and the watch. */
  readonly watcher: string;
}

export class Turnstile {
  readonly #parts: QueueParts;
  readonly #terms: TurnstileTerms;
  readonly #gate: Scope;
  readonly #queueWait: QueueWait;
  /** The indexes of masters that may admit it, as far as is known since its last claim. */
  readonly #admitting = new Set<number>();
  #isAtDoor = false;
  #hasBegun = false;
  #lookAtMs = 0;
  #timer: Timer | undefined;
  #goOn: ((end: QueueWaitEnd) => void) | undefined;

  constructor(parts: QueueParts, terms: TurnstileTerms) {
    this.#parts = parts;
    this.#terms = terms;
    const { keys, marker, guardMs } = terms.scope;
    const gate = keys.map(gateKey);
    this.#gate = new SettledScope(gate, { isFenced: false, marker, guardMs, kind: MUTEX });
    const { ticket, untilMs, ttlMs, nodeTimeoutMs, watcher } = terms;
    this.#queueWait = new QueueWait(
      parts,
      {
        scope: this.#gate,
        token: watcher,
        directTtlMs: 0,
        ticket,
        untilMs,
        ttlMs,
        nodeTimeoutMs,
        onFree: (node) => this.#onFree(node),
      },
      (node) => this.#owe(node),
    );
  }

  get watcher(): string {
    return this.#terms.watcher;
  }

  /** Every master of the gate gave its vote at once. */
  get wasFree(): boolean {
    return !this.#queueWait.wasRefused;
  }

  /** The gate's outcomes. */
  get standing(): Answers & { readonly failure: RoundFailure } {
    const { outcomes } = this.#queueWait;
    return { outcomes, failure: failureOf(verdict(countOutcomes(outcomes, outcomes.length))) };
  }

  /** Resolves with `reserved` when it is time to claim, else with how the wait ended. */
  async turn(): Promise<QueueWaitEnd> {
    const end = await (this.#hasBegun ? this.#queueWait.head() : this.#begin());
    if (end !== 'reserved') return end;
    const turned = this.#isAtDoor ? await this.#change() : end;
    this.#isAtDoor = true;
    this.#admitting.clear();
    return turned;
  }

  /** Its claim failed: notes which masters would have admitted it, and when to claim again. */
  refused({ outcomes, granted }: Round): void {
    const { clock, nodes, random } = this.#parts;
    const enough = quorumOf(nodes.length);
    let freeInMs = WATCH_MS / 2;
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome?.kind === 'granted' && granted < enough) this.#admitting.add(index);
      if (outcome?.kind === 'refused') freeInMs = Math.min(freeInMs, outcome.remainingMs ?? Infinity);
    }
    // a quorum granted, but different fencing tokens or permits, or too late: others are claiming as well
    if (granted >= enough) freeInMs = random.fraction() * SOON_MS;
    this.#lookAtMs = clock.earliest() + freeInMs + 1 + random.fraction() * (SOON_MS - 1);
  }

  /** Ends the wait; the place at the gate stays until `leaving`. */
  end(end: QueueWaitEnd): void {
    this.#queueWait.end(end);
    this.#proceed(end);
  }

  /** The withdrawal from the gate, which then hands over to the next waiter; not sent yet. Ends the wait. */
  leaving(): Withdrawal {
    this.end('ended');
    const request = undoQueued(this.#gate, this.watcher, 0); // it takes its terms along
    return new Withdrawal(request, this.#queueWait.sentTo, [this.#queueWait], {
      onFailed: (node) => this.#owe(node),
    });
  }

  #begin(): Promise<QueueWaitEnd> {
    this.#hasBegun = true;
    return this.#queueWait.run();
  }

  /** Resolves when a quorum of masters may admit it, or it is time to claim again. */
  #change(): Promise<QueueWaitEnd> {
    const { clock, nodes, timers } = this.#parts;
    if (this.#admitting.size >= quorumOf(nodes.length)) return Promise.resolve('reserved');
    return new Promise((resolve) => {
      this.#goOn = resolve;
      const delayMs = Math.max(0, this.#lookAtMs - clock.earliest());
      this.#timer = timers.background(delayMs, () => this.#proceed('reserved'));
    });
  }

  #onFree(node: Node): void {
    this.#admitting.add(node.index);
    if (this.#admitting.size >= quorumOf(this.#parts.nodes.length)) this.#proceed('reserved');
  }

  #proceed(end: QueueWaitEnd): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#goOn?.(end);
    this.#goOn = undefined;
  }

  #owe(node: Node): void {
    owe(this.#parts, node, { scope: this.#gate, token: this.watcher, lifeMs: LONGEST_LIFE_MS });
  }
}
