/** Leases and effects as the specs of the judge need them. */
import type { LeaseRecord } from '../../../examples/jobs/history.js';
import type { Effect, StaleEffect } from '../../../examples/jobs/ledger.js';

let count = 0;

/** Of job 0 and worker w1, granted at 0, valid to 1000, released at 100 after its effect, unless told otherwise. */
export function lease(differences: Partial<LeaseRecord> = {}): LeaseRecord {
  const grantedAtMs = differences.grantedAtMs ?? 0;
  return {
    id: `lease-${++count}`,
    worker: 'w1',
    job: 0,
    startedAtMs: grantedAtMs - 1,
    grantedAtMs,
    validUntilMs: grantedAtMs + 1_000,
    extensions: 0,
    endedAtMs: grantedAtMs + 100,
    outcome: 'done',
    warnedAtMs: undefined,
    ...differences,
  };
}

/** Under a lease, in the middle of it. */
export function effectOf(of: LeaseRecord, differences: Partial<Effect> = {}): Effect {
  const checkedAtMs = differences.checkedAtMs ?? of.grantedAtMs + 50;
  const { job, worker, id } = of;
  return { kind: 'effect', job, worker, claim: id, checkedAtMs, atMs: checkedAtMs + 1, ...differences };
}

export function staleOf({ job, worker, id }: LeaseRecord): StaleEffect {
  return { kind: 'stale', job, worker, claim: id, atMs: 2_000, code: 'LOCK_LOST' };
}
