/**
 * The connection to one master by a client of node-redis (`redis` 5 and 6).
 *
 * The client stays the caller's, and so does its connection: who made it calls `connect()`. With a client's defaults, this can
 * go wrong:
 * - commands sent while it is offline wait in a queue and run later: `state` is checked before each send;
 * - commands that are not written yet when the connection breaks would be written to the next one: they are taken back. In a
 *   cluster they are written there, and their undo follows them;
 * - a `timeout` rejects only commands that are not written yet; here it is off, since callers set deadlines;
 * - a client type mapping changes replies: each command has its own.
 *
 * It writes at the end of a turn of the event loop, all commands of the turn at once.
 */
import { afterImmediates } from '../../runtime/clock.js';
import { hungUp, NO_HANDSHAKE } from '../server-errors.js';
import {
  addressName,
  type Command,
  keyRange,
  prefixText,
  type Transport,
  type TransportState,
} from '../transport.js';
import { ClientEvents, type Telling } from './client-events.js';
import { type CommandOptions, isTakenBack, OF_COMMANDS, prefixed, Sending } from './sending.js';
import { NodeRedisSubscription, type SubscriberClient } from './subscription.js';

/** The parts of a client of node-redis (client, cluster) that this library needs. */
export interface NodeRedisClient extends Telling {
  /** `connect()` was called, and nothing that closes it. */
  readonly isOpen: boolean;
  /** It is connected. */
  readonly isReady?: boolean;
  /** Sends a command; a cluster takes more arguments. */
  sendCommand(...given: never[]): Promise<unknown>;
}

export interface Address {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly tls?: boolean;
}

/** The parts of a client that are read if present. */
interface ClientDetails {
  readonly options?: {
    readonly socket?: Address;
    readonly database?: number;
    readonly keyPrefix?: unknown;
  };
  readonly duplicate?: (overrides: object) => unknown;
  /** Of a cluster. */
  readonly masters?: readonly unknown[];
  readonly getSlotRandomNode?: unknown;
  readonly _options?: {
    readonly rootNodes?: readonly { readonly url?: string; readonly socket?: Address }[];
    readonly keyPrefix?: unknown;
  };
  readonly _keyPrefix?: unknown;
}

type Send = (...given: unknown[]) => Promise<unknown>;

export const NOT_CONNECTED: Error = Object.freeze(new Error('this client is not open: call its connect()'));

/** What node-redis says of a connection that the server closed. */
const HUNG_UP = /^Socket closed unexpectedly$|\b(?:ECONNRESET|EPIPE)\b/;

/** The client has one time limit for the connection and the handshake. */
function notReached(cause: Error): Error {
  return new Error(`not reached in time, or ${NO_HANDSHAKE}`, { cause });
}

/** Sends through a client of node-redis. */
export class NodeRedisTransport implements Transport {
  readonly name: string;
  readonly isCluster: boolean;
  readonly keyPrefix: string;
  readonly subscribe: Transport['subscribe'];
  /** It writes by `setImmediate`. */
  readonly whenWritten = afterImmediates;
  readonly #client: NodeRedisClient & ClientDetails;
  readonly #events: ClientEvents;
  readonly #leave: () => void;
  readonly #send: Sender;
  /** On the connection that there is. */
  #sending = new Sending();
  /** No connection has been made or lost since this transport was created. */
  #isFresh = true;
  #lossReason: Error | undefined;
  /** The server has accepted the connection that there is, and answered nothing. */
  #isUnanswered = false;
  /** The first error of that connection. */
  #failure: Error | undefined;

