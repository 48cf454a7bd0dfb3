/**
 * One error class with a stable code. The code is the contract, the text may improve. No text ever holds a token.
 */

/** What a caller can tell apart by code alone; docs/ERRORS.md says for each what to do. */
export type RedlockErrorCode =
  /** Other claimants' votes alone made a quorum impossible. */
  | 'LOCK_TAKEN'
  /** Unknown outcomes made a quorum impossible; the tally names each node and its cause. */
  | 'NO_QUORUM'
  /** Masters that may have forgotten votes made a quorum impossible; `remainingMs` says for how long. */
  | 'QUARANTINED'
  /** Masters answered that they cannot take part (NOAUTH, NOPERM, READONLY, MISCONF, OOM, no scripts). */
  | 'MISCONFIGURED'
  /** The key holds data, or a lock of another kind, or a semaphore of another number of permits. */
  | 'WRONG_KIND'
  /** A quorum came too late for the ttl. */
  | 'VALIDITY_EXPIRED'
  /** The lease was lost: its validity ended, or others hold its keys. */
  | 'LOCK_LOST'
  /** The fence is lower than one that the resource's guard accepted: a later holder was there. */
  | 'STALE_FENCE'
  /** The lease is released or was handed over: it is not this one's (any more). */
  | 'NOT_HELD'
  /** The caller's signal aborted; its reason is the `cause`. */
  | 'ABORTED'
  /** The instance is closed. */
  | 'CLOSED'
  /** Wrong input; nothing was sent. */
  | 'INVALID_ARGUMENT';

/** What one master said in the last full fan-out before an error. */
export type NodeOutcome =
  | { readonly node: string; readonly outcome: 'granted' }
  /** `remainingMs`: the time left of the key that was in the way, where the master could tell. */
  | {
      readonly node: string;
      readonly outcome: 'refused';
      readonly remainingMs?: number;
      readonly wrongKind?: true;
      /** What the key holds instead, where the master could tell. */
      readonly holds?: string;
    }
  /** It may have forgotten votes, and gives none for so long. */
  | { readonly node: string; readonly outcome: 'quarantined'; readonly remainingMs: number }
  | { readonly node: string; readonly outcome: 'unknown'; readonly cause: Error };

export interface RedlockErrorDetails {
  readonly resources?: readonly string[];
  readonly attempts?: number;
  readonly elapsedMs?: number;
  readonly tally?: readonly NodeOutcome[];
  readonly remainingMs?: number;
  readonly cause?: unknown;
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
  override readonly name = 'RedlockError';
  readonly code: RedlockErrorCode;
  /** The resources that the call was about, sorted; empty where it was about none. */
  readonly resources: readonly string[];
  /** How many attempts were made. */
  readonly attempts: number;
  /** From the call to the error, in ms. */
  readonly elapsedMs: number;
  /** Node by node, what was answered in the last full fan-out; empty where none was made. */
  readonly tally: readonly NodeOutcome[];
  /** For `QUARANTINED`: when a quorum may vote again, in ms, if no more masters fail; undefined for other codes. */
  readonly remainingMs: number | undefined;

  constructor(code: RedlockErrorCode, message: string, details: RedlockErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.code = code;
    this.resources = details.resources ?? [];
    this.attempts = details.attempts ?? 0;
    this.elapsedMs = details.elapsedMs ?? 0;
    this.tally = details.tally ?? [];
    this.remainingMs = details.remainingMs;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** Is it an error of quorate, of whichever copy of the module? */
  static is(error: unknown): error is RedlockError {
    return typeof error === 'object' && error !== null && BRAND in error;
  }

  static override [Symbol.hasInstance](error: unknown): boolean {
    return RedlockError.is(error);
  }
}

/** Wrong input: names the option and what was given. */
export function invalidArgument(option: string, given: unknown, wanted: string): RedlockError {
  return new RedlockError('INVALID_ARGUMENT', `${option} must be ${wanted}; got ${show(given)}`);
}

const SHOWN_LENGTH = 80;

/** A value as an error text can show it: short, and never a surprise. */
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
