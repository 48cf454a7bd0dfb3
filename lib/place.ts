/** How a waiter stands at one master. */
import type { Outcome } from './quorum.js';

/** The serial that names no reservation. */
export const NOBODY = 0;

export class Place {
  state: 'apart' | 'asked' | 'queued' | 'mine' | 'stranger' | 'failed' = 'apart';
  outcome: Outcome | undefined;
  /** Names the reservation that is there; 0 without one. */
  serial = NOBODY;
  /** The reservation that was given back last: what is told of it afterwards is stale. */
  yielded = NOBODY;
  /**
   * The master's clock, in µs, when it refused last. Serials are made of that clock: one from before the refusal is gone.
   * Where the clock steps back, a reservation may be overlooked so; it runs out.
   */
  refusedAtUs = 0;
  /** Somebody with an earlier ticket asked for this one. */
  inquired = NOBODY;
  /** When it is asked again, or its silence noticed. */
  dueAtMs = Infinity;
  sentAtMs = 0;
  /** A request is under way, and its reply waited for. */
  isAwaited = false;
  /** What was sent may still be carried out: whoever takes the place back has to follow it. */
  isUnanswered = false;
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

/** Who is first in line, and not told of anything, looks again after so long; the second after twice as long, and so on. */
const POLL_MS = 2_000;
const SLOWEST_POLL_MS = 15_000;
/** A lock that a stranger holds is looked at so often at least: nobody will tell. */
const STRANGER_POLL_MS = 250;

/** After how long a refusal is followed by another look. @param rank  how many wait before */
export function pollMs(rank: number, isStranger: boolean): number {
  return isStranger ? STRANGER_POLL_MS : Math.min(POLL_MS * (rank + 1), SLOWEST_POLL_MS);
}
