/**
 * TLS on one side only, which neither side says: a server without TLS waits for the end of a line, and one with TLS hangs up.
 * So it is told by how the socket stands. Nothing but texts depends on it.
 */

/** What is read of a client's socket. */
export interface DialledSocket {
  /** TCP is still on its way. */
  readonly connecting?: boolean;
  /** The handshake of TLS is on its way, or has not begun; not there without TLS. */
  readonly secureConnecting?: boolean;
  readonly bytesWritten?: number;
  readonly bytesRead?: number;
}

export const NO_HANDSHAKE: Error = Object.freeze(
  new Error('no answer to the TLS handshake, as from a port without TLS (redis://)'),
);

/** The server has taken the connection, and has not answered to TLS. */
export function isShakingHands(socket: DialledSocket | undefined): boolean {
  return socket?.secureConnecting === true && socket.connecting === false;
}

/** How an end without a word comes in; it may also come without an error. */
const HANG_UPS: readonly unknown[] = ['ECONNRESET', 'EPIPE', undefined];

/** Why a connection that ended so could not be; undefined where it looks like anything else. */
export function hangUp(socket: DialledSocket | undefined, error: Error | undefined): Error | undefined {
  if (socket === undefined || socket.secureConnecting !== undefined) return undefined;
  if (socket.bytesRead !== 0 || !socket.bytesWritten) return undefined;
  if (error !== undefined && !('code' in error)) return undefined;
  const code = error === undefined ? undefined : error.code;
  if (!HANG_UPS.includes(code)) return undefined;
  return new Error('hung up on before any answer, as by a port for TLS (rediss://)', { cause: error });
}
