/** Requests of waiters in the masters' queues (protocol C1). */
import { readCount, readQueued } from './replies.js';
import { lone, type Request } from './request.js';
import { MUTEX, NO_MARKER, type Scope, type Setting, SettledScope } from './scope.js';
import { QUEUE, YIELD } from './lua/scripts.js';

const WITHOUT_MARKER: Setting = Object.freeze({
  isFenced: false,
  marker: undefined,
  guardMs: NO_MARKER,
  kind: MUTEX,
});

/**
 * Asks for the vote on one resource, or for a place in its queue if another client holds it. `readQueueReply` reads the
 * rest of the reply. The client has to be subscribed to the token's channel.
 *
 * @param ticket  in whole µs of the masters' time: earlier tickets come first
 * @param lifeMs  how long the place is kept
 */
export function queueing(scope: Scope, token: string, ticket: number, lifeMs: number): Request {
  const args = [String(ticket), String(lifeMs), String(scope.guardMs)];
  return lone(QUEUE, scope, token, args, { leavesVote: true, withQueues: true, read: readQueued });
}

/**
 * Yields a reservation to an earlier ticket, and queues again with the same ticket. It may be sent again at any time:
 * once the reservation is given back, it does nothing.
 *
 * @param serial  names the reservation; if it does not stand any more, nothing is changed
 */
export function yielding(
  scope: Scope,
  token: string,
  serial: number,
  ticket: number,
  lifeMs: number,
): Request {
  const args = [String(serial), String(ticket), String(lifeMs)];
  return lone(YIELD, scope, token, args, { withQueues: true, read: readCount });
}

/** Declines a reservation for a token that has left; a vote that was claimed stays. */
export function declining(key: string, token: string, serial: number): Request {
  return yielding(new SettledScope([key], WITHOUT_MARKER), token, serial, 0, 0);
}
