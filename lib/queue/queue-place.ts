/** One waiter's place in the queue of one master. */
import type { DirectVote } from './direct-vote.js';
import type { Sink } from '../node/node.js';
import type { Outcome } from '../protocol/quorum.js';
import { IGNORED_ANSWER } from '../node/sink.js';

/** The serial for "no vote". */
const NOBODY = 0;

/** A hand-over that has to be claimed: no vote yet. */
const RESERVATION: DirectVote = Object.freeze({ validUntilMs: -Infinity, fence: 0, slots: '' });

/** What the waiter has at the master. */
type State =
  /** Not asked yet, or not answered. */
  | { readonly kind: 'open'; readonly outcome: Outcome | undefined; readonly vote?: undefined }
  | { readonly kind: 'queued' | 'foreign-client'; readonly outcome: Outcome; readonly vote?: undefined }
  /** The vote of the hand-over with this serial. */
  | { readonly kind: 'mine'; readonly outcome: Outcome; readonly serial: number; readonly vote: DirectVote }
  /** It takes no part for now. */
  | { readonly kind: 'failed'; readonly outcome: Outcome; readonly vote?: undefined };

const OPEN: State = { kind: 'open', outcome: undefined };

export class QueuePlace {
  #state = OPEN;
  /** The last hand-over that was yielded: messages about it, or an earlier one, are stale. */
  yielded = NOBODY;
  /** The sink that waits for the answer to that yield; undefined once it has arrived or cannot arrive any more. */
  yielding: Sink | undefined;
  /**
   * The master's clock at its last refusal, in µs. Serials come from that clock, so a vote with a lower one is
   * gone. If the clock steps back, a new vote may be taken for an old one; it is given back, or expires.
   */
  refusedAtUs = 0;
  /** The serial of the hand-over that a waiter with an earlier ticket asked for. */
  inquired = NOBODY;
  /** The last hand-over whose key was to rest for the holder of the lock. */
  rested = NOBODY;
  /** When the holder of the lock asked for that; −∞ if it need not be remembered. */
  askedAtMs = -Infinity;
  /** When to ask the master again, or to notice its silence. */
  dueAtMs = Infinity;
  sentAtMs = 0;
  /** When the vote of another should be free, as far as is known. */
  freeAtMs = Infinity;
  /** A request is in flight, and its reply is awaited. */
  isAwaited = false;

  get state(): State['kind'] {
    return this.#state.kind;
  }

  get outcome(): Outcome | undefined {
    return this.#state.outcome;
  }

  /** The serial of the hand-over that it has; 0 without one. */
  get serial(): number {
    return this.#state.kind === 'mine' ? this.#state.serial : NOBODY;
  }

  /** Undefined without a hand-over. */
  get vote(): DirectVote | undefined {
    return this.#state.vote;
  }

