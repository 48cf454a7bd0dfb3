/** Who sends what needs no answer: whatever comes of it, what is sent later tells. */
import type { Sink } from './node.js';

export const IGNORED_ANSWER: Sink = Object.freeze({
  isWanted: true,
  onSent: () => undefined,
  onReply: () => undefined,
  onFailure: () => undefined,
});
