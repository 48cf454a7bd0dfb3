/**
 * The connection to one master by an ioredis client.
 *
 * The client stays the caller's, with any settings; nothing here relies on them. With a client's defaults, this can go
 * wrong:
 * - commands sent while it is offline wait in a queue and run later: `state` is checked before each send;
 * - commands in flight when the connection breaks are sent again on the next one: the undo follows them there;
 * - `commandTimeout` cancels nothing: the outcome is unknown, and the command still counts as in flight;
 * - autopipelining is a hidden offline queue: commands from `createBuiltinCommand` bypass it, and so does `sendCommand`;
 * - a server may have refused a database other than 0, which ioredis ignores: each script selects the database
 *   (`database.ts`), and plain commands are sent as scripts there.
 */
import { Database } from './database.js';
import { scriptIn } from '../script.js';
import { hungUp, NO_HANDSHAKE } from '../server-errors.js';
import { type CommandSender, sharedSender } from './shared-encoding.js';
import { RedisSubscription, SUBSCRIBER_SETTINGS, type SubscriberClient } from './subscription.js';
import {
  addressName,
  type Command,
  prefixText,
  type ServerQuestion,
  type Transport,
  type TransportState,
} from '../transport.js';

/** The parts of a client's socket that are read. */
export interface DialledSocket {
  /** The TCP connection is not established yet. */
  readonly connecting?: boolean;
  /** The TLS handshake has not finished; absent without TLS. */
  readonly secureConnecting?: boolean;
  readonly bytesWritten?: number;
  readonly bytesRead?: number;
}

const UNANSWERED: Error = Object.freeze(new Error(NO_HANDSHAKE));

/** The server has accepted the connection, but has not answered the TLS handshake. */
function isShakingHands(socket: DialledSocket | undefined): boolean {
  return socket?.secureConnecting === true && socket.connecting === false;
}

/** The codes of a connection that was closed without an answer; there may also be no error at all. */
const HANG_UPS: readonly unknown[] = ['ECONNRESET', 'EPIPE', undefined];

/** The reason why a connection ended like this; undefined if it does not look like TLS. */
function hangUp(socket: DialledSocket | undefined, error: Error | undefined): Error | undefined {
  if (socket === undefined || socket.secureConnecting !== undefined) return undefined;
  if (socket.bytesRead !== 0 || !socket.bytesWritten) return undefined;
  if (error !== undefined && !('code' in error)) return undefined;
  const code = error === undefined ? undefined : error.code;
  if (!HANG_UPS.includes(code)) return undefined;
  return hungUp(error);
}

/**
 * The parts of an ioredis `Redis` or `Cluster` that this library needs. Versions 5 and 6 both have them; their own types are
 * not interchangeable.
 */
export interface IoredisClient {
  /** The state of its connection: `ready`, `wait`, `end` and others. */
  readonly status: string;
  /** Connects a client that was made with `lazyConnect`. */
  connect(): Promise<unknown>;
  /** Gives the client's method for a command. */
  createBuiltinCommand(name: string): ClientMethods;
  /** Adds a listener. */
  on(event: ClientEvent, listener: (error: Error) => void): unknown;
  /** Removes a listener. */
  removeListener(event: ClientEvent, listener: (error: Error) => void): unknown;
  /** How many listeners it has. */
  listenerCount(event: ClientEvent): number;
}

/** The ways to call a command of a client. */
interface ClientMethods {
  /** With replies as texts. */
  string: unknown;
}

/** The events of a client that quorate listens to. */
type ClientEvent = 'ready' | 'close' | 'end' | 'error';

/** The parts of a client that are read if present. */
interface ClientDetails {
  readonly sendCommand?: CommandSender['sendCommand'];
  readonly duplicate?: (override: object) => unknown;
  readonly isCluster?: boolean;
  readonly startupNodes?: readonly unknown[];
  readonly options?: {
    readonly host?: string;
    readonly port?: number;
    readonly path?: string;
    readonly name?: string;
    readonly sentinels?: readonly { readonly host?: string; readonly port?: number }[] | null;
    readonly keyPrefix?: unknown;
  };
  readonly stream?: DialledSocket & {
    readonly writable?: boolean;
    readonly cork?: () => void;
    readonly uncork?: () => void;
  };
}

