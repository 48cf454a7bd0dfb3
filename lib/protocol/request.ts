/**
 * Requests to masters. A request is built once and sent unchanged to all masters: its short way, or as an entry of a batch.
 */
import { batchCall } from './batch-call.js';
import { counterKey, queueKey, looksKey } from './keys.js';
import {
  claimingOf,
  extendingOf,
  RELEASING_SHARED,
  RELEASING_SHARED_LEAN,
  RW_ACCEPTING,
  PERMIT_ALIGNING,
  UNDOING_SHARED,
} from './shared-operations.js';
import { ENTRY, LEAN, SHARED_ENTRY } from './lua/entries.js';
import {
  BATCH,
  BOOTSTRAP,
  CLAIM,
  HELLO,
  INSPECT,
  PERMIT_CLAIM,
  RW_CLAIM,
  SHARED_BATCH,
  SURVEY_SHARED,
  type Script,
  VOUCH,
} from './lua/scripts.js';
import { type Asked, command, creation, namedKeys, type Operation } from './operation.js';
import {
  ACCEPTING,
  EXTENDING,
  PLAIN_CLAIM,
  QUEUED_CLAIM,
  READING_CLOCK,
  RELEASING,
  RELEASING_QUEUED,
  SCRIPTED_CLAIM,
  UNDOING,
  UNDOING_QUEUED,
} from './mutex-operations.js';
import type { Outcome } from './quorum.js';
import { isAlike, MUTEX, NO_MARKER, type Scope } from './scope.js';
import type { Command } from '../redis/transport.js';

const NONE: readonly string[] = Object.freeze([]);

/**
 * Terms that most requests have; 0 or false if the operation does not need them. All objects have the same shape: many
 * are made.
 */
type Terms = Pick<Asked, 'ttlMs' | 'withCounters'> & {
  /** The fencing token that is put to the masters. */
  readonly amount: Proposal;
};

/** Terms that few requests have. */
type Rest = Partial<Pick<Asked, 'mayCreate' | 'slots' | 'place'>>;

/** Draws fencing tokens to propose. */
export interface Proposals {
  /** In µs; 0 for none. */
  propose(): number;
}

/** The fencing token that a claim proposes, in µs, 0 for none; or where it draws one. */
export type Proposal = number | Proposals;

const NO_TERMS: Terms = Object.freeze({ ttlMs: 0, withCounters: false, amount: 0 });
/** What lets waiters in, and proposes no fencing token for them. */
const QUEUE_TERMS: Terms = Object.freeze({ ttlMs: 0, withCounters: true, amount: 0 });
const NO_REST: Rest = Object.freeze({});
/** The place of a claim that leaves the queue of a shared lock. */
const LEAVING_QUEUE: Rest = Object.freeze({ place: 'q' });
const CREATING: Rest = Object.freeze({ mayCreate: true });

type Letters = ReadonlySet<Operation['letter']>;
const RENEWALS: Letters = new Set([
  ENTRY.extend,
  SHARED_ENTRY.extend,
  SHARED_ENTRY.downgrade,
  SHARED_ENTRY.extendPermits,
]);
const WITHDRAWALS: Letters = new Set([
  ENTRY.undo,
  ENTRY.release,
  ENTRY.undoQueued,
  ENTRY.releaseQueued,
  ENTRY.yield,
  SHARED_ENTRY.leave,
  SHARED_ENTRY.yield,
]);

export class Request implements Asked {
  readonly operation: Operation;
  readonly scope: Scope;
  readonly token: string;
  readonly ttlMs: number;
  readonly mayCreate: boolean;
  /** Its keys include the counters. */
  readonly withCounters: boolean;
  readonly slots: string;
  readonly place: string;
  #command: Command | undefined;
  #amount: Proposal;

  constructor(
    operation: Operation,
    scope: Scope,
    token: string,
    { ttlMs, withCounters, amount }: Terms,
    { mayCreate = false, slots = '', place = '' }: Rest = NO_REST,
  ) {
    this.operation = operation;
    this.scope = scope;
    this.token = token;
    this.ttlMs = ttlMs;
    this.withCounters = withCounters;
    this.#amount = amount;
    this.mayCreate = mayCreate;
    this.slots = slots;
    this.place = place;
  }

