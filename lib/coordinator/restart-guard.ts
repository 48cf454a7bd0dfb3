/**
 * The restart guard as operators see it (protocol B): which masters vote, and how they declare a first start.
 *
 * The guard itself is in the scripts, where each vote is given. A check on connection would not do: clients send again on
 * new connections, possibly to another process. The guard is a property of the deployment. A client without it, or with
 * another period, would void it for all, and is refused where a script can detect it.
 */
import type { Cancellation } from '../runtime/cancellation.js';
import type { Timers } from '../runtime/clock.js';
import type { Coordinator } from './coordinator.js';
import { invalidArgument } from '../runtime/errors.js';
import { roundError } from '../quorum/failure.js';
import type { Node } from '../node/node.js';
import {
  countOutcomes,
  GRANTED,
  oddReply,
  type Outcome,
  quorumBackInMs,
  unknownBy,
  verdict,
} from '../protocol/quorum.js';
import { integers, readNo } from '../protocol/replies.js';
import { bootstrapping, vouching } from '../protocol/request.js';
import type { CallTerms } from '../protocol/terms.js';
import type { SurveyAnswer } from '../quorum/survey.js';

/** What `bootstrap` did on one master. */
export type NodeBootstrap =
  | {
      /** The master, by host and port. */
      readonly node: string;
      /** The master votes from now on. */
      readonly state: 'declared';
    }
  | {
      /** The master, by host and port. */
      readonly node: string;
      /** The master already has a marker, and was not changed. */
      readonly state: 'unchanged';
      /** The time until the master votes. Milliseconds; 0 if it votes already. */
      readonly remainingMs: number;
    }
  | {
      /** The master, by host and port. */
      readonly node: string;
      /** The master gave no clear answer, and may have been changed or not. */
      readonly state: 'unknown';
      /** Why: the error of the master, of the connection, or of the node timeout. */
      readonly cause: Error;
    };

/** What `bootstrap` did. */
export interface BootstrapReport {
  /** Whether any master was changed. */
  readonly changed: boolean;
  /** Master by master, in the order of the instance's clients. */
  readonly nodes: readonly NodeBootstrap[];
}

/** This client's guard: where its marker is, and the period. */
interface Own {
  readonly marker: string;
  /** 0 for no guard. */
  readonly guardMs: number;
}

/** The longest time between two questions to the masters, however long a quarantine lasts: a master may have come back. */
const ASK_AGAIN_MS = 1_000;

export class RestartGuard {
  readonly #coordinator: Coordinator;
  readonly #timers: Timers;
  readonly #own: Own;
  readonly #terms: Pick<CallTerms, 'ttlMs' | 'nodeTimeoutMs'>;
  #lastVotes: readonly Outcome[] = [];

  constructor(
    coordinator: Coordinator,
    timers: Timers,
    own: Own,
    terms: Pick<CallTerms, 'ttlMs' | 'nodeTimeoutMs'>,
  ) {
    this.#coordinator = coordinator;
    this.#timers = timers;
    this.#own = own;
    this.#terms = terms;
  }

  /**
   * Resolves when a quorum votes, or the wait is cancelled. A quarantine that has not begun yet begins with this call.
   *
   * @throws RedlockError `MISCONFIGURED`: masters that cannot guard, or guard for another period, made a quorum
   * impossible
   */
  async voting(cancellation: Cancellation): Promise<void> {
    if (this.#own.guardMs === 0) return;
    const { nodes } = this.#coordinator;
    while (cancellation.cancelled === undefined) {
      const outcomes = await this.votes();
      const counts = countOutcomes(outcomes, nodes.length);
      const decision = verdict(counts);
      if (decision === 'granted') return;
      if (decision === 'misconfigured') throw this.#error(decision, outcomes);
      const times = outcomes.flatMap((one) => (one.kind === 'quarantined' ? [one.remainingMs] : []));
      const backInMs = quorumBackInMs(times, counts.granted, nodes.length);
      const nodeTimeoutMs = this.#coordinator.nodeTimeoutFor(this.#terms);
      await cancellation.sleep(this.#timers, backInMs > 0 ? Math.min(backInMs, ASK_AGAIN_MS) : nodeTimeoutMs);
    }
  }

  /** Which masters vote, by index; empty without a guard. A quarantine that has not begun yet begins with this call. */
  async votes(): Promise<readonly Outcome[]> {
    const { marker, guardMs } = this.#own;
    if (guardMs === 0) return [];
    const nodeTimeoutMs = this.#coordinator.nodeTimeoutFor(this.#terms);
    const answers = await this.#coordinator.survey(vouching(marker, guardMs), nodeTimeoutMs);
    const outcomes = answers.map((answer) => readVote(answer, this.#own));
    for (const node of this.#coordinator.nodes) noteQuarantine(node, outcomes[node.index]);
    this.#lastVotes = outcomes;
    return outcomes;
  }

  /** The latest result of `votes`. */
  get lastVotes(): readonly Outcome[] {
    return this.#lastVotes;
  }

  /** @throws RedlockError `NO_QUORUM`, `MISCONFIGURED`: fewer than a quorum of masters confirmed */
  async bootstrap(force: boolean): Promise<BootstrapReport> {
    const { marker, guardMs } = this.#own;
    const nodeTimeoutMs = this.#coordinator.nodeTimeoutFor(this.#terms);
    if (guardMs === 0 && !force) {
      throw invalidArgument(
        'restartGuardMs',
        guardMs,
        'set for bootstrap(); with force, 0 removes the guard',
      );
    }
    const answers = await this.#coordinator.survey(bootstrapping(marker, guardMs, force), nodeTimeoutMs);
    const nodes = this.#coordinator.nodes.map((node) => readBootstrap(node, answers[node.index], this.#own));
    const outcomes = nodes.map((node) => (node.state === 'unknown' ? unknownBy(node.cause) : GRANTED));
    const decision = verdict(countOutcomes(outcomes, outcomes.length));
    if (decision === 'misconfigured' || decision === 'unknown') throw this.#error(decision, outcomes);
    return { changed: nodes.some(({ state }) => state === 'declared'), nodes };
  }

  #error(decision: 'misconfigured' | 'unknown', outcomes: readonly Outcome[]): Error {
    const context = { resources: [], attempts: 1, elapsedMs: 0 };
    return roundError(decision, { outcomes }, this.#coordinator.nodes, context);
  }
}

function noteQuarantine({ quarantine }: Node, outcome: Outcome | undefined): void {
  if (outcome?.kind === 'quarantined') quarantine.lasts(outcome.remainingMs);
  else if (outcome?.kind === 'granted') quarantine.isOver();
}

function readVote(answer: SurveyAnswer, own: Own): Outcome {
  if (answer.kind === 'unknown') return unknownBy(answer.cause);
  const [code, ms] = integers(answer.reply, 3);
  return (code === 1 ? GRANTED : readNo(code, ms, own)) ?? unknownBy(oddReply());
}

function readBootstrap(
  { name: node, quarantine }: Node,
  answer: SurveyAnswer | undefined,
  own: Own,
): NodeBootstrap {
  if (answer?.kind !== 'answered') return { node, state: 'unknown', cause: answer?.cause ?? oddReply() };
  const [code, ms = 0] = integers(answer.reply, 3);
  if (code === 1) {
    quarantine.isOver();
    return { node, state: 'declared' };
  }
  if (code === 0 || code === -1) return { node, state: 'unchanged', remainingMs: ms };
  const outcome = readNo(code, ms, own);
  return { node, state: 'unknown', cause: outcome?.kind === 'unknown' ? outcome.cause : oddReply() };
}
