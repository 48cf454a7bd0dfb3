/**
 * Takes an exclusive lock away from its holder, and tells it first.
 *
 * A token of this client takes the place of the holder's vote on each master, for as long as that vote would have lived: it is as
 * if the holder could not extend its lease. A quorum of such masters is the end of the lease, at the latest when its validity
 * ends. A shorter grace ends it earlier. A holder that has push connections ends its lease when it is told, and says so: then the
 * wait is over at once. What its routine does after that, nobody can know; but its fencing token is lower.
 *
 * If it fails half-way, what is in place ends as the votes would have. To give it back would free votes that still count.
 */
import type { Cancellation } from '../runtime/cancellation.js';
import { type CallContext, cancelledError, failureOf, nameResources, roundError } from '../quorum/failure.js';
import { Grant } from '../quorum/grant.js';
import { type SurveyAnswer, survey } from '../quorum/survey.js';
import { nodeTimeoutOf } from '../protocol/node-timeout.js';
import { graceOf, ousting, taking } from '../protocol/lone-requests.js';
import type { Node } from '../node/node.js';
import { IGNORED_ANSWER } from '../node/sink.js';
import type { Push } from '../protocol/pushes.js';
import { countOutcomes, type Outcome, quorumOf, verdict } from '../protocol/quorum.js';
import { release, type Request } from '../protocol/request.js';
import { RedlockError } from '../runtime/errors.js';
import { isOurs } from '../runtime/random.js';
import type { Recipient } from '../queue/subscriptions.js';
import type { AcquisitionTerms, CoordinatorParts } from './acquisition-terms.js';
import { holdersIn, holdersRequest, outcomeOf } from './current-holders.js';

/** For how long the own token keeps others out after the grace, in ms: it is given back, or becomes a lease. */
export const OUST_STAY_MS = 2_000;
/** A wait for a master's time takes this much longer, in ms: clocks count whole ms. */
const ROUNDING_MS = 2;
/** An extension may arrive this much later than its lease was taken away, in ms. */
const LATE_MS = 10_000;
/** How often it is tried again at once where others come in between. */
const MOST_TRIES = 3;
/** The longest ttl, and more. */
const MOST_MS = 2 ** 52;

/** How a lock is taken away. */
export interface OustTerms {
  /** For how long a holder that does not answer keeps the lock, in ms; no longer than its votes live. */
  readonly graceMs: number;
  /** Whether the votes are for a claim that comes before those of others. */
  readonly isClaimed: boolean;
  /** What the holder is told of who takes it. */
  readonly label: string;
}

export class Ousting implements Recipient {
  readonly #parts: CoordinatorParts;
  readonly #terms: AcquisitionTerms;
  readonly #wanted: OustTerms;
  readonly #cancellation: Cancellation;
  readonly #startedAtMs: number;
  readonly #token: string;
  /** Holders that have not said that they have stopped. */
  readonly #waitedFor = new Set<string>();
  readonly #stopped = new Set<string>();
  /** Looks whether what is waited for has come. */
  #check: () => void = () => undefined;

  constructor(
    parts: CoordinatorParts,
    terms: AcquisitionTerms,
    wanted: OustTerms,
    cancellation: Cancellation,
  ) {
    this.#parts = parts;
    this.#terms = terms;
    this.#wanted = wanted;
    this.#cancellation = cancellation;
    this.#startedAtMs = parts.clock.earliest();
    this.#token = parts.random.token();
  }

