/** Listens to the tracing channels for one instance. */
import { tracingChannel } from 'node:diagnostics_channel';
import type { AcquireMessage, ExtendMessage, LeadMessage, ReleaseMessage } from '../telemetry/channels.js';

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
