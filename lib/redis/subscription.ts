/** A separate connection for a master's pushes: a client that subscribes can send nothing else. */

/** Whether this answer to SUBSCRIBE will stay the same. An answer while it connects may not: a server has too many clients for a while. */
export function isRefusal({ message }: Error): boolean {
  return /^(?:NOPERM|ERR)/.test(message);
}

/** Receives pushes. Nothing is called before `subscribe` has returned. */
export interface PushListener {
  /** The master confirmed the subscription: pushes arrive from now on. Called again after each reconnection. */
  onOpen(): void;
  onPush(text: string): void;
  /** No pushes arrive until it is open again. `isRefused`: the master refused, and it is not tried again. */
  onLost(cause: Error, isRefused: boolean): void;
}

export interface Subscription {
  /** A push, or the confirmation, seems to have been lost: reconnects. */
  renew(): void;
  close(): void;
}
