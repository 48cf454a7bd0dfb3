/** What elections and jobs need from their instance. */
import type { Cancellation } from '../runtime/cancellation.js';
import type { Coordinator } from '../coordinator/coordinator.js';
import type { CallTerms, InstanceTerms } from '../protocol/terms.js';
import type { Lease } from './public.js';
import type { Notes } from './notes.js';
import type { AcquisitionObserver } from '../telemetry/observer.js';
import type { Runtime } from '../runtime/clock.js';

/** The kind of a note: the value of a leader, or the record of a job. */
export type NoteKind = 'value' | 'record';

export interface Coordination extends Runtime {
  readonly terms: InstanceTerms;
  readonly coordinator: Coordinator;
  /** The node timeout of what begins now, for leases of that ttl. */
  nodeTimeoutFor(call: CallTerms): number;
  notesOf(name: string, kind: NoteKind): Notes;
  /** @param observer  follows the acquisition, in addition to the instance's listeners */
  acquire(
    name: string,
    call: CallTerms,
    signal: AbortSignal | undefined,
    observer?: AcquisitionObserver,
  ): Promise<Lease>;
  /** Runs a routine under a lease, and then releases `given`. */
  run<Given extends { release(): Promise<void> }, T>(
    lease: Lease,
    given: Given,
    routine: (given: Given) => Promise<T> | T,
  ): Promise<T>;
  /** A wait that `close` and the signal end. @throws RedlockError `CLOSED` */
  begin(signal: AbortSignal | undefined): Cancellation;
  end(cancellation: Cancellation): void;
}
