/** What has happened in an instance, and its present state: numbers only. */
import type { Coordinator } from './coordinator/coordinator.js';
import type { LeaseSource } from './lease-source.js';
import { type NodeStats, statsOf } from './node/node-stats.js';
import type { RedlockErrorCode } from './runtime/errors.js';
import type { Counts } from './telemetry/counts.js';

/** Counts of events since the instance was made. */
export interface RedlockCounts {
  /** Leases that were granted, without adopted ones. */
  readonly acquired: number;
  /** Leases that were adopted. */
  readonly adopted: number;
  /** Calls that were not granted at once, and waited. */
  readonly waited: number;
  /** Calls that ended without a lease, by the code of their error; `tryAcquire` that gave null is `LOCK_TAKEN`. */
  readonly failed: Readonly<Partial<Record<RedlockErrorCode, number>>>;
  /** Extensions that were confirmed: renewals, and calls of `extend`. */
  readonly renewed: number;
  /** Extensions that failed. Most are tried again. */
  readonly renewalsFailed: number;
  /** Leases that were lost. */
  readonly lost: number;
  /** Leases that were given back. */
  readonly released: number;
  /** Leases that were given away by `lease.giveAway()`. */
  readonly givenAway: number;
}

/** The counts and the present state of an instance: `redlock.stats()`. */
export interface RedlockStats {
  /** Since the instance was made. */
  readonly counts: RedlockCounts;
  /** Leases that are held now. One that ran out unwatched may count until that is noticed. */
  readonly held: number;
  /** Calls for a lease that are under way now. */
  readonly calls: number;
  /** Calls that wait for others, in a queue or between attempts: `maxWaiters` bounds them. */
  readonly waiting: number;
  /** Undos that masters have not confirmed yet, and that are tried again in the background. */
  readonly owedUndos: number;
  /** Master by master, in the order of the instance's clients. */
  readonly nodes: readonly NodeStats[];
}

export function readStats(counts: Counts, coordinator: Coordinator, source: LeaseSource): RedlockStats {
  const { acquired, adopted, failed, renewed, renewalsFailed, lost, released, givenAway } = counts;
  return {
    counts: {
      ...{ acquired, adopted, waited: coordinator.waited, failed: { ...failed } },
      ...{ renewed, renewalsFailed, lost, released, givenAway },
    },
    held: source.held.size,
    calls: source.calls,
    waiting: coordinator.waiting,
    owedUndos: coordinator.owed,
    nodes: coordinator.nodes.map(statsOf),
  };
}
