/**
 * What is asked of a master. A request is built once and sent to all masters as it is, alone or in a batch.
 */
import { counterTtlMs, queueKey, turnKey } from './keys.js';
import type { Outcome } from './quorum.js';
import { readAcceptance, readCount, readFenced, readSet, readUndo, readVote } from './replies.js';
import { NO_MARKER, type Scope } from './scope.js';
import {
  ACCEPT,
  BOOTSTRAP,
  CLAIM,
  ENTRY,
  EXTEND,
  HELLO,
  INSPECT,
  QUEUE,
  RELEASE,
  type Script,
  UNDO,
  VOUCH,
} from './scripts.js';
import { type Command, scriptDigest } from './transport.js';

const NONE: readonly string[] = Object.freeze([]);

/** What a request of one kind is made of: its script, how it goes alone and in a batch, and how it is answered. */
interface Operation {
  /** Undefined for a plain command. */
  readonly script: Script | undefined;
  /** Its letter in a batch; undefined for what always goes alone. */
  readonly letter: (typeof ENTRY)[keyof typeof ENTRY] | undefined;
  /** It may leave a vote: an undo has to follow it, and it must not be sent again once nobody waits for it. */
  readonly leavesVote: boolean;
  /** Queues and turns are among its keys. */
  readonly withQueues: boolean;
  readonly read: (reply: unknown, scope: Scope) => Outcome | undefined;
  /** It alone. */
  readonly alone: (request: Request) => Command;
  /** What stands at the head of a group of such requests. */
  readonly head: (request: Request) => readonly string[];
  /** What follows the token of each. */
  readonly rest: (request: Request) => string | undefined;
}

/** What goes into a request beside names and token; what its kind does not need is 0 or false. */
interface Terms {
  readonly ttlMs?: number;
  /** The fence, the highest one seen, or the floor. */
  readonly amount?: number;
  readonly mayCreate?: boolean;
  readonly withCounters?: boolean;
}

export class Request {
  readonly operation: Operation;
  readonly scope: Scope;
  readonly token: string;
  readonly ttlMs: number;
  readonly amount: number;
  readonly mayCreate: boolean;
  /** Counters are among its keys. */
  readonly withCounters: boolean;
  #command: Command | undefined;

  constructor(operation: Operation, scope: Scope, token: string, terms: Terms) {
    this.operation = operation;
    this.scope = scope;
    this.token = token;
    this.ttlMs = terms.ttlMs ?? 0;
    this.amount = terms.amount ?? 0;
    this.mayCreate = terms.mayCreate ?? false;
    this.withCounters = terms.withCounters ?? false;
  }

  /** As it goes alone; built once for all masters. */
  get command(): Command {
    this.#command ??= this.operation.alone(this);
    return this.#command;
  }

  get leavesVote(): boolean {
    return this.operation.leavesVote;
  }

  /** Its grants come with a fencing token each, on which a quorum has to agree. */
  get isFenced(): boolean {
    return this.withCounters && this.operation === SCRIPTED_CLAIM;
  }

  /** The guard has a word in it: where it is in a batch, the batch looks at the marker. */
  get isGuarded(): boolean {
    return this.operation.letter !== ENTRY.undo && this.operation.letter !== ENTRY.release;
  }

  /** It must not take two steps: a batch with it is sent whole. */
  get isWhole(): boolean {
    return this.operation === UNDOING;
  }

  /** The outcome that a reply stands for; undefined for a reply that does not belong to this request. */
  read(reply: unknown): Outcome | undefined {
    return this.operation.read(reply, this.scope);
  }

  /** Do both stand in the same group of a batch? */
  isLike(other: Request): boolean {
    return (
      this.operation === other.operation &&
      this.ttlMs === other.ttlMs &&
      this.scope.keys.length === other.scope.keys.length &&
      this.withCounters === other.withCounters &&
      this.mayCreate === other.mayCreate &&
      (this.amount === other.amount || this.operation !== SCRIPTED_CLAIM)
    );
  }

  /** Makes the master know a script that may leave a vote: carried out on no keys, it does nothing. */
  lesson(): Command | undefined {
    const { script } = this.operation;
    const onNothing = script === undefined ? undefined : ON_NOTHING.get(script);
    if (script === undefined || onNothing === undefined) return undefined;
    return { name: 'eval', args: [script.source, '0', ...onNothing] };
  }