  /** A request is sent; it waits for the reply for one node timeout. */
  asks(nowMs: number, nodeTimeoutMs: number): void {
    if (this.#state.kind === 'failed') this.#state = { kind: 'open', outcome: this.#state.outcome };
    this.sentAtMs = nowMs;
    this.dueAtMs = nowMs + nodeTimeoutMs;
    this.isAwaited = true;
  }

  /** It has the vote of this hand-over. A vote that it already knows never gets shorter. */
  has(serial: number, vote: DirectVote = RESERVATION): void {
    const known = (serial <= this.serial ? this.vote : undefined) ?? RESERVATION;
    const longest = {
      validUntilMs: Math.max(known.validUntilMs, vote.validUntilMs),
      fence: Math.max(known.fence, vote.fence),
      slots: vote.slots === '' ? known.slots : vote.slots,
    };
    this.#state = { kind: 'mine', outcome: GRANTED, serial, vote: longest };
  }

  /** It takes no part until then. */
  shelve(outcome: Outcome, untilMs: number): void {
    this.#state = { kind: 'failed', outcome };
    this.dueAtMs = untilMs;
  }

  /** The vote is given back, and the place is queued again. */
  giveBack(dueAtMs: number): void {
    this.queues(YIELDED);
    this.dueAtMs = dueAtMs;
  }

  /** It has no vote. */
  queues(outcome: Outcome, kind: 'queued' | 'foreign-client' = 'queued'): void {
    this.#state = { kind, outcome };
  }

  /** Notes that a yield is in flight from now on. @returns the sink for its answer */
  yields(serial: number): Sink {
    this.yielded = Math.max(this.yielded, serial);
    const answered = (): void => {
      if (this.yielding === sink) this.yielding = undefined;
    };
    const sink: Sink = { ...IGNORED_ANSWER, onReply: answered, onFailure: answered };
    this.yielding = sink;
    return sink;
  }
}

const GRANTED: Outcome = Object.freeze({ kind: 'granted', fence: 0, clockUs: 0 });

/** The vote was given back for an earlier ticket. */
const YIELDED: Outcome = Object.freeze({
  kind: 'refused',
  remainingMs: undefined,
  isWrongType: false,
  isForeignClient: false,
});

/** Without a push, the first in the queue looks again after this time, the second after twice this time, and so on. */
const POLL_MS = 2_000;
const SLOWEST_POLL_MS = 15_000;
/** The longest time between two looks at a lock that a foreign client holds: its release sends no push. */
export const FOREIGN_CLIENT_POLL_MS = 250;

/** How long after a refusal the master is asked again. @param rank  how many waiters are ahead */
export function pollMs(rank: number, isForeignClient: boolean): number {
  return isForeignClient ? FOREIGN_CLIENT_POLL_MS : Math.min(POLL_MS * (rank + 1), SLOWEST_POLL_MS);
}

/** How long after the waiter ahead each waiter looks when a vote should be free, so that the first one alive comes first. */
const STAGGER_MS = 3;
/** However many are ahead, a look is no later than twice this; it is at random from this on, so that not all come at once. */
const MOST_STAGGER_MS = 70;
/**
 * If the vote was renewed, its owner is alive, and a waiter pauses this long for each waiter that is ahead: so not all of them
 * look between two renewals of a short ttl.
 */
const PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 500;

/** What a refusal shows; times are from now on. */
interface Refused {
  /** How many waiters are ahead. */
  readonly rank: number;
  /** The vote is free by then, unless it is renewed. */
  readonly freeInMs: number;
  /** The wait without a push. */
  readonly pollInMs: number;
  /** The vote will be free later than was known before. */
  readonly isRenewed: boolean;
}

/**
 * How long after a refusal a waiter looks again. When the vote may be free, every waiter looks, whatever its rank: all
 * waiters ahead may be dead, and so may the holder. A poll that would come shortly before that instant waits for it, or the
 * next look would come too late.
 * @param fraction  at random
 */
export function lookAgainMs(refused: Refused, fraction: number): number {
  const { freeInMs, isRenewed, pollInMs, rank } = refused;
  const staggerMs = Math.min(rank * STAGGER_MS, MOST_STAGGER_MS) * (1 + fraction);
  const pauseMs = Math.min(rank * PAUSE_MS, LONGEST_PAUSE_MS);
  const dueInMs = Math.max(freeInMs + staggerMs, isRenewed ? pauseMs : 0);
  return dueInMs <= pollInMs + pauseMs ? dueInMs : pollInMs;
}

/** A place lives no longer than this without being renewed. */
export const LONGEST_LIFE_MS = 60_000;
/** A place outlives the wait by this margin, so that it does not expire before its owner has left. */
export const LIFE_MARGIN_MS = 1_000;

/** How long a place is kept, in whole ms. @param leftMs  of the wait */
export function placeLifeMs(leftMs: number): number {
  return Math.ceil(Math.min(Math.max(leftMs, 0) + LIFE_MARGIN_MS, LONGEST_LIFE_MS));
}
