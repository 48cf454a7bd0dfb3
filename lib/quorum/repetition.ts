/** Repeats calls that do only part of the work, so as not to keep a master busy for long. */
import type { Node, Sink } from '../node/node.js';
import { isToRepeat } from '../protocol/replies.js';
import type { Request } from '../protocol/request.js';
import { IGNORED_ANSWER } from '../node/unanswered.js';

/**
 * Sends a release or an undo again while its reply says that waiters which have left are still in the queue. Each call
 * drops a bounded number of them, and the last one hands the lock over. Nobody waits for it: the votes are given back
 * already. If this process ends first, the waiters do the rest when they look.
 */
export function repeatIfUnfinished(node: Node, request: Request, reply: unknown): void {
  if (!isToRepeat(reply)) return;
  const sink: Sink = { ...IGNORED_ANSWER, onReply: (_node, next) => repeatIfUnfinished(node, request, next) };
  node.send({ request, sink });
}