type Builtin = (this: IoredisClient, ...args: (string | undefined)[]) => Promise<unknown>;
const STATE_EVENTS = ['ready', 'close', 'end'] as const;

/** Sends through an ioredis client. */
export class IoredisTransport implements Transport {
  readonly name: string;
  readonly isCluster: boolean;
  readonly keyPrefix: string;
  readonly subscribe: Transport['subscribe'];
  readonly #client: IoredisClient & ClientDetails;
  readonly #database: Database;
  readonly #builtins: Readonly<Record<Command['name'], Builtin>>;
  /** Sends a command with one encoding for all masters, if the client allows it. */
  readonly #sendShared: ReturnType<typeof sharedSender>;
  /** No connection has been made or lost since this transport was created. */
  #isFresh = true;
  #isListening = false;
  #lossReason: Error | undefined;
  /** The client reported why the current connection failed. */
  #isExplained = false;
  /** The socket was waiting for the server's part of the TLS handshake at the last look. */
  #isShakingHands = false;

  constructor(client: IoredisClient) {
    this.#client = client;
    this.#database = new Database(client);
    this.name = clientName(client);
    this.isCluster = this.#client.isCluster === true;
    this.keyPrefix = prefixText(this.#client.options?.keyPrefix);
    if (!this.isCluster && typeof this.#client.duplicate === 'function') {
      this.subscribe = (channel, listener) => {
        const subscriber = this.#client.duplicate?.(SUBSCRIBER_SETTINGS) as SubscriberClient;
        return new RedisSubscription(subscriber, channel, listener);
      };
    }
    this.#sendShared = this.isCluster ? undefined : sharedSender(this.#client, this.keyPrefix);
    // ioredis types it as a function of the client that it is called on
    const builtin = (name: string): Builtin => client.createBuiltinCommand(name).string as Builtin;
    this.#builtins = {
      set: builtin('set'),
      setnx: builtin('setnx'),
      get: builtin('get'),
      mget: builtin('mget'),
      getset: builtin('getset'),
      del: builtin('del'),
      time: builtin('time'),
      ping: builtin('ping'),
      info: builtin('info'),
      config: builtin('config'),
      pubsub: builtin('pubsub'),
      evalsha: builtin('evalsha'),
      eval: builtin('eval'),
    };
  }

  get database(): number {
    return this.#database.number ?? 0;
  }

  get isBehindSentinel(): boolean {
    return hasSentinels(this.#client);
  }

  get state(): TransportState {
    switch (this.#client.status) {
      case 'ready':
        this.#isFresh = false;
        this.#hearNoErrors();
        // between the end of a socket and its 'close' event, ioredis would put commands into its offline queue
        return this.isCluster || this.#client.stream?.writable !== false ? 'ready' : 'lost';
      case 'wait':
        this.#client.connect().catch(ignore); // nobody else connects it; a failure shows as 'close'
        return 'opening';
      case 'connecting':
      case 'connect':
        this.#hearErrors();
        this.#isShakingHands = isShakingHands(this.#client.stream);
        return this.#isFresh ? 'opening' : 'lost';
      default:
        this.#hearErrors();
        this.#isFresh = false;
        return 'lost';
    }
  }

  get isReady(): boolean {
    return this.#client.status === 'ready' && this.state === 'ready';
  }

  get lossReason(): Error | undefined {
    return this.#lossReason ?? (this.#isShakingHands ? UNANSWERED : undefined);
  }

  call(command: Command): Promise<unknown> {
    const database = this.#database.number;
    const sent = database === undefined ? command : inDatabase(command, database);
    const shared = this.#sendShared?.(sent);
    if (shared !== undefined) return shared;
    const { name, args } = sent;
    return this.#builtins[name].apply(this.#client, [...args]);
  }

  together(calls: () => void): void {
    const { stream } = this.#client;
    stream?.cork?.();
    try {
      calls();
    } finally {
      stream?.uncork?.();
    }
  }

  /** Stops listening to the client. */
  close(): void {
    this.#hearNoErrors();
  }

  /**
   * A client reports why it has no connection by 'error' or not at all, so this listens while it has none, and no longer:
   * even if the user of this transport has forgotten it by then.
   */
  #hearErrors(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    this.#client.on('error', this.#onError);
    this.#client.on('close', this.#onClose);
    this.#client.on('ready', this.#onReady);
  }

