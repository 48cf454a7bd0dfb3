/** The parts of a command: each entry of a batch as the command that would send it alone. */
import { ENTRY, SHARED_ENTRY } from '../../lib/protocol/lua/entries.js';
import {
  ACCEPT,
  BATCH,
  CLAIM,
  EXTEND,
  LEAVE,
  QUEUE,
  RELEASE,
  RW_ACCEPT,
  RW_CLAIM,
  RW_EXTEND,
  PERMIT_ALIGN,
  PERMIT_CLAIM,
  PERMIT_EXTEND,
  SHARED_BATCH,
  type Script,
  UNDO,
  YIELD,
} from '../../lib/protocol/lua/scripts.js';
import { scriptDigest } from '../../lib/redis/script.js';
import type { Command } from '../../lib/redis/transport.js';
import { isPlain } from '../../lib/testing/master/plain-commands.js';
import { scriptOf } from '../../lib/testing/master/execution.js';

const BATCHES = new Set([BATCH, SHARED_BATCH].flatMap(({ source }) => [source, scriptDigest(source)]));

export function isBatch(command: Command): boolean {
  return !isPlain(command) && BATCHES.has(command.args[0] ?? '');
}

/** Several ask for those of one batch. */
const entriesByBatch = new WeakMap<Command, readonly Command[]>();

/** The command itself, or the entries of a batch, in order. */
export function entriesOf(command: Command): readonly Command[] {
  if (!isBatch(command)) return [command];
  const found = entriesByBatch.get(command) ?? [...unpacked(command)];
  entriesByBatch.set(command, found);
  return found;
}

/** How to read the entries of one kind. */
interface Kind {
  readonly script: Script;
  /** How many arguments its group shares, after kind, number and size. */
  readonly heads: number;
  readonly hasCounters: (head: readonly string[]) => boolean;
  /** Its keys include queues and turns. */
  readonly hasQueues: boolean;
  /** They include terms, too. */
  readonly hasTerms?: true;
  /** How many arguments follow each token. */
  readonly rests: (head: readonly string[]) => number;
  /** The arguments of the script that sends it alone. */
  readonly args: (head: readonly string[], token: string, rest: readonly string[], guard: string) => string[];
  readonly isGuarded: boolean;
  /** The argument of its head that says, by '2', that it looks at the list of taken tokens. */
  readonly creationAt?: number;
}

/** What entries for shared locks usually have. */
const SHARED = {
  hasCounters: () => false,
  hasQueues: false,
  rests: () => 0,
  isGuarded: true,
};

const KINDS: Readonly<Record<string, Kind>> = {
  [ENTRY.claim]: claiming(false),
  [ENTRY.claimQueued]: claiming(true),
  [ENTRY.accept]: {
    script: ACCEPT,
    heads: 1,
    hasCounters: () => true,
    hasQueues: false,
    rests: () => 1,
    args: ([life = ''], token, [fence = ''], guard) => [token, fence, life, guard],
    isGuarded: true,
  },
  [ENTRY.extend]: {
    script: EXTEND,
    heads: 2,
    creationAt: 1,
    hasCounters: () => false,
    hasQueues: false,
    rests: () => 0,
    args: ([ttl = '', create = ''], token, _rest, guard) => [token, ttl, create, guard],
    isGuarded: true,
  },
  [ENTRY.undo]: withdrawal(UNDO),
  [ENTRY.release]: withdrawal(RELEASE),
  [ENTRY.undoQueued]: inQueue(UNDO),
  [ENTRY.releaseQueued]: inQueue(RELEASE),
  [ENTRY.queue]: {
    ...inQueue(QUEUE),
    heads: 3,
    rests: () => 1,
    args: ([ttl = '', life = '', proposal = ''], token, [place = ''], guard) => [
      ...[token, place, ttl, life, proposal, guard],
    ],
    isGuarded: true,
  },
  [ENTRY.yield]: {
    ...inQueue(YIELD),
    rests: () => 1,
    args: ([proposal = ''], token, [place = '']) => [token, place, proposal],
  },
  [SHARED_ENTRY.claim]: {
    ...SHARED,
    script: RW_CLAIM,
    heads: 5,
    hasCounters: ([, , life]) => life !== '0',
    rests: watchers,
    args: ([role = '', ttl = '', life = '', proposal = '', rank = ''], token, [watcher = ''], guard) => [
      ...[token, role, ttl, watcher, rank || '1', life, proposal, guard],
    ],
  },
  [SHARED_ENTRY.accept]: {
    ...SHARED,
    script: RW_ACCEPT,
    heads: 1,
    hasCounters: () => true,
    rests: () => 1,
    args: ([life = ''], token, [fence = ''], guard) => [token, fence, life, guard],
  },
  [SHARED_ENTRY.extend]: {
    ...SHARED,
    script: RW_EXTEND,
    heads: 3,
    creationAt: 2,
    args: ([role = '', ttl = '', create = ''], token, _rest, guard) => [token, role, ttl, create, guard],
  },
  [SHARED_ENTRY.claimPermits]: {
    ...SHARED,
    script: PERMIT_CLAIM,
    heads: 4,
    rests: watchers,
    args: ([ttl = '', wanted = '', permits = '', rank = ''], token, [watcher = ''], guard) => [
      ...[token, ttl, wanted, permits, watcher, rank || '1', guard],
    ],
  },
  [SHARED_ENTRY.align]: {
    ...SHARED,
    script: PERMIT_ALIGN,
    heads: 1,
    rests: () => 1,
    args: ([permits = ''], token, [slots = ''], guard) => [token, slots, permits, guard],
  },
  [SHARED_ENTRY.extendPermits]: {
    ...SHARED,
    script: PERMIT_EXTEND,
    heads: 3,
    creationAt: 2,
    rests: () => 1,
    args: ([ttl = '', permits = '', create = ''], token, [slots = ''], guard) => [
      ...[token, ttl, slots, permits, create, guard],
    ],
  },
  [SHARED_ENTRY.leave]: { ...withdrawal(LEAVE), hasQueues: false },
};