  /**
   * Resolves when all holders have stopped, or had their time. @returns the votes in their place, to hand over or to claim;
   * undefined if nobody holds it. Rejects with a `RedlockError`
   */
  async run(): Promise<Grant | undefined> {
    const { driftFactor, nodes, subscriptions } = this.#parts;
    let found = await this.#findHolders();
    if (found.length === 0) return undefined;
    subscriptions.enter(this.#token, this);
    try {
      const quorum = quorumOf(nodes.length);
      const canListen = subscriptions.canReach(quorum);
      if (canListen) await this.#wait(this.#nodeTimeoutMs, () => subscriptions.isOpenAt(quorum));
      let leftMs = await this.#replace(found);
      // it was handed over, or others came in, since the holders were looked for
      for (let again = 0; leftMs === undefined; again++) {
        found = await this.#findHolders();
        leftMs = await this.#replace(found, again >= MOST_TRIES);
      }
      await this.#wait(leftMs * (1 + driftFactor) + ROUNDING_MS, () => this.#waitedFor.size === 0);
    } finally {
      subscriptions.leave(this.#token);
    }
    this.#clear(this.#stopped);
    return this.grant;
  }

  /**
   * Masters that answered late, or not at all, may have a vote of theirs still. Of those that have not said that they have
   * stopped, one may have been a waiter, and hold the lock by now.
   */
  #clear(tokens: Iterable<string>): void {
    const { nodes } = this.#parts;
    for (const token of tokens) {
      const ask = { request: release(this.#terms.scope, token), sink: IGNORED_ANSWER };
      for (const node of nodes) node.send(ask);
    }
  }

  /** The votes in the holder's place. */
  get grant(): Grant {
    const grant = new Grant(this.#terms.scope, this.#token, 0, this.#parts.nodes);
    grant.cameFrom('queue'); // somebody may wait
    return grant;
  }

  onPush(_: Node, push: Push): void {
    if (push.kind !== 'stopped') return;
    this.#stopped.add(push.holder);
    this.#waitedFor.delete(push.holder);
    this.#check();
  }

  onOpen(): void {
    this.#check();
  }

  onClosed(): void {}

  get #nodeTimeoutMs(): number {
    return nodeTimeoutOf(this.#parts.nodes, this.#terms);
  }

  get #context(): CallContext {
    const elapsedMs = Math.round(this.#parts.clock.earliest() - this.#startedAtMs);
    return { resources: this.#terms.resources, attempts: 1, elapsedMs };
  }

  #ask(request: Request): Promise<readonly SurveyAnswer[]> {
    const { nodes, timers } = this.#parts;
    return survey(nodes, timers, { request, nodeTimeoutMs: this.#nodeTimeoutMs });
  }

  /** @throws RedlockError if too few masters can say, or it is another library's */
  async #findHolders(): Promise<readonly string[]> {
    const { scope, resources } = this.#terms;
    const { outcomes, tokens } = holdersIn(await this.#ask(holdersRequest(scope)), scope);
    this.#assertQuorum(outcomes);
    if (tokens.every((token) => isOurs(token))) return tokens.filter((token) => token !== this.#token);
    const text = `${nameResources(resources)} is held by a client of another library, which cannot be told`;
    throw new RedlockError('LOCK_TAKEN', text, this.#context);
  }

  /**
   * Puts the own token in the place of theirs. @returns for how long their votes would have lived, in ms, at most the grace;
   * undefined if others have the lock as well. @throws RedlockError if too few masters answer; if others have it, where it is
   * the last try
   */
  async #replace(tokens: readonly string[], isLast = false): Promise<number | undefined> {
    const { scope, ttlMs } = this.#terms;
    for (const token of tokens) if (!this.#stopped.has(token)) this.#waitedFor.add(token);
    const graceMs = Math.min(this.#wanted.graceMs, MOST_MS);
    if (scope.taken !== undefined) void this.#ask(taking(scope.taken, tokens, LATE_MS + ttlMs));
    const how = { ...this.#wanted, tokens, graceMs, stayMs: OUST_STAY_MS };
    const request = ousting(scope, this.#token, how);
    const answers = await this.#ask(request);
    const outcomes = answers.map((answer) => outcomeOf(answer, (reply) => request.read(reply)));
    if (verdict(countOutcomes(outcomes, answers.length)) === 'held' && !isLast) return undefined;
    this.#assertQuorum(outcomes);
    return Math.max(...answers.map((answer) => (answer.kind === 'answered' ? graceOf(answer.reply) : 0)));
  }

  /** @throws RedlockError unless a quorum has granted it */
  #assertQuorum(outcomes: readonly Outcome[]): void {
    const { nodes } = this.#parts;
    const decision = verdict(countOutcomes(outcomes, nodes.length));
    if (decision !== 'granted') throw roundError(failureOf(decision), { outcomes }, nodes, this.#context);
  }

  /** Resolves when it has come, or after that time. @throws RedlockError if the call is ended meanwhile */
  async #wait(forMs: number, hasCome: () => boolean): Promise<void> {
    if (hasCome()) return;
    let wake = (): void => undefined;
    const woken = new Promise<void>((resolve) => (wake = resolve));
    this.#check = () => hasCome() && wake();
    const timer = this.#parts.timers.wait(forMs, wake);
    await this.#cancellation.during(wake, woken);
    timer.cancel();
    const { cancelled } = this.#cancellation;
    if (cancelled !== undefined) throw cancelledError(cancelled, this.#context, undefined, this.#parts.nodes);
  }
}
