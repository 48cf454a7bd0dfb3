/** Options of timestamp locks: resolved once, at entry, like those of `Redlock`. */
import { invalidArgument } from '../runtime/errors.js';
import { type TimestampUnit, UNIT_MS } from './instant.js';
import { checkNames } from '../input/option-names.js';
import { checkSignal, isCount, type LossOptions, NO_OPTIONS, or } from '../input/options.js';

/** How a timestamp lock talks to the server. All methods work on the same key and exclude each other. */
export type TimestampMethod = 'script' | 'commands';

/** Options of a lock that a call can override. */
interface SharedOptions {
  /**
   * How long `acquire` goes on trying. Milliseconds; 0 makes one attempt, `Infinity` waits for ever. Has no effect on
   * `tryAcquire`. @default 10_000
   */
  readonly waitMs?: number | undefined;
  /** Renew the lease from a third of its ttl on, for as long as it is held. @default false, true in `using` */
  readonly renew?: boolean | undefined;
}

/** Options of `new TimestampLock`. Unit, ttl and margin must suit all programs that use the same keys. */
export interface TimestampLockOptions extends SharedOptions {
  /** The unit of the other programs on these keys. @default 's' */
  readonly unit?: TimestampUnit | undefined;
  /**
   * `script`: each step is one Lua script, so a release or an extension compares and writes in one step. `commands`: only
   * `SETNX`, `GET`, `GETSET` and `DEL`, for servers and proxies without scripts (in a database other than 0, each command is
   * in a script that selects the database). @default 'script'
   */
  readonly method?: TimestampMethod | undefined;
  /**
   * How long a lease lives without renewal, and so how long a crashed holder blocks the others. The same in all programs on
   * these keys. Milliseconds, whole units of `unit`. @default 60_000
   */
  readonly ttlMs?: number | undefined;
  /**
   * The average wait between two attempts. Each wait is random, between half of it and one and a half times it. Milliseconds,
   * at least 1.
   * @default 100
   */
  readonly pollMs?: number | undefined;
  /**
   * How far the wall clocks of two machines may be apart. A lease ends this long before its ttl has passed, and a client takes
   * over others' locks this much later. Milliseconds, from 0 to less than `ttlMs`.
   * @default min(ttlMs / 10, 100)
   */
  readonly clockMarginMs?: number | undefined;
  /**
   * How long an attempt waits for a server that does not answer. Milliseconds, at least 1.
   * @default min(ttlMs / 10, 200)
   */
  readonly nodeTimeoutMs?: number | undefined;
}

