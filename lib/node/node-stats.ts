/** What is known of one master, without asking it. */
import type { Node } from './node.js';

/** What an instance knows of one master, without asking it. */
export interface NodeStats {
  /** The master, by host and port. */
  readonly node: string;
  /**
   * `ready`: connected, and answering as far as is known · `silent`: connected, and attempts gave up waiting for its
   * answers · `disconnected`: there is no connection, or not yet.
   */
  readonly state: 'ready' | 'silent' | 'disconnected';
  /** Its round trip, averaged over the latest that were measured. Milliseconds; undefined before the first. */
  readonly roundTripMs: number | undefined;
  /** For how long it abstains, by what it last said. Milliseconds; 0 where it does not. */
  readonly quarantinedMs: number;
  /** How many calls it was sent so far. */
  readonly calls: number;
  /** How many requests those calls had: one call may carry many. */
  readonly requests: number;
  /** How many requests it has not answered yet. */
  readonly inFlight: number;
  /** How many requests wait here, unsent. */
  readonly unsent: number;
}

export function statsOf(node: Node): NodeStats {
  const { name, quarantine, timing, waiting, window } = node;
  return {
    node: name,
    state: stateOf(node),
    roundTripMs: timing.trip.meanMs,
    quarantinedMs: quarantine.remainingMs,
    calls: window.calls,
    requests: window.requests,
    inFlight: window.inFlight,
    unsent: waiting,
  };
}

/** Connects nothing. */
export function stateOf({ isReady, window }: Node): NodeStats['state'] {
  if (!isReady) return 'disconnected';
  return window.isSilent ? 'silent' : 'ready';
}
