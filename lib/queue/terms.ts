/** Waiting in the queue: what it needs, and how it may end. */
import type { Answers, RoundFailure } from '../quorum/failure.js';
import type { Node } from '../node/node.js';
import type { Outcome } from '../protocol/quorum.js';
import type { Scope } from '../protocol/scope.js';
import type { Withdrawal } from '../quorum/withdrawal.js';
import type { DirectVote } from './direct-vote.js';
import type { QuorumParts } from '../quorum/parts.js';
import type { CallTerms } from '../protocol/terms.js';
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

/** One that waits: for what, on which terms of its call, and as whom. */
export interface Waiter extends Pick<CallTerms, 'ttlMs' | 'nodeTimeoutMs' | 'handOver'> {
  readonly scope: Scope;
  /** Of the claim that follows. */
  readonly token: string;
  /** In µs of the masters' time; lower ones are served first. Drawn once the masters' clocks are known. */
  readonly ticket: () => number;
  /** The wait ends at this instant. */
  readonly untilMs: number;
}

/** Called when a late answer may have left a place or a vote on a master. */
export type OnLatePlace = (node: Node) => void;

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
