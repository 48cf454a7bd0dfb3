/** What requests are sent for: whoever gets their answers, and what takes them back. */
import type { Node } from './node.js';
import type { SendEntry } from './send-queue.js';
import { eachReply } from '../protocol/batch-call.js';
import { inPlainWords, redact } from '../redis/server-errors.js';

/** Receives the answer to a request, once per node: a round, an undo, a release. */
export interface Sink {
  /** False once nobody waits for the answer: what was not sent yet is dropped. */
  readonly isWanted: boolean;
  /** After NOSCRIPT, whether to send a request again that may leave a vote. @default isWanted */
  readonly mayResend?: boolean;
  /**
   * False once time is up, though it should still be sent: it then waits for a master that answers, and fails at a silent
   * one. @default true
   */
  readonly isInTime?: boolean;
  onSent(node: Node): void;
  onReply(node: Node, reply: unknown): void;
  /**
   * There will be no answer: the connection failed, or the server replied with an error. `mayRun`: the client timed out
   * by itself, and the master may still carry the request out.
   */
  onFailure(node: Node, cause: Error, mayRun?: boolean): void;
}

/** Receives the one answer to a call for many. It is sent at once, or not at all. */
export interface CallSink extends Pick<Sink, 'onSent' | 'onReply'> {
  onFailure(node: Node, cause: Error, mayRun: boolean): void;
}

/** A request with its sink; one object for all nodes. */
export type Ask = SendEntry<Sink>;

/** Passes the reply to a batch on: each entry has a reply or an error of its own. */
export function answerEntries(node: Node, entries: readonly Ask[], reply: unknown): void {
  eachReply(entries, reply, ({ request, sink }, own) => {
    if (own instanceof Error) sink.onFailure(node, inPlainWords(redact(own, request.secrets)));
    else sink.onReply(node, own);
  });
}

/** Requests for a token, as its undo or release sees them. */
export interface Withdrawn {
  /** Notes that an undo or release follows the request on the same connection. @returns false if none is in flight */
  follow(node: Node): boolean;
  /** Whether a request is in flight there without an undo or release behind it. */
  owes(node: Node): boolean;
  /** Nobody needs it any more: unsent requests are dropped. */
  drop(): void;
}

/** For requests whose answers do not matter: if one is lost, later requests make up for it. */
export const IGNORED_ANSWER: Sink = Object.freeze({
  isWanted: true,
  onSent: () => undefined,
  onReply: () => undefined,
  onFailure: () => undefined,
});
