/** The terms of one acquisition, and what all acquisitions share. */
import type { QueueParts } from '../queue/terms.js';
import type { Admission, Waiters } from './admission.js';
import type { ForeignClients } from './foreign-clients.js';
import type { LocalLines } from './local-lines.js';
import type { RecentContention } from '../queue/recent-contention.js';
import type { ClockReadings } from '../quorum/clock-readings.js';
import type { Node } from '../node/node.js';
import type { Scope } from '../protocol/scope.js';
import type { CallTerms } from '../protocol/terms.js';
import type { AcquisitionObserver } from '../telemetry/observer.js';

/** What asks masters, waits for them and limits what is under way: one of each per instance. */
export interface CoordinatorParts extends QueueParts {
  /** The nodes sorted by name: clients that list the masters in different orders agree on this one. */
  readonly nodesByName: readonly Node[];
  readonly readings: ClockReadings;
  readonly contention: RecentContention;
  readonly admission: Admission;
  readonly waiters: Waiters;
  readonly local: LocalLines;
  readonly foreign: ForeignClients;
}

/**
 * One acquisition: of what, and on which terms of its call; `fair` only if it can wait in a queue, `localTurns` only if it may wait
 * in a local line.
 */
export interface AcquisitionTerms extends Omit<CallTerms, 'by' | 'fencing' | 'renew' | 'maxHoldMs' | 'note'> {
  readonly resources: readonly string[];
  readonly scope: Scope;
  /** Of votes that it has: the first attempt claims with these. */
  readonly token?: string | undefined;
  /** Undefined if nobody listens. */
  readonly observer: AcquisitionObserver | undefined;
}
