/** The two ways to call `using`: with options before the routine, or without. */
import { invalidArgument } from '../runtime/errors.js';

/** @throws RedlockError `INVALID_ARGUMENT`: there is no routine */
export function argumentsOfUsing<Options extends object, Routine extends (lease: never) => unknown>(
  optionsOrRoutine: Options | Routine | undefined,
  routineAfterOptions: Routine | undefined,
): { readonly options: Options | undefined; readonly routine: Routine } {
  const isShort = typeof optionsOrRoutine === 'function';
  const routine = isShort ? optionsOrRoutine : routineAfterOptions;
  if (typeof routine !== 'function') throw invalidArgument('routine', routine, 'a function');
  return { options: isShort ? undefined : optionsOrRoutine, routine };
}
