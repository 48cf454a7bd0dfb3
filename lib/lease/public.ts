/**
 * Leases as users see them. Calls that acquire return them; nobody constructs one. They are interfaces: a test can use a fake
 * lease.
 */
import type { ReleaseOptions } from '../input/options.js';
import type { LeaseHandle } from './lease-handle.js';

/**
 * The state of a lease: `held`, `lost` (its validity ended, or others hold its keys), or `released` (it was given back or
 * given away). It changes once, and never back.
 */
export type LeaseStatus = 'held' | 'lost' | 'released';

/** What leases of all kinds have in common. */
export interface AnyLease {
  /** The resources that the lease locks: sorted, without duplicates. */
  readonly resources: readonly string[];

  /** How long the lease lives after its grant or last extension. Milliseconds. */
  readonly ttlMs: number;

  /** The state now: each read asks the clock, and is right even after the event loop was stalled. */
  readonly status: LeaseStatus;

  /**
   * Aborts when the lease is lost: by the end of its validity at the latest, or in the first timer phase after the event loop
   * was stalled. The reason is then a `RedlockError` with code `LOCK_LOST`. A release does not abort the signal.
   *
   * It also aborts when the `Redlock` instance closes. The reason's code is then `CLOSED`: the lease stays held, and its holder
   * should finish and release it.
   */
  readonly signal: AbortSignal;

  /** How much validity is left. Milliseconds; 0 if the lease is not held. */
  remainingMs(): number;

  /**
   * Throws unless the lease is held at this instant.
   *
   * @throws RedlockError `LOCK_LOST` · `NOT_HELD`: it was released or given away
   */
  assertHeld(): void;

  /**
   * Extends the lease to `ttlMs` from now. Never shortens it.
   *
   * @param ttlMs  milliseconds; by default the lease's own ttl
   * @throws RedlockError `NO_QUORUM` or `MISCONFIGURED`: not extended, the old validity remains · `VALIDITY_EXPIRED`: a
   *   quorum answered too late · `LOCK_LOST`: others hold the lock, or the lease ended meanwhile · `NOT_HELD`: the lease was
   *   released · `INVALID_ARGUMENT`
   */
  extend(ttlMs?: number): Promise<void>;

  /** Ends the lease and frees the lock. A second call does nothing. @throws RedlockError `INVALID_ARGUMENT`, nothing else */
  release(options?: ReleaseOptions): Promise<void>;

  /** Like `release()`, at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void>;

  /** What `JSON.stringify` and logs show: never a token. */
  toJSON(): object;
}

/**
 * A lock in its holder's hands.
 *
 * @example
 * ```ts
 * const lease = await redlock.acquire('invoice:42', { ttlMs: 10_000 });
 * try {
 *   await bill(42, { signal: lease.signal });
 *   lease.assertHeld();
 * } finally {
 *   await lease.release();
 * }
 * ```
 */
export interface Lease extends AnyLease {
  /** The secret that the masters store for the lease. Keep it out of logs. */
  readonly token: string;

  /**
   * The fencing token: a safe integer, higher than that of every earlier grant of these resources. Send it with each write. A
   * resource that refuses tokens lower than one it has accepted (`quorate/fence`) is safe from late writes. Undefined if
   * fencing is off, and for readers and holders of permits: where several hold a lock, no token is the latest.
   */
  readonly fence: number | undefined;

  /**
   * Ends the lease and frees the lock. Resolves when a quorum of masters has confirmed, or every master has answered or timed
   * out; with `await: false`, when the request was written to the sockets of all masters that answer. Unconfirmed releases are
   * retried in the background until the ttl has passed. A second call sends nothing, and resolves when a quorum has confirmed.
   *
   * @throws RedlockError `INVALID_ARGUMENT`, nothing else
   */
  release(options?: ReleaseOptions): Promise<void>;

  /**
   * Ends the lease here, and returns a handle with which another process takes it over: `redlock.adopt(handle)`. From then on,
   * this object's `status` is `released`, its `release` does nothing, and nobody renews the lease until it is adopted.
   *
   * @throws RedlockError `LOCK_LOST` · `NOT_HELD`: it was released or given away
   */
  giveAway(): LeaseHandle;
}

/** The lease of a read-write lock's writer. */
export interface WriteLease extends Lease {
  /** `write`, until `downgrade` is called. */
  readonly mode: 'read' | 'write';

  /**
   * Turns the writer into a reader: waiting readers are let in, and no other writer had the lock in between. Extends the lease
   * by its ttl, and keeps its fencing token. A second call does nothing. There is no way back.
   *
   * `mode` is `read` at once, before any master knows. The call resolves when a quorum of masters knows. If it rejects with
   * `NO_QUORUM` or `MISCONFIGURED`, the lease is still held, and the next extension repeats the request; until then other
   * readers may have to wait, for the ttl at most.
   *
   * @throws RedlockError as `extend` does
   */
  downgrade(): Promise<void>;
}

/** One entry into a re-entrant lock. All entries share one lease. */
export interface ReentrantLease extends AnyLease {
  /** The secret that the masters store for the lease, the same for all entries. Keep it out of logs. */
  readonly token: string;

  /** The lease's fencing token, the same for all entries; undefined if fencing is off. */
  readonly fence: number | undefined;

  /** The lease's status; `released` after this entry's own exit. */
  readonly status: LeaseStatus;

  /** Extends the lease of all entries. @throws RedlockError as `lease.extend` does */
  extend(ttlMs?: number): Promise<void>;

  /**
   * Ends this entry; the exit of the last entry releases the lock. A second call does nothing.
   *
   * @throws RedlockError `INVALID_ARGUMENT`, nothing else
   */
  release(options?: ReleaseOptions): Promise<void>;
}
