/** A call for a lease that is made in a routine under another lease. */
import type { Kind } from '../../protocol/scope.js';
import { fingerprint } from '../../redis/transport.js';
import type { DeadlockStep } from '../../runtime/deadlock.js';
import type { Linked } from '../../runtime/linked-list.js';
import type { AcquiredBy } from '../../telemetry/events.js';
import type { OwnWaiting } from './search.js';
import type { Flow } from './flows.js';
import { Lease } from '../lease.js';

/** How many routines around a call are looked at. */
const MOST_ROUTINES = 64;

/** What is asked for. */
export interface Wanted {
  readonly resources: readonly string[];
  readonly kind: Kind;
  readonly by: AcquiredBy;
}

/** A circle that was found once, through other instances. */
export interface Suspicion {
  readonly circle: string;
  /** How often each of the other instances had written its record by then. */
  readonly beats: ReadonlyMap<string, number>;
  /** How often it has been found since without a sign of life from all of them. */
  readonly silentFor: number;
}

export class NestedCall implements Linked<NestedCall> {
  previous: NestedCall | undefined;
  next: NestedCall | undefined;
  readonly wanted: Wanted;
  /** How many checks it has seen. */
  checks = 0;
  /** Whether it was found to have lasted for long: it may be in the record. */
  isLong = false;
  suspicion: Suspicion | undefined;
  /** The deadlock that it is in, as of the last check. */
  deadlock: readonly DeadlockStep[] | undefined;
  isReported = false;
  readonly number: number;
  readonly #flow: Flow;

  constructor(number: number, flow: Flow, wanted: Wanted) {
    this.number = number;
    this.#flow = flow;
    this.wanted = wanted;
  }

  /** @param id  the instance */
  waiting(id: string): OwnWaiting {
    const { kind, resources } = this.wanted;
    const leases = this.#leases();
    const holds = leases.map((lease) => ({ holder: fingerprint(lease.token), resources: lease.resources }));
    return { waiting: { id, call: this.number, holds, resources, kind }, leases };
  }

  /** What is still held of the routines around it, the innermost first. */
  #leases(): readonly Lease[] {
    const leases = new Set<Lease>();
    let flow: Flow | undefined = this.#flow;
    for (let i = 0; flow !== undefined && i < MOST_ROUTINES; i++) {
      const { lease } = flow;
      if (!flow.isOver && lease instanceof Lease && lease.status === 'held') leases.add(lease);
      flow = flow.outer;
    }
    return [...leases];
  }
}
