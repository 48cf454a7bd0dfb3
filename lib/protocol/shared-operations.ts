/** Operations on read-write locks and semaphores: how each is sent, and how its reply is read. */
import { COUNTER_LIFE_MS } from './lua/stored.js';
import { SHARED_ENTRY } from './lua/entries.js';
import { LEAVE, RW_CLAIM, PERMIT_CLAIM, SHARED_BATCH } from './lua/scripts.js';
import {
  allKeys,
  type Asked,
  command,
  creation,
  type Letter,
  namedKeys,
  type Operation,
} from './operation.js';
import { orTaken, readAcceptance, readFenced, readPermits, readUndo, readVote } from './replies.js';
import { type Kind, type Permits } from './scope.js';
import type { Script } from '../redis/script.js';
import type { Command } from '../redis/transport.js';

const NONE: readonly string[] = Object.freeze([]);

function operation(
  letter: Letter,
  read: Operation['read'],
  manner: Pick<Operation, 'head'> & Partial<Operation>,
): Operation {
  return {
    batch: SHARED_BATCH,
    letter,
    read,
    leavesVote: false,
    withQueues: false,
    isClaim: false,
    isUndo: false,
    rest: () => undefined,
    ...manner,
  };
}

/** @param more  the arguments after the token */
function shortWay(
  script: Script,
  more: (asked: Asked) => readonly string[],
): Pick<Operation, 'script' | 'alone'> {
  return { script, alone: (asked) => command(script, allKeys(asked), asked.token, more(asked)) };
}

const CLAIM: Partial<Operation> = { isClaim: true, leavesVote: true };

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

/** The rank of a group's watchers: either all of its claims wait, or none. */
function rankOf({ watch }: Asked): string {
  return watch === undefined ? '' : String(watch.rank);
}

const watcherOf: Operation['rest'] = ({ watch }) => watch?.watcher;

const RW_CLAIMING = operation(
  SHARED_ENTRY.claim,
  (reply, scope) => (scope.isFenced ? readFenced(reply, scope) : readVote(reply, scope)),
  {
    ...CLAIM,
    ...shortWay(RW_CLAIM, (asked) => [
      roleOf(asked),
      String(asked.ttlMs),
      ...watchArgs(asked),
      counterLife(asked),
      String(asked.amount),
      guardOf(asked),
    ]),
    head: (asked) => [
      roleOf(asked),
      String(asked.ttlMs),
      counterLife(asked),
      String(asked.amount),
      rankOf(asked),
    ],
    rest: watcherOf,
  },
);

export const RW_ACCEPTING = operation(SHARED_ENTRY.accept, readAcceptance, {
  head: (asked) => [counterLife(asked)],
  rest: ({ amount }) => String(amount),
});

const RW_EXTENDING = operation(SHARED_ENTRY.extend, orTaken(readVote), {
  leavesVote: true,
  head: (asked) => [roleOf(asked), String(asked.ttlMs), creation(asked)],
});

function takeArgs(asked: Asked): readonly string[] {
  const { permits, wanted } = permitsOf(asked);
  return [String(asked.ttlMs), String(wanted), String(permits)];
}

export const PERMIT_CLAIMING = operation(SHARED_ENTRY.claimPermits, readPermits, {
  ...CLAIM,
  ...shortWay(PERMIT_CLAIM, (asked) => [...takeArgs(asked), ...watchArgs(asked), guardOf(asked)]),
  head: (asked) => [...takeArgs(asked), rankOf(asked)],
  rest: watcherOf,
});

export const PERMIT_ALIGNING = operation(SHARED_ENTRY.align, readPermits, {
  head: (asked) => [String(permitsOf(asked).permits)],
  rest: ({ slots }) => slots,
});

const PERMIT_EXTENDING = operation(SHARED_ENTRY.extendPermits, orTaken(readPermits), {
  leavesVote: true,
  head: (asked) => [String(asked.ttlMs), String(permitsOf(asked).permits), creation(asked)],
  rest: (asked) => permitsOf(asked).slots,
});

/** Removes a token. */
function leaving(isUndo: boolean): Operation {
  const alone = (asked: Asked): Command => {
    const known = command(LEAVE, namedKeys(asked), asked.token, NONE);
    return isUndo ? { name: 'eval', args: [LEAVE.source, ...known.args.slice(1)] } : known;
  };
  return operation(SHARED_ENTRY.leave, readUndo, { isUndo, script: LEAVE, alone, head: () => NONE });
}

export const UNDOING_SHARED = leaving(true);
export const RELEASING_SHARED = leaving(false);

export function claimingOf({ name }: Kind): Operation {
  return name === 'semaphore' ? PERMIT_CLAIMING : RW_CLAIMING;
}

export function extendingOf({ name }: Kind): Operation {
  return name === 'semaphore' ? PERMIT_EXTENDING : RW_EXTENDING;
}
