/**
 * Detects TLS on one side only. Neither side reports it: a server without TLS waits for the end of a line, and one with
 * TLS hangs up. So it is inferred from the state of the socket. Only error texts depend on it.
 */

/** The parts of a client's socket that are read. */
export interface DialledSocket {
  /** The TCP connection is not established yet. */
  readonly connecting?: boolean;
  /** The TLS handshake has not finished; absent without TLS. */
  readonly secureConnecting?: boolean;
  readonly bytesWritten?: number;
  readonly bytesRead?: number;
}

export const NO_HANDSHAKE: Error = Object.freeze(
  new Error('no answer to the TLS handshake, as from a port without TLS (redis://)'),
);

/** The server has accepted the connection, but has not answered the TLS handshake. */
export function isShakingHands(socket: DialledSocket | undefined): boolean {
  return socket?.secureConnecting === true && socket.connecting === false;
}

/** The codes of a connection that was closed without an answer; there may also be no error at all. */
const HANG_UPS: readonly unknown[] = ['ECONNRESET', 'EPIPE', undefined];

/** The reason why a connection ended like this; undefined if it does not look like TLS. */
export function hangUp(socket: DialledSocket | undefined, error: Error | undefined): Error | undefined {
  if (socket === undefined || socket.secureConnecting !== undefined) return undefined;
  if (socket.bytesRead !== 0 || !socket.bytesWritten) return undefined;
  if (error !== undefined && !('code' in error)) return undefined;
  const code = error === undefined ? undefined : error.code;
  if (!HANG_UPS.includes(code)) return undefined;
  return new Error('hung up on before any answer, as by a port for TLS (rediss://)', { cause: error });
}
