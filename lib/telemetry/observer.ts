/**
 * The narrow interfaces through which the layers below report what happens. They know nothing about events, channels and
 * listeners. If nobody listens, they get no observer, build nothing, and read no clock.
 */
import type { Decision } from '../protocol/quorum.js';
import type { Kind } from '../protocol/scope.js';
import type { Answers } from '../protocol/tally.js';
import type { RedlockError } from '../runtime/errors.js';
import type { HeldBy } from '../runtime/instance-info.js';

/** Follows one acquisition. */
export interface AcquisitionObserver {
  /** An attempt was granted. @param fence  0 without one */
  granted(attempts: number, answers: Answers, fence: number): void;
  /** An attempt failed. */
  refused(attempts: number, answers: Answers, decision: Decision): void;
  /** It begins to wait: in a queue, or for its next attempt. */
  waits(attempts: number): void;
}

/** What an observer sees of a lease: not the token. */
export interface LeaseFacts {
  readonly resources: readonly string[];
  readonly kind: Kind;
  /** When it was granted, by the instance's clock. */
  readonly sinceMs: number;
  /** The end of its validity, by the same clock. */
  readonly validUntilMs: number;
  /** How many extensions have failed since the last that succeeded. */
  readonly failures: number;
}

/** Learns how one extension ends. */
export interface ExtensionObserver {
  /** @param answers  in the round, if there was one */
  extended(answers: Answers | undefined): void;
  failed(error: RedlockError, answers: Answers): void;
  /** The lease was given back meanwhile. */
  ended(): void;
}

/** Gives a lease back; reports what the masters had answered when that was settled. */
export type Release = (onSettled: (answers: Answers) => void) => Promise<void>;

/** Knows who holds locks. */
export interface Holders {
  /** As far as is known at once. If nothing is, it is found out for the next who asks. */
  glance(resources: readonly string[], kind: Kind): HeldBy | undefined;
}

/** Follows one master. */
export interface NodeObserver {
  down(node: string, reason: 'disconnected' | 'silent', cause: Error): void;
  up(node: string, downMs: number): void;
  quarantined(node: string, remainingMs: number): void;
}

/** Two observers of one acquisition: the instance's listeners, and the election or job that it is for. */
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
