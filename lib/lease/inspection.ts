/**
 * Combines the masters' answers about the holder of a resource. No token is shown; a fingerprint identifies a holder, and
 * reveals nothing about the token that it was made of.
 */
import type { LocalInspection } from '../coordinator/local-lines.js';
import type { Node } from '../node/node.js';
import { oddReply, quorumOf } from '../protocol/quorum.js';
import { toInteger } from '../protocol/replies.js';
import type { HeldBy, InstanceInfo, Waiter } from '../runtime/instance-info.js';
import { isOurs, publicPart, tokenIn } from '../runtime/random.js';
import type { SurveyAnswer } from '../quorum/survey.js';
import { NOT_ASKED } from '../redis/server-errors.js';
import { fingerprint } from '../redis/transport.js';
import {
  type Counted,
  grantedAt,
  type Line,
  listOf,
  type Lore,
  NO_LORE,
  partsOf,
  type Tokens,
  waitersIn,
} from './lore.js';

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
      /** The instance that has the vote; missing for a client of another library. */
      readonly heldBy?: InstanceInfo;
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
  /** The holder by name, since when it holds the lock, and its note; missing for a client of another library. */
  readonly heldBy?: HeldBy;
  /** How long the holder keeps a quorum without renewal. Milliseconds; `Infinity` for a key without expiry. */
  readonly remainingMs?: number;
  /** How many calls wait in the queue, except those that have not looked for 20 s: the highest number of any master. */
  readonly waiting: number;
  /** The first 32 of them by name, in the order of the queue, at the master that knows most. */
  readonly waiters: readonly Waiter[];
  /** Master by master, in the order of the instance's clients. */
  readonly nodes: readonly NodeInspection[];
  /** What goes on in this instance, and no master knows of. */
  readonly local: LocalInspection;
}

/** Combines the answers of all masters; `found` by the master's index. */
export function readInspection(
  resource: string,
  found: readonly (SurveyAnswer | undefined)[],
  nodes: readonly Node[],
  lore: Lore = NO_LORE,
): Omit<Inspection, 'local'> {
  const answers = nodes.map((node) => readAnswer(node.name, found[node.index], lore));
  const quorum = quorumOf(nodes.length);
  const waiting = answers.reduce(
    (most, answer) => Math.max(most, 'waiting' in answer ? answer.waiting : 0),
    0,
  );
  const seen = {
    waiting,
    waiters: waitersIn(
      nodes.map(({ index }) => lineIn(found[index])),
      lore,
    ),
    nodes: answers,
  };
  const times = new Map<string, number[]>();
  for (const answer of answers) {
    if (answer.state === 'held')
      times.set(answer.holder, [...(times.get(answer.holder) ?? []), answer.remainingMs]);
  }
  for (const [holder, remaining] of times) {
    if (remaining.length < quorum) continue;
    // the quorum lasts until fewer than a quorum of votes are left
    const remainingMs = [...remaining].sort((a, b) => b - a)[quorum - 1] ?? 0;
    const votes = nodes.filter((_node, i) => isHolder(answers[i], holder)).map(({ index }) => found[index]);
    const named = holderBy(holder, votes, quorum, lore);
    const heldBy = named === undefined ? {} : { heldBy: named };
    return { resource, state: 'held', holder, remainingMs, ...heldBy, ...seen };
  }
  return { resource, state: withoutHolder(answers, quorum), ...seen };
}

function isHolder(answer: NodeInspection | undefined, holder: string): boolean {
  return answer?.state === 'held' && answer.holder === holder;
}

/** @param votes  the answers of masters that name the holder */
function holderBy(
  holder: string,
  votes: readonly (SurveyAnswer | undefined)[],
  quorum: number,
  lore: Lore,
): HeldBy | undefined {
  const [token = ''] = votes.map((vote) => ownerIn(partsOf(vote)));
  if (!isOurs(token)) return undefined;
  const id = publicPart(token);
  const times = grantedAt(votes.map(countedBy), quorum, lore.grantOf(id, holder));
  const note = lore.noteOf(holder);
  return { ...lore.of(id), holder, ...times, ...(note === undefined ? {} : { note }) };
}

function countedBy(answer: SurveyAnswer | undefined): Counted {
  const [, , , , , , counter, us] = partsOf(answer);
  return { counter: toInteger(counter), us: toInteger(us) ?? 0 };
}

function lineIn(answer: SurveyAnswer | undefined): Line {
  const [, , , , tokens, tickets, , us] = partsOf(answer);
  return { tokens: listOf(tokens), tickets: listOf(tickets), us: toInteger(us) ?? 0 };
}

/** Of holders, and of waiters. */
export function tokensIn(found: readonly SurveyAnswer[]): Tokens {
  const all = found.map(partsOf);
  return {
    holders: all.filter(([code]) => Number(code) === 1).map(ownerIn),
    waiters: all.flatMap(([, , , , tokens]) => listOf(tokens)),
  };
}

function ownerIn([, , owner]: readonly unknown[]): string {
  return tokenIn(String(owner));
}

function withoutHolder(answers: readonly NodeInspection[], quorum: number): Inspection['state'] {
  const count = (state: NodeInspection['state']): number =>
    answers.filter((answer) => answer.state === state).length;
  const spare = answers.length - quorum;
  if (count('free') >= quorum) return 'free';
  if (count('unknown') > spare) return 'unknown';
  return count('foreign') > spare ? 'foreign' : 'contended';
}

function readAnswer(node: string, answer: SurveyAnswer | undefined, lore: Lore): NodeInspection {
  if (answer?.kind !== 'answered') {
    return { node, state: 'unknown', cause: answer?.cause ?? NOT_ASKED };
  }
  const parts = partsOf(answer);
  const [code, ms, , waiting, tokens] = parts;
  const queue = listOf(tokens).map(fingerprint);
  const line = { waiting: Number(waiting ?? 0), queue };
  switch (Number(code)) {
    case 0:
      return { node, state: 'free', ...line };
    case 1: {
      const owner = ownerIn(parts);
      return {
        node,
        state: 'held',
        holder: fingerprint(owner),
        ...(isOurs(owner) ? { heldBy: lore.of(publicPart(owner)) } : {}),
        remainingMs: Number(ms) === -1 ? Infinity : Number(ms),
        ...line,
      };
    }
    case 2:
      return { node, state: 'foreign' };
    default:
      return { node, state: 'unknown', cause: oddReply() };
  }
}
