/**
 * What is asked of a master. A request is built once and sent to all masters as it is, alone or in a batch.
 */
import { counterTtlMs } from './keys.js';
import type { Outcome } from './quorum.js';
import { readAcceptance, readFenced, readRelease, readSet, readUndo, readVote } from './replies.js';
import { NO_MARKER, type Scope } from './scope.js';
import {
  ACCEPT,
  BOOTSTRAP,
  CLAIM,
  ENTRY,
  EXTEND,
  INSPECT,
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

  /** Makes the master know the script of a claim or an extension: carried out on no keys, it does nothing. */
  lesson(): Command | undefined {
    const { script } = this.operation;
    if (script !== CLAIM && script !== EXTEND) return undefined;
    const onNothing = script === CLAIM ? ['0', '0', '0', '0', '-1'] : ['0', '0', '0', '0', '0', '-1'];
    return { name: 'eval', args: [script.source, '0', ...onNothing] };
  }

  /** What is sent when the master does not know the script (yet, or any more). */
  whole(): Command {
    const { script } = this.operation;
    if (script === undefined || this.isWhole) return this.command;
    return { name: 'eval', args: [script.source, ...this.command.args.slice(1)] };
  }
}

const CLAIMING: Pick<Operation, 'letter' | 'leavesVote' | 'head' | 'rest'> = {
  letter: ENTRY.claim,
  leavesVote: true,
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
  read: readAcceptance,
  head: ({ ttlMs }) => [String(counterTtlMs(ttlMs))],
  rest: ({ amount }) => String(amount),
  alone: (request) => {
    const { amount, scope, token, ttlMs } = request;
    const more = [String(amount), String(counterTtlMs(ttlMs)), String(scope.guardMs)];
    return command(ACCEPT, allKeys(request), token, more);
  },
};

/** Both take votes back, and lift counters to what was seen where there was anything to see. */
const WITHDRAWING: Pick<Operation, 'leavesVote' | 'head' | 'rest'> = {
  leavesVote: false,
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
  read: readRelease,
  alone: (request) => {
    const { withCounters, scope, token } = request;
    const [key = ''] = scope.keys;
    // the usual one, written out: every lease ends here
    if (!withCounters && scope.keys.length === 1)
      return { name: 'evalsha', args: [RELEASE_DIGEST, '1', key, token] };
    return command(RELEASE, namedKeys(request), token, seen(request));
  },
};

const EXTENDING: Operation = {
  script: EXTEND,
  letter: ENTRY.extend,
  leavesVote: true,
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
  return lookAt(INSPECT, key, []);
}

/** Does the master vote, or is it quarantined? */
export function vouching(marker: string, guardMs: number): Request {
  return lookAt(VOUCH, marker, [String(guardMs)]);
}

/** Declares that the master has forgotten nothing. */
export function bootstrapping(marker: string, guardMs: number, force: boolean): Request {
  return lookAt(BOOTSTRAP, marker, [String(guardMs), force ? '1' : '0']);
}

function lookAt(script: Script, key: string, args: readonly string[]): Request {
  const operation: Operation = {
    script,
    letter: undefined,
    leavesVote: false,
    read: () => undefined,
    alone: ({ scope }) => command(script, scope.keys, '', args),
    head: () => NONE,
    rest: () => undefined,
  };
  const scope: Scope = { keys: [key], counters: [], isFenced: false, marker: undefined, guardMs: NO_MARKER };
  return new Request(operation, scope, '', {});
}

/** Resources, and their counters where it needs them. */
export function namedKeys({ withCounters, scope }: Request): readonly string[] {
  return withCounters ? [...scope.keys, ...scope.counters] : scope.keys;
}

/** In the order of the scripts: keys, counters, marker. */
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
