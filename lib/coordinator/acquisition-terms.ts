/** The terms of one acquisition, and what all acquisitions of an instance share. */
import type { QueueParts } from '../queue/terms.js';
import type { Admission, Waiters } from './admission.js';
import type { RecentContention } from '../queue/recent-contention.js';
import type { ClockReadings } from '../quorum/clock-readings.js';
import type { Node } from '../node/node.js';
import type { Patience } from '../quorum/backoff.js';
import type { Scope } from '../protocol/scope.js';
import type { AcquisitionObserver } from '../telemetry/observer.js';

/** The parts of an instance: all acquisitions share them. */
export interface InstanceParts extends QueueParts {
  /** The nodes sorted by name: clients that list the masters in different orders agree on this one. */
  readonly nodesByName: readonly Node[];
  readonly readings: ClockReadings;
  readonly contention: RecentContention;
  readonly admission: Admission;
  readonly waiters: Waiters;
}

/** The terms of one acquisition; times in milliseconds. */
export interface AcquisitionTerms extends Patience {
  readonly resources: readonly string[];
  readonly scope: Scope;
  readonly ttlMs: number;
  /** 0 means the default: each attempt takes the one that applies when it begins. */
  readonly nodeTimeoutMs: number;
  /** It may wait in a queue. */
  readonly isFair: boolean;
  /** While it waits, votes are handed over to it as reservations only. */
  readonly onlyReserves: boolean;
  /** Undefined if nobody listens. */
  readonly observer: AcquisitionObserver | undefined;
}
