/** Permits that were won in the queue. A vote for others is changed to these: others may need them. */
import type { Node } from '../node/node.js';
import { IGNORED_ANSWER } from '../node/sink.js';
import { readQueueReply } from '../protocol/replies.js';
import { aligning, type Request } from '../protocol/request.js';
import type { DirectVote } from './direct-vote.js';
import type { Waiter } from './terms.js';

export interface WonPermits {
  readonly slots: string;
  /** Changes a vote for other permits to these, or gives it up. If it is lost, the next extension does the same. */
  readonly alignment: Request;
}

/** Undefined for a lock without permits, and without a lease. */
export function wonPermits(
  vote: DirectVote | undefined,
  { scope, token }: Pick<Waiter, 'scope' | 'token'>,
): WonPermits | undefined {
  const slots = vote?.slots ?? '';
  return slots === '' ? undefined : { slots, alignment: aligning(scope, token, slots) };
}

/** A vote that a look has brought since it won. Of a reservation, it is not known for which permits it is. */
export function alignLate(won: WonPermits | undefined, node: Node, reply: unknown): void {
  const told = readQueueReply(reply);
  const isGiven = told !== undefined && told.serial > 0;
  if (won !== undefined && isGiven && told.claimed?.slots !== won.slots) align(node, won);
}

/** At that master. */
export function align(node: Node | undefined, { alignment }: WonPermits): void {
  node?.send({ request: alignment, sink: IGNORED_ANSWER });
}