  constructor(client: NodeRedisClient) {
    const details = client as NodeRedisClient & ClientDetails;
    this.#client = details;
    this.#events = ClientEvents.of(client);
    this.isCluster = 'getSlotRandomNode' in details;
    this.name = clientName(details);
    const prefix = details.options?.keyPrefix ?? details._options?.keyPrefix ?? details._keyPrefix;
    this.keyPrefix = prefixText(prefix);
    this.#send = sender(details, this.isCluster);
    if (!this.isCluster && typeof details.duplicate === 'function') {
      this.subscribe = (channel, listener) =>
        new NodeRedisSubscription(
          (settings) => details.duplicate?.(settings) as SubscriberClient,
          () => details.options?.socket ?? {},
          channel,
          listener,
        );
    }
    this.#leave = this.#events.add({
      onConnect: () => {
        this.#isUnanswered = true;
        this.#failure = undefined;
      },
      onChange: () => {
        if (this.isReady) this.#isUnanswered = false;
      },
      onError: (error) => this.#onError(error),
    });
  }

  get database(): number {
    return this.#client.options?.database ?? 0;
  }

  get state(): TransportState {
    if (this.isReady) {
      this.#isFresh = false;
      this.#lossReason = undefined;
      return 'ready';
    }
    return this.#isFresh && this.#client.isOpen ? 'opening' : 'lost';
  }

  get isReady(): boolean {
    const { isOpen, isReady, masters } = this.#client;
    if (!isOpen) return false;
    return isReady ?? (masters !== undefined && masters.length > 0); // a cluster of version 5 has no such property
  }

  get lossReason(): Error | undefined {
    return this.#lossReason ?? (this.#client.isOpen ? undefined : NOT_CONNECTED);
  }

  call(command: Command): Promise<unknown> {
    const args = prefixed(command, this.keyPrefix);
    return this.#send(command, args, this.#sending.options).catch(this.#explain);
  }

  /** Stops listening to the client. */
  close(): void {
    this.#leave();
  }

  watch(listener: () => void): () => void {
    return this.#events.add({
      onChange: () => {
        void this.state; // notes a connection, even if nobody reads the state before the next loss
        listener();
      },
    });
  }

  #lose(error: Error): void {
    this.#isFresh = false;
    this.#lossReason = error;
    this.#sending.takeBack();
    this.#sending = new Sending();
  }

  /** What was taken back failed by the loss of the connection. */
  readonly #explain = (error: Error): never => {
    throw isTakenBack(error) ? (this.#lossReason ?? error) : error;
  };

  #onError(error: Error): void {
    if (this.#client.isReady === true) return; // a message failed, and the connection is still there
    // a server that hangs up after another error did so because of that
    if (this.#failure === undefined || !HUNG_UP.test(error.message)) this.#failure = this.#explained(error);
    this.#lose(this.#failure);
  }

  /** Neither side mentions that the other one has TLS, or has none. */
  #explained(error: Error): Error {
    const isTls = this.#client.options?.socket?.tls === true;
    if (isTls) return error.message === 'Connection timeout' ? notReached(error) : error;
    return this.#isUnanswered && HUNG_UP.test(error.message) ? hungUp(error) : error;
  }
}

type Sender = (command: Command, args: readonly string[], options: CommandOptions) => Promise<unknown>;

/** How each kind of client takes a command. */
function sender(client: NodeRedisClient, isCluster: boolean): Sender {
  const send = client.sendCommand.bind(client) as Send;
  if (isCluster)
    return ({ name }, args) => {
      const [first] = keyRange({ name, args });
      return send(args[first], false, [name, ...args], OF_COMMANDS);
    };
  return ({ name }, args, options) => send([name, ...args], options);
}

export function isNodeRedis(given: unknown): given is NodeRedisClient {
  return (
    typeof given === 'object' &&
    given !== null &&
    'isOpen' in given &&
    'sendCommand' in given &&
    typeof given.sendCommand === 'function' &&
    'listenerCount' in given
  );
}

function clientName({ _options, options }: ClientDetails): string {
  if (_options?.rootNodes !== undefined) {
    const roots = _options.rootNodes.slice(0, 3).map(({ url, socket }) => rootName(url, socket));
    return `cluster(${roots.join(',')})`;
  }
  return options?.socket?.path ?? addressName(options?.socket ?? {});
}

function rootName(url: string | undefined, socket: Address | undefined): string {
  return url === undefined ? addressName(socket ?? {}) : url.replace(/^[a-z]+:\/\/(?:.*@)?/, ''); // never a password
}
