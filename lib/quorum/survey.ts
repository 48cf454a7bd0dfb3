/**
 * Asks every master the same question, for each one's own answer: no votes, no quorum.
 */
import type { Timer, Timers } from '../runtime/clock.js';
import type { Node, Sink } from '../node/node.js';
import type { Request } from '../protocol/request.js';
import { NOT_AWAITED, Silence } from '../redis/server-errors.js';

/** What one master said. */
export type SurveyAnswer =
  | { readonly kind: 'answered'; readonly reply: unknown }
  | { readonly kind: 'unknown'; readonly cause: Error };

export interface SurveyHooks {
  /**
   * Whether these answers, by the master's index, are all that is needed; undefined for one that is missing. Without it,
   * all are waited for.
   */
  readonly isEnough?: (answers: readonly (SurveyAnswer | undefined)[]) => boolean;
  /** Called with each reply as it comes in. */
  readonly onReply?: (node: Node, reply: unknown) => void;
}

/** What is asked, and for how long; times in milliseconds. */
interface Question extends SurveyHooks {
  readonly request: Request;
  readonly nodeTimeoutMs: number;
}

/**
 * Resolves when all have answered or failed, when the answers are enough, or when the node timeout is over. The result is
 * by the master's index. Never rejects. What is sent by then still runs; nothing is sent after the node timeout.
 */
export async function survey(
  nodes: readonly Node[],
  timers: Timers,
  { isEnough = () => false, nodeTimeoutMs, onReply, request }: Question,
): Promise<readonly SurveyAnswer[]> {
  const answers: (SurveyAnswer | undefined)[] = nodes.map(() => undefined);
  await new Promise<void>((resolve) => {
    let timer: Timer | undefined = undefined;
    let pending = nodes.length;
    const note = (node: Node, answer: SurveyAnswer): void => {
      if (answers[node.index] !== undefined) return;
      answers[node.index] = answer;
      pending--;
      if (pending === 0) timer?.cancel();
      if (pending === 0 || isEnough(answers)) resolve();
    };
    const sink: Sink = {
      isWanted: true,
      onSent: () => undefined,
      onReply: (node, reply) => {
        onReply?.(node, reply);
        note(node, { kind: 'answered', reply });
      },
      onFailure: (node, cause) => note(node, { kind: 'unknown', cause }),
    };
    const ask = { request, sink };
    for (const node of nodes) node.send(ask);
    timer = timers.deadline(nodeTimeoutMs, () => {
      const silence = new Silence(nodeTimeoutMs);
      for (const node of nodes) {
        const isUnsent = node.forget(sink);
        note(node, { kind: 'unknown', cause: isUnsent ? node.unsentFor(silence) : silence });
      }
    });
    if (pending === 0) timer.cancel();
  });
  return answers.map((answer) => answer ?? { kind: 'unknown', cause: NOT_AWAITED });
}