/** A claim for which masters watch names its watcher. */
function watchers(head: readonly string[]): number {
  return head.at(-1) === '' ? 0 : 1;
}

function claiming(isQueued: boolean): Kind {
  const more = isQueued ? ['1'] : [];
  return {
    script: CLAIM,
    heads: 3,
    hasCounters: ([, life]) => life !== '0',
    hasQueues: isQueued,
    rests: () => 0,
    args: ([ttl = '', life = '', proposal = ''], token, _rest, guard) => [
      ...[token, ttl, life, proposal, guard],
      ...more,
    ],
    isGuarded: true,
  };
}

function withdrawal(script: Script): Kind {
  return {
    script,
    heads: 0,
    hasCounters: () => false,
    hasQueues: true,
    rests: () => 0,
    args: (_head, token) => [token],
    isGuarded: false,
  };
}

/** A request that may hand over directly. */
function inQueue(script: Script): Kind {
  return {
    ...withdrawal(script),
    heads: 1,
    hasCounters: () => true,
    hasTerms: true,
    args: ([proposal = ''], token) => [token, proposal],
  };
}

function* unpacked({ name, args }: Command): Generator<Command> {
  const count = Number(args[1]);
  const keys = args.slice(2, 2 + count);
  const [guard = '', ...groups] = args.slice(2 + count);
  const marker = Number(guard) >= 0 ? keys.splice(-1) : [];
  const last = keys.slice(-1); // the list of taken tokens, where an entry looks at it
  while (groups.length > 0) {
    const [letter = '', entries, resources] = groups.splice(0, 3);
    const kind = KINDS[letter];
    if (kind === undefined) throw new Error(`a batch has no entries of kind ${letter}`);
    const head = groups.splice(0, kind.heads);
    const ofEach =
      Number(resources) *
      (1 + (kind.hasQueues ? 2 : 0) + (kind.hasTerms ? 1 : 0) + (kind.hasCounters(head) ? 1 : 0));
    for (let i = 0; i < Number(entries); i++) {
      const taken = kind.creationAt !== undefined && head[kind.creationAt] === '2' ? last : [];
      const own = [...keys.splice(0, ofEach), ...taken, ...(kind.isGuarded ? marker : [])];
      const [token = ''] = groups.splice(0, 1);
      const more = kind.args(head, token, groups.splice(0, kind.rests(head)), guard);
      const script = name === 'eval' ? kind.script.source : scriptDigest(kind.script.source);
      yield { name, args: [script, String(own.length), ...own, ...more] };
    }
  }
}

/** The locks that a command is about. */
export function locksOf(command: Command): readonly string[] {
  const { args } = command;
  if (isPlain(command)) return args.slice(0, 1);
  const locks: string[] = [];
  for (const key of args.slice(2, 2 + Number(args[1]))) {
    // a gate belongs to the lock that it is before
    const lock = key.startsWith('quorate:') ? lockBeside('gate', key) : key;
    if (lock !== undefined) locks.push(lock);
  }
  return locks;
}

/** The lock that a key of this kind belongs to; undefined for another key. */
export function lockBeside(kind: 'gate' | 'queue', key: string): string | undefined {
  const [plain, tagged] = [`quorate:${kind}:{`, `quorate:tagged:${kind}:`];
  if (key.startsWith(plain)) return key.slice(plain.length, -1);
  return key.startsWith(tagged) ? key.slice(tagged.length) : undefined;
}

/** The token in a command; undefined if the command is not about a lock. */
export function tokenOf(command: Command): string | undefined {
  const { args } = command;
  if (locksOf(command).length === 0) return undefined;
  return isPlain(command) ? args[1] : args[2 + Number(args[1])];
}

/** The fencing token that an entry for a shared lock puts to the master: its reply need not repeat it. */
export function tokenPut(entry: Command): number | undefined {
  const args = entry.args.slice(2 + Number(entry.args[1]));
  const script = scriptOf(entry);
  const text = script === RW_CLAIM ? args[6] : script === RW_ACCEPT ? args[1] : undefined;
  return text === undefined ? undefined : Number(text);
}
