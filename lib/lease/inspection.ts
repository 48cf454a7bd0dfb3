/**
 * Combines the masters' answers about the holder of a resource. No token is shown; a fingerprint identifies a holder, and
 * reveals nothing about the token that it was made of.
 */
import type { LocalInspection } from '../coordinator/local-lines.js';
import type { Node } from '../node/node.js';
import { oddReply, quorumOf } from '../protocol/quorum.js';
import { tokenIn } from '../runtime/random.js';
import type { SurveyAnswer } from '../quorum/survey.js';
import { NOT_ASKED } from '../redis/server-errors.js';
import { fingerprint } from '../redis/transport.js';

/** The queue at one master. */
interface Queue {
  /** How many calls wait in the queue, except those that have not looked for 20 s. */
  readonly waiting: number;
  /** Fingerprints of the first 32 waiters' tokens, in the order of the queue. */
  readonly queue: readonly string[];
}

/** One master's answer about a resource. */
export type NodeInspection =
  | ({
      /** The master, by host and port. */
      readonly node: string;
      /** Nobody has the master's vote. */
      readonly state: 'free';
    } & Queue)
  | ({
      /** The master, by host and port. */
      readonly node: string;
      /** Somebody has the master's vote. */
      readonly state: 'held';
      /** A fingerprint of the token that has the vote. */
      readonly holder: string;
      /** How long the vote lives without renewal. Milliseconds; `Infinity` for a key without expiry. */
      readonly remainingMs: number;
    } & Queue)
  | {
      /** The master, by host and port. */
      readonly node: string;
      /** The key holds something else than an exclusive lock. */
      readonly state: 'foreign';
    }
  | {
      /** The master, by host and port. */
      readonly node: string;
      /** The master gave no clear answer. */
      readonly state: 'unknown';
      /** Why: the error of the master, of the connection, or of the node timeout. */
      readonly cause: Error;
    };

/** The holder and the waiters of a resource. A fingerprint of its token identifies a holder, and does not reveal the token. */
export interface Inspection {
  /** The resource's name, without `keyPrefix`. */
  readonly resource: string;
  /**
   * `held`: one holder has a quorum · `free`: on a quorum of masters, nobody has the vote · `foreign`: on too many masters, the
   * key holds something else · `contended`: votes are split, and nobody has a quorum · `unknown`: too few masters answered.
   */
  readonly state: 'held' | 'free' | 'contended' | 'foreign' | 'unknown';
  /** A fingerprint of the holder's token, if one has a quorum. */
  readonly holder?: string;
  /** How long the holder keeps a quorum without renewal. Milliseconds; `Infinity` for a key without expiry. */
  readonly remainingMs?: number;
  /** How many calls wait in the queue, except those that have not looked for 20 s: the highest number of any master. */
  readonly waiting: number;
  /** Master by master, in the order of the instance's clients. */
  readonly nodes: readonly NodeInspection[];
  /** What goes on in this instance, and no master knows of. */
  readonly local: LocalInspection;
}

/** Combines the answers of all masters; `found` by the master's index. */
export function readInspection(
  resource: string,
  found: readonly SurveyAnswer[],
  nodes: readonly Node[],
): Omit<Inspection, 'local'> {
  const answers = nodes.map((node) => readAnswer(node.name, found[node.index]));
  const quorum = quorumOf(nodes.length);
  const waiting = answers.reduce(
    (most, answer) => Math.max(most, 'waiting' in answer ? answer.waiting : 0),
    0,
  );
  const times = new Map<string, number[]>();
  for (const answer of answers) {
    if (answer.state === 'held')
      times.set(answer.holder, [...(times.get(answer.holder) ?? []), answer.remainingMs]);
  }
  for (const [holder, remaining] of times) {
    if (remaining.length < quorum) continue;
    // the quorum lasts until fewer than a quorum of votes are left
    const remainingMs = [...remaining].sort((a, b) => b - a)[quorum - 1] ?? 0;
    return { resource, state: 'held', holder, remainingMs, waiting, nodes: answers };
  }
  return { resource, state: withoutHolder(answers, quorum), waiting, nodes: answers };
}

function withoutHolder(answers: readonly NodeInspection[], quorum: number): Inspection['state'] {
  const count = (state: NodeInspection['state']): number =>
    answers.filter((answer) => answer.state === state).length;
  const spare = answers.length - quorum;
  if (count('free') >= quorum) return 'free';
  if (count('unknown') > spare) return 'unknown';
  return count('foreign') > spare ? 'foreign' : 'contended';
}

function readAnswer(node: string, answer: SurveyAnswer | undefined): NodeInspection {
  if (answer?.kind !== 'answered') {
    return { node, state: 'unknown', cause: answer?.cause ?? NOT_ASKED };
  }
  const [code, ms, owner, waiting, tokens] = Array.isArray(answer.reply)
    ? (answer.reply as readonly unknown[])
    : [];
  const queue = Array.isArray(tokens) ? tokens.map((token) => fingerprint(String(token))) : [];
  const waiters = { waiting: Number(waiting ?? 0), queue };
  switch (Number(code)) {
    case 0:
      return { node, state: 'free', ...waiters };
    case 1:
      return {
        node,
        state: 'held',
        holder: fingerprint(tokenIn(String(owner))),
        remainingMs: Number(ms) === -1 ? Infinity : Number(ms),
        ...waiters,
      };
    case 2:
      return { node, state: 'foreign' };
    default:
      return { node, state: 'unknown', cause: oddReply() };
  }
}
