/** What all observers of an instance share. */
import type { NamedNode } from '../protocol/tally.js';
import type { Clock } from '../runtime/clock.js';
import type { EventHub } from '../runtime/event-hub.js';
import type { Counts } from './counts.js';
import type { RedlockEvents } from './events.js';

export interface TelemetryParts {
  /** The `Redlock`. */
  readonly instance: object;
  readonly nodes: readonly NamedNode[];
  readonly clock: Clock;
  readonly events: EventHub<RedlockEvents>;
  readonly counts: Counts;
}
