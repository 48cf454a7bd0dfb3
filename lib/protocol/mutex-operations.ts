/** Operations on exclusive locks: how each is sent, and how its reply is read. */
import { counterKey, queueKey, turnKey } from './keys.js';
import { COUNTER_LIFE_MS } from './lua/stored.js';
import { allKeys, command, creation, namedKeys, type Operation } from './operation.js';
import {
  orTaken,
  readAcceptance,
  readClock,
  readCount,
  readFenced,
  readQueued,
  readSet,
  readUndo,
  readVote,
} from './replies.js';
import { ENTRY } from './lua/entries.js';
import { BATCH, CLAIM, RELEASE, UNDO } from './lua/scripts.js';
import { scriptDigest } from '../redis/script.js';

const NONE: readonly string[] = Object.freeze([]);
const COUNTER_LIFE = String(COUNTER_LIFE_MS);

const CLAIMING: Pick<
  Operation,
  'batch' | 'letter' | 'leavesVote' | 'withQueues' | 'head' | 'rest' | 'isClaim' | 'isUndo'
> = {
  isClaim: true,
  isUndo: false,
  batch: BATCH,
  letter: ENTRY.claim,
  leavesVote: true,
  withQueues: false,
  head: ({ ttlMs, withCounters, amount }) => [
    String(ttlMs),
    withCounters ? COUNTER_LIFE : '0',
    String(amount),
  ],
  rest: () => undefined,
};

export const PLAIN_CLAIM: Operation = {
  ...CLAIMING,
  read: readSet,
  alone: ({ scope, token, ttlMs }) => ({
    name: 'set',
    args: [scope.keys[0] ?? '', token, 'PX', String(ttlMs), 'NX'],
  }),
};

export const SCRIPTED_CLAIM: Operation = {
  ...CLAIMING,
  script: CLAIM,
  read: (reply, scope) => (scope.isFenced ? readFenced(reply, scope) : readVote(reply, scope)),
  alone: (request) => {
    const { amount, scope, token, ttlMs, withCounters } = request;
    const { guardMs, keys, marker } = scope;
    const [key = ''] = keys;
    // the usual case, written out: every lease begins here
    if (withCounters && keys.length === 1 && marker !== undefined) {
      const args = [scriptDigest(CLAIM.source), '3', key, counterKey(key), marker, token];
      args.push(String(ttlMs), COUNTER_LIFE, String(amount), String(guardMs));
      return { name: 'evalsha', args };
    }
    return command(CLAIM, allKeys(request), token, [...CLAIMING.head(request), String(guardMs)]);
  },
};

/** The claim of a waiter from the queue. */
export const QUEUED_CLAIM: Operation = {
  ...SCRIPTED_CLAIM,
  letter: ENTRY.claimQueued,
  withQueues: true,
  alone: (request) => {
    const more = [...CLAIMING.head(request), String(request.scope.guardMs), '1'];
    return command(CLAIM, allKeys(request), request.token, more);
  },
};

export const ACCEPTING: Operation = {
  isClaim: false,
  isUndo: false,
  batch: BATCH,
  letter: ENTRY.accept,
  leavesVote: false,
  withQueues: false,
  read: readAcceptance,
  head: () => [COUNTER_LIFE],
  rest: ({ amount }) => String(amount),
};

/** Both give votes back and hand them over. */
const WITHDRAWING: Pick<Operation, 'leavesVote' | 'withQueues' | 'head' | 'rest' | 'isClaim'> = {
  isClaim: false,
  leavesVote: false,
  withQueues: true,
  head: () => NONE,
  rest: () => undefined,
};

export const UNDOING: Operation = {
  ...WITHDRAWING,
  isUndo: true,
  script: UNDO,
  batch: BATCH,
  letter: ENTRY.undo,
  read: readUndo,
  alone: (request) => {
    const { args } = command(UNDO, namedKeys(request), request.token, NONE);
    return { name: 'eval', args: [UNDO.source, ...args.slice(1)] };
  },
};

export const RELEASING: Operation = {
  ...WITHDRAWING,
  isUndo: false,
  script: RELEASE,
  batch: BATCH,
  letter: ENTRY.release,
  read: readCount,
  alone: (request) => {
    const { scope, token } = request;
    const [key = ''] = scope.keys;
    // the usual case, written out: every lease ends here
    if (scope.keys.length === 1)
      return {
        name: 'evalsha',
        args: [scriptDigest(RELEASE.source), '3', key, queueKey(key), turnKey(key), token],
      };
    return command(RELEASE, namedKeys(request), token, NONE);
  },
};

/** What withdrawals that hand over directly have. */
const QUEUED: Pick<Operation, 'withLooks' | 'proposes' | 'head'> = {
  withLooks: true,
  proposes: true,
  head: ({ amount }) => [String(amount)],
};

export const UNDOING_QUEUED: Operation = {
  ...UNDOING,
  ...QUEUED,
  letter: ENTRY.undoQueued,
  alone: (request) => {
    const { args } = command(UNDO, namedKeys(request), request.token, QUEUED.head(request));
    return { name: 'eval', args: [UNDO.source, ...args.slice(1)] };
  },
};

export const RELEASING_QUEUED: Operation = {
  ...RELEASING,
  ...QUEUED,
  letter: ENTRY.releaseQueued,
  alone: (request) => command(RELEASE, namedKeys(request), request.token, QUEUED.head(request)),
};

/** A waiter's look at a lock: it claims it, or takes a place in its queue. */
export const QUEUEING: Operation = {
  isClaim: false,
  isUndo: false,
  batch: BATCH,
  letter: ENTRY.queue,
  leavesVote: true,
  withQueues: true,
  withLooks: true,
  proposes: true,
  read: readQueued,
  head: ({ amount, scope, ttlMs }) => [String(ttlMs), scope.isFenced ? COUNTER_LIFE : '0', String(amount)],
  rest: ({ place }) => place,
};

export const YIELDING: Operation = {
  isClaim: false,
  isUndo: false,
  batch: BATCH,
  letter: ENTRY.yield,
  leavesVote: false,
  withQueues: true,
  ...QUEUED,
  read: readCount,
  rest: ({ place }) => place,
};

export const EXTENDING: Operation = {
  isClaim: false,
  isUndo: false,
  batch: BATCH,
  letter: ENTRY.extend,
  leavesVote: true,
  withQueues: false,
  read: orTaken(readVote),
  head: (request) => [String(request.ttlMs), creation(request)],
  rest: () => undefined,
};

/** Reads the master's clock, by `TIME`. */
export const READING_CLOCK: Operation = {
  isClaim: false,
  isUndo: false,
  batch: undefined,
  letter: undefined,
  leavesVote: false,
  withQueues: false,
  read: readClock,
  head: () => NONE,
  rest: () => undefined,
  alone: () => ({ name: 'time', args: NONE }),
};
