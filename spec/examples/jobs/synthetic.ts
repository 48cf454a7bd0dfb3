/** Leases and effects as the specs of the judge need them. */
import type { LeaseRecord } from '../../../examples/jobs/history.js';
import type { Effect, LedgerEntry } from '../../../examples/jobs/ledger.js';

let count = 0;

/**
 * Of job 0 and worker w1, granted at 0, valid to 1000, released at 100 after its effect, unless told otherwise. The fence
 * is 1 + the instant of the grant, so that it rises.
 */
export function lease(differences: Partial<LeaseRecord> = {}): LeaseRecord {
  const grantedAtMs = differences.grantedAtMs ?? 0;
  return {
    id: `lease-${++count}`,
    worker: 'w1',
    job: 0,
    fence: grantedAtMs + 1,
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

/** As it is sent: under a lease, in the middle of it. */
export function effectOf(of: LeaseRecord, differences: Partial<Effect> = {}): Effect {
  const checkedAtMs = differences.checkedAtMs ?? of.grantedAtMs + 50;
  const { job, worker, id: claim, fence } = of;
  return { job, worker, claim, fence, checkedAtMs, leaseSaid: 'held', atMs: checkedAtMs + 1, ...differences };
}

/** Sent at 2000, when the lease was lost. */
export function lateEffectOf(of: LeaseRecord, differences: Partial<Effect> = {}): Effect {
  return effectOf(of, { checkedAtMs: 2_000, leaseSaid: 'LOCK_LOST', ...differences });
}

export function accepted(effect: Effect): LedgerEntry {
  return { kind: 'effect', ...effect };
}

export function refused(effect: Effect): LedgerEntry {
  return { kind: 'stale', ...effect };
}
