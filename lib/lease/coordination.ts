/** The parts of an instance, and what locks, elections and jobs need of it. */
import type { Cancellation } from '../runtime/cancellation.js';
import type { Coordinator } from '../coordinator/coordinator.js';
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

/** The same, and what locks, elections and jobs ask of an instance. */
export interface Coordination extends InstanceParts {
  notesOf(name: string, kind: NoteKind): Notes;
  /**
   * @param extras  `observer` follows the acquisition, in addition to the instance's listeners; `anonymous`: the caller does not
   *   read the holder's name in an error
   */
  acquire(
    names: readonly string[],
    kind: Kind,
    call: CallTerms,
    signal: AbortSignal | undefined,
    extras?: { readonly observer?: AcquisitionObserver | undefined; readonly anonymous?: true },
  ): Promise<Lease>;
  acquireToWrite(name: string, call: CallTerms, signal: AbortSignal | undefined): Promise<WriteLease>;
  inspect(name: string): Promise<Inspection>;
  inspectShared(name: string): Promise<SharedInspection>;
  /** A wait that `close` and the signal end. @throws RedlockError `CLOSED` */
  begin(signal: AbortSignal | undefined): Cancellation;
  end(cancellation: Cancellation): void;
}
