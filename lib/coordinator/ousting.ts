/**
 * Takes a lock away from its holders, and notifies these first.
 *
 * A token of this client takes the place of the holder's vote on each master, for as long as that vote would have lived: it is as
 * if the holder could not extend its lease. A quorum of such masters is the end of the lease, at the latest when its validity
 * ends. A shorter grace ends it earlier. A holder that has push connections ends its lease when it is notified, and confirms that:
 * then the wait is over at once. What its routine does after that, nobody can know; but its fencing token is lower.
 *
 * If it fails half-way, what is in place ends as the votes would have. To give it back would free votes that still count.
 */
import type { Cancellation } from '../runtime/cancellation.js';
import { Backoff } from '../quorum/backoff.js';
import {
  type CallContext,
  cancelledError,
  failureOf,
  isHopeless,
  nameResources,
  roundError,
  type RoundFailure,
} from '../quorum/failure.js';
import { Grant } from '../quorum/grant.js';
import { type SurveyAnswer, type SurveyHooks, survey } from '../quorum/survey.js';
import { nodeTimeoutOf } from '../protocol/node-timeout.js';
import { graceOf, ousting, taking } from '../protocol/lone-requests.js';
import type { Node } from '../node/node.js';
import { IGNORED_ANSWER } from '../node/sink.js';
import type { Push } from '../protocol/pushes.js';
import type { Answers } from '../protocol/tally.js';
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
/** How often it is tried at once where others come in between, before there are pauses. */
const TRIES_AT_ONCE = 3;
/** The longest ttl, and more. */
const MOST_MS = 2 ** 52;

/** How a lock is taken away. */
export interface OustTerms {
  /** For how long a holder that does not answer keeps the lock, in ms; no longer than its votes live. */
  readonly graceMs: number;
  /** Whether the votes are for a claim that comes before those of others: they stay for a while after any grace. */
  readonly isClaimed: boolean;
  /** That while, in ms, where it is kept from everybody: also if nobody holds it. @default OUST_STAY_MS */
  readonly stayMs?: number;
  /** Of the instance that takes it: what the holder learns. */
  readonly label: string;
}

/** What was taken. */
export interface Taken {
  /** In the holders' place, to give back or to claim; undefined if nobody held the lock. */
  readonly votes: Grant | undefined;
  /** How much of the call's wait has passed before, in ms. The holders' time is no part of it. */
  readonly retriedMs: number;
}

/** Too few masters did what was asked for. */
class Failed implements Answers {
  readonly failure: RoundFailure;
  readonly outcomes: readonly Outcome[];

  constructor(failure: RoundFailure, outcomes: readonly Outcome[]) {
    this.failure = failure;
    this.outcomes = outcomes;
  }
}

function failureIn(outcomes: readonly Outcome[]): Failed | undefined {
  const decision = verdict(countOutcomes(outcomes, outcomes.length));
  return decision === 'granted' ? undefined : new Failed(failureOf(decision), outcomes);
}

