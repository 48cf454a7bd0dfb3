/** The options of a `LockManager`, resolved once. */
import { checkGrace, isName } from '../input/given.js';
import { checkNames } from '../input/option-names.js';
import { resolveTtl } from '../input/options.js';
import type { Redlock } from '../redlock.js';
import { invalidArgument } from '../runtime/errors.js';

/** Options of `new LockManager`. */
export interface LockManagerOptions {
  /**
   * The prefix of each lock's name among the resources of the `Redlock` instance: the specification's origin. Managers with
   * different prefixes do not exclude each other. At least one character, well-formed Unicode. @default 'weblocks:'
   */
  readonly prefix?: string | undefined;
  /**
   * How long a lock lives without renewal, and so how long a crashed holder blocks the others. Milliseconds, as the instance's
   * `ttlMs`. A lock is renewed while its callback runs. @default the instance's `ttlMs`
   */
  readonly ttlMs?: number | undefined;
  /**
   * For how long holders that do not answer keep a lock that is stolen, as `graceMs` of `redlock.steal`. Milliseconds.
   * @default Infinity: as long as it is valid
   */
  readonly stealGraceMs?: number | undefined;
}

export interface ResolvedLockManagerOptions {
  readonly prefix: string;
  readonly ttlMs: number;
  readonly stealGraceMs: number;
}

const DEFAULT_PREFIX = 'weblocks:';

/** @throws RedlockError `INVALID_ARGUMENT` */
export function resolveLockManager(redlock: Redlock, given: LockManagerOptions): ResolvedLockManagerOptions {
  if (typeof redlock?.readWriteLock !== 'function')
    throw invalidArgument('redlock', redlock, 'a Redlock instance');
  checkNames('options', given, ['prefix', 'ttlMs', 'stealGraceMs']);
  const { prefix = DEFAULT_PREFIX, ttlMs, stealGraceMs = Infinity } = given;
  if (!isName(prefix)) throw invalidArgument('prefix', prefix, 'a string of well-formed Unicode, not empty');
  checkGrace('stealGraceMs', stealGraceMs);
  return Object.freeze({
    ...{ prefix, stealGraceMs },
    ttlMs: resolveTtl(ttlMs, redlock.options.ttlMs, redlock.options),
  });
}
