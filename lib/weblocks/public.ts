/** What users see of the Web Locks API: names and shapes are those of the specification. */

/** `exclusive`: one holder · `shared`: any number of holders that are all shared. */
export type LockMode = 'exclusive' | 'shared';

/** A lock in its holder's hands, while the callback runs. */
export interface Lock {
  /** The name that was asked for. */
  readonly name: string;
  /** The mode that was asked for. */
  readonly mode: LockMode;
  /**
   * Aborts when the lock is lost, with a `RedlockError` `LOCK_LOST` as its reason, or when the `Redlock` instance closes, with
   * `CLOSED`. Not in the specification: a browser's lock cannot be lost to a failure.
   */
  readonly signal: AbortSignal;
  /**
   * The fencing token of an exclusive lock: higher than that of every earlier one of this name. Undefined for a shared lock, and if
   * the instance has no fencing. Not in the specification.
   */
  readonly fence: number | undefined;
}

/** What runs while the lock is held. The lock is given back when its result has settled. */
export type LockGrantedCallback<T, Granted extends Lock | null = Lock> = (
  lock: Granted,
) => PromiseLike<T> | T;

/** Options of `request`. As in the specification, other names have no effect, and a wrong type is converted if possible. */
export interface LockOptions {
  /** Whether others may hold the lock at the same time. @default 'exclusive' */
  readonly mode?: LockMode | undefined;
  /** Does not wait: calls back with null if the lock cannot be had now. Excludes `signal`. @default false */
  readonly ifAvailable?: boolean | undefined;
  /**
   * Takes the lock away from its holders, before those that wait. Excludes `ifAvailable`, `signal` and shared locks. It waits for
   * holders that do not answer, as long as the manager's `stealGraceMs` says. @default false
   */
  readonly steal?: boolean | undefined;
  /** Ends the wait: the request rejects with the signal's reason. Has no effect on a lock that was granted. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a request whose callback always gets a lock. */
export interface WaitingLockOptions extends LockOptions {
  /** The request waits. @default false */
  readonly ifAvailable?: false | undefined;
}

/** One lock that is held, or one request that waits. */
export interface LockInfo {
  /** The lock's name. */
  readonly name: string;
  /** Its mode. */
  readonly mode: LockMode;
  /** The manager's `clientId` for its own; for others, a fingerprint of this one lock: the same holder has another next time. */
  readonly clientId: string;
}

/** What `query` found. */
export interface LockManagerSnapshot {
  /** The locks that are held: for each name this manager's own in the order of their grants, then those of others. */
  readonly held: LockInfo[];
  /** The requests of this manager that wait, for each name in their order. */
  readonly pending: LockInfo[];
}
