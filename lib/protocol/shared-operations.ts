/** Operations on read-write locks and semaphores: how each is sent, and how its reply is read. */
import { COUNTER_LIFE_MS } from './lua/stored.js';
import { LEAN, SHARED_ENTRY } from './lua/entries.js';
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
import {
  orTaken,
  readAcceptance,
  readCount,
  readFenced,
  readPermits,
  readQueued,
  readUndo,
  readVote,
} from './replies.js';
import { type Kind, type Permits } from './scope.js';
import type { Script } from '../redis/script.js';
import type { Command } from '../redis/transport.js';

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

/** What also lets waiters in, or takes a place: its keys are those of a queue. */
const QUEUED: Partial<Operation> = { withQueues: true, withLooks: true };
/** What lets waiters in: the fencing token is proposed for them. */
const LETTING_IN: Partial<Operation> = { ...QUEUED, proposes: true };
const CLAIM: Partial<Operation> = { isClaim: true, leavesVote: true, rest: ({ place }) => place };
/** Of one that met nobody who waits: most calls for shared locks, and names are most of what they cost. */
const LEAN_KEYS: Partial<Operation> = { withQueues: true, isLean: true };

function roleOf({ scope }: Asked): 'r' | 'w' {
  return scope.kind.name === 'write' ? 'w' : 'r';
}

function counterLife({ withCounters }: Asked): string {
  return withCounters ? String(COUNTER_LIFE_MS) : '0';
}

function guardOf({ scope }: Asked): string {
  return String(scope.guardMs);
}

function permitsOf({ scope: { kind } }: Asked): Permits {
  if (kind.name !== 'semaphore') throw new Error(`a ${kind.name} lock has no permits`);
  return kind;
}

/** What a waiter wants, in the form that the scripts expect. */
function wantOf(asked: Asked): string {
  const { kind } = asked.scope;
  return kind.name === 'semaphore' ? `${kind.wanted}/${kind.permits}` : roleOf(asked);
}

const RW_CLAIM_MANNER: Pick<Operation, 'head'> & Partial<Operation> = {
  ...CLAIM,
  ...shortWay(RW_CLAIM, (asked) => [
    roleOf(asked),
    String(asked.ttlMs),
    asked.place,
    counterLife(asked),
    String(asked.amount),
    guardOf(asked),
  ]),
  head: (asked) => [roleOf(asked), String(asked.ttlMs), counterLife(asked), String(asked.amount)],
};

/** @param keys  those of its queue that it names */
function rwClaiming(keys: Partial<Operation>): Operation {
  const read: Operation['read'] = (reply, scope) =>
    scope.isFenced ? readFenced(reply, scope) : readVote(reply, scope);
  return operation(SHARED_ENTRY.claim, read, { ...RW_CLAIM_MANNER, ...keys });
}

const RW_CLAIMING = rwClaiming(QUEUED);
const RW_CLAIMING_LEAN = rwClaiming(LEAN_KEYS);

export const RW_ACCEPTING = operation(SHARED_ENTRY.accept, readAcceptance, {
  head: (asked) => [counterLife(asked)],
  rest: ({ amount }) => String(amount),
});

const RW_EXTENDING = operation(SHARED_ENTRY.extend, orTaken(readVote), {
  leavesVote: true,
  head: (asked) => [roleOf(asked), String(asked.ttlMs), creation(asked)],
});

/** Of a reader that was a writer: masters that still have it as a writer let others in. */
const DOWNGRADING = operation(SHARED_ENTRY.downgrade, orTaken(readVote), {
  ...LETTING_IN,
  leavesVote: true,
  head: (asked) => ['r', String(asked.ttlMs), creation(asked), String(asked.amount)],
});

function takeArgs(asked: Asked): readonly string[] {
  const { permits, wanted } = permitsOf(asked);
  return [String(asked.ttlMs), String(wanted), String(permits)];
}

function permitClaiming(keys: Partial<Operation>): Operation {
  const alone = shortWay(PERMIT_CLAIM, (asked) => [...takeArgs(asked), asked.place, guardOf(asked)]);
  return operation(SHARED_ENTRY.claimPermits, readPermits, { ...CLAIM, ...alone, ...keys, head: takeArgs });
}

const PERMIT_CLAIMING = permitClaiming(QUEUED);
const PERMIT_CLAIMING_LEAN = permitClaiming(LEAN_KEYS);

export const PERMIT_ALIGNING = operation(SHARED_ENTRY.align, readPermits, {
  ...LETTING_IN,
  head: (asked) => [String(permitsOf(asked).permits), String(asked.amount)],
  rest: ({ slots }) => slots,
});

const PERMIT_EXTENDING = operation(SHARED_ENTRY.extendPermits, orTaken(readPermits), {
  leavesVote: true,
  head: (asked) => [String(asked.ttlMs), String(permitsOf(asked).permits), creation(asked)],
  rest: (asked) => permitsOf(asked).slots,
});

/** Removes a token, from the queue as well. */
function leaving(isUndo: boolean): Operation {
  const alone = (asked: Asked): Command => {
    const known = command(LEAVE, namedKeys(asked), asked.token, [String(asked.amount)]);
    return isUndo ? { name: 'eval', args: [LEAVE.source, ...known.args.slice(1)] } : known;
  };
  const head = ({ amount }: Asked): readonly string[] => [String(amount)];
  return operation(SHARED_ENTRY.leave, readUndo, { ...LETTING_IN, isUndo, script: LEAVE, alone, head });
}

export const UNDOING_SHARED = leaving(true);
export const RELEASING_SHARED = leaving(false);

/** The reply says whether it has to be sent again, in full. */
export const RELEASING_SHARED_LEAN = operation(SHARED_ENTRY.leave, readUndo, {
  ...LEAN_KEYS,
  script: LEAVE,
  alone: (asked) => command(LEAVE, namedKeys(asked), asked.token, [LEAN]),
  head: () => [LEAN],
});

/** A waiter's look: it claims, or takes a place in the queue. */
export const QUEUEING_SHARED = operation(SHARED_ENTRY.queue, readQueued, {
  ...LETTING_IN,
  leavesVote: true,
  head: (asked) => [
    wantOf(asked),
    String(asked.ttlMs),
    asked.scope.isFenced ? String(COUNTER_LIFE_MS) : '0',
    String(asked.amount),
  ],
  rest: ({ place }) => place,
});

export const YIELDING_SHARED = operation(SHARED_ENTRY.yield, readCount, {
  ...LETTING_IN,
  head: (asked) => [wantOf(asked), String(asked.amount)],
  rest: ({ place }) => place,
});

/** @param isLean  it queues if it is refused, and names no more than it needs until then */
export function claimingOf({ name }: Kind, isLean: boolean): Operation {
  if (name === 'semaphore') return isLean ? PERMIT_CLAIMING_LEAN : PERMIT_CLAIMING;
  return isLean ? RW_CLAIMING_LEAN : RW_CLAIMING;
}

export function extendingOf(kind: Kind): Operation {
  if (kind.name === 'semaphore') return PERMIT_EXTENDING;
  return kind.name === 'read' && kind.wasWriter === true ? DOWNGRADING : RW_EXTENDING;
}
