/**
 * One error class with a stable code. The code is the contract; texts may improve. No text ever contains a token, and
 * each ends with a full stop.
 */

import type { DeadlockStep } from './deadlock.js';
import type { HeldBy } from './instance-info.js';

/** The codes of errors. docs/ERRORS.md says for each code what to do. */
export type RedlockErrorCode =
  /** Votes for others made a quorum impossible: the lock is held or contended. */
  | 'LOCK_TAKEN'
  /** Too many masters gave no clear answer. The tally has each master's cause. */
  | 'NO_QUORUM'
  /**
   * Too many masters abstain, since they may have forgotten votes. `remainingMs` is the time until a quorum may vote again.
   */
  | 'QUARANTINED'
  /** Too many masters cannot take part as they are set up (NOAUTH, NOPERM, READONLY, MISCONF, OOM, no scripts). */
  | 'MISCONFIGURED'
  /** The key holds data, or another kind of lock, or a semaphore with another number of permits. */
  | 'WRONG_KIND'
  /** A quorum answered too late for the ttl, or for the extension. */
  | 'VALIDITY_EXPIRED'
  /** The lease was lost: its validity ended, or others hold its keys. */
  | 'LOCK_LOST'
  /** A fence has accepted a higher token: there has been a later holder. */
  | 'STALE_FENCE'
  /** The lease was released or given away, or the caller of `reenter` does not hold the lock. */
  | 'NOT_HELD'
  /** The caller's signal aborted; its reason is the `cause`. */
  | 'ABORTED'
  /** The instance is closed, or closing. */
  | 'CLOSED'
  /** Wrong input; nothing was sent. */
  | 'INVALID_ARGUMENT';

/** One master's outcome in the last full round before an error. */
export type NodeOutcome =
  | {
      /** The master, by host and port. */
      readonly node: string;
      /** The master gave its vote. */
      readonly outcome: 'granted';
    }
  | {
      /** The master, by host and port. */
      readonly node: string;
      /** Another claimant has the master's vote, or the key holds something else. */
      readonly outcome: 'refused';
      /** How long the key that refused it lives, if the master reported it. Milliseconds. */
      readonly remainingMs?: number;
      /** Present if the key holds data, or a lock of another kind. */
      readonly wrongKind?: true;
      /** What the key holds instead, if the master reported it. */
      readonly holds?: string;
    }
  | {
      /** The master, by host and port. */
      readonly node: string;
      /** The master abstains: it may have forgotten votes. */
      readonly outcome: 'quarantined';
      /** The time until the master votes again. Milliseconds. */
      readonly remainingMs: number;
    }
  | {
      /** The master, by host and port. */
      readonly node: string;
      /** The master gave no clear answer: it may have voted or not. */
      readonly outcome: 'unknown';
      /** Why: the error of the master, of the connection, or of the node timeout. */
      readonly cause: Error;
    }
  | {
      /** The master, by host and port. */
      readonly node: string;
      /** Its answer was not waited for: the others had decided the round, or the caller stopped waiting. */
      readonly outcome: 'pending';
    };

/** The fields of a `RedlockError`, except its code and message. An omitted field is empty or 0. */
export interface RedlockErrorDetails {
  /** The resources of the call, sorted. */
  readonly resources?: readonly string[] | undefined;
  /** How many attempts were made. */
  readonly attempts?: number | undefined;
  /** The time from the call to the error. Milliseconds. */
  readonly elapsedMs?: number | undefined;
  /** Each master's outcome in the last full round. */
  readonly tally?: readonly NodeOutcome[] | undefined;
  /** For `QUARANTINED`: the time until a quorum may vote again. Milliseconds. */
  readonly remainingMs?: number | undefined;
  /** For `LOCK_TAKEN`: who holds the lock. */
  readonly heldBy?: HeldBy | undefined;
  /** For `LOCK_LOST`: the label of the instance that took the lock away. */
  readonly stolenBy?: string | undefined;
  /** For `LOCK_TAKEN`: the deadlock that the call was in. */
  readonly deadlock?: readonly DeadlockStep[] | undefined;
  /** The error or reason behind this error. Undefined is a cause, too: a signal can abort with any reason. */
  readonly cause?: unknown;
}

/** The cause of an error, in JSON: texts only, without properties that a client attached. */
export interface CauseJson {
  /** The error's `name`. */
  readonly name: string;
  /** The error's message. */
  readonly message: string;
  /** The error's `code`, if that is a string, as in system errors. */
  readonly code?: string;
  /** The error's own cause; a text if that is not an error. */
  readonly cause?: CauseJson | string;
}

