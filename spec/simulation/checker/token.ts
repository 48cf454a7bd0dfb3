/** What the checker knows of a token. */
import type { SimulatedClient } from '../world/client.js';

/** A token that was drawn, and the servers that it may have reached. */
export interface Token {
  /** Whose it is: after an adoption, who has adopted it. */
  client: SimulatedClient;
  readonly firstSentMs: number;
  /** Its attempt failed, and was undone in one step on each connection. */
  hasFailed: boolean;
  endedAtMs: number | undefined;
  /** Its votes may stay until they expire: documented exceptions. */
  isExempt: boolean;
  /** The servers whose answer to it reached the client: its undo there may have to wait for room. */
  readonly answeredBy: Set<string>;
}

/** One that was sent first at that instant. */
export function drawn(client: SimulatedClient, firstSentMs: number): Token {
  return {
    client,
    firstSentMs,
    hasFailed: false,
    endedAtMs: undefined,
    isExempt: false,
    answeredBy: new Set(),
  };
}

/** A lease with this token is granted once more, to another call of the same instance. */
export function heldAgain(token: Token | undefined): void {
  if (token !== undefined) token.endedAtMs = undefined;
}

export function takenOver(token: Token | undefined, client: SimulatedClient): void {
  if (token !== undefined) token.client = client;
}