  /**
   * The fencing token that it puts to the masters. A claim draws the one that it proposes when it is first encoded, and
   * not before: what was drawn before the attempt began could be below an earlier holder's.
   */
  get amount(): number {
    if (typeof this.#amount !== 'number') this.#amount = this.#amount.propose();
    return this.#amount;
  }

  /**
   * Proposes this fencing token, unless it has drawn one: claims of one call share one. @param drawn  what another claim
   * of the call has just drawn
   * @returns what it has just drawn itself, else the same
   */
  drawWith(drawn: number | undefined): number | undefined {
    if (typeof this.#amount === 'number') return drawn;
    this.#amount = drawn ?? this.#amount.propose();
    return this.#amount;
  }

  /** The same for a reply that asks for it again. */
  get again(): Request {
    return this.operation === RELEASING_SHARED_LEAN
      ? releaseQueued(this.scope, this.token, this.amount)
      : this;
  }

  /** The command that sends it alone; built once for all masters. */
  get command(): Command {
    this.#command ??= this.operation.alone?.(this) ?? batchCall([this], false);
    return this.#command;
  }

  /** Whether that command is a batch of one, which answers as batches do. */
  get isLoneEntry(): boolean {
    return this.operation.alone === undefined;
  }

  /** The script of that command; undefined for a plain one. */
  get script(): Script | undefined {
    return this.isLoneEntry ? this.operation.batch : this.operation.script;
  }

  /** What no text may show. */
  get secrets(): readonly string[] {
    const [member = ''] = this.place.split('|'); // the token of a mute place, or a number
    return member.includes(':') ? [this.token, member] : [this.token];
  }

  get leavesVote(): boolean {
    return this.operation.leavesVote;
  }

  /** It extends what is held already: it goes before requests for something new. */
  get isRenewal(): boolean {
    return RENEWALS.has(this.operation.letter);
  }

  /** The lease, or the process, may end before a second round trip. */
  get mayBeLast(): boolean {
    return this.isRenewal || WITHDRAWALS.has(this.operation.letter);
  }

  /** Its grants carry fencing tokens, on which a quorum has to agree. */
  get isFenced(): boolean {
    return this.withCounters && this.operation.isClaim;
  }

  /** Its grants carry permits, on which a quorum has to agree. */
  get takesPermits(): boolean {
    return this.operation.letter === SHARED_ENTRY.claimPermits;
  }

  /** The restart guard applies to it: a batch with it checks the marker. */
  get isGuarded(): boolean {
    return !WITHDRAWALS.has(this.operation.letter);
  }

  /** It may go in one call with others. */
  get sharesCalls(): boolean {
    return this.operation.batch !== undefined;
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
      creation(this) === creation(other) &&
      isAlike(this.scope.kind, other.scope.kind) &&
      (this.operation.proposes !== true || this.scope.isFenced === other.scope.isFenced) &&
      (this.amount === other.amount || !(this.operation.isClaim || this.operation.proposes === true))
    );
  }

  /** Loads its script into a master, if it may leave a vote. */
  lesson(): Command | undefined {
    return this.leavesVote ? lesson(this.script) : undefined;
  }

  /** The command with the script's source, for a master that does not know the script. */
  whole(): Command {
    const { script } = this;
    if (script === undefined || this.isWhole) return this.command;
    return { name: 'eval', args: [script.source, ...this.command.args.slice(1)] };
  }
}

const UNGUARDED = String(NO_MARKER);

/** Scripts that may leave a vote, and the arguments with which each does nothing if it has no keys. */
const ON_NOTHING: ReadonlyMap<Script, readonly string[]> = new Map([
  [CLAIM, ['0', '0', '0', '0', UNGUARDED]],
  [RW_CLAIM, NONE],
  [PERMIT_CLAIM, NONE],
  [BATCH, [UNGUARDED]],
  [SHARED_BATCH, [UNGUARDED]],
]);

/** Loads a script that may leave a vote into a master: on nothing, it does nothing. */
export function lesson(script: Script | undefined): Command | undefined {
  const onNothing = script === undefined ? undefined : ON_NOTHING.get(script);
  if (script === undefined || onNothing === undefined) return undefined;
  return { name: 'eval', args: [script.source, '0', ...onNothing] };
}

/** The plain claim of one key: `SET key token NX PX ttl`, as every Redlock sends it. */
export function plainClaim(scope: Scope, token: string, ttlMs: number): Request {
  return new Request(PLAIN_CLAIM, scope, token, { ttlMs, withCounters: false, amount: 0 });
}

/**
 * A claim by script: for several keys, with a fencing token, under a guard, or to learn at once why it is refused.
 * @param place  the mute place that the claim of a shared lock takes if it is refused: see `MutePlace`; or `LEAN`: its caller
 * queues if it is refused
 */
export function scriptedClaim(
  scope: Scope,
  token: string,
  ttlMs: number,
  proposal: Proposal,
  place = '',
): Request {
  const { isFenced, kind } = scope;
  const amount = isFenced ? proposal : 0;
  const operation = kind.name === 'mutex' ? SCRIPTED_CLAIM : claimingOf(kind, place === LEAN);
  const terms = { ttlMs, withCounters: isFenced, amount };
  return new Request(operation, scope, token, terms, place === '' ? NO_REST : { place });
}

/** The place of one that only claims: nothing is handed over to it. @param ticket  in µs of the masters' time */
export function mutePlace(token: string, ticket: number): string {
  return `${token}|${ticket}`;
}

/** The claim of a waiter from the queues: it leaves them. */
export function claimQueued(scope: Scope, token: string, ttlMs: number, proposal: Proposal): Request {
  const terms = { ttlMs, withCounters: scope.isFenced, amount: scope.isFenced ? proposal : 0 };
  if (scope.kind.name === 'mutex') return new Request(QUEUED_CLAIM, scope, token, terms);
  return new Request(claimingOf(scope.kind, false), scope, token, terms, LEAVING_QUEUE);
}

/**
 * Makes a master that granted with a lower fencing token accept this one. Leaves no vote: without a vote it does nothing.
 */
export function acceptance(scope: Scope, token: string, fence: number): Request {
  const operation = scope.kind.name === 'mutex' ? ACCEPTING : RW_ACCEPTING;
  return new Request(operation, scope, token, { ttlMs: 0, withCounters: true, amount: fence });
}

/** Undoes a claim, and looks at what holds the lock instead. Always sent with its source: it must take effect in one step. */
export function undo(scope: Scope, token: string): Request {
  if (scope.kind.name !== 'mutex') return undoQueued(scope, token, 0);
  return new Request(UNDOING, scope, token, NO_TERMS);
}

/** Of one that met nobody who waits: at most, the first waiter is asked to look. @param proposal  for who is handed it then */
export function release(scope: Scope, token: string, proposal: Proposal = 0): Request {
  if (scope.kind.name === 'mutex') return new Request(RELEASING, scope, token, NO_TERMS);
  const terms = { ttlMs: 0, withCounters: false, amount: proposal };
  return new Request(RELEASING_SHARED_LEAN, scope, token, terms);
}

/** As `undo`, and hands over directly: the lock may be waited for. @param proposal  for who is handed it */
export function undoQueued(scope: Scope, token: string, proposal: Proposal): Request {
  const operation = scope.kind.name === 'mutex' ? UNDOING_QUEUED : UNDOING_SHARED;
  return new Request(operation, scope, token, { ttlMs: 0, withCounters: true, amount: proposal });
}

/** As `release`, and hands over directly. @param proposal  for who is handed it */
export function releaseQueued(scope: Scope, token: string, proposal: Proposal): Request {
  const operation = scope.kind.name === 'mutex' ? RELEASING_QUEUED : RELEASING_SHARED;
  return new Request(operation, scope, token, { ttlMs: 0, withCounters: true, amount: proposal });
}

/** An extension. With `mayCreate`, a key that is gone is set again; only while the lease is certainly valid. */
export function extension(
  scope: Scope,
  token: string,
  { ttlMs, mayCreate }: Pick<Asked, 'ttlMs' | 'mayCreate'>,
): Request {
  const { kind } = scope;
  const operation = kind.name === 'mutex' ? EXTENDING : extendingOf(kind);
  const terms = { ttlMs, withCounters: operation.withQueues, amount: 0 };
  return new Request(operation, scope, token, terms, mayCreate ? CREATING : NO_REST);
}

/** Makes a master that gave other permits give exactly these. Leaves no vote. @param slots  as in `0,3` */
export function aligning(scope: Scope, token: string, slots: string): Request {
  return new Request(PERMIT_ALIGNING, scope, token, QUEUE_TERMS, { slots });
}

/** Looks at a shared lock, and at its queue. */
export function sharedInspection(key: string): Request {
  return lone(SURVEY_SHARED, barely([key, queueKey(key), looksKey(key), counterKey(key)]), '', []);
}

export function inspection(key: string): Request {
  return lone(INSPECT, barely([key, queueKey(key), looksKey(key), counterKey(key)]), '', []);
}

/** Reads a master's clock. */
export function clockReading(): Request {
  return new Request(READING_CLOCK, barely([]), '', NO_TERMS);
}

/** Publishes a message to this client itself, and reads the master's clock. */
export function hello(channel: string, message: string): Request {
  return lone(HELLO, barely([]), '', [channel, message]);
}

/** Asks whether the master votes or is quarantined. */
export function vouching(marker: string, guardMs: number): Request {
  return lone(VOUCH, barely([marker]), '', [String(guardMs)]);
}

/** Declares that the master has not forgotten anything. */
export function bootstrapping(marker: string, guardMs: number, force: boolean): Request {
  return lone(BOOTSTRAP, barely([marker]), '', [String(guardMs), force ? '1' : '0']);
}

/** A request that is never in a batch, and leaves no vote. */
export function lone(
  script: Script,
  scope: Scope,
  token: string,
  args: readonly string[],
  manner: Partial<Pick<Operation, 'read' | 'alone'>> = {},
): Request {
  const operation: Operation = {
    isClaim: false,
    isUndo: false,
    script,
    batch: undefined,
    letter: undefined,
    leavesVote: false,
    withQueues: false,
    read: () => undefined,
    alone: (request) => command(script, namedKeys(request), token, args),
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
