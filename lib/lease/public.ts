/**
 * What a holder has, as users see it. Leases come from calls that acquire; nobody constructs one. They are interfaces, so
 * that a test can use a fake lease.
 */
import type { LeaseHandle } from './lease-handle.js';

/**
 * The state of a lease: `held`, `lost` (its validity ended, or others hold its keys), or `released` (it was given back or
 * given away). It changes once, and never back.
 */
export type LeaseStatus = 'held' | 'lost' | 'released';

/** What leases of all kinds have in common. */
export interface AnyLease {
  /** The resources that it locks: sorted, without duplicates. */
  readonly resources: readonly string[];

  /** How long it lives without renewal, from each extension on. Milliseconds. */
  readonly ttlMs: number;

  /** Read from the clock at each call, so it is right at every instant, even after the event loop was stalled. */
  readonly status: LeaseStatus;

  /**
   * Aborts when the lease is lost: by the end of its validity at the latest, or in the first timer phase after an event
   * loop that was stalled. Its reason is the `RedlockError` (`LOCK_LOST`). A release does not abort it.
   *
   * It also aborts when the `Redlock` instance closes (`CLOSED`): the lease stays held, so that the work can end in order.
   */
  readonly signal: AbortSignal;

  /** How much validity is left. Milliseconds; 0 when the lease is not held. */
  remainingMs(): number;

  /**
   * Returns if the lease is held at this instant.
   *
   * @throws RedlockError `LOCK_LOST` · `NOT_HELD`: it was released or given away
   */
  assertHeld(): void;

  /**
   * Makes the lease live for `ttlMs` from now; it is never shortened.
   *
   * @param ttlMs  milliseconds; the lease's own ttl if it is omitted
   * @throws RedlockError `NO_QUORUM` or `MISCONFIGURED`: not extended, the old validity remains · `VALIDITY_EXPIRED`: a
   *   quorum agreed too late · `LOCK_LOST`: others hold it, or it ended meanwhile · `NOT_HELD`: it was released ·
   *   `INVALID_ARGUMENT`
   */
  extend(ttlMs?: number): Promise<void>;

  /** Gives it back. Never rejects, and does nothing the second time. */
  release(): Promise<void>;

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
  /** The secret that the masters keep for it. Not for logs. */
  readonly token: string;

  /**
   * The fencing token: a safe integer that is higher than that of every earlier grant of these resources. Send it along with
   * each effect; a resource that refuses lower tokens than it has seen (`quorate/fence`) is safe from late holders. Undefined
   * if fencing is off, and for readers and holders of permits: if several hold a lock at a time, no number is the latest.
   */
  readonly fence: number | undefined;

  /**
   * Gives it back. Resolves when a quorum of masters confirmed, or every one answered or timed out; the rest is retried in
   * the background until the ttl is over. Never rejects, and does nothing the second time.
   */
  release(): Promise<void>;

  /**
   * Gives the lease away, and returns what another process needs for `redlock.adopt(handle)`. From here on this object holds
   * nothing (`status` is `released`, `release` does nothing), and nobody renews it until it is adopted.
   *
   * @throws RedlockError `LOCK_LOST` · `NOT_HELD`: it was released or given away
   */
  giveAway(): LeaseHandle;
}

/** What the writer of a read-write lock has. */
export interface WriteLease extends Lease {
  /** `write`, until `downgrade` was called. */
  readonly mode: 'read' | 'write';

  /**
   * From here on it holds the lock as a reader: other readers may come in, and no other writer had the lock in between. The
   * lease is extended by its ttl, and keeps its fence. Does nothing the second time. There is no way back.
   *
   * It counts as a reader at once, before any master knows. Resolves when a quorum of masters knows; if it throws `NO_QUORUM`
   * or `MISCONFIGURED`, the lease is held all the same, and the next extension repeats the request: until then other readers
   * may have to wait, for no longer than the ttl.
   *
   * @throws RedlockError as `extend` does
   */
  downgrade(): Promise<void>;
}

/** One entry into a reentrant lock: the lease of all who are in, until this entry's exit. */
export interface ReentrantLease extends AnyLease {
  /** The secret that the masters keep for the lease, the same for all who are in. Not for logs. */
  readonly token: string;

  /** The lease's fencing token, the same for all who are in; undefined when fencing is off. */
  readonly fence: number | undefined;

  /** The lease's status; `released` from this entry's own exit on. */
  readonly status: LeaseStatus;

  /** Extends the lease of all who are in. @throws RedlockError as `lease.extend` does */
  extend(ttlMs?: number): Promise<void>;

  /** Leaves; the last one out gives the lock back. Never rejects, and does nothing the second time. */
  release(): Promise<void>;
}
