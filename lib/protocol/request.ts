/**
 * Requests to masters. A request is built once and sent unchanged to all masters, alone or in a batch.
 */
import { gateKey, queueKey } from './keys.js';
import {
  CLAIMING_SHARED,
  claimingOf,
  extendingOf,
  RELEASING_SHARED,
  RW_ACCEPTING,
  SEM_CLAIMING,
  SEM_ALIGNING,
  UNDOING_SHARED,
} from './shared-operations.js';
import { SURVEY_SHARED } from './lua/shared-scripts.js';
import { allKeys, type Asked, command, namedKeys, type Operation, type Watch } from './operation.js';
import {
  ACCEPTING,
  EXTENDING,
  PLAIN_CLAIM,
  QUEUED_CLAIM,
  RELEASING,
  SCRIPTED_CLAIM,
  UNDOING,
} from './mutex-operations.js';
import type { Outcome } from './quorum.js';
import { MUTEX, NO_MARKER, type Scope } from './scope.js';
import { BOOTSTRAP, CLAIM, ENTRY, EXTEND, HELLO, INSPECT, QUEUE, type Script, VOUCH } from './lua/scripts.js';
import type { Command } from '../redis/transport.js';

const NONE: readonly string[] = Object.freeze([]);

/**
 * Terms that most requests have; 0 or false if the operation does not need them. All objects have the same shape: many
 * are made.
 */
type Terms = Pick<Asked, 'ttlMs' | 'withCounters' | 'amount'>;

/** Terms that few requests have. */
type Rest = Partial<Pick<Asked, 'mayCreate' | 'watch' | 'slots'>>;

const NO_TERMS: Terms = Object.freeze({ ttlMs: 0, withCounters: false, amount: 0 });
const NO_REST: Rest = Object.freeze({});
const CREATING: Rest = Object.freeze({ mayCreate: true });

export class Request implements Asked {
  readonly operation: Operation;
  readonly scope: Scope;
  readonly token: string;
  readonly ttlMs: number;
  readonly amount: number;
  readonly mayCreate: boolean;
  /** Its keys include the counters. */
  readonly withCounters: boolean;
  readonly watch: Watch | undefined;
  readonly slots: string;
  #command: Command | undefined;

  constructor(
    operation: Operation,
    scope: Scope,
    token: string,
    { ttlMs, withCounters, amount }: Terms,
    { mayCreate = false, watch, slots = '' }: Rest = NO_REST,
  ) {
    this.operation = operation;
    this.scope = scope;
    this.token = token;
    this.ttlMs = ttlMs;
    this.withCounters = withCounters;
    this.amount = amount;
    this.mayCreate = mayCreate;
    this.watch = watch;
    this.slots = slots;
  }

  /** The command that sends it alone; built once for all masters. */
  get command(): Command {
    this.#command ??= this.operation.alone(this);
    return this.#command;
  }

  /** What no text may show. */
  get secrets(): readonly string[] {
    return this.watch === undefined ? [this.token] : [this.token, this.watch.watcher];
  }

  get leavesVote(): boolean {
    return this.operation.leavesVote;
  }

  /** Its grants carry fencing tokens, on which a quorum has to agree. */
  get isFenced(): boolean {
    return this.withCounters && this.operation.isClaim;
  }

  /** Its grants carry permits, on which a quorum has to agree. */
  get takesPermits(): boolean {
    return this.operation === SEM_CLAIMING;
  }

  /** The restart guard applies to it: a batch with it checks the marker. */
  get isGuarded(): boolean {
    return this.operation.letter !== ENTRY.undo && this.operation.letter !== ENTRY.release;
  }

  /** It must take effect in one step: a batch with it is sent with the script's source. */
  get isWhole(): boolean {
    return this.operation.isUndo;
  }

  /** The outcome of a reply; undefined if the reply does not fit this request. */
  read(reply: unknown): Outcome | undefined {
    return this.operation.read(reply, this.scope);
  }

  /** Whether both belong in the same group of a batch. */
  isLike(other: Request): boolean {
    return (
      this.operation === other.operation &&
      this.ttlMs === other.ttlMs &&
      this.scope.keys.length === other.scope.keys.length &&
      this.withCounters === other.withCounters &&
      this.mayCreate === other.mayCreate &&
      (this.amount === other.amount || !this.operation.isClaim)
    );
  }

  /** Loads a script that may leave a vote into a master: without keys, it does nothing. */
  lesson(): Command | undefined {
    const { script } = this.operation;
    const onNothing = script === undefined ? undefined : ON_NOTHING.get(script);
    if (script === undefined || onNothing === undefined) return undefined;
    return { name: 'eval', args: [script.source, '0', ...onNothing] };
  }

  /** The command with the script's source, for a master that does not know the script. */
  whole(): Command {
    const { script } = this.operation;
    if (script === undefined || this.isWhole) return this.command;
    return { name: 'eval', args: [script.source, ...this.command.args.slice(1)] };
  }
}

/** The arguments with which a script without keys does nothing. */
const ON_NOTHING: ReadonlyMap<Script, readonly string[]> = new Map([
  [CLAIM, ['0', '0', '0', '0', '-1']],
  [EXTEND, ['0', '0', '0', '0', '0', '-1']],
  [QUEUE, []],
  ...CLAIMING_SHARED.map((script) => [script, NONE] as const),
]);

