/** What requests are made of: the operation, which says what goes to a master and how its reply is read, and what is asked. */
import { counterKey, queueKey, turnKey } from './keys.js';
import type { Outcome } from './quorum.js';
import type { Scope } from './scope.js';
import type { ENTRY } from './lua/scripts.js';
import { type Script, scriptDigest } from '../redis/script.js';
import type { Command } from '../redis/transport.js';

/** How a claim that waits makes itself the next one of a lock that several may hold. */
export interface Watch {
  /** A token that stays the same over the attempts of one acquisition; pushes go by it. */
  readonly watcher: string;
  /** The lower one comes first. */
  readonly rank: number;
}

/** What is asked of a master; what the operation does not need is 0, false or empty. */
export interface Asked {
  readonly operation: Operation;
  readonly scope: Scope;
  readonly token: string;
  readonly ttlMs: number;
  /** The fence, the highest one seen, or the floor. */
  readonly amount: number;
  readonly mayCreate: boolean;
  /** Counters are among its keys. */
  readonly withCounters: boolean;
  readonly watch: Watch | undefined;
  /** Permits, as `0,3`. */
  readonly slots: string;
}

/** What a request of one kind is made of: its script, how it goes alone and in a batch, and how it is answered. */
export interface Operation {
  /** Undefined for a plain command. */
  readonly script: Script | undefined;
  /** Its letter in a batch; undefined for what always goes alone. */
  readonly letter: (typeof ENTRY)[keyof typeof ENTRY] | undefined;
  /** It may leave a vote: an undo has to follow it, and it must not be sent again once nobody waits for it. */
  readonly leavesVote: boolean;
  /** Queues and turns are among its keys. */
  readonly withQueues: boolean;
  /** It asks for a vote that nobody had before. */
  readonly isClaim: boolean;
  /** It takes a claim back, and must do so in one step. */
  readonly isUndo: boolean;
  readonly read: (reply: unknown, scope: Scope) => Outcome | undefined;
  /** It alone. */
  readonly alone: (request: Asked) => Command;
  /** What stands at the head of a group of such requests. */
  readonly head: (request: Asked) => readonly string[];
  /** What follows the token of each. */
  readonly rest: (request: Asked) => string | undefined;
}

/** Resources, and what stands beside them as far as it needs that. @param keys  what they are appended to */
export function namedKeys({ operation, withCounters, scope }: Asked, keys: string[] = []): string[] {
  for (const key of scope.keys) keys.push(key);
  if (operation.withQueues) {
    for (const key of scope.keys) keys.push(queueKey(key));
    for (const key of scope.keys) keys.push(turnKey(key));
  }
  if (withCounters) for (const key of scope.keys) keys.push(counterKey(key));
  return keys;
}

/** In the order of the scripts: resources, queues, turns, counters, marker. */
export function allKeys(request: Asked): readonly string[] {
  const keys = namedKeys(request);
  const { marker } = request.scope;
  if (marker !== undefined) keys.push(marker);
  return keys;
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
