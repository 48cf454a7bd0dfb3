/**
 * Combines the masters' answers about the holders of a read-write lock or a semaphore, and its waiters. No token is shown; a
 * fingerprint identifies its owner, and reveals nothing about the token that it was made of.
 */
import type { Node } from '../node/node.js';
import { oddReply, quorumOf } from '../protocol/quorum.js';
import { integers, toInteger } from '../protocol/replies.js';
import type { SurveyAnswer } from '../quorum/survey.js';
import type { HeldBy, InstanceInfo, Waiter } from '../runtime/instance-info.js';
import { AT_REST, isOurs, publicPart } from '../runtime/random.js';
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

/** A field of the lock, as `SHARED_FIELD` in Lua. */
const FIELD = /^([rw~\d,]+)\|(\d+)\|(\d*)/;

/** One holder that one master knows. */
export interface SharedHolder {
  /** A fingerprint of the token. */
  readonly holder: string;
  /** The instance that holds it. */
  readonly heldBy: InstanceInfo;
  /** Its role. */
  readonly role: 'reader' | 'writer' | 'permits';
  /** The numbers of the permits that it holds, from 0; empty for readers and writers. */
  readonly slots: readonly number[];
  /** How many permits the semaphore has, according to the holder; 0 for readers and writers. */
  readonly permits: number;
  /** How long it stays a holder without renewal. Milliseconds. */
  readonly remainingMs: number;
}

