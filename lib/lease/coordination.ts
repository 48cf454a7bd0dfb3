/** What elections and jobs need of the instance that they come from. */
import type { Cancellation } from '../runtime/cancellation.js';
import type { Coordinator } from '../coordinator/coordinator.js';
import type { InstanceTerms, ResolvedCall } from '../input/options.js';
import type { Lease } from './public.js';
import type { Notes } from './notes.js';
import type { AcquisitionObserver } from '../telemetry/observer.js';
import type { Runtime } from '../runtime/runtime.js';

/** Where a note stands: it is the value of a leader, or the record of a job. */
export type NoteKind = 'value' | 'record';

export interface Coordination extends Runtime {
  readonly terms: InstanceTerms;
  readonly coordinator: Coordinator;
  /** The node timeout of what begins now, for leases of that ttl. */
  nodeTimeoutFor(call: ResolvedCall): number;
  notesOf(name: string, kind: NoteKind): Notes;
  /** @param observer  hears how it goes on, beside those who listen to the instance */
  acquire(
    name: string,
    call: ResolvedCall,
    signal: AbortSignal | undefined,
    observer?: AcquisitionObserver,
  ): Promise<Lease>;
  /** Runs a routine under a lease, and releases what it was given. */
  run<Given extends { release(): Promise<void> }, T>(
    lease: Lease,
    given: Given,
    routine: (given: Given) => Promise<T> | T,
  ): Promise<T>;
  /** A wait that `close` and the signal end. @throws RedlockError `CLOSED` */
  begin(signal: AbortSignal | undefined): Cancellation;
  end(cancellation: Cancellation): void;
}