/** The plain claim of one key: `SET key token NX PX ttl`, as every Redlock sends it. */
export function plainClaim(scope: Scope, token: string, ttlMs: number): Request {
  return new Request(PLAIN_CLAIM, scope, token, { ttlMs, withCounters: false, amount: 0 });
}

/** A claim by script: for several keys, with a fencing token, under a guard, or to learn at once why it is refused. */
export function scriptedClaim(
  scope: Scope,
  token: string,
  ttlMs: number,
  floorUs: number,
  watch?: Watch,
): Request {
  const { isFenced, kind } = scope;
  const amount = isFenced ? floorUs : 0;
  const operation = kind.name === 'mutex' ? SCRIPTED_CLAIM : claimingOf(kind);
  const terms = { ttlMs, withCounters: isFenced, amount };
  return new Request(operation, scope, token, terms, watch === undefined ? NO_REST : { watch });
}

/** The claim of a waiter from the queues of exclusive locks: it leaves the queues. */
export function claimInLine(scope: Scope, token: string, ttlMs: number, floorUs: number): Request {
  const terms = { ttlMs, withCounters: scope.isFenced, amount: scope.isFenced ? floorUs : 0 };
  return new Request(QUEUED_CLAIM, scope, token, terms);
}

/**
 * Makes a master that granted with a lower fencing token accept this one. Leaves no vote: without a vote it does nothing.
 */
export function acceptance(scope: Scope, token: string, ttlMs: number, fence: number): Request {
  const operation = scope.kind.name === 'mutex' ? ACCEPTING : RW_ACCEPTING;
  return new Request(operation, scope, token, { ttlMs, withCounters: true, amount: fence });
}

/**
 * Undoes a claim, and looks at what holds the lock instead. Always sent with its source: it must take effect in one step.
 *
 * @param seen  the highest count that the attempt met: lower counters are raised to it
 */
export function undo(scope: Scope, token: string, seen = 0): Request {
  const operation = scope.kind.name === 'mutex' ? UNDOING : UNDOING_SHARED;
  return new Request(operation, scope, token, withdrawing(scope, seen));
}

/** @param seen  the highest count that was met: lower counters are raised to it; 0 if none is lower */
export function release(scope: Scope, token: string, seen: number): Request {
  const operation = scope.kind.name === 'mutex' ? RELEASING : RELEASING_SHARED;
  return new Request(operation, scope, token, withdrawing(scope, seen));
}

function withdrawing(scope: Scope, seen: number): Terms {
  return { ttlMs: 0, withCounters: seen > 0 && scope.isFenced, amount: seen };
}

export interface ExtensionTerms {
  readonly ttlMs: number;
  /** The count to which counters are raised; 0 leaves them unchanged. */
  readonly fence: number;
  /** Whether a key that is gone is set again; only while the lease is certainly valid. */
  readonly mayCreate: boolean;
}

export function extension(scope: Scope, token: string, { ttlMs, fence, mayCreate }: ExtensionTerms): Request {
  const { kind } = scope;
  const operation = kind.name === 'mutex' ? EXTENDING : extendingOf(kind);
  const withCounters = fence > 0 && (kind.name === 'mutex' || kind.name === 'write');
  const terms = { ttlMs, withCounters, amount: fence };
  return new Request(operation, scope, token, terms, mayCreate ? CREATING : NO_REST);
}

/** Makes a master that gave other permits give exactly these. Leaves no vote. @param slots  as in `0,3` */
export function aligning(scope: Scope, token: string, slots: string): Request {
  return new Request(SEM_ALIGNING, scope, token, NO_TERMS, { slots });
}

/** Looks at a shared lock, and at the queue of its gate. */
export function sharedInspection(key: string): Request {
  const gate = gateKey(key);
  return lone(SURVEY_SHARED, barely([key, gate, queueKey(gate)]), '', []);
}

export function inspection(key: string): Request {
  return lone(INSPECT, barely([key, queueKey(key)]), '', []);
}

/** Publishes a message to this client itself, and reads the master's clock. */
export function hello(channel: string): Request {
  return lone(HELLO, barely([]), '', [channel]);
}

/** Asks whether the master votes or is quarantined. */
export function vouching(marker: string, guardMs: number): Request {
  return lone(VOUCH, barely([marker]), '', [String(guardMs)]);
}

/** Declares that the master has not forgotten anything. */
export function bootstrapping(marker: string, guardMs: number, force: boolean): Request {
  return lone(BOOTSTRAP, barely([marker]), '', [String(guardMs), force ? '1' : '0']);
}

/** A request that is always sent alone. The restart guard applies if it may leave a vote. */
export function lone(
  script: Script,
  scope: Scope,
  token: string,
  args: readonly string[],
  manner: Partial<Pick<Operation, 'leavesVote' | 'withQueues' | 'read'>> = {},
): Request {
  const operation: Operation = {
    isClaim: false,
    isUndo: false,
    script,
    letter: undefined,
    leavesVote: false,
    withQueues: false,
    read: () => undefined,
    alone: (request) => {
      const keys = request.operation.leavesVote ? allKeys(request) : namedKeys(request);
      return command(script, keys, token, args);
    },
    head: () => NONE,
    rest: () => undefined,
    ...manner,
  };
  return new Request(operation, scope, token, NO_TERMS);
}

/** A scope of these keys and nothing else. */
function barely(keys: readonly string[]): Scope {
  return {
    keys,
    isFenced: false,
    marker: undefined,
    guardMs: NO_MARKER,
    kind: MUTEX,
  };
}
