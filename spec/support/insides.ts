/** What a lease knows beside what its users see: for onlookers that must not disturb it by reading its `status`. */
import { Leadership as OwnLeadership } from '../../lib/election/leadership.js';
import type { Leadership } from '../../lib/election/public.js';
import { Lease as OwnLease } from '../../lib/lease/lease.js';
import type { Lease, ReentrantLease } from '../../lib/lease/public.js';
import { ReentrantLease as OwnReentrantLease } from '../../lib/locks/reentrant-lease.js';
import { TimestampLease as OwnTimestampLease } from '../../lib/timestamp/lease.js';
import type { TimestampLease } from '../../lib/timestamp/public.js';

/** The end of its validity by its instance's clock. */
export function validUntilMsOf(lease: Lease): number {
  if (!(lease instanceof OwnLease)) throw new Error('a lease of another make');
  return lease.validUntilMs;
}

/** Does its holder believe in it? */
export function isValid(lease: TimestampLease): boolean {
  if (!(lease instanceof OwnTimestampLease)) throw new Error('a lease of another make');
  return lease.isValid;
}

/** The lease that all share who are in. */
export function leaseBehind(entry: ReentrantLease): Lease {
  if (!(entry instanceof OwnReentrantLease)) throw new Error('an entry of another make');
  return OwnReentrantLease.holdOf(entry).lease;
}

/** The lease under a leadership. */
export function leaseUnder(leadership: Leadership): Lease {
  const lease = OwnLeadership.leaseOf(leadership);
  if (lease === undefined) throw new Error('a leadership of another make');
  return lease;
}
