/**
 * Waiting in the queue: what it needs, how it may end, and the interface that an acquisition uses for both ways of waiting,
 * `MutexQueue` and `SharedQueue`.
 */
import type { Answers, RoundFailure } from '../quorum/failure.js';
import type { Grant } from '../quorum/grant.js';
import type { Withdrawn, Node } from '../node/node.js';
import type { Watch } from '../protocol/operation.js';
import type { Outcome } from '../protocol/quorum.js';
import type { Request } from '../protocol/request.js';
import type { Scope } from '../protocol/scope.js';
import type { Round } from '../quorum/round.js';
import type { Withdrawal } from '../quorum/withdrawal.js';
import type { DirectVote } from './direct-vote.js';
import type { QuorumParts } from '../quorum/parts.js';
import type { NodeTimeoutTerms } from '../protocol/node-timeout.js';
import type { Subscriptions } from './subscriptions.js';

/**
 * `granted`: it has the lock (`vote` says for how long) · `reserved`: a quorum of masters has handed its votes over, and a
 * claim has to follow · `foreign-client`: the client that holds the lock does not hand over · `hopeless`: too few masters
 * take part · `ended`: by the caller.
 */
export type QueueWaitEnd = 'granted' | 'reserved' | 'foreign-client' | 'hopeless' | 'ended';

/** The parts of an instance that waiting needs. */
export interface QueueParts extends QuorumParts {
  readonly subscriptions: Subscriptions;
}

export interface QueueWaitTerms extends NodeTimeoutTerms {
  /** Of one key. */
  readonly scope: Scope;
  readonly token: string;
  /** The ttl of votes that are handed over directly, in ms; 0: they are only reserved. */
  readonly directTtlMs: number;
  /** In µs of the masters' time; lower ones are served first. Drawn once the masters' clocks are known. */
  readonly ticket: () => number;
  /** The wait ends at this instant. */
  readonly untilMs: number;
  /**
   * If undefined, the wait is over as soon as a quorum of masters has handed its votes over. Otherwise these votes are kept
   * until `end`, and this is called when a master says that a refused claim could succeed now.
   */
  readonly onFree: ((node: Node) => void) | undefined;
}

/** Called when a late answer may have left a place or a vote on a master. */
export type OnLatePlace = (node: Node) => void;

/** What the acquisition waits for; times in ms. */
export interface QueueTerms {
  readonly scope: Scope;
  readonly ttlMs: number;
  /** 0 means the default. */
  readonly nodeTimeoutMs: number;
  /** Whether votes are handed over to it as reservations only. */
  readonly onlyReserves: boolean;
}

/** How one acquisition waits. It is kept for all attempts, including those between that do not queue. */
export interface Queue {
  /** It keeps its place until it leaves: the next attempt queues, too. */
  readonly hasPlace: boolean;
  /** Masters may keep others out for it: they watch for its claim. */
  readonly isWatched: boolean;
  /** It did not have to wait: every master gave its vote at once. */
  readonly wasFree: boolean;
  /** Every master may keep a place or a vote of the attempt under way. */
  readonly isSpread: boolean;
  /** Requests that the attempt under way sent while it waited. Its undo has to follow them. */
  readonly sent: readonly Withdrawn[];

  /**
   * Resolves with `reserved` when it is time to claim, with `granted` if `won` is the lease, else with the way the wait ended.
   * @param ticket  drawn once, in µs of the masters' time
   */
  wait(ticket: () => number, untilMs: number): Promise<QueueWaitEnd>;
  /** Ends that wait from outside. Places and votes stay. */
  end(): void;
  /** The lease that was handed over, if the wait ended with `granted`. */
  readonly won: Won | undefined;
  /** The claim to send when it is its turn. */
  claim(): Request;
  /** The watch that a claim outside the queue asks for. @param isOnce  whether this is the last attempt, or the next one queues */
  watch(isOnce: () => boolean): Watch | undefined;

  /** An attempt begins that does not queue. */
  stepAside(): void;
  /** The votes for a claim have been counted. */
  claimed(round: Round): void;
  /** A claim was granted. */
  granted(grant: Grant): void;
  /** A claim failed, and is about to be undone. */
  failed(): void;
  /** The claim has been undone, and the masters have said why they refused it. */
  refused(round: Round): void;

  /** Leaves the queue without a claim. */
  depart(end: QueueWaitEnd): Departure;
  /** The acquisition is over. */
  leave(): void;
}

/** A lease that was handed over. */
export interface Won extends DirectVote, Answers {
  readonly token: string;
}

/** How to leave the queue without a claim, and what the wait has learned. */
export interface Departure {
  /** Gives up places and votes; not sent yet. */
  readonly withdrawal: Withdrawal;
  /** The withdrawal's view of the masters goes into the error, so it is worth waiting for. */
  readonly looks: boolean;
  /** The client that holds the lock does not hand over. */
  readonly isForeignClient: boolean;
  /** The masters have not been asked for the lock itself: one more attempt has to ask them. */
  readonly isUnasked: boolean;
  /** The masters' outcomes; `isOfLock` if they are about the lock, not about the queue. @param seen  by the withdrawal */
  standing(seen: readonly (Outcome | undefined)[] | undefined): Standing | undefined;
}

export interface Standing extends Answers {
  readonly failure: RoundFailure;
  readonly isOfLock: boolean;
}
