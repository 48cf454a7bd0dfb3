/** Operations on read-write locks and semaphores: how each is sent, alone or in a batch, and how its reply is read. */
import { COUNTER_LIFE_MS } from './lua/fence-bounds.js';
import { SHARED_ENTRY } from './lua/entries.js';
import {
  LEAVE,
  RW_ACCEPT,
  RW_CLAIM,
  RW_EXTEND,
  PERMIT_ALIGN,
  PERMIT_CLAIM,
  PERMIT_EXTEND,
  SHARED_BATCH,
} from './lua/scripts.js';
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

/** What an operation is sent with, beside keys and token. */
interface Arguments {
  /** Alone, after the token. */
  readonly alone: (asked: Asked) => readonly string[];
  /** In a batch: those that a group shares, and the one after each token. */
  readonly head: (asked: Asked) => readonly string[];
  readonly rest?: Operation['rest'];
}

function operation(
  script: Script,
  letter: Letter,
  read: Operation['read'],
  { alone, head, rest = () => undefined }: Arguments,
  manner: Partial<Operation> = {},
): Operation {
  return {
    script,
    batch: SHARED_BATCH,
    letter,
    read,
    leavesVote: false,
    withQueues: false,
    isClaim: false,
    isUndo: false,
    head,
    rest,
    alone: (asked) => command(script, allKeys(asked), asked.token, alone(asked)),
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

/** The rank of a group's watchers: either all of its claims wait, or none. */
function rankOf({ watch }: Asked): string {
  return watch === undefined ? '' : String(watch.rank);
}

const watcherOf: Operation['rest'] = ({ watch }) => watch?.watcher;

const RW_CLAIMING = operation(
  RW_CLAIM,
  SHARED_ENTRY.claim,
  (reply, scope) => (scope.isFenced ? readFenced(reply, scope) : readVote(reply, scope)),
  {
    alone: (asked) => [
      roleOf(asked),
      String(asked.ttlMs),
      ...watchArgs(asked),
      counterLife(asked),
      String(asked.amount),
      guardOf(asked),
    ],
    head: (asked) => [
      roleOf(asked),
      String(asked.ttlMs),
      counterLife(asked),
      String(asked.amount),
      rankOf(asked),
    ],
    rest: watcherOf,
  },
  CLAIM,
);

export const RW_ACCEPTING = operation(RW_ACCEPT, SHARED_ENTRY.accept, readAcceptance, {
  alone: (asked) => [String(asked.amount), counterLife(asked), guardOf(asked)],
  head: (asked) => [counterLife(asked)],
  rest: ({ amount }) => String(amount),
});

function stayArgs(asked: Asked): readonly string[] {
  return [roleOf(asked), String(asked.ttlMs), creation(asked)];
}

const RW_EXTENDING = operation(
  RW_EXTEND,
  SHARED_ENTRY.extend,
  orTaken(readVote),
  { alone: (asked) => [...stayArgs(asked), guardOf(asked)], head: stayArgs },
  VOTE,
);

function takeArgs(asked: Asked): readonly string[] {
  const { permits, wanted } = permitsOf(asked);
  return [String(asked.ttlMs), String(wanted), String(permits)];
}

export const PERMIT_CLAIMING = operation(
  PERMIT_CLAIM,
  SHARED_ENTRY.claimPermits,
  readPermits,
  {
    alone: (asked) => [...takeArgs(asked), ...watchArgs(asked), guardOf(asked)],
    head: (asked) => [...takeArgs(asked), rankOf(asked)],
    rest: watcherOf,
  },
  CLAIM,
);

export const PERMIT_ALIGNING = operation(PERMIT_ALIGN, SHARED_ENTRY.align, readPermits, {
  alone: (asked) => [asked.slots, String(permitsOf(asked).permits), guardOf(asked)],
  head: (asked) => [String(permitsOf(asked).permits)],
  rest: ({ slots }) => slots,
});

const PERMIT_EXTENDING = operation(
  PERMIT_EXTEND,
  SHARED_ENTRY.extendPermits,
  orTaken(readPermits),
  {
    alone: (asked) => {
      const { permits, slots } = permitsOf(asked);
      return [String(asked.ttlMs), slots, String(permits), creation(asked), guardOf(asked)];
    },
    head: (asked) => [String(asked.ttlMs), String(permitsOf(asked).permits), creation(asked)],
    rest: (asked) => permitsOf(asked).slots,
  },
  VOTE,
);

/** Removes a token. */
function leaving(isUndo: boolean): Operation {
  const alone = (asked: Asked): Command => {
    const known = command(LEAVE, namedKeys(asked), asked.token, NONE);
    return isUndo ? { name: 'eval', args: [LEAVE.source, ...known.args.slice(1)] } : known;
  };
  const none = { alone: () => NONE, head: () => NONE };
  return operation(LEAVE, SHARED_ENTRY.leave, readUndo, none, { isUndo, alone });
}

export const UNDOING_SHARED = leaving(true);
export const RELEASING_SHARED = leaving(false);

export function claimingOf({ name }: Kind): Operation {
  return name === 'semaphore' ? PERMIT_CLAIMING : RW_CLAIMING;
}

export function extendingOf({ name }: Kind): Operation {
  return name === 'semaphore' ? PERMIT_EXTENDING : RW_EXTENDING;
}

/** Scripts that may leave a vote; without keys they do nothing. */
export const CLAIMING_SHARED: readonly Script[] = [RW_CLAIM, RW_EXTEND, PERMIT_CLAIM, PERMIT_EXTEND];
