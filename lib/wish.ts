/** What an acquisition is asked for, and what all of an instance share. */
import type { Admission } from './admission.js';
import type { Clock, Timers } from './clock.js';
import type { Contention } from './contention.js';
import type { Floor } from './floor.js';
import type { Node } from './node.js';
import type { Random } from './random.js';
import type { Repairs } from './repairs.js';
import type { Patience } from './retry.js';
import type { Scope } from './scope.js';
import type { Subscriptions } from './subscriptions.js';

/** What all acquisitions of an instance share. */
export interface Ground {
  readonly nodes: readonly Node[];
  /** The same nodes in an order on which clients agree that were given them in another one. */
  readonly nodesByName: readonly Node[];
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly repairs: Repairs;
  readonly floor: Floor;
  readonly subscriptions: Subscriptions;
  readonly contention: Contention;
  readonly admission: Admission;
  readonly driftFactor: number;
}

/** What one acquisition is asked for; times in milliseconds. */
export interface Wish extends Patience {
  readonly resources: readonly string[];
  readonly scope: Scope;
  readonly ttlMs: number;
  readonly nodeTimeoutMs: number;
  /** Waits in line. */
  readonly isFair: boolean;
}
