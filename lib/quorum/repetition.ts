/** What one call does only in part, because a master does nothing else meanwhile, is asked for again. */
import type { Node, Sink } from '../node/node.js';
import { isToRepeat } from '../protocol/replies.js';
import type { Request } from '../protocol/request.js';
import { IGNORED_ANSWER } from '../node/unanswered.js';

/**
 * Sends a release or an undo again for as long as its reply says that those who are gone are still in line: each call
 * drops so many of them, and the last one hands the lock over. Nobody waits for it: the votes are given back. Should this
 * process end before, those who wait go on with it as they look.
 */
export function repeatIfUnfinished(node: Node, request: Request, reply: unknown): void {
  if (!isToRepeat(reply)) return;
  const sink: Sink = { ...IGNORED_ANSWER, onReply: (_node, next) => repeatIfUnfinished(node, request, next) };
  node.send({ request, sink });
}
