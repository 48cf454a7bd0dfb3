/** The lease of a timestamp lock as users see it. It is an interface: a test can use a fake. */
import type { AnyLease } from '../lease/public.js';

/**
 * A timestamp lock in its holder's hands. It has no token and no fencing token, since the protocol has none.
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
   * Aborts when the lease is lost: by the end of its validity at the latest, or in the first timer phase after the event loop
   * was stalled. The reason is a `RedlockError` with code `LOCK_LOST`. A release does not abort the signal.
   */
  readonly signal: AbortSignal;

  /**
   * Extends the lease to `ttlMs` from now. Never shortens it.
   *
   * @param ttlMs  milliseconds, in whole units of the lock's `unit`; by default the lease's own ttl
   * @throws RedlockError `NO_QUORUM` or `MISCONFIGURED`: the server gave no clear answer, the old validity remains ·
   *   `LOCK_LOST`: the key holds another instant, or the lease ended meanwhile · `NOT_HELD`: the lease was released ·
   *   `INVALID_ARGUMENT`
   */
  extend(ttlMs?: number): Promise<void>;

  /**
   * Ends the lease, and deletes the key if it still holds this lease's instant. Resolves when the server has confirmed, or
   * after the node timeout. Never rejects. Does nothing the second time, or after the lease was lost. A release is not
   * retried: an instant does not identify its holder, and a late retry could delete another holder's lock.
   */
  release(): Promise<void>;
}
