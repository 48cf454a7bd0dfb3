/**
 * One attempt's wait in the queues of all resources of a claim, under the claim's own token.
 *
 * Several resources are queued for one after another, sorted by name; each is held while the next is waited for.
 * Everybody takes them in that order, so the holder of the highest resource that is held waits for no other waiter.
 * Overlapping sets cannot deadlock.
 */
import type { Grant } from '../quorum/grant.js';
import type { Timer } from '../runtime/clock.js';
import type { Node, Withdrawn } from '../node/node.js';
import { nodeTimeoutOf } from '../protocol/node-timeout.js';
import { type Outcome, unknown } from '../protocol/quorum.js';
import { claimQueued, extension, undoQueued } from '../protocol/request.js';
import { Round } from '../quorum/round.js';
import { type Scope, SettledScope } from '../protocol/scope.js';
import { Silence } from '../redis/server-errors.js';
import type { Won, OnLatePlace, QueueWaitEnd, QueueParts, Waiter } from './terms.js';
import { QueueWait } from './queue-wait.js';
import { Withdrawal } from '../quorum/withdrawal.js';

/** A resource that is held while others are waited for is extended after this part of its ttl. */
const KEEP_AT = 1 / 3;

/** Free at that moment: on its way to another waiter. */
const TAKEN: Outcome = Object.freeze({
  kind: 'refused',
  remainingMs: 0,
  isWrongType: false,
  isForeignClient: false,
});

export class QueueVisit {
  readonly #parts: QueueParts;
  readonly #waiter: Waiter;
  readonly #onLate: OnLatePlace;
  readonly #waits: QueueWait[] = [];
  /** Claims and extensions of the resources that are held meanwhile. */
  #rounds: Round[] = [];
  /** The grant of its claim; undefined before the claim, and if it was withdrawn. */
  #grant: Grant | undefined;
  #isWithdrawn = false;
  #hasHeld = false;
  #keeper: Timer | undefined;
  #end: QueueWaitEnd | undefined;

  constructor(parts: QueueParts, waiter: Waiter, onLate: OnLatePlace) {
    this.#parts = parts;
    this.#waiter = waiter;
    this.#onLate = onLate;
  }

  get token(): string {
    return this.#waiter.token;
  }

  /** Places and votes that arrive from now on are of no use. */
  get isGone(): boolean {
    return this.#isWithdrawn || this.#grant?.isEnded === true;
  }

  /** The claim was granted. What takes the grant back has to follow the visit's requests, too. */
  granted(grant: Grant): void {
    this.#grant = grant;
    for (const sent of this.sent) grant.opened(sent);
    this.#stop();
  }

  /** The attempt failed: its places and votes are being undone. */
  withdrawn(): void {
    this.#isWithdrawn = true;
    this.#stop();
  }

  /** What it was handed, if the wait ended with `granted`. */
  get won(): Won | undefined {
    const wait = this.#waits.at(-1);
    return wait?.vote && { ...wait.vote, token: this.token, outcomes: wait.outcomes };
  }

