/** Errors as values, so that a spec can look at them; and asking again until something is so. */
import { setImmediate as turn } from 'node:timers/promises';
import { RedlockError } from '../../lib/runtime/errors.js';

/** The `RedlockError` that a call rejects with; anything else fails the spec. */
export async function rejection(call: Promise<unknown>): Promise<RedlockError> {
  try {
    await call;
  } catch (error) {
    if (RedlockError.is(error)) return error;
    throw error;
  }
  throw new Error('it resolved, and should have rejected');
}

/** The `RedlockError` that a call throws at once. */
export function thrown(call: () => unknown): RedlockError {
  try {
    call();
  } catch (error) {
    if (RedlockError.is(error)) return error;
    throw error;
  }
  throw new Error('it returned, and should have thrown');
}

/** Looks again each turn of the event loop; mocha's timeout is the bound. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await turn();
}
