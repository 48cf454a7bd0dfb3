/**
 * What instances publish about themselves: a label, a host and counts. Nothing publishes it yet, so the dashboard has no such
 * reader, and names instances by the public part of their tokens.
 */
import type { InstanceShown } from './public.js';
import type { LockRead } from './reading.js';

/** What the instances behind these holders and waiters have published, by the public part of their tokens. */
export type InstanceReader = (
  reads: readonly ReadonlyMap<string, LockRead>[],
) => Promise<ReadonlyMap<string, Omit<InstanceShown, 'client'>>>;
