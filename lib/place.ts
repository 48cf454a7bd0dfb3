/** How a waiter stands at one master. */
import type { Outcome } from './quorum.js';

/** The serial that names no reservation. */
export const NOBODY = 0;

export class Place {
  state: 'apart' | 'asked' | 'queued' | 'mine' | 'stranger' | 'failed' = 'apart';
  outcome: Outcome | undefined;
  /** Names the reservation that is there; 0 without one. */
  serial = NOBODY;
  /** The reservation that was given back last; serials are told apart, not compared: the master's clock may step. */
  yielded = NOBODY;
  /** The master's clock, in µs, when it refused last: a reservation from before that is gone. */
  refusedAtUs = 0;
  /** Somebody with an earlier ticket asked for this one. */
  inquired = NOBODY;
  /** When it is asked again, or its silence noticed. */
  dueAtMs = Infinity;
  sentAtMs = 0;
  unanswered = 0;
  isFollowed = false;
  wasSent = false;
}

/** Given back to one with an earlier ticket. */
export const YIELDED: Outcome = Object.freeze({
  kind: 'refused',
  remainingMs: undefined,
  isForeign: false,
  isStranger: false,
});

export function unknown(text: string): Outcome {
  return { kind: 'unknown', cause: new Error(text), isMisconfigured: false };
}
