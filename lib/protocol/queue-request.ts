/** Requests of those who wait in the queues of masters (protocol C1). */
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
 * Asks for the vote on one resource, and for a place in its queue where another client holds it. `readPlace` reads more
 * of its reply. The client has to be subscribed to the channel of the token.
 *
 * @param ticket  in whole µs of the masters' time: earlier ones come first
 * @param lifeMs  how long the place is kept
 */
export function queueing(scope: Scope, token: string, ticket: number, lifeMs: number): Request {
  const args = [String(ticket), String(lifeMs), String(scope.guardMs)];
  return lone(QUEUE, scope, token, args, { leavesVote: true, withQueues: true, read: readQueued });
}

/**
 * Gives a vote up for one with an earlier ticket, and queues again with the same one. Where the vote has been given back
 * meanwhile, it does nothing: it may be sent again at any time.
 *
 * @param serial  of the grant that is given up: if it stands no more, nothing is done
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

/** Gives up what is kept for a token that nobody has a use for any more; a vote that was claimed stays. */
export function declining(key: string, token: string, serial: number): Request {
  return yielding(new SettledScope([key], WITHOUT_MARKER), token, serial, 0, 0);
}
