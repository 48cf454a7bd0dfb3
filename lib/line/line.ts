/** Waiting one's turn: what an acquisition needs of it, whatever kind of lock it waits for. */
import type { Answers, RoundFailure } from '../quorum/failure.js';
import type { CounterFloor } from '../quorum/counter-floor.js';
import type { Grant } from '../quorum/grant.js';
import type { Withdrawn } from '../node/node.js';
import type { Watch } from '../protocol/operation.js';
import type { Outcome } from '../protocol/quorum.js';
import type { Request } from '../protocol/request.js';
import type { Scope } from '../protocol/scope.js';
import type { Repairs } from '../quorum/repairs.js';
import type { Round } from '../quorum/round.js';
import type { Withdrawal } from '../quorum/withdrawal.js';
import type { QueueEnvironment, QueueWaitEnd } from './queue-wait.js';

/** What lines need of an instance. */
export interface LineEnvironment extends QueueEnvironment {
  readonly repairs: Repairs;
  readonly floor: CounterFloor;
  readonly driftFactor: number;
}

/** What is waited for; times in ms. */
export interface LineTerms {
  readonly scope: Scope;
  readonly ttlMs: number;
  readonly nodeTimeoutMs: number;
}

/** How one acquisition waits its turn. It is kept over attempts, those between that do not wait included. */
export interface Line {
  /** It keeps its place until it leaves: the next attempt waits in line, too. */
  readonly hasPlace: boolean;
  /** Masters may keep others out for it. */
  readonly isWatched: boolean;
  /** Nobody was before it. */
  readonly wasFree: boolean;
  /** For the attempt under way, any master may keep a place or a vote. */
  readonly isSpread: boolean;
  /** What the attempt under way sent while it waited: what takes it back has to follow that. */
  readonly sent: readonly Withdrawn[];

  /** Resolves when it may claim (`reserved`), or the wait is over otherwise. @param ticket  drawn once, in µs of the masters' time */
  wait(ticket: () => number, untilMs: number): Promise<QueueWaitEnd>;
  /** Ends that wait from outside. Places and votes stay. */
  end(): void;
  /** The claim in its turn. */
  claim(sentAtMs: number): Request;
  /** How a claim makes itself the next one. @param isOnce  it does not try again, or waits in line if it has to */
  watch(isOnce: () => boolean): Watch | undefined;

  /** An attempt begins that does not wait in line. */
  stepAside(): void;
  /** The votes for a claim are counted. */
  claimed(round: Round): void;
  /** A claim was granted. */
  granted(grant: Grant): void;
  /** A claim came to nothing, and is about to be taken back. */
  failed(): void;
  /** It is taken back, and the masters have told why it came to nothing. */
  refused(round: Round): void;

  /** Leaves the line without a turn. */
  depart(end: QueueWaitEnd): Departure;
  /** The acquisition is over. */
  leave(): void;
}

/** Leaving the line without a turn: what is to be done, and what it told. */
export interface Departure {
  /** Gives up places and votes; not sent yet. */
  readonly withdrawal: Withdrawal;
  /** What the withdrawal sees is what an error will report: it is worth waiting for. */
  readonly looks: boolean;
  /** A client holds the lock that hands over to nobody. */
  readonly isForeignClient: boolean;
  /** The masters were not asked for the lock itself: they have to be, once more. */
  readonly isUnasked: boolean;
  /** How the masters stand; `isOfLock` if that is about the lock and not about the line. @param seen  by the withdrawal */
  standing(seen: readonly (Outcome | undefined)[] | undefined): Standing | undefined;
}

export interface Standing extends Answers {
  readonly failure: RoundFailure;
  readonly isOfLock: boolean;
}
