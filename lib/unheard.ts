import type { Sink } from './node.js';

/** For what needs no answer. */
export const UNHEARD: Sink = Object.freeze({
  isWanted: true,
  onSent: () => undefined,
  onReply: () => undefined,
  onFailure: () => undefined,
});
