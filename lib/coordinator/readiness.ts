/** Whether the masters can grant locks: a wait for that (`ready`), and a look that changes nothing (`health`). */
import type { Cancellation } from '../runtime/cancellation.js';
import type { Clock, Runtime, Timers } from '../runtime/clock.js';
import { RedlockError } from '../runtime/errors.js';
import { medianOf } from '../runtime/statistics.js';
import type { Node } from '../node/node.js';
import { type NodeStats, roundTripOf, stateOf } from '../node/node-stats.js';
import { COUNTER_LIFE_MS } from '../protocol/lua/stored.js';
import { countOutcomes, GRANTED, type Outcome, unknownBy, verdict } from '../protocol/quorum.js';
import { clockOf } from '../protocol/replies.js';
import { clockReading } from '../protocol/request.js';
import type { CallTerms } from '../protocol/terms.js';
import { failureOf, roundError } from '../quorum/failure.js';
import type { SurveyAnswer } from '../quorum/survey.js';
import { isMisconfigured } from '../redis/server-errors.js';
import type { Coordinator } from './coordinator.js';
import type { RestartGuard } from './restart-guard.js';

/** The result of `redlock.ready`: at least a quorum is connected. */
export interface ReadyMasters {
  /** How many masters are connected. The others get no claims: locks that are acquired now have no votes there. */
  readonly connected: number;
  /** How many masters there are. */
  readonly of: number;
}

/** Why an instance is not fit. */
export type HealthProblem =
  /** The instance is closed, or closing. */
  | 'closed'
  /** Fewer than a quorum of masters answered in time. */
  | 'quorum'
  /** Too many masters cannot take part as they are set up. */
  | 'misconfigured'
  /** With a restart guard: too many masters abstain. */
  | 'quarantine'
  /** With fencing: no quorum of masters has clocks within a minute of each other. */
  | 'clocks';

/** One master's answer to `redlock.health()`. */
export interface NodeHealth {
  /** The master, by host and port. */
  readonly node: string;
  /** The master's state after its answer, as in `redlock.stats()`. */
  readonly state: NodeStats['state'];
  /** Its round trip, as in `redlock.stats()`: it grows while the master owes an answer. Milliseconds. */
  readonly roundTripMs: number | undefined;
  /** How far its clock is ahead of the median, to within a round trip. Milliseconds; undefined if unknown. */
  readonly clockAheadMs: number | undefined;
  /** How long it abstains. Milliseconds; 0 if it does not. */
  readonly quarantinedMs: number;
  /** Why it did not answer; undefined if it did. */
  readonly cause: Error | undefined;
}

/** Whether an instance is fit for locks: `redlock.health()`. */
export interface Health {
  /** Whether the instance is ready, as a readiness probe asks. */
  readonly fit: boolean;
  /** Why it is not fit; empty if it is. */
  readonly problems: readonly HealthProblem[];
  /** Master by master, in the order of the instance's clients. */
  readonly nodes: readonly NodeHealth[];
}

/** What each master answered, and how far its clock is ahead of the local one, in ms. */
interface Seen {
  readonly answers: readonly SurveyAnswer[];
  readonly aheadMs: readonly (number | undefined)[];
}

export class Readiness {
  readonly #coordinator: Coordinator;
  readonly #guard: RestartGuard;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #terms: Pick<CallTerms, 'ttlMs' | 'nodeTimeoutMs' | 'fencing'>;

  constructor(
    coordinator: Coordinator,
    guard: RestartGuard,
    { clock, timers }: Pick<Runtime, 'clock' | 'timers'>,
    terms: Pick<CallTerms, 'ttlMs' | 'nodeTimeoutMs' | 'fencing'>,
  ) {
    this.#coordinator = coordinator;
    this.#guard = guard;
    this.#clock = clock;
    this.#timers = timers;
    this.#terms = terms;
  }

