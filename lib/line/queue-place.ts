/** How a waiter stands at one master. */
import type { Sink } from '../node/node.js';
import type { Outcome } from '../protocol/quorum.js';
import { IGNORED_ANSWER } from '../node/unanswered.js';

/** The serial that names no reservation. */
export const NOBODY = 0;

export class QueuePlace {
  state: 'apart' | 'asked' | 'queued' | 'mine' | 'foreign-client' | 'failed' = 'apart';
  outcome: Outcome | undefined;
  /** Names the reservation that is there; 0 without one. */
  serial = NOBODY;
  /** The reservation that was given back last: what is told of it afterwards is stale. */
  yielded = NOBODY;
  /** Who waits for the answer to the yield of that one; undefined once there is one, or there will be none. */
  yielding: Sink | undefined;
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

  /** It takes no part until then. */
  shelve(outcome: Outcome, untilMs: number): void {
    this.outcome = outcome;
    this.state = 'failed';
    this.serial = NOBODY;
    this.dueAtMs = untilMs;
  }

  /** What was reserved is given back, and it waits again. */
  giveBack(dueAtMs: number): void {
    this.serial = NOBODY;
    this.state = 'queued';
    this.outcome = YIELDED;
    this.dueAtMs = dueAtMs;
  }

  /** Notes a yield, which is unanswered from here on. @returns who waits for the answer */
  yields(serial: number): Sink {
    this.yielded = serial;
    const answered = (): void => {
      if (this.yielding === sink) this.yielding = undefined;
    };
    const sink: Sink = { ...IGNORED_ANSWER, onReply: answered, onFailure: answered };
    this.yielding = sink;
    return sink;
  }
}

/** Given back to one with an earlier ticket. */
const YIELDED: Outcome = Object.freeze({
  kind: 'refused',
  remainingMs: undefined,
  isWrongType: false,
  isForeignClient: false,
});

/** Who is first in line, and not told of anything, looks again after so long; the second after twice as long, and so on. */
const POLL_MS = 2_000;
const SLOWEST_POLL_MS = 15_000;
/** A lock that a foreign client holds is looked at so often at least: nobody will tell. */
export const FOREIGN_CLIENT_POLL_MS = 250;

/** After how long a refusal is followed by another look. @param rank  how many wait before */
export function pollMs(rank: number, isForeignClient: boolean): number {
  return isForeignClient ? FOREIGN_CLIENT_POLL_MS : Math.min(POLL_MS * (rank + 1), SLOWEST_POLL_MS);
}
