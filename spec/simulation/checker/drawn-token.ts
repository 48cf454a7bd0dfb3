/** What the checker knows of a token. */
import type { SimulatedClient } from '../world/client.js';

/** A token that was drawn, and the servers that it may have reached. */
export interface DrawnToken {
  readonly client: SimulatedClient;
  readonly firstSentMs: number;
  /** Its attempt failed, and was undone in one step on each connection. */
  hasFailed: boolean;
  endedAtMs: number | undefined;
  /** Its votes may stay until they expire: documented exceptions. */
  isExempt: boolean;
  /** The servers whose answer to it reached the client: its undo there may have to wait for room. */
  readonly answeredBy: Set<string>;
}
