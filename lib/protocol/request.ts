/**
 * What is asked of a master. A request is built once and sent to all masters as it is, alone or in a batch.
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

/** What stands in most requests; 0 or false where its kind does not need it. All the same shape: many are made. */
type Terms = Pick<Asked, 'ttlMs' | 'withCounters' | 'amount'>;

/** What few requests need. */
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
  /** Counters are among its keys. */
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

  /** As it goes alone; built once for all masters. */
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

  /** Its grants come with a fencing token each, on which a quorum has to agree. */
  get isFenced(): boolean {
    return this.withCounters && this.operation.isClaim;
  }

  /** Its grants come with slots, on which a quorum has to agree. */
  get takesPermits(): boolean {
    return this.operation === SEM_CLAIMING;
  }

  /** The guard has a word in it: where it is in a batch, the batch looks at the marker. */
  get isGuarded(): boolean {
    return this.operation.letter !== ENTRY.undo && this.operation.letter !== ENTRY.release;
  }

  /** It must not take two steps: a batch with it is sent whole. */
  get isWhole(): boolean {
    return this.operation.isUndo;
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
      (this.amount === other.amount || !this.operation.isClaim)
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
  ...CLAIMING_SHARED.map((script) => [script, NONE] as const),
]);

/** The plain claim of one key: `SET key token NX PX ttl`, as every Redlock sends it. */
export function plainClaim(scope: Scope, token: string, ttlMs: number): Request {
  return new Request(PLAIN_CLAIM, scope, token, { ttlMs, withCounters: false, amount: 0 });
}

/** A claim by script: of several keys, with a fencing token, under a guard, or to learn at once what is in the way. */
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

/** A claim by one who has stood in line for these keys, which are of exclusive locks: it leaves the line with it. */
export function claimInLine(scope: Scope, token: string, ttlMs: number, floorUs: number): Request {
  const terms = { ttlMs, withCounters: scope.isFenced, amount: scope.isFenced ? floorUs : 0 };
  return new Request(QUEUED_CLAIM, scope, token, terms);
}

/** Has a fence accepted by a master that granted with a lower one. Leaves no vote: without one it does nothing. */
export function acceptance(scope: Scope, token: string, ttlMs: number, fence: number): Request {
  const operation = scope.kind.name === 'mutex' ? ACCEPTING : RW_ACCEPTING;
  return new Request(operation, scope, token, { ttlMs, withCounters: true, amount: fence });
}

/**
 * Takes a claim back, and looks at what is there instead. Whole at once: it must do with one step.
 *
 * @param seen  the highest fence that the attempt met: counters that lag behind are lifted to it
 */
export function undo(scope: Scope, token: string, seen = 0): Request {
  const operation = scope.kind.name === 'mutex' ? UNDOING : UNDOING_SHARED;
  return new Request(operation, scope, token, withdrawing(scope, seen));
}

/** @param seen  the highest fence that was met: counters that lag behind are lifted to it; 0 where none does */
export function release(scope: Scope, token: string, seen: number): Request {
  const operation = scope.kind.name === 'mutex' ? RELEASING : RELEASING_SHARED;
  return new Request(operation, scope, token, withdrawing(scope, seen));
}

function withdrawing(scope: Scope, seen: number): Terms {
  return { ttlMs: 0, withCounters: seen > 0 && scope.isFenced, amount: seen };
}

export interface ExtensionTerms {
  readonly ttlMs: number;
  /** What counters are lifted to; 0 leaves them as they are. */
  readonly fence: number;
  /** Whether a key that is gone is set again; only while the lease is surely valid. */
  readonly mayCreate: boolean;
}

export function extension(scope: Scope, token: string, { ttlMs, fence, mayCreate }: ExtensionTerms): Request {
  const { kind } = scope;
  const operation = kind.name === 'mutex' ? EXTENDING : extendingOf(kind);
  const withCounters = fence > 0 && (kind.name === 'mutex' || kind.name === 'write');
  const terms = { ttlMs, withCounters, amount: fence };
  return new Request(operation, scope, token, terms, mayCreate ? CREATING : NO_REST);
}

/** Has a holder of permits hold exactly these at a master that gave others. Leaves no vote. @param slots  as `0,3` */
export function aligning(scope: Scope, token: string, slots: string): Request {
  return new Request(SEM_ALIGNING, scope, token, NO_TERMS, { slots });
}

/** Looks at a lock that several may hold, and at the queue of its gate. */
export function sharedInspection(key: string): Request {
  const gate = gateKey(key);
  return lone(SURVEY_SHARED, barely([key, gate, queueKey(gate)]), '', []);
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

/** These keys, and nothing beside them. */
function barely(keys: readonly string[]): Scope {
  return {
    keys,
    isFenced: false,
    marker: undefined,
    guardMs: NO_MARKER,
    kind: MUTEX,
  };
}
