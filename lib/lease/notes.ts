/**
 * Notes over all masters: what a lock's holder keeps beside its votes, written and read by quorum.
 *
 * A write counts once a quorum has taken it. Each of these masters had the writer's vote then, so nobody else held the lock.
 * A later holder reads at a quorum of masters that have its own vote, and finds the write at one of them.
 */
import { lossError, type RoundFailure, roundError } from '../quorum/failure.js';
import type { Coordinator } from '../coordinator/coordinator.js';
import type { RedlockError } from '../runtime/errors.js';
import type { SurveyAnswer } from '../quorum/survey.js';
import {
  type Note,
  type NoteKeys,
  type NoteReading,
  noteDropping,
  noteReading,
  noteWriting,
  readNote,
  releaseOf,
} from '../protocol/lone-requests.js';
import {
  countOutcomes,
  GRANTED,
  holdersVerdict,
  oddReply,
  type Outcome,
  unknown,
  unknownBy,
} from '../protocol/quorum.js';
import type { Request } from '../protocol/request.js';

/** What the masters said, by their index. */
export interface NoteReadings {
  /** The readings; undefined for a master that could not be read. */
  readonly readings: readonly (NoteReading | undefined)[];
  /** Whether a quorum of masters could be read. */
  readonly isComplete: boolean;
}

/** The notes of one lock. */
export class Notes {
  readonly resource: string;
  readonly quorum: number;
  readonly #coordinator: Coordinator;
  readonly #keys: NoteKeys;

  constructor(coordinator: Coordinator, resource: string, keys: NoteKeys) {
    this.#coordinator = coordinator;
    this.resource = resource;
    this.quorum = coordinator.quorum;
    this.#keys = keys;
  }

  get channel(): string {
    return this.#keys.channel;
  }

  /** Resolves when a quorum has taken the note; with the error if none has. An outcome may be unknown then. */
  async write(token: string, note: Note, nodeTimeoutMs: number): Promise<RedlockError | undefined> {
    return this.#decide(noteWriting(this.#keys, token, note), nodeTimeoutMs);
  }

  /** Removes the token's note. Resolves when a quorum no longer has its vote; with the error if that is not known. */
  async drop(token: string, nodeTimeoutMs: number): Promise<RedlockError | undefined> {
    return this.#decide(noteDropping(this.#keys, token), nodeTimeoutMs);
  }

  /** Gives back any votes that a token may have left: its lease has ended. */
  async withdraw(token: string, nodeTimeoutMs: number): Promise<void> {
    await this.#coordinator.survey(releaseOf(this.#keys, token), nodeTimeoutMs);
  }

  /** Asks all masters; each has the node timeout to answer. */
  async read(nodeTimeoutMs: number): Promise<NoteReadings> {
    const request = noteReading(this.#keys);
    const outcomes = await this.#survey(request, nodeTimeoutMs, () => false);
    const readings = outcomes.map((one) => ('vote' in one ? one : undefined));
    const count = readings.filter((one) => one !== undefined).length;
    return { readings, isComplete: count >= this.quorum };
  }

  /**
   * Reads under a vote: only masters that have it count. Resolves with their readings, or with the error if they are not a
   * quorum.
   */
  async readUnder(token: string, nodeTimeoutMs: number): Promise<readonly NoteReading[] | RedlockError> {
    const request = noteReading(this.#keys, token);
    const isOwn = (one: NoteReading | Outcome): boolean => 'vote' in one && one.vote === 'own';
    const answers = await this.#survey(
      request,
      nodeTimeoutMs,
      (answers) =>
        answers.filter((answer) => answer !== undefined && isOwn(readingOf(answer, request))).length >=
        this.quorum,
    );
    const own = answers.filter((one): one is NoteReading => 'vote' in one && one.vote === 'own');
    if (own.length >= this.quorum) return own;
    return this.#error(answers.map((one) => ('vote' in one ? asOutcome(one) : one)));
  }

  async #decide(request: Request, nodeTimeoutMs: number): Promise<RedlockError | undefined> {
    const outcomeOf = (answer: SurveyAnswer | undefined): Outcome | undefined =>
      answer === undefined ? undefined : outcomeIn(answer, request);
    const answers = await this.#coordinator.survey(request, nodeTimeoutMs, {
      isEnough: (some) =>
        some.filter((answer) => outcomeOf(answer)?.kind === 'granted').length >= this.quorum,
    });
    const outcomes = answers.map((answer) => outcomeIn(answer, request));
    return holdersVerdict(countOutcomes(outcomes, outcomes.length)) === 'granted'
      ? undefined
      : this.#error(outcomes);
  }

  async #survey(
    request: Request,
    nodeTimeoutMs: number,
    isEnough: (answers: readonly (SurveyAnswer | undefined)[]) => boolean,
  ): Promise<readonly (NoteReading | Outcome)[]> {
    const answers = await this.#coordinator.survey(request, nodeTimeoutMs, { isEnough });
    return answers.map((answer) => readingOf(answer, request));
  }

  /** The error of a request without a quorum; masters that refuse have another holder's vote. */
  #error(outcomes: readonly Outcome[]): RedlockError {
    const decision = holdersVerdict(countOutcomes(outcomes, outcomes.length));
    const failure: RoundFailure = decision === 'granted' ? 'unknown' : decision;
    const resources = [this.resource];
    const context = { resources, attempts: 1, elapsedMs: 0 };
    const error = roundError(failure, { outcomes }, this.#coordinator.nodes, context);
    if (failure !== 'held' && failure !== 'wrongType') return error;
    return lossError('masters refuse what its holder writes', resources, error);
  }
}

function outcomeIn(answer: SurveyAnswer, request: Request): Outcome {
  if (answer.kind === 'unknown') return unknownBy(answer.cause);
  return request.read(answer.reply) ?? unknown(oddReply());
}

function readingOf(answer: SurveyAnswer, { scope }: Request): NoteReading | Outcome {
  if (answer.kind === 'unknown') return unknownBy(answer.cause);
  return readNote(answer.reply, scope) ?? unknown(oddReply());
}

/** What a master's reading means for a holder who reads under its vote. */
function asOutcome({ vote, remainingMs }: NoteReading): Outcome {
  if (vote === 'own') return GRANTED;
  if (vote === 'none') return unknown(new Error('the vote is not there'));
  const refusedForMs = remainingMs === -1 ? Infinity : remainingMs;
  return { kind: 'refused', remainingMs: refusedForMs, isWrongType: false, isForeignClient: false };
}
