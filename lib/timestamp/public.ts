/** What the holder of a timestamp lock has, as users see it: an interface, so that a test can use a fake. */
import type { AnyLease } from '../lease/public.js';

/**
 * A timestamp lock in its holder's hands. It has neither token nor fence: the protocol has neither.
 *
 * @example
 * ```ts
 * const lease = await lock.acquire('lock.invoice');
 * try {
 *   await bill(42, { signal: lease.signal });
 * } finally {
 *   await lease.release();
 * }
 * ```
 */
export interface TimestampLease extends AnyLease {
  /**
   * Aborts when the lease is lost: by the end of its validity at the latest, or in the first timer phase after an event
   * loop that was stalled. Its reason is the `RedlockError` (`LOCK_LOST`). A release does not abort it.
   */
  readonly signal: AbortSignal;

  /**
   * Makes the lease live for `ttlMs` from now; it is never shortened.
   *
   * @param ttlMs  milliseconds, whole units of the lock's `unit`; the lease's own ttl if it is omitted
   * @throws RedlockError `NO_QUORUM` or `MISCONFIGURED`: the server did not say, the old validity remains · `LOCK_LOST`: the
   *   key is no longer its own, or it ended meanwhile · `NOT_HELD`: it was released · `INVALID_ARGUMENT`
   */
  extend(ttlMs?: number): Promise<void>;

  /**
   * Gives it back: deletes the key if it is still this lease's own. Resolves when the server confirmed or its timeout is
   * over; never rejects, and does nothing the second time or after the lease was lost. It is not tried again: an instant is
   * not a token, and a late second try could meet another's.
   */
  release(): Promise<void>;
}
