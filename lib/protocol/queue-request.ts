/** Requests of waiters in the masters' queues (protocols C1 and C3). */
import { QUEUEING, YIELDING } from './mutex-operations.js';
import { QUEUEING_SHARED, YIELDING_SHARED } from './shared-operations.js';
import { type Proposal, Request } from './request.js';
import { MUTEX, NO_MARKER, READ, type Scope, type Setting, SettledScope } from './scope.js';

const WITHOUT_MARKER: Setting = Object.freeze({
  isFenced: false,
  marker: undefined,
  guardMs: NO_MARKER,
  kind: MUTEX,
});

/** What a look asks for, and the place that it takes in the queue. */
export interface Look {
  /** In whole µs of the masters' time: earlier tickets come first. */
  readonly ticket: number;
  /** How long the place is kept, in whole ms. */
  readonly lifeMs: number;
  /** An instant before the look is sent, by the client's clock: validity is measured from here. In ms. */
  readonly sentAtMs: number;
  /** The ttl of the vote; 0 asks for a reservation only. */
  readonly ttlMs: number;
  readonly proposal: Proposal;
}

/**
 * Looks at one resource: claims its vote if it is free, or takes a place in its queue if another client holds it.
 * `readQueueReply` reads the rest of the reply. The client has to be subscribed to the token's channel. If the vote is
 * handed over later, the push is the answer to this look.
 */
export function queueing(scope: Scope, token: string, look: Look): Request {
  const { lifeMs, proposal, sentAtMs, ticket, ttlMs } = look;
  const place = [ticket, lifeMs, Math.max(0, Math.floor(sentAtMs))].join('|');
  const amount = scope.isFenced && ttlMs > 0 ? proposal : 0;
  const operation = scope.kind.name === 'mutex' ? QUEUEING : QUEUEING_SHARED;
  return new Request(operation, scope, token, { ttlMs, withCounters: true, amount }, { place });
}

/** A hand-over that is given back, and the place that the waiter takes instead. */
export interface Yielded extends Pick<Look, 'ticket' | 'lifeMs'> {
  /** Names the hand-over: if it is no longer the current one, nothing changes. */
  readonly serial: number;
  /** For the client that the lock is handed to. */
  readonly proposal: Proposal;
  /** The key rests for the holder of the lock, and is handed to nobody (protocol C3a). */
  readonly rests?: boolean;
}

/**
 * Yields a handed-over vote to an earlier ticket, and queues again with the same ticket. It may be sent again at any time:
 * once the vote is given back, it does nothing.
 */
export function yielding(scope: Scope, token: string, yielded: Yielded): Request {
  const { lifeMs, proposal, rests, serial, ticket } = yielded;
  const place = [serial, ticket, lifeMs, ...(rests === true ? [1] : [])].join('|');
  const operation = scope.kind.name === 'mutex' ? YIELDING : YIELDING_SHARED;
  return new Request(operation, scope, token, { ttlMs: 0, withCounters: true, amount: proposal }, { place });
}

/** A vote that was handed over to a token that has left. */
export interface Declined {
  readonly key: string;
  readonly token: string;
  readonly serial: number;
  /** Of a read-write lock or a semaphore. */
  readonly isShared: boolean;
}

/** Declines it; a vote that was claimed stays. */
export function declining({ isShared, key, serial, token }: Declined, proposal: Proposal): Request {
  const scope = new SettledScope([key], { ...WITHOUT_MARKER, kind: isShared ? READ : MUTEX });
  return yielding(scope, token, { serial, ticket: 0, lifeMs: 0, proposal });
}
