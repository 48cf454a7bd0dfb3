/** What callers gave: what a value is, and which of the arguments it is. */
import { invalidArgument, RedlockError } from '../runtime/errors.js';

/**
 * A text that masters keep apart from every other. Half of a surrogate pair is sent as U+FFFD, whichever half it is: names
 * that differ here and sort apart would be one key there, and two calls could take the same locks in opposite orders.
 */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.isWellFormed();
}

/** A whole number from `least` on. */
export function isCount(value: unknown, least: number): value is number {
  return Number.isSafeInteger(value) && Number(value) >= least;
}

/** Any AbortSignal, also of another realm or a polyfill. */
export function isSignal(value: unknown): value is AbortSignal {
  return typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value;
}

/**
 * More arguments than a call takes: those of another library, which would go unnoticed.
 * @throws RedlockError `INVALID_ARGUMENT`
 */
export function refuseSurplus(call: string, given: number, most: number): void {
  if (given <= most) return;
  throw new RedlockError(
    'INVALID_ARGUMENT',
    `${call} takes ${most === 1 ? 'one argument' : `${most} arguments`}; got ${given}`,
  );
}

/**
 * The arguments of `using`: with options before the routine, or without.
 * @throws RedlockError `INVALID_ARGUMENT`: there is no routine
 */
export function argumentsOfUsing<Options extends object, Routine extends (lease: never) => unknown>(
  optionsOrRoutine: Options | Routine | undefined,
  routineAfterOptions: Routine | undefined,
): { readonly options: Options | undefined; readonly routine: Routine } {
  const isShort = typeof optionsOrRoutine === 'function';
  const routine = isShort ? optionsOrRoutine : routineAfterOptions;
  if (typeof routine !== 'function') throw invalidArgument('routine', routine, 'a function');
  return { options: isShort ? undefined : optionsOrRoutine, routine };
}

/** Of a holder whose lock is taken away. @throws RedlockError `INVALID_ARGUMENT` */
export function checkGrace(name: string, graceMs: unknown): void {
  if (graceMs !== Infinity && !isCount(graceMs, 0))
    throw invalidArgument(name, graceMs, 'a whole number of milliseconds from 0 on, or Infinity');
}
