/** The messages of one instance's tracing channels: listening to them, and how the operation of a message ended. */
import { tracingChannel } from 'node:diagnostics_channel';
import type { AcquireMessage, ExtendMessage, LeadMessage, ReleaseMessage } from '../telemetry/channels.js';
import { RedlockError } from '../runtime/errors.js';

interface Messages {
  readonly acquire: AcquireMessage;
  readonly extend: ExtendMessage;
  readonly lead: LeadMessage;
  readonly release: ReleaseMessage;
}

/** What is done as an operation begins, and as it has ended. */
interface Handlers<Message> {
  readonly onStart?: (message: Message) => void;
  readonly onEnd: (message: Message) => void;
}

/** @returns a function that ends it */
export function subscribe<Name extends keyof Messages>(
  redlock: object,
  name: Name,
  { onEnd, onStart }: Handlers<Messages[Name]>,
): () => void {
  const channel = tracingChannel<object, Messages[Name]>(`quorate:${name}`);
  const start = (message: Messages[Name]): void => {
    if (message.redlock === redlock) onStart?.(message);
  };
  const asyncEnd = (message: Messages[Name]): void => {
    if (message.redlock === redlock) onEnd(message);
  };
  const ignore = (): void => undefined;
  const handlers = { start, end: ignore, asyncStart: ignore, asyncEnd, error: ignore };
  channel.subscribe(handlers);
  return () => channel.unsubscribe(handlers);
}

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