/** Options of a timestamp lock's `tryAcquire`. */
export interface TimestampTryOptions extends Omit<SharedOptions, 'waitMs'> {
  /** Ends the attempt: the call rejects with `ABORTED`. Has no effect on a lease that was acquired. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a timestamp lock's `acquire`. */
export interface TimestampAcquireOptions extends SharedOptions {
  /** Ends the wait: the call rejects with `ABORTED`. Has no effect on a lease that was acquired. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a timestamp lock's `using`. */
export interface TimestampUsingOptions extends TimestampAcquireOptions, LossOptions {}

/** The fixed defaults of timestamp locks: those of the well-known algorithm. Times in milliseconds. */
export const TIMESTAMP_DEFAULTS = Object.freeze({
  /** Of `unit`. */
  unit: 's',
  /** Of `method`. */
  method: 'script',
  /** Of `ttlMs`. */
  ttlMs: 60_000,
  /** Of `waitMs`. */
  waitMs: 10_000,
  /** Of `pollMs`. */
  pollMs: 100,
  /** Of `renew`; `using` renews. */
  renew: false,
  /** The upper bound of the default of `clockMarginMs`. */
  clockMarginMs: 100,
  /** The upper bound of the default of `nodeTimeoutMs`. */
  nodeTimeoutMs: 200,
} satisfies TimestampLockOptions);

/** `lock.options`: the options of a timestamp lock that are in force, with every default filled in. Frozen. */
export interface ResolvedTimestampOptions {
  /** The unit of the other programs on these keys. */
  readonly unit: TimestampUnit;
  /** How the lock talks to its server. */
  readonly method: TimestampMethod;
  /** How long a lease lives without renewal. Milliseconds. */
  readonly ttlMs: number;
  /** How long `acquire` goes on trying. Milliseconds; 0 for one attempt, `Infinity` without end. */
  readonly waitMs: number;
  /** The average wait between two attempts. Milliseconds. */
  readonly pollMs: number;
  /** Whether `acquire` and `tryAcquire` renew. `using` renews unless the call sets `renew: false`. */
  readonly renew: boolean;
  /** How far the wall clocks of two machines may be apart. Milliseconds. */
  readonly clockMarginMs: number;
  /** How long an attempt waits for a server that does not answer. Milliseconds. */
  readonly nodeTimeoutMs: number;
}

/** The options of one call, filled in. */
export interface TimestampCall {
  readonly waitMs: number;
  readonly renew: boolean;
}

const INSTANCE_NAMES = [
  'unit',
  'method',
  'ttlMs',
  'waitMs',
  'pollMs',
  'renew',
  'clockMarginMs',
  'nodeTimeoutMs',
];

/** The names that a call takes. */
export const TIMESTAMP_CALL_NAMES = {
  acquire: ['waitMs', 'renew', 'signal'],
  using: ['waitMs', 'renew', 'signal', 'onLoss'],
  tryAcquire: ['renew', 'signal'],
} as const;

/** Fills in the options of a lock. */
export function resolveTimestampOptions(given: TimestampLockOptions = NO_OPTIONS): ResolvedTimestampOptions {
  checkNames('options', given, INSTANCE_NAMES);
  const unit = or(given.unit, TIMESTAMP_DEFAULTS.unit);
  if (!Object.keys(UNIT_MS).includes(unit)) throw invalidArgument('unit', unit, "'s' or 'ms'");
  const method = or(given.method, TIMESTAMP_DEFAULTS.method);
  if (method !== 'script' && method !== 'commands') {
    throw invalidArgument('method', method, "'script' or 'commands'");
  }
  const ttlMs = or(given.ttlMs, TIMESTAMP_DEFAULTS.ttlMs);
  checkTimestampTtl(ttlMs, unit);
  const pollMs = or(given.pollMs, TIMESTAMP_DEFAULTS.pollMs);
  if (!isCount(pollMs, 1))
    throw invalidArgument('pollMs', pollMs, 'a whole number of milliseconds from 1 on');
  const tenth = Math.floor(ttlMs / 10);
  const clockMarginMs = or(given.clockMarginMs, Math.min(tenth, TIMESTAMP_DEFAULTS.clockMarginMs));
  if (!isCount(clockMarginMs, 0) || clockMarginMs >= ttlMs) {
    const wanted = `a whole number of milliseconds from 0 on and below ttlMs (${ttlMs})`;
    throw invalidArgument('clockMarginMs', clockMarginMs, wanted);
  }
  const nodeTimeoutMs = or(
    given.nodeTimeoutMs,
    Math.max(1, Math.min(tenth, TIMESTAMP_DEFAULTS.nodeTimeoutMs)),
  );
  if (!isCount(nodeTimeoutMs, 1)) {
    throw invalidArgument('nodeTimeoutMs', nodeTimeoutMs, 'a whole number of milliseconds from 1 on');
  }
  const own = { unit, method, ttlMs, pollMs, clockMarginMs, nodeTimeoutMs };
  return Object.freeze({ ...own, ...resolveShared(given, TIMESTAMP_DEFAULTS) });
}

/** Fills in the options of one call from those of the lock. */
export function resolveTimestampCall(
  given: TimestampAcquireOptions,
  names: readonly string[],
  instance: ResolvedTimestampOptions,
): TimestampCall {
  checkNames('options', given, names);
  const { signal } = given;
  checkSignal(signal);
  return resolveShared(given, instance);
}

/** Other programs read the instant in whole units: for them, a ttl between two units would be a different one. */
export function checkTimestampTtl(ttlMs: number, unit: TimestampUnit): void {
  if (!isCount(ttlMs, 1)) throw invalidArgument('ttlMs', ttlMs, 'a whole number of milliseconds from 1 on');
  if (ttlMs % UNIT_MS[unit] === 0) return;
  throw invalidArgument('ttlMs', ttlMs, `whole seconds, in milliseconds, with unit '${unit}'`);
}

function resolveShared(given: SharedOptions, base: TimestampCall): TimestampCall {
  const waitMs = or(given.waitMs, base.waitMs);
  if (waitMs !== Infinity && !isCount(waitMs, 0)) {
    throw invalidArgument('waitMs', waitMs, 'a whole number of milliseconds from 0 on, or Infinity');
  }
  const renew = or(given.renew, base.renew);
  if (typeof renew !== 'boolean') throw invalidArgument('renew', renew, 'true or false');
  return { waitMs, renew };
}
