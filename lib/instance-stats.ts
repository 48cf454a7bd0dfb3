/** What has happened in an instance, and its present state: numbers only. */
import type { Coordinator } from './coordinator/coordinator.js';
import type { LeaseSource } from './lease-source.js';
import { type NodeStats, statsOf } from './node/node-stats.js';
import type { RedlockErrorCode } from './runtime/errors.js';
import type { Counts } from './telemetry/counts.js';

/** Counts of events since the instance was made. */
export interface RedlockCounts {
  /** Leases that were granted, except adopted ones. */
  readonly acquired: number;
  /** Of these, leases that got the lock from another lease of this instance, without a message. */
  readonly localHandOvers: number;
  /** Leases that were adopted. */
  readonly adopted: number;
  /** Calls that had to wait. */
  readonly waited: number;
  /** Calls that ended without a lease, by error code; a `tryAcquire` that returned null counts as `LOCK_TAKEN`. */
  readonly failed: Readonly<Partial<Record<RedlockErrorCode, number>>>;
  /** Extensions that were confirmed: renewals, and calls of `extend`. */
  readonly renewed: number;
  /** Extensions that failed. Most are retried. */
  readonly renewalsFailed: number;
  /** Leases that were lost. */
  readonly lost: number;
  /** Leases that were released. */
  readonly released: number;
  /** Leases that were given away by `lease.giveAway()`. */
  readonly givenAway: number;
}

/** The counts and the present state of an instance: `redlock.stats()`. */
export interface RedlockStats {
  /** Counts since the instance was made. */
  readonly counts: RedlockCounts;
  /** Leases that are held now. An expired lease that nothing watches may count for some time. */
  readonly held: number;
  /** Calls for a lease that are under way now. */
  readonly calls: number;
  /** Calls that wait now: for other calls of this instance, in a queue or between attempts. `maxWaiters` bounds them. */
  readonly waiting: number;
  /** Undos that masters have not confirmed yet; they are retried in the background. */
  readonly owedUndos: number;
  /** Master by master, in the order of the instance's clients. */
  readonly nodes: readonly NodeStats[];
}

export function readStats(counts: Counts, coordinator: Coordinator, source: LeaseSource): RedlockStats {
  const { acquired, localHandOvers, adopted, failed, renewed, renewalsFailed, lost, released, givenAway } =
    counts;
  return {
    counts: {
      ...{ acquired, localHandOvers, adopted, waited: coordinator.waited, failed: { ...failed } },
      ...{ renewed, renewalsFailed, lost, released, givenAway },
    },
    held: source.held.size,
    calls: source.calls,
    waiting: coordinator.waiting,
    owedUndos: coordinator.owed,
    nodes: coordinator.nodes.map(statsOf),
  };
}
