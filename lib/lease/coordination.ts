/** The parts of an instance, and what locks, elections and jobs need of it. */
import type { Cancellation } from '../runtime/cancellation.js';
import type { Coordinator } from '../coordinator/coordinator.js';
import type { OustTerms, Taken } from '../coordinator/ousting.js';
import type { Grant } from '../quorum/grant.js';
import type { Kind } from '../protocol/scope.js';
import type { CallTerms, InstanceTerms } from '../protocol/terms.js';
import type { HeldLeases } from './held-leases.js';
import type { Lease as OwnLease } from './lease.js';
import type { Inspection } from './inspection.js';
import type { Lease, WriteLease } from './public.js';
import type { SharedInspection } from './shared-inspection.js';
import type { Notes } from './notes.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import type { AcquisitionObserver } from '../telemetry/observer.js';
import type { Runtime } from '../runtime/clock.js';
import type { TimerCoalescer } from '../runtime/timer-coalescer.js';

/** The kind of a note: the value of a leader, or the record of a job. */
export type NoteKind = 'value' | 'record';

/**
 * The parts of an instance, for leases and all that is built on them. The timers are those of leases, which may differ from
 * the instance's.
 */
export interface InstanceParts extends Runtime {
  readonly terms: InstanceTerms;
  readonly coordinator: Coordinator;
  readonly telemetry: Telemetry;
  readonly held: HeldLeases;
  /** Where renewals wait for their turn. */
  readonly renewals: TimerCoalescer<OwnLease>;
}

/** What an acquisition has besides its options. */
export interface AcquireExtras {
  /** An election or a job, which follows its call, in addition to the instance's listeners. */
  readonly observer?: AcquisitionObserver | undefined;
  /** The caller does not read the holder's name in an error. */
  readonly anonymous?: true;
  /** Votes that were taken from a holder: it claims with these. */
  readonly taken?: Grant | undefined;
}

/** The same, and what locks, elections and jobs ask of an instance. */
export interface Coordination extends InstanceParts {
  notesOf(name: string, kind: NoteKind): Notes;
  acquire(
    names: readonly string[],
    kind: Kind,
    call: CallTerms,
    signal: AbortSignal | undefined,
    extras?: AcquireExtras,
  ): Promise<Lease>;
  acquireToWrite(
    name: string,
    call: CallTerms,
    signal: AbortSignal | undefined,
    extras?: AcquireExtras,
  ): Promise<WriteLease>;
  /** Takes a lock away from its holders. @throws RedlockError as `Redlock.steal` does */
  oust(
    name: string,
    kind: Kind,
    call: CallTerms,
    signal: AbortSignal | undefined,
    how: Omit<OustTerms, 'label'>,
  ): Promise<Taken>;
  inspect(name: string): Promise<Inspection>;
  inspectShared(name: string): Promise<SharedInspection>;
  /** A wait that `close` and the signal end. @throws RedlockError `CLOSED` */
  begin(signal: AbortSignal | undefined): Cancellation;
  end(cancellation: Cancellation): void;
}
