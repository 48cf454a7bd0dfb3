/** The parts of a request: the operation, which defines the command and how its reply is read, and the parameters. */
import { counterKey, queueKey, looksKey, turnKey } from './keys.js';
import type { Outcome } from './quorum.js';
import type { Scope } from './scope.js';
import type { ENTRY, SHARED_ENTRY } from './lua/entries.js';
import { type Script, scriptDigest } from '../redis/script.js';
import type { Command } from '../redis/transport.js';

/** The parameters of a request; those that the operation does not need are 0, false or empty. */
export interface Asked {
  readonly operation: Operation;
  readonly scope: Scope;
  readonly token: string;
  readonly ttlMs: number;
  /** The fencing token: proposed by a claim, 0 for none, or put to a master that granted with a lower one. */
  readonly amount: number;
  readonly mayCreate: boolean;
  /** Its keys include the counters. */
  readonly withCounters: boolean;
  /** Permits, as `0,3`. */
  readonly slots: string;
  /** The place in a queue that goes with it, in the form that the scripts expect. */
  readonly place: string;
}

export type Letter = (typeof ENTRY)[keyof typeof ENTRY] | (typeof SHARED_ENTRY)[keyof typeof SHARED_ENTRY];

/**
 * One kind of request: how it is sent, and how its reply is read. What has no short way is an entry of a batch, if need be its
 * only one (`batch-call.ts`).
 */
export interface Operation {
  /** The script of its short way; undefined for a plain command. */
  readonly script?: Script;
  /** The script of which it is an entry; undefined if it always goes its short way. */
  readonly batch: Script | undefined;
  /** Its letter in a batch. */
  readonly letter: Letter | undefined;
  /** It may leave a vote: an undo has to follow it, and it must not be sent again once nobody waits for it. */
  readonly leavesVote: boolean;
  /** Its keys include queues and turns. */
  readonly withQueues: boolean;
  /** Its keys include looks: it may hand over directly. */
  readonly withLooks?: true;
  /** Of turn, looks and queue, its keys include the queue alone. */
  readonly isLean?: true;
  /** It asks for a new vote. */
  readonly isClaim: boolean;
  /** It proposes a fencing token, as claims do. */
  readonly proposes?: true;
  /** It is an undo, and must take effect in one step. */
  readonly isUndo: boolean;
  readonly read: (reply: unknown, scope: Scope) => Outcome | undefined;
  /** Its short way: a command or a script of its own for one request, which costs a master less than a batch of one. */
  readonly alone?: (request: Asked) => Command;
  /** The arguments that a group of such requests shares in a batch. */
  readonly head: (request: Asked) => readonly string[];
  /** The argument after each request's token in a batch. */
  readonly rest: (request: Asked) => string | undefined;
}

/**
 * The resources, and the keys beside them that the operation needs, in the order of the scripts.
 *
 * @param keys  the list that they are appended to
 */
export function namedKeys({ operation, withCounters, scope }: Asked, keys: string[] = []): string[] {
  for (const key of scope.keys) keys.push(key);
  if (operation.withQueues) {
    for (const key of scope.keys) keys.push(queueKey(key));
    if (operation.isLean !== true) for (const key of scope.keys) keys.push(turnKey(key));
  }
  if (operation.withLooks === true) for (const key of scope.keys) keys.push(looksKey(key));
  if (withCounters) for (const key of scope.keys) keys.push(counterKey(key));
  return keys;
}

/** Those, and the marker. */
export function allKeys(request: Asked): readonly string[] {
  const keys = namedKeys(request);
  const { marker } = request.scope;
  if (marker !== undefined) keys.push(marker);
  return keys;
}

/** The list of tokens that may not be set again, if the request is one that may set a key again. */
export function takenOf({ mayCreate, scope }: Asked): string | undefined {
  return mayCreate ? scope.taken : undefined;
}

/** The script's argument for that: '0' not to set a free key again, '1' to set it, '2' to set it unless the token is listed. */
export function creation({ mayCreate, scope }: Asked): string {
  if (!mayCreate) return '0';
  return scope.taken === undefined ? '1' : '2';
}

export function command(
  script: Script,
  keys: readonly string[],
  token: string,
  more: readonly string[],
): Command {
  const args = [scriptDigest(script.source), String(keys.length)];
  for (const key of keys) args.push(key);
  if (token !== '') args.push(token);
  for (const argument of more) args.push(argument);
  return { name: 'evalsha', args };
}
