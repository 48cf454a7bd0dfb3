/** One waiter's place in the queue of one master. */
import type { Sink } from '../node/node.js';
import type { Outcome } from '../protocol/quorum.js';
import { IGNORED_ANSWER } from '../node/unanswered.js';

/** The serial for "no reservation". */
export const NOBODY = 0;

export class QueuePlace {
  /** `open`: not asked yet, or not answered. `failed`: it takes no part for now. */
  state: 'open' | 'queued' | 'mine' | 'foreign-client' | 'failed' = 'open';
  outcome: Outcome | undefined;
  /** The serial of the current reservation; 0 without one. */
  serial = NOBODY;
  /** The reservation that was yielded last: messages about it are stale from then on. */
  yielded = NOBODY;
  /** The sink that waits for the answer to that yield; undefined once it has arrived or cannot arrive any more. */
  yielding: Sink | undefined;
  /**
   * The master's clock at its last refusal, in µs. Serials come from that clock, so a reservation with a lower one is
   * gone. If the clock steps back, a new reservation may be taken for an old one; it expires.
   */
  refusedAtUs = 0;
  /** The serial of the reservation that a waiter with an earlier ticket asked for. */
  inquired = NOBODY;
  /** When the master is asked again, or its silence is noticed. */
  dueAtMs = Infinity;
  sentAtMs = 0;
  /** A request is in flight, and its reply is awaited. */
  isAwaited = false;

  /** A request is sent; its reply is awaited for so long. */
  asks(nowMs: number, nodeTimeoutMs: number): void {
    if (this.state === 'failed') this.state = 'open';
    this.sentAtMs = nowMs;
    this.dueAtMs = nowMs + nodeTimeoutMs;
    this.isAwaited = true;
  }

  /** Takes no part until then. */
  shelve(outcome: Outcome, untilMs: number): void {
    this.outcome = outcome;
    this.state = 'failed';
    this.serial = NOBODY;
    this.dueAtMs = untilMs;
  }

  /** The reservation is given back, and the place is queued again. */
  giveBack(dueAtMs: number): void {
    this.serial = NOBODY;
    this.state = 'queued';
    this.outcome = YIELDED;
    this.dueAtMs = dueAtMs;
  }

  /** Notes that a yield is sent, and in flight from now on. @returns the sink for its answer */
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

/** Given back for an earlier ticket. */
const YIELDED: Outcome = Object.freeze({
  kind: 'refused',
  remainingMs: undefined,
  isWrongType: false,
  isForeignClient: false,
});

/** Without a push, the first in the queue looks again after this time, the second after twice this time, and so on. */
const POLL_MS = 2_000;
const SLOWEST_POLL_MS = 15_000;
/** A lock held by a foreign client is looked at at least this often: its release sends no push. */
export const FOREIGN_CLIENT_POLL_MS = 250;

/** How long after a refusal the master is asked again. @param rank  how many waiters are ahead */
export function pollMs(rank: number, isForeignClient: boolean): number {
  return isForeignClient ? FOREIGN_CLIENT_POLL_MS : Math.min(POLL_MS * (rank + 1), SLOWEST_POLL_MS);
}