  /** What is sent when the master does not know the script (yet, or any more). */
  whole(): Command {
    const { script } = this.operation;
    if (script === undefined || this.isWhole) return this.command;
    return { name: 'eval', args: [script.source, ...this.command.args.slice(1)] };
  }
}

/** The arguments with which a script does nothing on no keys. */
const ON_NOTHING: ReadonlyMap<Script, readonly string[]> = new Map([
  [CLAIM, ['0', '0', '0', '0', '-1']],
  [EXTEND, ['0', '0', '0', '0', '0', '-1']],
  [QUEUE, []],
]);

const CLAIMING: Pick<Operation, 'letter' | 'leavesVote' | 'withQueues' | 'head' | 'rest'> = {
  letter: ENTRY.claim,
  leavesVote: true,
  withQueues: false,
  head: ({ ttlMs, withCounters, amount }) => [
    String(ttlMs),
    withCounters ? String(counterTtlMs(ttlMs)) : '0',
    String(amount),
  ],
  rest: () => undefined,
};

const PLAIN_CLAIM: Operation = {
  ...CLAIMING,
  script: undefined,
  read: readSet,
  alone: ({ scope, token, ttlMs }) => ({
    name: 'set',
    args: [scope.keys[0] ?? '', token, 'PX', String(ttlMs), 'NX'],
  }),
};

const SCRIPTED_CLAIM: Operation = {
  ...CLAIMING,
  script: CLAIM,
  read: (reply, scope) => (scope.isFenced ? readFenced(reply, scope) : readVote(reply, scope)),
  alone: (request) => {
    const { scope, token } = request;
    return command(CLAIM, allKeys(request), token, [...CLAIMING.head(request), String(scope.guardMs)]);
  },
};

const ACCEPTING: Operation = {
  script: ACCEPT,
  letter: ENTRY.accept,
  leavesVote: false,
  withQueues: false,
  read: readAcceptance,
  head: ({ ttlMs }) => [String(counterTtlMs(ttlMs))],
  rest: ({ amount }) => String(amount),
  alone: (request) => {
    const { amount, scope, token, ttlMs } = request;
    const more = [String(amount), String(counterTtlMs(ttlMs)), String(scope.guardMs)];
    return command(ACCEPT, allKeys(request), token, more);
  },
};

/** Both take votes back and hand them over, and lift counters to what was seen where there was anything to see. */
const WITHDRAWING: Pick<Operation, 'leavesVote' | 'withQueues' | 'head' | 'rest'> = {
  leavesVote: false,
  withQueues: true,
  head: ({ withCounters }) => [withCounters ? '1' : '0'],
  rest: ({ amount, withCounters }) => (withCounters ? String(amount) : undefined),
};

const UNDOING: Operation = {
  ...WITHDRAWING,
  script: UNDO,
  letter: ENTRY.undo,
  read: readUndo,
  alone: (request) => {
    const { args } = command(UNDO, namedKeys(request), request.token, seen(request));
    return { name: 'eval', args: [UNDO.source, ...args.slice(1)] };
  },
};

const RELEASE_DIGEST = scriptDigest(RELEASE.source);

const RELEASING: Operation = {
  ...WITHDRAWING,
  script: RELEASE,
  letter: ENTRY.release,
  read: readCount,
  alone: (request) => {
    const { withCounters, scope, token } = request;
    const [key = ''] = scope.keys;
    // the usual one, written out: every lease ends here
    if (!withCounters && scope.keys.length === 1)
      return { name: 'evalsha', args: [RELEASE_DIGEST, '3', key, queueKey(key), turnKey(key), token] };
    return command(RELEASE, namedKeys(request), token, seen(request));
  },
};

const EXTENDING: Operation = {
  script: EXTEND,
  letter: ENTRY.extend,
  leavesVote: true,
  withQueues: false,
  read: readVote,
  head: ({ withCounters, mayCreate, ttlMs }) => [
    String(ttlMs),
    mayCreate ? '1' : '0',
    withCounters ? String(counterTtlMs(ttlMs)) : '0',
  ],
  rest: ({ amount, withCounters }) => (withCounters ? String(amount) : undefined),
  alone: (request) => {
    const { amount, scope, token } = request;
    const more = [...EXTENDING.head(request), String(amount), String(scope.guardMs)];
    return command(EXTEND, allKeys(request), token, more);
  },
};

/** The plain claim of one key: `SET key token NX PX ttl`, as every Redlock sends it. */
export function plainClaim(scope: Scope, token: string, ttlMs: number): Request {
  return new Request(PLAIN_CLAIM, scope, token, { ttlMs });
}

