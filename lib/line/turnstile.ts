/**
 * Waiting for a lock that several may hold at a time: in line before it, and at its door.
 *
 * In line: on the lock's *gate*, an exclusive lock with a queue as any other has, beside it. Who has a quorum of the gate's
 * votes is the head. That is order and nothing more: exclusion rests on the votes for the lock itself.
 *
 * At the door: the head claims; where it is refused it becomes the one whom the masters watch for, so that nobody new passes
 * it, and who leaves tells it. It claims again when so many masters admit it as a quorum needs, and, since a push may be lost
 * and a holder may be dead, when what is in the way runs out, and before its watch does. Once it is in, or gives up, it
 * leaves the gate, which hands over to the next.
 */
import type { Timer } from '../runtime/clock.js';
import { type Answers, failureOf, type RoundFailure } from '../quorum/failure.js';
import { gateKey } from '../protocol/keys.js';
import { WATCH_MS } from '../protocol/lua/shared.js';
import type { Node } from '../node/node.js';
import { countOutcomes, quorumOf, verdict } from '../protocol/quorum.js';
import { undo } from '../protocol/request.js';
import type { Repairs } from '../quorum/repairs.js';
import type { Round } from '../quorum/round.js';
import { MUTEX, type Scope, SettledScope } from '../protocol/scope.js';
import {
  LONGEST_LIFE_MS,
  type QueueEnvironment,
  QueueWait,
  type QueueWaitEnd,
  type QueueWaitTerms,
  SOON_MS,
} from './queue-wait.js';
import { expiredByMs } from '../protocol/validity.js';
import { Withdrawal } from '../quorum/withdrawal.js';

/** What it needs of an instance. */
export interface SharedQueueEnvironment extends QueueEnvironment {
  readonly repairs: Repairs;
  readonly driftFactor: number;
}

export interface TurnstileTerms extends Pick<QueueWaitTerms, 'ticket' | 'untilMs' | 'nodeTimeoutMs'> {
  /** The one that is waited for. */
  readonly scope: Scope;
  /** Names the place in line, and whom masters watch for. */
  readonly watcher: string;
}

export class Turnstile {
  readonly #environment: SharedQueueEnvironment;
  readonly #terms: TurnstileTerms;
  readonly #gate: Scope;
  readonly #queueWait: QueueWait;
  /** The masters that may admit it, by their index, as far as is known since its last claim. */
  readonly #admitting = new Set<number>();
  #isAtDoor = false;
  #hasBegun = false;
  #lookAtMs = 0;
  #timer: Timer | undefined;
  #goOn: ((end: QueueWaitEnd) => void) | undefined;

  constructor(environment: SharedQueueEnvironment, terms: TurnstileTerms) {
    this.#environment = environment;
    this.#terms = terms;
    const { keys, marker, guardMs } = terms.scope;
    const gate = keys.map(gateKey);
    this.#gate = new SettledScope(gate, { isFenced: false, marker, guardMs, kind: MUTEX });
    const { ticket, untilMs, nodeTimeoutMs, watcher } = terms;
    this.#queueWait = new QueueWait(
      environment,
      {
        scope: this.#gate,
        token: watcher,
        ticket,
        untilMs,
        nodeTimeoutMs,
        onFree: (node) => this.#onFree(node),
      },
      (node) => this.#owe(node),
    );
  }

  get watcher(): string {
    return this.#terms.watcher;
  }

  /** Nobody was before it. */
  get wasFree(): boolean {
    return !this.#queueWait.wasRefused;
  }

  /** How the masters stand, as far as it is about the place in line. */
  get standing(): Answers & { readonly failure: RoundFailure } {
    const { outcomes } = this.#queueWait;
    return { outcomes, failure: failureOf(verdict(countOutcomes(outcomes, outcomes.length))) };
  }

  /** Resolves with `reserved` when it is time to claim, or it is over otherwise. */
  async turn(): Promise<QueueWaitEnd> {
    const end = await (this.#hasBegun ? this.#queueWait.head() : this.#begin());
    if (end !== 'reserved') return end;
    const turned = this.#isAtDoor ? await this.#change() : end;
    this.#isAtDoor = true;
    this.#admitting.clear();
    return turned;
  }

  /** Its claim came to nothing: which masters would have admitted it, and when to look again. */
  refused({ outcomes, granted }: Round): void {
    const { clock, nodes, random } = this.#environment;
    const enough = quorumOf(nodes.length);
    let freeInMs = WATCH_MS / 2;
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome?.kind === 'granted' && granted < enough) this.#admitting.add(index);
      if (outcome?.kind === 'refused') freeInMs = Math.min(freeInMs, outcome.remainingMs ?? Infinity);
    }
    // a quorum said yes, and not to the same or too late: others are at it as well
    if (granted >= enough) freeInMs = random.fraction() * SOON_MS;
    this.#lookAtMs = clock.earliest() + freeInMs + 1 + random.fraction() * (SOON_MS - 1);
  }

  /** Ends the wait; the place in line stays until it is left. */
  end(end: QueueWaitEnd): void {
    this.#queueWait.end(end);
    this.#proceed(end);
  }

  /** What leaves the line, which hands over to the next; not sent yet. The wait is over. */
  leaving(): Withdrawal {
    this.end('ended');
    return new Withdrawal(undo(this.#gate, this.watcher), this.#queueWait.sentTo, [this.#queueWait], {
      onFailed: (node) => this.#owe(node),
    });
  }

  #begin(): Promise<QueueWaitEnd> {
    this.#hasBegun = true;
    return this.#queueWait.run();
  }

  /** Resolves when a quorum of masters may admit it, or it is time to look again. */
  #change(): Promise<QueueWaitEnd> {
    const { clock, nodes, timers } = this.#environment;
    if (this.#admitting.size >= quorumOf(nodes.length)) return Promise.resolve('reserved');
    return new Promise((resolve) => {
      this.#goOn = resolve;
      const delayMs = Math.max(0, this.#lookAtMs - clock.earliest());
      this.#timer = timers.background(delayMs, () => this.#proceed('reserved'));
    });
  }

  #onFree(node: Node): void {
    this.#admitting.add(node.index);
    if (this.#admitting.size >= quorumOf(this.#environment.nodes.length)) this.#proceed('reserved');
  }

  #proceed(end: QueueWaitEnd): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#goOn?.(end);
    this.#goOn = undefined;
  }

  #owe(node: Node): void {
    const { clock, driftFactor, repairs } = this.#environment;
    const untilMs = expiredByMs(clock.earliest(), LONGEST_LIFE_MS, driftFactor);
    repairs.add(node, { scope: this.#gate, token: this.watcher, untilMs });
  }
}
