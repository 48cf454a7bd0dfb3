/**
 * One error class with a stable code. The code is the contract; texts may improve. No text ever contains a token, and
 * each ends with a full stop.
 */

/** What callers can distinguish by code alone; docs/ERRORS.md says for each code what to do. */
export type RedlockErrorCode =
  /** Other claimants' votes alone made a quorum impossible. */
  | 'LOCK_TAKEN'
  /** Unknown outcomes made a quorum impossible; the tally names each node and its cause. */
  | 'NO_QUORUM'
  /**
   * Masters that may have forgotten votes made a quorum impossible; `remainingMs` is the time until a quorum may vote
   * again.
   */
  | 'QUARANTINED'
  /** Masters answered that they cannot take part (NOAUTH, NOPERM, READONLY, MISCONF, OOM, no scripts). */
  | 'MISCONFIGURED'
  /** The key holds data, or a lock of another kind, or a semaphore of another number of permits. */
  | 'WRONG_KIND'
  /** A quorum came too late for the ttl. */
  | 'VALIDITY_EXPIRED'
  /** The lease was lost: its validity ended, or others hold its keys. */
  | 'LOCK_LOST'
  /** The fencing token is lower than one that the resource's fence has accepted: there has been a later holder. */
  | 'STALE_FENCE'
  /** The lease was released or given away; it is no longer held here. */
  | 'NOT_HELD'
  /** The caller's signal aborted; its reason is the `cause`. */
  | 'ABORTED'
  /** The instance is closed. */
  | 'CLOSED'
  /** Wrong input; nothing was sent. */
  | 'INVALID_ARGUMENT';

/** One master's answer in the last full fan-out before an error. */
export type NodeOutcome =
  | {
      /** The master, by host and port. */
      readonly node: string;
      /** It gave its vote. */
      readonly outcome: 'granted';
    }
  | {
      /** The master, by host and port. */
      readonly node: string;
      /** Another key or lock was in the way. */
      readonly outcome: 'refused';
      /** How long the obstacle lasts, if the master reported it. Milliseconds. */
      readonly remainingMs?: number;
      /** Present if the key holds data, or a lock of another kind. */
      readonly wrongKind?: true;
      /** What the key holds instead, if the master reported it. */
      readonly holds?: string;
    }
  | {
      /** The master, by host and port. */
      readonly node: string;
      /** It may have forgotten votes, and gives none for a while. */
      readonly outcome: 'quarantined';
      /** When it votes again. Milliseconds. */
      readonly remainingMs: number;
    }
  | {
      /** The master, by host and port. */
      readonly node: string;
      /** It gave no clear answer: it may have voted or not. */
      readonly outcome: 'unknown';
      /** What the master, the connection or the node timeout said. */
      readonly cause: Error;
    }
  | {
      /** The master, by host and port. */
      readonly node: string;
      /** Nobody waited for it: the others had decided before, or the caller stopped waiting. It may be perfectly well. */
      readonly outcome: 'pending';
    };

/** The parts of a `RedlockError` apart from its code and its text. A part that is omitted is empty or 0. */
export interface RedlockErrorDetails {
  /** The resources that the call was about, sorted. */
  readonly resources?: readonly string[] | undefined;
  /** How many attempts were made. */
  readonly attempts?: number | undefined;
  /** From the call to the error. Milliseconds. */
  readonly elapsedMs?: number | undefined;
  /** Node by node, the answers of the last full fan-out. */
  readonly tally?: readonly NodeOutcome[] | undefined;
  /** For `QUARANTINED`: when a quorum may vote again. Milliseconds. */
  readonly remainingMs?: number | undefined;
  /** The error or reason behind it. A cause that is given as undefined is kept: a signal can abort with any reason. */
  readonly cause?: unknown;
}

/** The cause of an error, in JSON: its texts, and nothing that a client attached to it. */
export interface CauseJson {
  /** The error's `name`. */
  readonly name: string;
  /** The error's text. */
  readonly message: string;
  /** If it has one that is a string, as system errors do. */
  readonly code?: string;
  /** The error behind it; a text if that is not an error. */
  readonly cause?: CauseJson | string;
}

/** The result of `JSON.stringify` for a `RedlockError`: all of its fields. `Infinity` becomes null. */
export interface RedlockErrorJson extends CauseJson {
  /** What kind of error it is. */
  readonly code: RedlockErrorCode;
  /** The resources that the call was about, sorted. */
  readonly resources: readonly string[];
  /** How many attempts were made. */
  readonly attempts: number;
  /** From the call to the error. Milliseconds. */
  readonly elapsedMs: number;
  /** Node by node, the answers of the last full fan-out. */
  readonly tally: readonly NodeOutcomeJson[];
  /** For `QUARANTINED`: when a quorum may vote again. Milliseconds. */
  readonly remainingMs?: number;
}

/** What one master said, in JSON: its cause without the properties that a client attached. */
export type NodeOutcomeJson = KnownOutcome | UnknownOutcomeJson;

/** An outcome that has no cause. */
type KnownOutcome = Exclude<NodeOutcome, Pick<UnknownOutcomeJson, 'outcome'>>;

/** An outcome that has one. */
interface UnknownOutcomeJson {
  /** The master, by host and port. */
  readonly node: string;
  /** It gave no clear answer: it may have voted or not. */
  readonly outcome: 'unknown';
  /** What the master, the connection or the node timeout said. */
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
  /** What kind of error it is: the code is the contract, while texts may improve. */
  readonly code: RedlockErrorCode;
  /** The resources that the call was about, sorted; empty without any. */
  readonly resources: readonly string[];
  /** How many attempts were made. */
  readonly attempts: number;
  /** From the call to the error. Milliseconds. */
  readonly elapsedMs: number;
  /** Each master's answer in the last full fan-out; empty without one. */
  readonly tally: readonly NodeOutcome[];
  /**
   * For `QUARANTINED`: when a quorum may vote again, if no more masters fail. Milliseconds; undefined for other codes.
   */
  readonly remainingMs: number | undefined;

  /** For fakes and tests: an error as quorate throws it. @param message  a full stop is added if it has none */
  constructor(code: RedlockErrorCode, message: string, details: RedlockErrorDetails = {}) {
    super(asSentence(message), 'cause' in details ? { cause: details.cause } : undefined);
    this.code = code;
    this.resources = details.resources ?? [];
    this.attempts = details.attempts ?? 0;
    this.elapsedMs = details.elapsedMs ?? 0;
    this.tally = details.tally ?? [];
    this.remainingMs = details.remainingMs;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** Includes the message, which JSON would omit, and the messages of its causes. */
  toJSON(): RedlockErrorJson {
    const { name, code, message, resources, attempts, elapsedMs, remainingMs } = this;
    return {
      ...{ name, code, message, resources, attempts, elapsedMs },
      tally: this.tally.map((one) =>
        one.outcome === 'unknown' ? { ...one, cause: causeJson(one.cause) } : one,
      ),
      ...(remainingMs === undefined ? {} : { remainingMs }),
      ...(this.cause === undefined ? {} : { cause: causeJson(this.cause) }),
    };
  }

  /** Whether it is an error of quorate, from any copy of the module. */
  static is(error: unknown): error is RedlockError {
    return typeof error === 'object' && error !== null && BRAND in error;
  }

  /** What `instanceof` asks: the same as `is`. */
  static override [Symbol.hasInstance](error: unknown): boolean {
    return RedlockError.is(error);
  }
}

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