/** A claim by script: of several keys, with a fencing token, under a guard, or to learn at once what is in the way. */
export function scriptedClaim(scope: Scope, token: string, ttlMs: number, floorUs: number): Request {
  const { isFenced } = scope;
  return new Request(SCRIPTED_CLAIM, scope, token, {
    ttlMs,
    withCounters: isFenced,
    amount: isFenced ? floorUs : 0,
  });
}

/** Has a fence accepted by a master that granted with a lower one. Leaves no vote: without one it does nothing. */
export function acceptance(scope: Scope, token: string, ttlMs: number, fence: number): Request {
  return new Request(ACCEPTING, scope, token, { ttlMs, withCounters: true, amount: fence });
}

/**
 * Takes a claim back, and looks at what is there instead. Whole at once: it must do with one step.
 *
 * @param seen  the highest fence that the attempt met: counters that lag behind are lifted to it
 */
export function undo(scope: Scope, token: string, seen = 0): Request {
  return new Request(UNDOING, scope, token, { withCounters: seen > 0, amount: seen });
}

/** @param seen  the highest fence that was met: counters that lag behind are lifted to it; 0 where none does */
export function release(scope: Scope, token: string, seen: number): Request {
  return new Request(RELEASING, scope, token, { withCounters: seen > 0, amount: seen });
}

export interface ExtensionTerms {
  readonly ttlMs: number;
  /** What counters are lifted to; 0 leaves them as they are. */
  readonly fence: number;
  /** Whether a key that is gone is set again; only while the lease is surely valid. */
  readonly mayCreate: boolean;
}

export function extension(scope: Scope, token: string, { ttlMs, fence, mayCreate }: ExtensionTerms): Request {
  return new Request(EXTENDING, scope, token, { ttlMs, mayCreate, withCounters: fence > 0, amount: fence });
}

export function inspection(key: string): Request {
  return lone(INSPECT, barely([key, queueKey(key)]), '', []);
}

/** Sends this client a message of its own, and learns the master's clock. */
export function hello(channel: string): Request {
  return lone(HELLO, barely([]), '', [channel]);
}

/** Does the master vote, or is it quarantined? */
export function vouching(marker: string, guardMs: number): Request {
  return lone(VOUCH, barely([marker]), '', [String(guardMs)]);
}

/** Declares that the master has forgotten nothing. */
export function bootstrapping(marker: string, guardMs: number, force: boolean): Request {
  return lone(BOOTSTRAP, barely([marker]), '', [String(guardMs), force ? '1' : '0']);
}

/** What always goes alone. The guard has a word in what may leave a vote. */
export function lone(
  script: Script,
  scope: Scope,
  token: string,
  args: readonly string[],
  manner: Partial<Pick<Operation, 'leavesVote' | 'withQueues' | 'read'>> = {},
): Request {
  const operation: Operation = {
    script,
    letter: undefined,
    leavesVote: false,
    withQueues: false,
    read: () => undefined,
    alone: (request) => {
      const keys = request.leavesVote ? allKeys(request) : namedKeys(request);
      return command(script, keys, token, args);
    },
    head: () => NONE,
    rest: () => undefined,
    ...manner,
  };
  return new Request(operation, scope, token, {});
}

/** These keys, and nothing beside them. */
function barely(keys: readonly string[]): Scope {
  return {
    keys,
    counters: NONE,
    queues: NONE,
    turns: NONE,
    isFenced: false,
    marker: undefined,
    guardMs: NO_MARKER,
  };
}

/** Resources, and what stands beside them as far as it needs that. */
export function namedKeys({ operation, withCounters, scope }: Request): readonly string[] {
  const keys = operation.withQueues ? [...scope.keys, ...scope.queues, ...scope.turns] : scope.keys;
  return withCounters ? [...keys, ...scope.counters] : keys;
}

/** In the order of the scripts: resources, queues, turns, counters, marker. */
function allKeys(request: Request): readonly string[] {
  const { marker } = request.scope;
  return marker === undefined ? namedKeys(request) : [...namedKeys(request), marker];
}

function seen({ amount, withCounters }: Request): readonly string[] {
  return withCounters ? [String(amount)] : NONE;
}

function command(script: Script, keys: readonly string[], token: string, more: readonly string[]): Command {
  const args = [scriptDigest(script.source), String(keys.length)];
  for (const key of keys) args.push(key);
  if (token !== '') args.push(token);
  for (const argument of more) args.push(argument);
  return { name: 'evalsha', args };
}