/** One master's answer about a read-write lock or a semaphore. */
export type NodeHolders =
  | {
      /** The master, by host and port. */
      readonly node: string;
      /** Whether the lock is held there. */
      readonly state: 'free' | 'held';
      /** All holders there. */
      readonly holders: readonly SharedHolder[];
      /** How many calls wait in the queue. */
      readonly waiting: number;
      /** Fingerprints of the first 32 of them, in the order of the queue. */
      readonly queue: readonly string[];
    }
  | {
      /** The master, by host and port. */
      readonly node: string;
      /** The key holds something else. */
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

/** A holder of some of a semaphore's permits. */
export interface PermitHolder {
  /** A fingerprint of the token. */
  readonly holder: string;
  /** The numbers of its permits, from 0. */
  readonly slots: readonly number[];
}

/**
 * The holders of a read-write lock or a semaphore, and the number of waiters. A fingerprint of its token identifies a holder,
 * and does not reveal the token.
 */
export interface SharedInspection {
  /** The lock's name, without `keyPrefix`. */
  readonly resource: string;
  /**
   * `held`: at least one holder has a quorum · `free`: a quorum of masters has no holder · `contended`: there are votes, but
   * nobody has a quorum · `foreign`: on too many masters, the key holds something else · `unknown`: too few masters answered.
   */
  readonly state: 'held' | 'free' | 'contended' | 'foreign' | 'unknown';
  /** Fingerprints of the readers that have a quorum. */
  readonly readers: readonly string[];
  /** A fingerprint of the writer that has a quorum; undefined without one. */
  readonly writer: string | undefined;
  /** The holders that have a quorum for one set of permits. */
  readonly holders: readonly PermitHolder[];
  /** All of these by name, each with the fingerprint of its token, and since when it holds the lock. */
  readonly heldBy: readonly HeldBy[];
  /** How many calls wait in the queue: the highest number of any master. */
  readonly waiting: number;
  /** The first 32 of them by name, in the order of the queue, at the master that knows most. */
  readonly waiters: readonly Waiter[];
  /** Master by master, in the order of the instance's clients. */
  readonly nodes: readonly NodeHolders[];
}

/** Combines the answers of all masters; `surveyed` by the master's index. */
export function readShared(
  resource: string,
  surveyed: readonly (SurveyAnswer | undefined)[],
  nodes: readonly Node[],
  lore: Lore = NO_LORE,
): SharedInspection {
  const answers = nodes.map((node) => readAnswer(node.name, surveyed[node.index], lore));
  const quorum = quorumOf(nodes.length);
  const found = withQuorum(answers, quorum);
  const ofRole = (role: SharedHolder['role']): readonly SharedHolder[] =>
    found.filter((holder) => holder.role === role);
  return {
    resource,
    state: found.length > 0 ? 'held' : withoutHolder(answers),
    readers: ofRole('reader').map(({ holder }) => holder),
    writer: ofRole('writer')[0]?.holder,
    holders: ofRole('permits').map(({ holder, slots }) => ({ holder, slots })),
    heldBy: found.map((one) => holderBy(one, surveyed.map(countedBy), quorum, lore)),
    waiting: Math.max(0, ...answers.map((one) => ('waiting' in one ? one.waiting : 0))),
    waiters: waitersIn(
      nodes.map(({ index }) => lineIn(surveyed[index])),
      lore,
    ),
    nodes: answers,
  };
}

/** The counter is of the last writer. */
function holderBy(
  { heldBy, holder, role }: SharedHolder,
  counts: readonly Counted[],
  quorum: number,
  lore: Lore,
): HeldBy {
  const note = lore.noteOf(holder);
  const own = role === 'writer' ? counts : counts.map(({ us }) => ({ counter: undefined, us }));
  const times = grantedAt(own, quorum, lore.grantOf(heldBy.id, holder));
  return { ...heldBy, holder, ...times, ...(note === undefined ? {} : { note }) };
}

function countedBy(answer: SurveyAnswer | undefined): Counted {
  const [, , nowMs, , , , , counter] = partsOf(answer);
  return { counter: toInteger(counter), us: (toInteger(nowMs) ?? 0) * 1_000 };
}

function lineIn(answer: SurveyAnswer | undefined): Line {
  const [, , nowMs, , , tokens, tickets] = partsOf(answer);
  return { tokens: listOf(tokens), tickets: listOf(tickets), us: (toInteger(nowMs) ?? 0) * 1_000 };
}

/** Of holders, those included whose time is over, and of waiters. */
export function sharedTokensIn(found: readonly SurveyAnswer[]): Tokens {
  const all = found.map(partsOf);
  return {
    holders: all.flatMap(([, , , fields]) =>
      listOf(fields).filter((token, i) => i % 2 === 0 && isOurs(token)),
    ),
    waiters: all.flatMap(([, , , , , tokens]) => listOf(tokens)),
  };
}

/** The holders that a quorum of masters know with the same role and slots, each once. */
function withQuorum(answers: readonly NodeHolders[], quorum: number): readonly SharedHolder[] {
  const all = answers.flatMap((answer) => ('holders' in answer ? answer.holders : []));
  const idOf = ({ holder, role, slots }: SharedHolder): string => `${holder} ${role} ${slots.join()}`;
  const counts = new Map<string, number>();
  const found: SharedHolder[] = [];
  for (const holder of all) {
    const count = (counts.get(idOf(holder)) ?? 0) + 1;
    counts.set(idOf(holder), count);
    if (count === quorum) found.push(holder);
  }
  return found;
}

function withoutHolder(answers: readonly NodeHolders[]): SharedInspection['state'] {
  const count = (state: NodeHolders['state']): number =>
    answers.filter((answer) => answer.state === state).length;
  const quorum = quorumOf(answers.length);
  const spare = answers.length - quorum;
  if (count('free') >= quorum) return 'free';
  if (count('unknown') > spare) return 'unknown';
  return count('foreign') > spare ? 'foreign' : 'contended';
}

function readAnswer(node: string, answer: SurveyAnswer | undefined, lore: Lore): NodeHolders {
  if (answer?.kind !== 'answered') return { node, state: 'unknown', cause: answer?.cause ?? NOT_ASKED };
  const [code, , nowMs] = integers(answer.reply, 3);
  const [, , , fields, waiting, tokens] = answer.reply as readonly unknown[]; // an array, as it has three integers
  if (code === 2) return { node, state: 'foreign' };
  if (nowMs === undefined || !Array.isArray(fields)) {
    return { node, state: 'unknown', cause: oddReply() };
  }
  const contents = new Map<string, string>();
  for (let i = 0; i < fields.length; i += 2) contents.set(String(fields[i]), String(fields[i + 1]));
  const holders: SharedHolder[] = [];
  for (const [name, content] of contents) {
    const [, first, ends, rest = ''] = FIELD.exec(content) ?? [];
    if (first === undefined) return { node, state: 'foreign' };
    const remainingMs = Number(ends) - nowMs;
    if (remainingMs > 0 && name !== AT_REST)
      holders.push({ ...readHolder(name, first, rest, remainingMs), heldBy: lore.of(publicPart(name)) });
  }
  return {
    node,
    state: holders.length > 0 ? 'held' : 'free',
    holders,
    waiting: Number(waiting ?? 0),
    queue: listOf(tokens).map(fingerprint),
  };
}

function readHolder(
  token: string,
  first: string,
  rest: string,
  remainingMs: number,
): Omit<SharedHolder, 'heldBy'> {
  const holder = fingerprint(token);
  if (first === 'r' || first === 'w') {
    return { holder, role: first === 'w' ? 'writer' : 'reader', slots: [], permits: 0, remainingMs };
  }
  return { holder, role: 'permits', slots: first.split(',').map(Number), permits: Number(rest), remainingMs };
}
