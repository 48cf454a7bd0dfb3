/** What is known about one master, without asking it. */
import type { Node } from './node.js';

/** What an instance knows about one master, without asking it. */
export interface NodeStats {
  /** The master, by host and port. */
  readonly node: string;
  /**
   * `ready`: connected, and answering as far as is known · `silent`: connected, but it did not answer in time ·
   * `disconnected`: without a connection, or not connected yet.
   */
  readonly state: 'ready' | 'silent' | 'disconnected';
  /**
   * The average of its latest round trips, or the time for which it has owed an answer, if that is longer: the value grows
   * while a master is stopped. Milliseconds; undefined before the first measurement, and without a connection.
   */
  readonly roundTripMs: number | undefined;
  /** How long it abstains, according to its last answer. Milliseconds; 0 if it does not. */
  readonly quarantinedMs: number;
  /** How many calls were sent to it. */
  readonly calls: number;
  /** How many requests those calls contained: one call may contain many. */
  readonly requests: number;
  /** How many requests it has not answered yet. */
  readonly inFlight: number;
  /** How many requests for it wait here, unsent. */
  readonly unsent: number;
}

export function statsOf(node: Node): NodeStats {
  const { name, quarantine, waiting, window } = node;
  return {
    node: name,
    state: stateOf(node),
    roundTripMs: roundTripOf(node),
    quarantinedMs: quarantine.remainingMs,
    calls: window.calls,
    requests: window.requests,
    inFlight: window.inFlight,
    unsent: waiting,
  };
}

/** Not only the average, which would stay the same while no answers come. Opens no connection. */
export function roundTripOf({ isReady, timing, window }: Node): number | undefined {
  const { meanMs } = timing.trip;
  if (meanMs === undefined || !isReady) return undefined;
  return Math.max(meanMs, timing.unansweredMs, window.silentForMs);
}

/** Opens no connection. */
export function stateOf({ isReady, window }: Node): NodeStats['state'] {
  if (!isReady) return 'disconnected';
  return window.isSilent ? 'silent' : 'ready';
}
