/** What the caller of `using` gets once its routine has settled. */
import type { OnLoss } from '../input/options.js';
import { RedlockError } from '../runtime/errors.js';
import type { AnyLease } from './public.js';

/** The routine that runs while a lock is held. */
export type RoutineUnder<Given, T> = (given: Given) => Promise<T> | T;

/**
 * Settles as the routine does. With `onLoss: 'throw'`, rejects with `LOCK_LOST` if the lease was lost by then: the clock
 * decides as the routine settles, since a signal may not have fired yet after the event loop was stalled.
 */
export function settled<Given extends AnyLease, T>(
  given: Given,
  routine: RoutineUnder<Given, T>,
  onLoss: OnLoss,
): Promise<T> | T {
  return onLoss === 'throw' ? settledOrLost(given, routine) : routine(given);
}

async function settledOrLost<Given extends AnyLease, T>(
  given: Given,
  routine: RoutineUnder<Given, T>,
): Promise<T> {
  let result: T;
  try {
    result = await routine(given);
  } catch (error) {
    const loss = lossOf(given);
    throw loss === undefined ? error : causedBy(loss, error);
  }
  const loss = lossOf(given);
  if (loss !== undefined) throw loss;
  return result;
}

/** Undefined for a lease that is held, or that the routine itself gave back or gave away. */
function lossOf(given: AnyLease): RedlockError | undefined {
  try {
    given.assertHeld();
    return undefined;
  } catch (error) {
    return RedlockError.is(error) && error.code === 'LOCK_LOST' ? error : undefined;
  }
}

/** The same loss, but its cause is the routine's error, not the reason for the loss; the text and the tally give that reason. */
function causedBy(loss: RedlockError, cause: unknown): RedlockError {
  const { attempts, elapsedMs, resources, stolenBy, tally } = loss;
  return new RedlockError('LOCK_LOST', loss.message, {
    ...{ resources, attempts, elapsedMs, tally, stolenBy },
    cause,
  });
}
