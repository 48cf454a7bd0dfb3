/** Options of calls that are not about a lock: `bootstrap`, `ready` and `close`. */
import { invalidArgument } from '../runtime/errors.js';
import { isCount } from './given.js';
import { checkNames } from './option-names.js';
import { checkSignal, DEFAULTS, or } from './options.js';

/** Options of `bootstrap`. */
export interface BootstrapOptions {
  /**
   * Also change masters that already have a marker: this ends their quarantine, and sets their guard period to this
   * instance's. @default false
   */
  readonly force?: boolean | undefined;
}

/** Options of `ready`. */
export interface ReadyOptions {
  /** Ends the wait: the call rejects with `ABORTED`. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for a quorum. Milliseconds, a whole number from 0 on, or `Infinity`. @default Infinity */
  readonly timeoutMs?: number | undefined;
  /**
   * How long to wait for the other masters once there is a quorum, within `timeoutMs`. A lock that is acquired while a master
   * is still connecting has no vote there until it is renewed. Milliseconds, a whole number from 0 on, or `Infinity`.
   * @default 0
   */
  readonly allWithinMs?: number | undefined;
}

/** Options of `close`. */
export interface CloseOptions {
  /**
   * How long `close` waits for running routines, and for holders of leases outside `using`, to stop. Milliseconds; 0 does not
   * wait, `Infinity` has no limit. Leases that are held after that end by their ttl. @default 30_000
   */
  readonly drainMs?: number | undefined;
  /**
   * Release the leases outside `using` (`acquire`, `tryAcquire`, `adopt`) at once: the caller declares that nobody works under
   * them. Leases of running routines are not released. @default false
   */
  readonly releaseHeld?: boolean | undefined;
}

/** The options of `bootstrap`, filled in. */
export interface ResolvedBootstrap {
  readonly force: boolean;
}

/** The options of `close`, filled in. */
export interface ResolvedClose {
  readonly drainMs: number;
  readonly releaseHeld: boolean;
}

/** Fills in the options of `bootstrap`. */
export function resolveBootstrap(given: BootstrapOptions): ResolvedBootstrap {
  checkNames('options', given, ['force']);
  const force = or(given.force, false);
  if (typeof force !== 'boolean') throw invalidArgument('force', force, 'true or false');
  return { force };
}

/** Fills in the options of `ready`. */
export function resolveReady(given: ReadyOptions): { timeoutMs: number; allWithinMs: number } {
  checkNames('options', given, ['signal', 'timeoutMs', 'allWithinMs']);
  checkSignal(given.signal);
  const resolved = { timeoutMs: or(given.timeoutMs, Infinity), allWithinMs: or(given.allWithinMs, 0) };
  for (const [name, ms] of Object.entries(resolved)) {
    if (ms !== Infinity && !isCount(ms, 0))
      throw invalidArgument(name, ms, 'a whole number of milliseconds from 0 on, or Infinity');
  }
  return resolved;
}

/** Fills in the options of `close`. */
export function resolveClose(given: CloseOptions): ResolvedClose {
  checkNames('options', given, ['drainMs', 'releaseHeld']);
  const drainMs = or(given.drainMs, DEFAULTS.drainMs);
  if (drainMs !== Infinity && !isCount(drainMs, 0)) {
    throw invalidArgument('drainMs', drainMs, 'a whole number of milliseconds from 0 on, or Infinity');
  }
  const releaseHeld = or(given.releaseHeld, false);
  if (typeof releaseHeld !== 'boolean') throw invalidArgument('releaseHeld', releaseHeld, 'true or false');
  return { drainMs, releaseHeld };
}
