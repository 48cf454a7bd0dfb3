/** What is known about one master, without asking it. */
import type { Node } from './node.js';

/** What an instance knows about one master, without asking it. */
export interface NodeStats {
  /** The master, by host and port. */
  readonly node: string;
  /**
   * `ready`: connected, and answering as far as is known · `silent`: connected, but attempts gave up waiting for its answers
   * · `disconnected`: it has no connection, or not yet.
   */
  readonly state: 'ready' | 'silent' | 'disconnected';
  /**
   * Its round trip, averaged over the latest measurements; or the time for which it has owed an answer, once that is longer:
   * so it grows while a master is stopped. Milliseconds; undefined before the first measurement, and without a connection.
   */
  readonly roundTripMs: number | undefined;
  /** For how long it abstains, according to its last answer. Milliseconds; 0 if it does not. */
  readonly quarantinedMs: number;
  /** How many calls it has been sent. */
  readonly calls: number;
  /** How many requests those calls had: one call may carry many. */
  readonly requests: number;
  /** How many requests it has not answered yet. */
  readonly inFlight: number;
  /** How many requests wait here, unsent. */
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
