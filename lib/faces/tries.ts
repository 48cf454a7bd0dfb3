/**
 * Calls with a number of attempts and a delay between them, as in the packages of which the faces have the API.
 *
 * quorate waits in a queue in place of polling: the attempts of a call make up the time for which it waits.
 */
import { SystemTimers } from '../runtime/clock.js';
import { type Answers, type NamedNode, tallyOf } from '../protocol/tally.js';
import { type NodeOutcome, RedlockError } from '../runtime/errors.js';
import { SystemRandom } from '../runtime/random.js';
import type { AcquisitionObserver } from '../telemetry/observer.js';

const random = new SystemRandom();
const timers = new SystemTimers();

/** The masters' outcomes in one attempt, in the order of the clients. */
export interface Votes {
  readonly outcomes: readonly NodeOutcome[];
  /** How many resources it was about. */
  readonly resources: number;
}

/** How often a call is tried. Milliseconds. */
export interface Tries {
  /** How many more attempts after the first; -1 for no end. */
  readonly retryCount: number;
  readonly retryDelay: number;
  readonly retryJitter: number;
}

/** What a call has failed with, after which attempts. */
export interface Failure {
  readonly cause: RedlockError;
  readonly attempts: readonly Votes[];
}

/** A call may wait for days, or ask for millions of attempts: the last ones are reported. */
export const MOST_REPORTED = 100;
const MOST_MS = Number.MAX_SAFE_INTEGER;

/** How many attempts a call makes. */
export function countOf({ retryCount }: Tries): number {
  return retryCount === -1 ? Infinity : Math.max(1, Math.ceil(retryCount + 1) || 1);
}

/** The pause before the next attempt. */
function pauseMs({ retryDelay, retryJitter }: Tries): number {
  return Math.max(0, retryDelay + Math.floor((random.fraction() * 2 - 1) * retryJitter) || 0);
}

/** For how long the attempts go on, if none takes any time: on average, since the pauses vary. */
export function windowMs(tries: Tries): number {
  const retries = countOf(tries) - 1;
  if (retries === 0) return 0;
  return retries === Infinity
    ? Infinity
    : Math.min(MOST_MS, Math.ceil(retries * Math.max(1, tries.retryDelay || 0)));
}

/** The pauses where it cannot wait in a queue. */
export function pausesOf({ retryDelay, retryJitter }: Tries): { minDelayMs: number; maxDelayMs: number } {
  const minDelayMs = Math.max(1, Math.floor(retryDelay - retryJitter) || 1);
  return { minDelayMs, maxDelayMs: Math.max(minDelayMs, Math.ceil(retryDelay + retryJitter) || 1) };
}

export async function pauseOnce(tries: Tries): Promise<void> {
  await new Promise<void>((resolve) => timers.wait(pauseMs(tries), resolve));
}

/** The attempts of one acquisition that masters were asked in. */
export class Attempts implements AcquisitionObserver {
  readonly made: Votes[] = [];
  readonly #nodes: readonly NamedNode[];
  readonly #resources: number;
  readonly #onVotes: (votes: Votes) => void;

  constructor(masters: number, resources: number, onVotes: (votes: Votes) => void) {
    this.#resources = resources;
    this.#nodes = Array.from({ length: masters }, (_, index) => ({ name: String(index), index }));
    this.#onVotes = onVotes;
  }

  granted(_attempts: number, answers: Answers): void {
    this.#add(answers);
  }

  refused(_attempts: number, answers: Answers): void {
    this.#add(answers);
  }

  waits(): void {}

  #add(answers: Answers): void {
    const votes = { outcomes: tallyOf(answers, this.#nodes), resources: this.#resources };
    this.made.push(votes);
    if (this.made.length > MOST_REPORTED) this.made.shift();
    this.#onVotes(votes);
  }
}

/** What was asked for, of whom. */
export interface Asked {
  readonly masters: number;
  readonly resources: number;
}

/**
 * What a call failed with, with as many attempts as were asked for: the last answers of the masters count for those that were
 * not needed, since the call waited in a queue. @throws the error itself, if the call was wrong
 */
export function failureOf(error: unknown, made: readonly Votes[], tries: Tries, asked: Asked): Failure {
  if (!RedlockError.is(error) || error.code === 'INVALID_ARGUMENT') throw error;
  const last = lastOf(error, asked);
  const count = Math.min(countOf(tries), MOST_REPORTED);
  const missing = Array.from({ length: Math.max(0, count - made.length) }, () => last);
  return { cause: error, attempts: [...made.slice(-count), ...missing] };
}

/** The masters' last answers before an error. */
export function lastOf(error: RedlockError, { masters, resources }: Asked): Votes {
  const unasked = (_: unknown, i: number): NodeOutcome => ({
    node: String(i),
    outcome: 'unknown',
    cause: error,
  });
  const outcomes = error.tally.length > 0 ? error.tally : Array.from({ length: masters }, unasked);
  return { outcomes, resources };
}