export class Ousting implements Recipient {
  readonly #parts: CoordinatorParts;
  readonly #terms: AcquisitionTerms;
  readonly #wanted: OustTerms;
  readonly #cancellation: Cancellation;
  readonly #backoff: Backoff;
  readonly #token: string;
  /** Holders that have not confirmed that they have stopped. */
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
    this.#backoff = new Backoff(parts, terms, cancellation);
    this.#token = parts.random.token();
  }

  /** Resolves when all holders have stopped, or had their time. Rejects with a `RedlockError`. */
  async run(): Promise<Taken> {
    const { driftFactor, subscriptions } = this.#parts;
    subscriptions.enter(this.#token, this);
    try {
      const leftMs = await this.#takeAll();
      const retriedMs = this.#backoff.elapsedMs;
      if (leftMs === undefined) return { votes: undefined, retriedMs };
      await this.#wait(leftMs * (1 + driftFactor) + ROUNDING_MS, () => this.#waitedFor.size === 0);
      this.#clear();
      return { votes: this.#votes(), retriedMs };
    } finally {
      subscriptions.leave(this.#token);
    }
  }

  /** Tries until a quorum of masters has the own token. @returns how long to wait, in ms; undefined if nobody holds the lock */
  async #takeAll(): Promise<number | undefined> {
    const { nodes } = this.#parts;
    for (;;) {
      const end = await this.#attempt();
      if (!(end instanceof Failed)) return end;
      const { failure } = end;
      const isPassing = !isHopeless(failure, end);
      if (failure === 'held' && this.#backoff.attempts < TRIES_AT_ONCE) this.#backoff.begin('next');
      else if (!isPassing || !(await this.#backoff.next()))
        throw roundError(failure, end, nodes, this.#context);
      this.#assertWanted();
    }
  }

  async #attempt(): Promise<number | undefined | Failed> {
    const { nodes, subscriptions } = this.#parts;
    const { scope, resources } = this.#terms;
    const answers = await this.#ask(holdersRequest(scope), (some) => holdersIn(some, scope).isSure);
    const { outcomes, tokens } = holdersIn(answers, scope);
    const failed = failureIn(outcomes);
    if (failed !== undefined) return failed;
    if (!tokens.every((token) => isOurs(token))) {
      const text = `${nameResources(resources)} is held by a client of another library, which cannot be notified`;
      throw new RedlockError('LOCK_TAKEN', text, this.#context);
    }
    const holders = tokens.filter((token) => token !== this.#token);
    if (tokens.length === 0 && this.#wanted.stayMs === undefined) return undefined;
    const quorum = quorumOf(nodes.length);
    if (subscriptions.canReach(quorum))
      await this.#wait(this.#nodeTimeoutMs, () => subscriptions.isOpenAt(quorum));
    return this.#replace(holders);
  }

  /**
   * Masters that answered late, or not at all, may have a vote of theirs still. Of those that have not confirmed that they
   * have stopped, one may have been a waiter, and hold the lock by now.
   */
  #clear(): void {
    const { nodes } = this.#parts;
    for (const token of this.#stopped) {
      const ask = { request: release(this.#terms.scope, token), sink: IGNORED_ANSWER };
      for (const node of nodes) node.send(ask);
    }
  }

  #votes(): Grant {
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
    return this.#backoff.context(this.#terms.resources);
  }

  #ask(request: Request, isEnough?: SurveyHooks['isEnough']): Promise<readonly SurveyAnswer[]> {
    const { nodes, timers } = this.#parts;
    const question = { request, nodeTimeoutMs: this.#nodeTimeoutMs };
    return survey(nodes, timers, { ...question, ...(isEnough && { isEnough }) });
  }

  /** Puts the own token in the place of theirs. @returns for how long their votes would have lived, in ms, at most the grace */
  async #replace(tokens: readonly string[]): Promise<number | Failed> {
    const { scope, ttlMs } = this.#terms;
    for (const token of tokens) if (!this.#stopped.has(token)) this.#waitedFor.add(token);
    const graceMs = Math.min(this.#wanted.graceMs, MOST_MS);
    if (scope.taken !== undefined) void this.#ask(taking(scope.taken, tokens, LATE_MS + ttlMs));
    const request = ousting(scope, this.#token, { stayMs: OUST_STAY_MS, ...this.#wanted, tokens, graceMs });
    const failureOfSome = (some: readonly (SurveyAnswer | undefined)[]): Failed | undefined =>
      failureIn(some.map((answer) => outcomeOf(answer, (reply) => request.read(reply))));
    const answers = await this.#ask(request, (some) => failureOfSome(some) === undefined);
    const failed = failureOfSome(answers);
    if (failed !== undefined) return failed;
    const leftMs = answers.map((answer) => (answer.kind === 'answered' ? graceOf(answer.reply) : 0));
    return Math.min(graceMs, Math.max(...leftMs)); // the own token from an earlier try may stay for longer
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
    this.#assertWanted();
  }

  /** @throws RedlockError `ABORTED`, `CLOSED` */
  #assertWanted(): void {
    const { cancelled } = this.#cancellation;
    if (cancelled !== undefined) throw cancelledError(cancelled, this.#context, undefined, this.#parts.nodes);
  }
}