/** The result of `JSON.stringify` for a `RedlockError`: all of its fields. `Infinity` becomes null. */
export interface RedlockErrorJson extends CauseJson {
  /** The error's code. */
  readonly code: RedlockErrorCode;
  /** The resources of the call, sorted. */
  readonly resources: readonly string[];
  /** How many attempts were made. */
  readonly attempts: number;
  /** The time from the call to the error. Milliseconds. */
  readonly elapsedMs: number;
  /** Each master's outcome in the last full round. */
  readonly tally: readonly NodeOutcomeJson[];
  /** For `QUARANTINED`: the time until a quorum may vote again. Milliseconds. */
  readonly remainingMs?: number;
  /** For `LOCK_TAKEN`: who holds the lock, if that is known. */
  readonly heldBy?: HeldBy;
  /** For `LOCK_LOST`: the label of the instance that took the lock away. */
  readonly stolenBy?: string;
  /** For `LOCK_TAKEN`: the deadlock that the call was in, if that is known. */
  readonly deadlock?: readonly DeadlockStep[];
}

/** One master's outcome, in JSON: its cause without properties that a client attached. */
export type NodeOutcomeJson = KnownOutcome | UnknownOutcomeJson;

/** An outcome without a cause. */
type KnownOutcome = Exclude<NodeOutcome, Pick<UnknownOutcomeJson, 'outcome'>>;

/** An outcome with a cause. */
interface UnknownOutcomeJson {
  /** The master, by host and port. */
  readonly node: string;
  /** The master gave no clear answer: it may have voted or not. */
  readonly outcome: 'unknown';
  /** Why: the error of the master, of the connection, or of the node timeout. */
  readonly cause: CauseJson | string;
}

const BRAND = Symbol.for('quorate.RedlockError');

/**
 * Every error that quorate throws.
 *
 * `instanceof` and `RedlockError.is` recognise it across copies of the module and across module formats.
 *
 * @example
 * ```ts
 * try {
 *   await redlock.acquire('invoice:42');
 * } catch (error) {
 *   if (RedlockError.is(error) && error.code === 'LOCK_TAKEN') return;
 *   throw error;
 * }
 * ```
 */
export class RedlockError extends Error {
  /** `RedlockError`, in every copy of the module. */
  override readonly name = 'RedlockError';
  /** The error's code. Codes are stable; messages may change. */
  readonly code: RedlockErrorCode;
  /** The resources of the call, sorted; empty if it has none. */
  readonly resources: readonly string[];
  /** How many attempts were made. */
  readonly attempts: number;
  /** The time from the call to the error. Milliseconds. */
  readonly elapsedMs: number;
  /** Each master's outcome in the last full round; empty without a round. */
  readonly tally: readonly NodeOutcome[];
  /**
   * For `QUARANTINED`: the time until a quorum may vote again, if no more masters fail. Milliseconds; undefined for other
   * codes.
   */
  readonly remainingMs: number | undefined;
  /**
   * For `LOCK_TAKEN` of `acquire` and `using`: the holder of the lock, as of the last second. Undefined if that could
   * not be found out within a node timeout, if nobody has a quorum, for a holder of another library, and for other codes.
   */
  readonly heldBy: HeldBy | undefined;
  /**
   * For `LOCK_LOST`: the label of the instance that took the lock away; empty if it has none, or the holder learned of it by a
   * renewal. Undefined if it was lost otherwise.
   */
  readonly stolenBy: string | undefined;
  /**
   * For `LOCK_TAKEN` of `acquire` and `using`: the calls that wait for each other, this one first, as of the last seconds. Undefined
   * if no such circle is known. A hint: what docs/LOCKS.md lists is not noticed.
   */
  readonly deadlock: readonly DeadlockStep[] | undefined;

  /** Makes an error as quorate throws it, for fakes and tests. @param message  a full stop is added if it has none */
  constructor(code: RedlockErrorCode, message: string, details: RedlockErrorDetails = {}) {
    super(asSentence(message), 'cause' in details ? { cause: details.cause } : undefined);
    this.code = code;
    this.resources = details.resources ?? [];
    this.attempts = details.attempts ?? 0;
    this.elapsedMs = details.elapsedMs ?? 0;
    this.tally = details.tally ?? [];
    this.remainingMs = details.remainingMs;
    this.heldBy = details.heldBy;
    this.stolenBy = details.stolenBy;
    this.deadlock = details.deadlock;
  }

