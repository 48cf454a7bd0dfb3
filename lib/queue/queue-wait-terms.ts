/** What a wait in the queues needs, what it waits for, and how it may end. */
import type { QuorumParts } from '../quorum/parts.js';
import type { Node } from '../node/node.js';
import type { NodeTimeoutTerms } from '../protocol/node-timeout.js';
import type { Scope } from '../protocol/scope.js';
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
