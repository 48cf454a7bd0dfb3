/** On which terms calls are made: the options of a call and of its instance, with every default filled in. */

/** The terms of one call. Each layer takes of them what it needs. Times in milliseconds. */
export interface CallTerms {
  /** Which call it is. */
  readonly by: 'acquire' | 'using' | 'tryAcquire' | 'adopt';
  readonly ttlMs: number;
  readonly waitMs: number;
  /** 0 means the default, which follows the network. */
  readonly nodeTimeoutMs: number;
  readonly renew: boolean;
  readonly maxHoldMs: number;
  readonly fencing: boolean;
  readonly fair: boolean;
  readonly handOver: 'direct' | 'reserve';
  /** How many leases may follow one another on one grant of the masters; 0: it asks the masters for each. */
  readonly localTurns: number;
  readonly minDelayMs: number;
  readonly maxDelayMs: number;
  /** What the lease is for; empty for nothing. */
  readonly note: string;
}

/** The terms of an instance, which calls fall back on. */
export interface InstanceTerms extends CallTerms {
  readonly driftFactor: number;
  readonly keyPrefix: string;
  readonly maxWaiters: number;
  readonly restartGuardMs: number;
  /** Whether releases wait until a quorum has confirmed, where a call says nothing else. */
  readonly awaitRelease: boolean;
  /** What the instance is called; true for the name of its process, false for none. */
  readonly label: string | boolean;
}
