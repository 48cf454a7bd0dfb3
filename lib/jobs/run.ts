/** What a routine is given: the lease that it runs under, as far as it needs it. */
import type { Lease } from '../lease/public.js';
import type { JobRun } from './public.js';

export function runOf(lease: Lease, scheduledAt: JobRun['scheduledAt']): JobRun {
  const { signal, fence = 0 } = lease;
  return { signal, fence, scheduledAt, remainingMs: () => lease.remainingMs() };
}
