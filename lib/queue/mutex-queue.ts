/** Waiting for exclusive locks: in their own queues, under the token of the claim that follows (protocol C1). */
import type { Grant } from '../quorum/grant.js';
import type { Node, Withdrawn } from '../node/node.js';
import { failureOf } from '../quorum/failure.js';
import { countOutcomes, quorumOf, verdict } from '../protocol/quorum.js';
import { claimQueued, type Request } from '../protocol/request.js';
import { owe } from '../quorum/repairs.js';
import type { Departure, Queue, QueueTerms, Won, QueueParts, QueueWaitEnd } from './queue.js';
import { QueueVisit } from './queue-visit.js';
import { LONGEST_LIFE_MS } from './queue-place.js';

export class MutexQueue implements Queue {
  readonly hasPlace = false;
  readonly isWatched = false;
  readonly #parts: QueueParts;
  readonly #terms: QueueTerms;
  /** The visit of the attempt under way. */
  #visit: QueueVisit | undefined;

  constructor(parts: QueueParts, terms: QueueTerms) {
    this.#parts = parts;
    this.#terms = terms;
  }

  get wasFree(): boolean {
    return this.#theVisit.wasFree;
  }

  get isSpread(): boolean {
    return this.#visit !== undefined;
  }

  get sent(): readonly Withdrawn[] {
    return this.#visit?.sent ?? [];
  }

  /** The next attempt keeps the ticket, and with it the rank in the queue; its token is a fresh one. */
  wait(ticket: () => number, untilMs: number): Promise<QueueWaitEnd> {
    const token = this.#parts.random.token();
    const terms = { ...this.#terms, token, ticket, untilMs };
    const visit: QueueVisit = new QueueVisit(this.#parts, terms, (node) => {
      if (visit.isGone) this.#owe(node, token);
    });
    this.#visit = visit;
    return visit.run();
  }

  end(): void {
    this.#theVisit.end('ended');
  }

  get won(): Won | undefined {
    return this.#theVisit.won;
  }

  claim(): Request {
    const { scope, ttlMs } = this.#terms;
    return claimQueued(scope, this.#theVisit.token, ttlMs, this.#parts.clocks);
  }

  watch(): undefined {
    return undefined;
  }

  stepAside(): void {
    this.#visit = undefined;
  }

  claimed(): void {}

  granted(grant: Grant): void {
    this.#visit?.granted(grant);
  }

  failed(): void {
    this.#forget();
    this.#visit?.withdrawn();
  }

  refused(): void {}

  depart(end: QueueWaitEnd): Departure {
    const visit = this.#theVisit;
    this.#forget();
    const { nodes } = this.#parts;
    const isUnasked = end === 'ended' && visit.sentTo.length < quorumOf(nodes.length);
    return {
      withdrawal: visit.leave((node) => this.#owe(node, visit.token)),
      looks: end === 'ended' && !isUnasked,
      isForeignClient: end === 'foreign-client',
      isUnasked,
      standing: (seen) => {
        if (isUnasked) return undefined;
        const outcomes = visit.outcomesAfter(seen);
        return {
          outcomes,
          failure: failureOf(verdict(countOutcomes(outcomes, nodes.length))),
          isOfLock: true,
        };
      },
    };
  }

  leave(): void {}

  get #theVisit(): QueueVisit {
    if (this.#visit === undefined) throw new Error('it waits before it claims or departs');
    return this.#visit;
  }

  /** Pushes for the attempt's votes are of no use any more. */
  #forget(): void {
    if (this.#visit !== undefined) this.#parts.subscriptions.release(this.#visit.token);
  }

  /** Leaves an undo to the background. A master that is away may keep a place, and a vote after it. */
  #owe(node: Node, token: string): void {
    const { scope, ttlMs } = this.#terms;
    owe(this.#parts, node, { scope, token, lifeMs: LONGEST_LIFE_MS + ttlMs });
  }
}
