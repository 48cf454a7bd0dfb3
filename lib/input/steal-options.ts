/** The options of taking a lock away: what they mean, and their checks. */
import { invalidArgument } from '../runtime/errors.js';
import { checkGrace } from './given.js';
import { type AcquireOptions, resolveCall } from './options.js';
import type { CallTerms, InstanceTerms } from '../protocol/terms.js';

/** How long a holder keeps a lock that is taken away from it. */
export interface GraceOptions {
  /**
   * For how long a holder that does not answer keeps the lock. It is notified at once: a holder with push connections ends its
   * lease and confirms that, and then the lock is free. An instance opens them when it has to wait for a lock, and keeps them
   * while it holds any. Another holder learns of it at its next renewal, and confirms it then. If the grace is shorter than the
   * rest of its validity, its routine may go on beside the next holder's. Milliseconds; `Infinity`: as long as it is valid.
   * @default Infinity
   */
  readonly graceMs?: number | undefined;
}

/** Options of `steal` in addition to those of `acquire`. */
export interface TakingOptions extends GraceOptions {
  /** Whether this call comes before those that wait. @default false */
  readonly passWaiters?: boolean | undefined;
}

/** Options of `redlock.steal`. */
export interface StealOptions extends AcquireOptions, TakingOptions {}

/** How a lock is taken away. */
export interface StealTerms {
  readonly graceMs: number;
  readonly passWaiters: boolean;
}

const TAKING_NAMES = ['graceMs', 'passWaiters'];

/** Fills in the options of `steal`. @param names  those of `acquire` */
export function resolveSteal(
  given: AcquireOptions & TakingOptions,
  names: readonly string[],
  instance: InstanceTerms,
): { readonly call: CallTerms; readonly taking: StealTerms } {
  const call = resolveCall(given, [...names, ...TAKING_NAMES], instance);
  const { passWaiters = false } = given;
  if (typeof passWaiters !== 'boolean') throw invalidArgument('passWaiters', passWaiters, 'true or false');
  return { call, taking: { graceMs: graceOf(given), passWaiters } };
}

/** @throws RedlockError `INVALID_ARGUMENT` */
export function graceOf({ graceMs = Infinity }: GraceOptions): number {
  checkGrace('graceMs', graceMs);
  return graceMs;
}