  /** Gives all fields for `JSON.stringify`, with the message and the messages of the causes. */
  toJSON(): RedlockErrorJson {
    const { name, code, message, resources, attempts, elapsedMs, remainingMs, heldBy, stolenBy, deadlock } =
      this;
    return {
      ...{ name, code, message, resources, attempts, elapsedMs },
      tally: this.tally.map((one) =>
        one.outcome === 'unknown' ? { ...one, cause: causeJson(one.cause) } : one,
      ),
      ...(remainingMs === undefined ? {} : { remainingMs }),
      ...(heldBy === undefined ? {} : { heldBy }),
      ...(stolenBy === undefined ? {} : { stolenBy }),
      ...(deadlock === undefined ? {} : { deadlock }),
      ...(this.cause === undefined ? {} : { cause: causeJson(this.cause) }),
    };
  }

  /** Whether it is an error of quorate, from any copy of the module. */
  static is(error: unknown): error is RedlockError {
    return typeof error === 'object' && error !== null && BRAND in error;
  }

  /** `instanceof` gives the same answer as `is`. */
  static override [Symbol.hasInstance](error: unknown): boolean {
    return RedlockError.is(error);
  }
}

Object.defineProperty(RedlockError.prototype, BRAND, { value: true });

/** Texts follow each other in a log. */
function asSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** How many nested causes are included: a caller's reason may be its own cause. */
const CAUSES_TOLD = 4;

/**
 * Texts only: a client's error carries the command with its arguments, and a caller's reason may be anything. An error is
 * recognised by its message, because an error of another realm (as in test runners) is not an instance of this realm's
 * `Error`.
 */
function causeJson(given: unknown, left = CAUSES_TOLD): CauseJson | string {
  if (typeof given === 'string') return given;
  const { name, message, code, cause } = (given ?? {}) as Partial<Record<keyof CauseJson, unknown>>; // checked here
  if (typeof message !== 'string') return show(given);
  return {
    name: typeof name === 'string' ? name : 'Error',
    message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(cause === undefined || left === 0 ? {} : { cause: causeJson(cause, left - 1) }),
  };
}

/** The result of `tryAcquire`: null if others hold the lock; otherwise it settles as `acquired` does. */
export async function nullIfTaken<T>(acquired: Promise<T>): Promise<T | null> {
  try {
    return await acquired;
  } catch (error) {
    if (RedlockError.is(error) && error.code === 'LOCK_TAKEN') return null;
    throw error;
  }
}

/**
 * Makes an error in the callback of a timer or a signal. Its frames would show none of the caller's code, and for many waits that
 * end at the same time, to collect them would take longer than all the rest.
 */
export function withoutFrames(make: () => RedlockError): RedlockError {
  const { stackTraceLimit } = Error;
  const isSet = Reflect.set(Error, 'stackTraceLimit', 0); // it is read-only under --frozen-intrinsics
  try {
    return make();
  } finally {
    if (isSet) Error.stackTraceLimit = stackTraceLimit;
  }
}

/** A call on an instance that was closed. */
export function closedError(): RedlockError {
  return new RedlockError('CLOSED', 'the instance was closed.');
}

/** Wrong input: names the option and the given value. @param hint  what to do about it, if known */
export function invalidArgument(option: string, given: unknown, wanted: string, hint?: string): RedlockError {
  const text = `${option} must be ${wanted}; got ${show(given)}`;
  return new RedlockError('INVALID_ARGUMENT', hint === undefined ? text : `${text}: ${hint}`);
}

/** An address for an error text: without user, password and query. */
export function withoutPassword(address: string): string {
  return address.replace(/^([a-z]+:\/\/)?.*@/is, '$1…@').replace(/\?.*$/s, '?…');
}

const SHOWN_LENGTH = 80;

/** A value for an error text, abbreviated. */
export function show(value: unknown): string {
  switch (typeof value) {
    case 'string': {
      return JSON.stringify(value.length > SHOWN_LENGTH ? `${value.slice(0, SHOWN_LENGTH)}…` : value);
    }
    case 'function':
      return `a function ${value.name}`.trimEnd();
    case 'object': {
      if (value === null) return 'null';
      if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : `an array of ${value.length}`;
      return `an object (${Object.keys(value).slice(0, 5).join(', ')})`;
    }
    default:
      return String(value);
  }
}
