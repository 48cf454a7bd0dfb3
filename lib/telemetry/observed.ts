/** What all observers of an instance share. */
import type { NamedNode } from '../protocol/tally.js';
import type { Clock } from '../runtime/clock.js';
import type { Counts } from './counts.js';
import type { EventHub } from './event-hub.js';

export interface Observed {
  /** The `Redlock`. */
  readonly instance: object;
  readonly nodes: readonly NamedNode[];
  readonly clock: Clock;
  readonly events: EventHub;
  readonly counts: Counts;
}