  /**
   * Resolves when a quorum is connected and votes, and the other masters are connected as well, or `allWithinMs` has passed.
   * Rejects with a `RedlockError` if the wait is over before there is a quorum.
   */
  async ready(cancellation: Cancellation, timeoutMs: number, allWithinMs: number): Promise<ReadyMasters> {
    const startedAtMs = this.#clock.earliest();
    const { nodes } = this.#coordinator;
    let isLate = false;
    let hasQuorum = false;
    const onLate = (): void => {
      isLate = cancellation.cancelled === undefined;
      cancellation.cancel({ code: 'CLOSED' }); // ends the wait; which error it is, follows
    };
    const timer = timeoutMs === Infinity ? undefined : this.#timers.wait(timeoutMs, onLate);
    try {
      await this.#coordinator.ready(cancellation);
      await this.#guard.voting(cancellation);
      hasQuorum = cancellation.cancelled === undefined;
      await this.#coordinator.ready(cancellation, { masters: nodes.length, withinMs: allWithinMs });
    } finally {
      timer?.cancel();
    }
    const { cancelled } = cancellation;
    if (cancelled === undefined || (isLate && hasQuorum))
      return { connected: this.#coordinator.connected, of: nodes.length };
    const elapsedMs = Math.round(this.#clock.earliest() - startedAtMs);
    if (isLate) throw this.#late(timeoutMs, elapsedMs);
    if (cancelled.code === 'CLOSED')
      throw new RedlockError('CLOSED', 'the instance was closed', { elapsedMs });
    const text = "the caller's signal ended the wait for a quorum";
    throw new RedlockError('ABORTED', text, { elapsedMs, cause: cancelled.cause });
  }

  /** Never rejects; takes one node timeout at most, and a second one with a restart guard. */
  async health(isClosed: boolean): Promise<Health> {
    const { nodes } = this.#coordinator;
    const { aheadMs, answers } = await this.#check();
    const votes = await this.#guard.votes();
    const problems = [
      ...(isClosed ? (['closed'] as const) : []),
      ...this.#problemsOf(answers, aheadMs),
      ...problemsOfVotes(votes, nodes.length),
    ];
    const medianMs = medianOf(aheadMs.filter((one) => one !== undefined));
    return {
      fit: problems.length === 0,
      problems: [...new Set(problems)],
      nodes: nodes.map((node) => {
        const answer = answers[node.index];
        const ownMs = aheadMs[node.index];
        return {
          node: node.name,
          state: stateOf(node),
          roundTripMs: roundTripOf(node),
          clockAheadMs: ownMs === undefined ? undefined : Math.round(ownMs - medianMs),
          quarantinedMs: node.quarantine.remainingMs,
          cause: answer?.kind === 'unknown' && !this.#answers(answer) ? answer.cause : undefined,
        };
      }),
    };
  }

  /** Asks each master for its time: no claim, and nothing is written. */
  async #check(): Promise<Seen> {
    const { nodes } = this.#coordinator;
    const aheadMs: (number | undefined)[] = nodes.map(() => undefined);
    const sentAtMs = this.#clock.earliest();
    const timeoutMs = this.#coordinator.nodeTimeoutFor(this.#terms);
    const onReply = (node: Node, reply: unknown): void => {
      const clockUs = clockOf(reply);
      if (clockUs !== 0) aheadMs[node.index] = clockUs / 1_000 - (sentAtMs + this.#clock.earliest()) / 2;
    };
    const answers = await this.#coordinator.survey(clockReading(), timeoutMs, { onReply });
    return { aheadMs, answers };
  }

  #problemsOf(
    answers: readonly SurveyAnswer[],
    aheadMs: readonly (number | undefined)[],
  ): readonly HealthProblem[] {
    const { quorum } = this.#coordinator;
    const answering = answers.filter((answer) => this.#answers(answer)).length;
    if (answering < quorum) {
      const isSetUp = answers.filter(
        (answer) => answer.kind === 'answered' || !isMisconfigured(answer.cause),
      ).length;
      return [isSetUp < quorum ? 'misconfigured' : 'quorum'];
    }
    return this.#terms.fencing && largestGroup(aheadMs, COUNTER_LIFE_MS) < quorum ? ['clocks'] : [];
  }

  /** Without fencing, no right to read the clock is needed: that refusal is an answer, too. */
  #answers(answer: SurveyAnswer): boolean {
    return answer.kind === 'answered' || (!this.#terms.fencing && answer.cause.message.startsWith('NOPERM'));
  }

  #late(timeoutMs: number, elapsedMs: number): RedlockError {
    const { nodes } = this.#coordinator;
    const ready = nodes.map((node): Outcome => (node.isReady ? GRANTED : unknownBy(node.lostError())));
    const isConnected = verdict(countOutcomes(ready, nodes.length)) === 'granted';
    const outcomes = isConnected ? this.#guard.lastVotes : ready;
    const failure = failureOf(verdict(countOutcomes(outcomes, nodes.length)));
    const error = roundError(failure, { outcomes }, nodes, { resources: [], attempts: 0, elapsedMs });
    const { code, remainingMs, tally } = error;
    const text = `not ready within ${timeoutMs} ms: ${error.message}`;
    return new RedlockError(code, text, { elapsedMs, remainingMs, tally });
  }
}

function problemsOfVotes(votes: readonly Outcome[], nodes: number): readonly HealthProblem[] {
  if (votes.length === 0) return []; // no guard
  switch (verdict(countOutcomes(votes, nodes))) {
    case 'granted':
      return [];
    case 'quarantined':
      return ['quarantine'];
    case 'misconfigured':
      return ['misconfigured'];
    default:
      return ['quorum'];
  }
}

/** The size of the largest group of clocks within `withinMs` of each other. */
function largestGroup(aheadMs: readonly (number | undefined)[], withinMs: number): number {
  const known = aheadMs.filter((one) => one !== undefined);
  const sizes = known.map(
    (lowest) => known.filter((other) => other >= lowest && other - lowest < withinMs).length,
  );
  return Math.max(0, ...sizes);
}
