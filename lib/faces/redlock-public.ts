/** What users of `quorate/redlock` see of its calls. */
import type { RedisClient } from '../redis/client.js';

/** A client of ioredis, node-redis or Valkey GLIDE. */
export type Client = RedisClient;

/** How the masters answered one attempt. */
export interface ExecutionStats {
  /** How many masters there are. */
  readonly membershipSize: number;
  /** How many make a quorum. */
  readonly quorumSize: number;
  /** Those that voted for it. */
  readonly votesFor: Set<Client>;
  /**
   * The others, with the reason: a `ResourceLockedError`, or the error of the client. A master whose answer was not waited for
   * is in neither.
   */
  readonly votesAgainst: Map<Client, Error>;
}

/** How one master answered. */
export type ClientExecutionResult =
  | {
      /** The master's client. */
      readonly client: Client;
      /** It voted for it. */
      readonly vote: 'for';
      /** How many resources it was applied to. */
      readonly value: number;
    }
  | {
      /** The master's client. */
      readonly client: Client;
      /** It did not vote for it. */
      readonly vote: 'against';
      /** Why. */
      readonly error: Error;
    };

/** The attempts that an operation took. */
export interface ExecutionResult {
  /** The attempts, in order. */
  readonly attempts: readonly Promise<ExecutionStats>[];
  /** When it began, by the wall clock. Milliseconds since 1970. */
  readonly start: number;
}

/** Settings of an instance, or of one call. */
export interface Settings {
  /** The share of a duration that is deducted for drift; 2 ms are added. @default 0.01 */
  readonly driftFactor: number;
  /** How many more attempts follow the first one; -1 for no end. @default 10 */
  readonly retryCount: number;
  /** The time between two attempts. Milliseconds. @default 200 */
  readonly retryDelay: number;
  /** By how much that time varies, at random. Milliseconds. @default 100 */
  readonly retryJitter: number;
  /** `using` extends the lock before less than this is left. Milliseconds. @default 500 */
  readonly automaticExtensionThreshold: number;
}

/** The signal of a routine. */
export type RedlockAbortSignal = AbortSignal & {
  /** Why the lock was lost, once the signal has aborted. */
  error?: Error;
};
