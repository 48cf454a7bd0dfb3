/** How an operation ended, in few words. */
import type { AcquireMessage, ExtendMessage, LeadMessage, ReleaseMessage } from '../telemetry/channels.js';
import { RedlockError } from '../runtime/errors.js';

interface Outcome {
  /** The code of its error; undefined where it succeeded. */
  readonly code: string | undefined;
  readonly error: Error | undefined;
}

/** `tryAcquire` that gave null was refused, although it threw nothing. */
export function outcomeOf(message: AcquireMessage | ExtendMessage | LeadMessage | ReleaseMessage): Outcome {
  const { error } = message;
  if (error === undefined) {
    const isRefused = 'result' in message && message.result === null;
    return { code: isRefused ? 'LOCK_TAKEN' : undefined, error: undefined };
  }
  if (RedlockError.is(error)) return { code: error.code, error };
  return { code: 'Error', error: error instanceof Error ? error : new Error('not a RedlockError') };
}

/** Of what a signal aborted with, if that was the library's doing. */
export function codeOf(reason: unknown): string | undefined {
  return RedlockError.is(reason) ? reason.code : undefined;
}
