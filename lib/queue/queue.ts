/** How one acquisition waits: in the lock's queues, under the token of the claim that follows (protocols C1 and C5). */
import { Grant } from '../quorum/grant.js';
import type { Node, Withdrawn } from '../node/node.js';
import { failureOf } from '../quorum/failure.js';
import { countOutcomes, type Outcome, quorumOf, verdict } from '../protocol/quorum.js';
import { claimQueued, type Request } from '../protocol/request.js';
import { owe } from '../quorum/repairs.js';
import { withSlots } from '../protocol/scope.js';
import type { Departure, Waiter, QueueParts, QueueWaitEnd } from './terms.js';
import { QueueVisit } from './queue-visit.js';
import { LONGEST_LIFE_MS } from './queue-place.js';

export class Queue {
  readonly #parts: QueueParts;
  /** What is waited for, and on which terms. */
  readonly #call: Omit<Waiter, 'token' | 'ticket' | 'untilMs'>;
  /** The visit of the attempt under way. */
  #visit: QueueVisit | undefined;

  constructor(parts: QueueParts, call: Omit<Waiter, 'token' | 'ticket' | 'untilMs'>) {
    this.#parts = parts;
    this.#call = call;
  }

  /** It did not have to wait: every master gave its vote at once. */
  get wasFree(): boolean {
    return this.#theVisit.wasFree;
  }

  /** Every master may keep a place or a vote of the attempt under way. */
  get isSpread(): boolean {
    return this.#visit !== undefined;
  }

  /** Requests that the attempt under way sent while it waited. Its undo has to follow them. */
  get sent(): readonly Withdrawn[] {
    return this.#visit?.sent ?? [];
  }

  /**
   * Resolves with `reserved` when it is time to claim, with `granted` if `won` is the lease, else with the way the wait ended.
   * The next attempt keeps the ticket, and with it the rank in the queue; its token is a fresh one.
   * @param ticket  drawn once, in µs of the masters' time
   */
  wait(ticket: () => number, untilMs: number): Promise<QueueWaitEnd> {
    const token = this.#parts.random.token();
    const waiter = { ...this.#call, token, ticket, untilMs };
    const visit: QueueVisit = new QueueVisit(this.#parts, waiter, (node) => {
      if (visit.isGone) this.#owe(node, token);
    });
    this.#visit = visit;
    return visit.run();
  }

  /** Ends that wait from outside. Places and votes stay. */
  end(): void {
    this.#theVisit.end('ended');
  }

  /** What the masters answered in the wait that won. */
  get outcomes(): readonly (Outcome | undefined)[] {
    return this.#theVisit.won?.outcomes ?? [];
  }

  /** The grant, if a quorum handed over votes that are still valid. */
  win(nowMs: number): Grant | undefined {
    const { won } = this.#theVisit;
    if (won === undefined || won.validUntilMs <= nowMs) return undefined;
    const grant = new Grant(withSlots(this.#call.scope, won.slots), won.token, won.fence, this.#parts.nodes);
    grant.prolong(won.validUntilMs);
    grant.cameFrom('marked');
    if (won.outcomes.some((outcome) => outcome?.kind !== 'granted')) grant.lacksVotes();
    return grant;
  }

  /** The claim to send when it is its turn. */
  claim(): Request {
    const { scope, ttlMs } = this.#call;
    return claimQueued(scope, this.#theVisit.token, ttlMs, this.#parts.clocks);
  }

  /** An attempt begins that does not queue. */
  stepAside(): void {
    this.#visit = undefined;
  }

  /** A claim was granted. */
  granted(grant: Grant): void {
    this.#visit?.granted(grant);
  }

  /** A claim failed, and is about to be undone. */
  failed(): void {
    this.#forget();
    this.#visit?.withdrawn();
  }

  /** Leaves the queue without a claim. */
  depart(end: QueueWaitEnd): Departure {
    const visit = this.#theVisit;
    this.#forget();
    const { nodes } = this.#parts;
    // an undo of a shared lock does not see who is in the way: one more attempt asks
    const isKnown = visit.sentTo.length >= quorumOf(nodes.length);
    const isSeen = this.#call.scope.kind.name === 'mutex' && isKnown;
    const isUnasked = end === 'ended' && !isSeen;
    return {
      withdrawal: visit.leave((node) => this.#owe(node, visit.token)),
      looks: end === 'ended' && !isUnasked,
      isForeignClient: end === 'foreign-client',
      isUnasked,
      standing: (seen) => {
        if (end === 'ended' && !isKnown) return undefined;
        const outcomes = visit.outcomesAfter(seen);
        return {
          outcomes,
          failure: failureOf(verdict(countOutcomes(outcomes, nodes.length))),
          isOfLock: !isUnasked,
        };
      },
    };
  }

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
    const { scope, ttlMs } = this.#call;
    owe(this.#parts, node, { scope, token, lifeMs: LONGEST_LIFE_MS + ttlMs });
  }
}
