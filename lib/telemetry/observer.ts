/**
 * The narrow interfaces by which the layers below tell what happens. They know nothing of events, channels and listeners,
 * and where nobody listens, there is no observer: nothing is made, and no clock is read.
 */
import type { Decision } from '../protocol/quorum.js';
import type { Kind } from '../protocol/scope.js';
import type { Answers } from '../protocol/tally.js';
import type { RedlockError } from '../runtime/errors.js';

/** Hears how one acquisition goes on. */
export interface AcquisitionObserver {
  /** An attempt was granted. @param fence  0 without one */
  granted(attempts: number, answers: Answers, fence: number): void;
  /** An attempt failed. */
  refused(attempts: number, answers: Answers, decision: Decision): void;
  /** It begins to wait: in a queue, or for its next attempt. */
  waits(attempts: number): void;
}

/** What an observer sees of a lease: no token. */
export interface ObservedLease {
  readonly resources: readonly string[];
  readonly kind: Kind;
  /** When it was granted, by the instance's clock. */
  readonly sinceMs: number;
  /** The end of its validity, by the same clock. */
  readonly validUntilMs: number;
  /** How many extensions have failed since the last that did not. */
  readonly failures: number;
}

/** Hears how one extension ends. */
export interface ExtensionObserver {
  /** @param answers  in the round, where there was one */
  extended(answers: Answers | undefined): void;
  failed(error: RedlockError, answers: Answers): void;
  /** The lease was given back meanwhile. */
  ended(): void;
}

/** Gives a lease back; tells what the masters had answered when that was settled. */
export type Release = (onSettled: (answers: Answers) => void) => Promise<void>;

/** Hears of leases. */
export interface LeaseObserver {
  /** A loss is to be noticed when it happens, also of a lease that nobody renews or watches. */
  readonly awaitsLosses: boolean;
  /** Whether a release has to go through `release`. */
  readonly hearsReleases: boolean;
  /** An extension begins. */
  extension(lease: ObservedLease, by: 'renewal' | 'extend', ttlMs: number): ExtensionObserver;
  lost(lease: ObservedLease, error: RedlockError): void;
  /** It is given back; only counted unless `hearsReleases`. */
  released(): void;
  release(lease: ObservedLease, release: Release): Promise<void>;
  givenAway(lease: ObservedLease): void;
}

/** Hears of one master. */
export interface NodeObserver {
  down(node: string, reason: 'disconnected' | 'silent', cause: Error): void;
  up(node: string, downMs: number): void;
  quarantined(node: string, remainingMs: number): void;
}

/** Two that hear of one acquisition: those who listen to the instance, and the election or job that it is for. */
export class BothObservers implements AcquisitionObserver {
  readonly #both: readonly [AcquisitionObserver, AcquisitionObserver];

  constructor(one: AcquisitionObserver, other: AcquisitionObserver) {
    this.#both = [one, other];
  }

  granted(attempts: number, answers: Answers, fence: number): void {
    for (const observer of this.#both) observer.granted(attempts, answers, fence);
  }

  refused(attempts: number, answers: Answers, decision: Decision): void {
    for (const observer of this.#both) observer.refused(attempts, answers, decision);
  }

  waits(attempts: number): void {
    for (const observer of this.#both) observer.waits(attempts);
  }
}