  /** Requests that a withdrawal has to follow. */
  get sent(): readonly Withdrawn[] {
    return [...this.#waits, ...this.#rounds].filter(({ isAnswered }) => !isAnswered);
  }

  /** The masters on which it may have places or votes. */
  get sentTo(): readonly Node[] {
    return this.#hasHeld ? this.#parts.nodes : (this.#waits[0]?.sentTo ?? []);
  }

  /** Every master gave its vote at once. */
  get wasFree(): boolean {
    return this.#waits.every(({ wasRefused }) => !wasRefused);
  }

  /** Resolves with `granted` or `reserved` when a quorum of masters has handed the last resource over, else with how the wait ended. */
  async run(): Promise<QueueWaitEnd> {
    const { keys, kind, marker, guardMs } = this.#waiter.scope;
    const isFenced = keys.length === 1 && this.#waiter.scope.isFenced;
    const scopes = keys.map((key) => new SettledScope([key], { isFenced, marker, guardMs, kind }));
    for (const [i, scope] of scopes.entries()) {
      const end = await this.#queue(scope);
      if (end !== 'reserved' || i === scopes.length - 1) return this.#end ?? end;
      if (!(await this.#hold(scope))) return this.#end ?? 'hopeless';
      this.#keep(scopes.slice(0, i + 1));
    }
    return 'hopeless'; // of no resource
  }

  /** Ends the wait; places and votes stay until they are withdrawn. */
  end(end: QueueWaitEnd): void {
    this.#end ??= end;
    this.#waits.at(-1)?.end(end);
    this.#stop();
  }

  /** Nothing is extended any more: it was claimed, or is withdrawn. */
  #stop(): void {
    this.#keeper?.cancel();
    for (const round of this.#rounds) round.end(new Error('the wait ended'), false);
  }

  /**
   * Leaves the queues and gives back what is held; also looks at what holds the lock.
   * @param onFailed  called for each master that did not confirm
   */
  leave(onFailed: (node: Node) => void): Withdrawal {
    this.withdrawn();
    const request = undoQueued(this.#waiter.scope, this.token, this.#parts.clocks);
    return new Withdrawal(request, this.sentTo, this.sent, { onFailed });
  }

  /** The masters' outcomes at the end of the wait. @param looks  what the withdrawal saw, if it was awaited */
  outcomesAfter(looks: readonly (Outcome | undefined)[] | undefined): Outcome[] {
    const before = this.#waits.at(-1)?.outcomes ?? [];
    return this.#parts.nodes.map(({ index }) => {
      const [look, said] = [looks?.[index], before[index]];
      if (look !== undefined) return look.kind === 'refused' ? look : TAKEN;
      const isKnown = looks === undefined || (said?.kind !== 'granted' && said?.kind !== 'refused');
      if (said !== undefined && isKnown) return said;
      return unknown(new Silence(nodeTimeoutOf(this.#parts.nodes, this.#waiter)));
    });
  }

  #queue(scope: Scope): Promise<QueueWaitEnd> {
    if (this.#end !== undefined) return Promise.resolve(this.#end);
    const { handOver, scope: all } = this.#waiter;
    // of several resources, one claim decides
    const waiter: Waiter = { ...this.#waiter, scope, handOver: all.keys.length > 1 ? 'reserve' : handOver };
    const wait = new QueueWait(this.#parts, waiter, this.#onLate);
    this.#waits.push(wait);
    return wait.run();
  }

  async #hold(scope: Scope): Promise<boolean> {
    const { ttlMs } = this.#waiter;
    const { clock, nodes, timers } = this.#parts;
    const nodeTimeoutMs = nodeTimeoutOf(nodes, this.#waiter);
    this.#hasHeld = true;
    const round = this.#round(claimQueued(scope, this.#waiter.token, ttlMs, this.#parts.clocks));
    const timer = timers.deadline(nodeTimeoutMs, () => round.end(new Silence(nodeTimeoutMs), true));
    const sentAtMs = clock.earliest();
    await round.ask(nodes);
    timer.cancel();
    return round.decision === 'granted' && clock.now() - sentAtMs < ttlMs && this.#end === undefined;
  }

  /**
   * Extends what is held while the others are waited for. Whether it was held throughout is decided by the final claim.
   */
  #keep(scopes: readonly Scope[]): void {
    const { nodes, timers } = this.#parts;
    const { ttlMs } = this.#waiter;
    this.#keeper?.cancel();
    this.#keeper = timers.background(ttlMs * KEEP_AT, () => {
      for (const scope of scopes) {
        const order = { ttlMs, mayCreate: false };
        void this.#round(extension(scope, this.#waiter.token, order)).ask(nodes);
      }
      this.#keep(scopes);
    });
  }

  #round(request: ReturnType<typeof extension>): Round {
    const { clock, nodes } = this.#parts;
    const round = new Round(nodes, request, clock.earliest(), { onLateVote: this.#onLate });
    this.#rounds = [...this.#rounds.filter(({ isAnswered }) => !isAnswered), round];
    return round;
  }
}
