/** The connection to one master, as `node.ts` uses it. Each client has a folder beside this, which implements it. */
import { createHash } from 'node:crypto';
import type { PushListener, Subscription } from './subscription.js';

/** Commands that are sent without a script: a plain claim, the commands of a timestamp lock, and questions about the server. */
export type PlainCommand = 'set' | 'setnx' | 'get' | 'mget' | 'getset' | 'del' | ServerQuestion;

/** Questions about the server: the same in each database. */
export type ServerQuestion = 'time' | 'ping' | 'info' | 'config' | 'pubsub';

/** A command to send; one object for all masters. */
export interface Command {
  readonly name: PlainCommand | 'evalsha' | 'eval';
  readonly args: readonly string[];
  /** Its encoding, once it was encoded for one of them. */
  written?: Buffer | string;
  /** The same command for a database other than 0, once it was made for one. */
  selecting?: { readonly database: number; readonly command: Command };
}

/** What all keys of our own begin with; no resource does. */
export const RESERVED = 'quorate:';

/** Where its keys are among its arguments. */
export function keyRange({ name, args }: Command): readonly [start: number, end: number] {
  switch (name) {
    case 'eval':
    case 'evalsha':
      return [2, 2 + Number(args[1])];
    case 'time':
    case 'ping':
    case 'info':
    case 'config':
    case 'pubsub':
      return [0, 0];
    default:
      return [0, name === 'del' ? args.length : 1];
  }
}

/**
 * `opening`: the client is connecting for the first time; it gets up to the node timeout. `lost`: it is not connected; the
 * outcome of every request is unknown at once.
 */
export type TransportState = 'ready' | 'opening' | 'lost';

export interface Transport {
  /** host:port, or the closest equivalent. */
  readonly name: string;
  /** All keys of a call to a Redis Cluster must be in one slot. */
  readonly isCluster: boolean;
  /** The prefix that the client itself puts before every key. */
  readonly keyPrefix: string;
  /** The database that it should use. @default 0 */
  readonly database?: number;
  /** The client asks a Sentinel where its master is. @default false */
  readonly isBehindSentinel?: boolean;
  readonly state: TransportState;
  /** Whether it is `ready`; unlike `state`, this opens no connection. */
  readonly isReady: boolean;
  /** Why the connection is lost, if the client reported it. */
  readonly lossReason: Error | undefined;
  /**
   * Only in state `ready`. Resolves with the raw reply; rejects with an error of the server or the connection. May stay
   * pending as long as the master is silent: callers set a deadline.
   */
  call(command: Command): Promise<unknown>;
  /** What is called within goes out in one write to the socket. Absent if the client does not allow that. */
  readonly together?: ((calls: () => void) => void) | undefined;
  /** Calls back once the calls of this turn of the event loop are written to the socket. Absent if a call writes at once. */
  readonly whenWritten?: ((then: () => void) => void) | undefined;
  /** Calls back whenever `state` may have changed, until the returned function is called. */
  watch(listener: () => void): () => void;
  /** Receives the pushes of a channel, on a separate connection. Absent if that is not possible: on a cluster. */
  readonly subscribe?: ((channel: string, listener: PushListener) => Subscription) | undefined;
}

/** The name of a master without user and password. */
export function addressName({ host = 'localhost', port = 6379 }: { host?: string; port?: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** What a client puts before its keys, as its options say it: a text, or a Buffer. */
export function prefixText(prefix: unknown): string {
  return typeof prefix === 'string' || Buffer.isBuffer(prefix) ? prefix.toString() : '';
}

const FINGERPRINT_LENGTH = 10;

/** Distinguishes tokens without showing them: the first hex digits of a SHA-256. */
export function fingerprint(token: string): string {
  return createHash('sha256').update(token).digest('hex').slice(0, FINGERPRINT_LENGTH);
}
