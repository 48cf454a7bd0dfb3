/** How long connections of our own wait, whichever library opens them. */

export const CONNECT_TIMEOUT_MS = 2_000;
/** A connection is closed after this time without an answer: a cut network is noticed sooner than by TCP. */
export const SILENCE_MS = 10_000;
const RECONNECT_FIRST_MS = 50;
const RECONNECT_LAST_MS = 2_000;
const RESUBSCRIBE_LAST_MS = 1_000;

/** Before the next attempt to connect: a master that is back has its connection within two seconds. */
export function reconnectMs(failures: number): number {
  return Math.min(RECONNECT_FIRST_MS * 2 ** Math.min(failures, 10), RECONNECT_LAST_MS);
}

/** The same for pushes. */
export function resubscribeMs(failures: number): number {
  return Math.min(reconnectMs(failures), RESUBSCRIBE_LAST_MS);
}
