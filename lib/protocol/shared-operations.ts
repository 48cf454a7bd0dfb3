/**
 * Operations on read-write locks and semaphores. They are always sent alone, never in a batch.
 */
import { COUNTER_LIFE_MS } from './lua/mutex.js';
import {
  LEAVE,
  RW_ACCEPT,
  RW_CLAIM,
  RW_EXTEND,
  SEM_CLAIM,
  SEM_EXTEND,
  SEM_ALIGN,
} from './lua/shared-scripts.js';
import { allKeys, type Asked, command, namedKeys, type Operation } from './operation.js';
import { readAcceptance, readFenced, readPermits, readUndo, readVote } from './replies.js';
import { type Kind, type Permits } from './scope.js';
import type { Script } from '../redis/script.js';
import type { Command } from '../redis/transport.js';

const NONE: readonly string[] = Object.freeze([]);

/** An operation that is sent alone. @param rest  its arguments after the token */
function operation(
  script: Script,
  read: Operation['read'],
  rest: (asked: Asked) => readonly string[],
  manner: Partial<Operation> = {},
): Operation {
  return {
    script,
    read,
    letter: undefined,
    leavesVote: false,
    withQueues: false,
    isClaim: false,
    isUndo: false,
    head: () => NONE,
    rest: () => undefined,
    alone: (asked) => command(script, allKeys(asked), asked.token, rest(asked)),
    ...manner,
  };
}

const CLAIM: Partial<Operation> = { isClaim: true, leavesVote: true };
const VOTE: Partial<Operation> = { leavesVote: true };

function roleOf({ scope }: Asked): 'r' | 'w' {
  return scope.kind.name === 'write' ? 'w' : 'r';
}

function counterLife({ withCounters }: Asked): string {
  return withCounters ? String(COUNTER_LIFE_MS) : '0';
}

function watchArgs({ watch }: Asked): readonly [watcher: string, rank: string] {
  return [watch?.watcher ?? '', String(watch?.rank ?? 1)];
}

function guardOf({ scope }: Asked): string {
  return String(scope.guardMs);
}

function permitsOf({ scope: { kind } }: Asked): Permits {
  if (kind.name !== 'semaphore') throw new Error(`a ${kind.name} lock has no permits`);
  return kind;
}

const RW_CLAIMING = operation(
  RW_CLAIM,
  (reply, scope) => (scope.isFenced ? readFenced(reply, scope) : readVote(reply, scope)),
  (asked) => [
    roleOf(asked),
    String(asked.ttlMs),
    ...watchArgs(asked),
    counterLife(asked),
    String(asked.amount),
    guardOf(asked),
  ],
  CLAIM,
);

export const RW_ACCEPTING = operation(RW_ACCEPT, readAcceptance, (asked) => [
  String(asked.amount),
  counterLife(asked),
  guardOf(asked),
]);

const RW_EXTENDING = operation(
  RW_EXTEND,
  readVote,
  (asked) => [roleOf(asked), String(asked.ttlMs), asked.mayCreate ? '1' : '0', guardOf(asked)],
  VOTE,
);

export const SEM_CLAIMING = operation(
  SEM_CLAIM,
  readPermits,
  (asked) => {
    const { permits, wanted } = permitsOf(asked);
    return [String(asked.ttlMs), String(wanted), String(permits), ...watchArgs(asked), guardOf(asked)];
  },
  CLAIM,
);

export const SEM_ALIGNING = operation(SEM_ALIGN, readPermits, (asked) => [
  asked.slots,
  String(permitsOf(asked).permits),
  guardOf(asked),
]);

const SEM_EXTENDING = operation(
  SEM_EXTEND,
  readPermits,
  (asked) => {
    const { permits, slots } = permitsOf(asked);
    return [String(asked.ttlMs), slots, String(permits), asked.mayCreate ? '1' : '0', guardOf(asked)];
  },
  VOTE,
);

/** Removes a token. */
function leaving(isUndo: boolean): Operation {
  const alone = (asked: Asked): Command => {
    const known = command(LEAVE, namedKeys(asked), asked.token, NONE);
    return isUndo ? { name: 'eval', args: [LEAVE.source, ...known.args.slice(1)] } : known;
  };
  return operation(LEAVE, readUndo, () => NONE, { isUndo, alone });
}

export const UNDOING_SHARED = leaving(true);
export const RELEASING_SHARED = leaving(false);

export function claimingOf({ name }: Kind): Operation {
  return name === 'semaphore' ? SEM_CLAIMING : RW_CLAIMING;
}

export function extendingOf({ name }: Kind): Operation {
  return name === 'semaphore' ? SEM_EXTENDING : RW_EXTENDING;
}

/** Scripts that may leave a vote; without keys they do nothing. */
export const CLAIMING_SHARED: readonly Script[] = [RW_CLAIM, RW_EXTEND, SEM_CLAIM, SEM_EXTEND];