  #hearNoErrors(): void {
    if (!this.#isListening) return;
    this.#isListening = false;
    this.#lossReason = undefined;
    this.#isShakingHands = false;
    this.#client.removeListener('error', this.#onError);
    this.#client.removeListener('close', this.#onClose);
    this.#client.removeListener('ready', this.#onReady);
  }

  /** Reads the state: with a connection, that ends what was noted about the last one. */
  readonly #onReady = (): void => void this.state;

  readonly #onClose = (): void => {
    if (!this.#isExplained) this.#lossReason = hangUp(this.#client.stream, undefined) ?? this.#lossReason;
    this.#isExplained = false;
    this.#isShakingHands = false;
  };

  readonly #onError = (error: Error & { readonly code?: unknown }): void => {
    const isUnanswered = this.#isShakingHands && error.code === 'ETIMEDOUT';
    this.#lossReason = isUnanswered ? UNANSWERED : (hangUp(this.#client.stream, error) ?? error);
    this.#isExplained = true;
    // ioredis prints errors that nobody listens to; it is the caller's client, so that stays the same
    // oxlint-disable-next-line no-console
    if (this.#client.listenerCount('error') === 1) console.error('[ioredis] Unhandled error event:', error);
  };

  watch(listener: () => void): () => void {
    if (this.#client.status !== 'ready') this.#hearErrors(); // before the listener, which may ask for the reason
    const onEvent = (): void => {
      void this.state; // notes a lost connection, even if nobody reads the state before the next attempt to connect
      listener();
    };
    for (const event of STATE_EVENTS) this.#client.on(event, onEvent);
    return () => {
      for (const event of STATE_EVENTS) this.#client.removeListener(event, onEvent);
    };
  }
}

export function isIoredis(given: unknown): given is IoredisClient {
  return (
    typeof given === 'object' &&
    given !== null &&
    'status' in given &&
    'createBuiltinCommand' in given &&
    typeof given.createBuiltinCommand === 'function'
  );
}

/** A master's name in tallies: host:port, a socket's path, a sentinel's master, or a cluster's first nodes. */
export function clientName(client: IoredisClient & ClientDetails): string {
  if (client.isCluster === true) {
    return `cluster(${(client.startupNodes ?? []).slice(0, 3).map(startupName).join(',')})`;
  }
  const { path, name, sentinels, ...address } = client.options ?? {};
  if (hasSentinels(client)) {
    const first = sentinels?.[0];
    return `${name ?? 'mymaster'}@${first?.host ?? 'localhost'}:${first?.port ?? 26379}`;
  }
  if (path !== undefined && path !== null) return path;
  return addressName(address);
}

function hasSentinels({ options }: ClientDetails): boolean {
  return (options?.sentinels ?? []).length > 0;
}

function startupName(node: unknown): string {
  if (typeof node === 'string') return node.replace(/^[a-z]+:\/\/(?:.*@)?/, ''); // never a password
  if (typeof node === 'number') return `localhost:${node}`;
  const { host = 'localhost', port = 6379 } = (node ?? {}) as { host?: string; port?: number };
  return `${host}:${port}`;
}

const OF_THE_SERVER: ReadonlySet<string> = new Set<ServerQuestion>([
  'time',
  'ping',
  'info',
  'config',
  'pubsub',
]);

/** The command that does the same in that database; one object for all masters, too. */
function inDatabase(command: Command, database: number): Command {
  if (OF_THE_SERVER.has(command.name)) return command;
  if (command.selecting?.database !== database) {
    const { name, args } = inScript(command);
    const moved = args.slice();
    moved[0] = scriptIn(args[0] ?? '', database);
    command.selecting = { database, command: { name, args: moved } };
  }
  return command.selecting.command;
}

/** A plain command of one key as a script with the same replies and errors. It is sent as source: it is short. */
function inScript(command: Command): Command {
  const { name, args } = command;
  if (name === 'eval' || name === 'evalsha') return command;
  return { name: 'eval', args: [`return redis.pcall('${name}', KEYS[1], unpack(ARGV))`, '1', ...args] };
}

function ignore(): void {}
