/** The sink for requests whose answers do not matter: if one is lost, later requests make up for it. */
import type { Sink } from './node.js';

export const IGNORED_ANSWER: Sink = Object.freeze({
  isWanted: true,
  onSent: () => undefined,
  onReply: () => undefined,
  onFailure: () => undefined,
});
