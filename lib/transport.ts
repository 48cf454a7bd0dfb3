/**
 * The way to one master: what `node.ts` is given, and the one that speaks through an ioredis client.
 *
 * The client stays the caller's, with whatever settings it has; so nothing here relies on them. What can go wrong with
 * a client at its defaults, and who deals with it:
 * - commands sent while it is offline wait in a queue and run later: `state` is looked at before each send;
 * - commands in flight when the connection breaks are sent again on the next one: the undo follows them there;
 * - `commandTimeout` cancels nothing: such an answer is unknown, and the command still counts as unanswered;
 * - autopipelining is a hidden offline queue: built-in commands made by `createBuiltinCommand` go past it, and so does
 *   `sendCommand`.
 */
import { createHash } from 'node:crypto';
import { type Command, type CommandSender, type PlainCommand, sharedSender } from './encoding.js';
import { invalidArgument } from './errors.js';
import {
  type PushListener,
  RedisSubscription,
  type SubscriberClient,
  SUBSCRIBER_SETTINGS,
  type Subscription,
} from './subscription.js';

export type { Command, PlainCommand };

/**
 * `opening`: the client was never connected and is on its way; it gets up to the node timeout.
 * `lost`: it is not connected; whatever is asked of it is unknown at once.
 */
export type TransportState = 'ready' | 'opening' | 'lost';

export interface Transport {
  /** host:port, or what comes closest to it. */
  readonly name: string;
  /** A Redis Cluster spreads keys over slots: one slot per call there. */
  readonly isCluster: boolean;
  /** What the client puts before every key on its own account. */
  readonly keyPrefix: string;
  readonly state: TransportState;
  /** Why the connection is lost, as the client last told; undefined where it did not. */
  readonly lossReason: Error | undefined;
  /**
   * Sends in `ready` only. Resolves with the raw reply; rejects with the server's error or the connection's. May stay
   * pending for as long as the master is silent: whoever sends sets a deadline.
   */
  call(command: Command): Promise<unknown>;
  /** Calls back whenever `state` may have changed, until the returned function is called. */
  watch(listener: () => void): () => void;
  /** Has a channel's pushes come in, on a connection of their own. Not there where that cannot be: on a cluster. */
  readonly subscribe?: ((channel: string, listener: PushListener) => Subscription) | undefined;
}

/** What quorate needs of an ioredis `Redis` or `Cluster`, of version 5 or 6; their types are not interchangeable. */
export interface RedisClient {
  readonly status: string;
  connect(): Promise<unknown>;
  createBuiltinCommand(name: string): { string: unknown };
  on(event: ClientEvent, listener: (error: Error) => void): unknown;
  removeListener(event: ClientEvent, listener: (error: Error) => void): unknown;
  listenerCount(event: ClientEvent): number;
}

type ClientEvent = 'ready' | 'close' | 'end' | 'error';

/** What is read of a client where it is there. */
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
  readonly stream?: { readonly writable?: boolean };
}

type Builtin = (this: RedisClient, ...args: (string | undefined)[]) => Promise<unknown>;
const STATE_EVENTS = ['ready', 'close', 'end'] as const;

/** Sends through an ioredis client. */
export class RedisTransport implements Transport {
  readonly name: string;
  readonly isCluster: boolean;
  readonly keyPrefix: string;
  readonly subscribe: Transport['subscribe'];
  readonly #client: RedisClient & ClientDetails;
  readonly #builtins: Readonly<Record<Command['name'], Builtin>>;
  /** Writes a command out once for all masters, where the client lets it. */
  readonly #sendShared: ReturnType<typeof sharedSender>;
  /** No connection was made or lost since this transport looked on. */
  #isFresh = true;
  #isListening = false;
  #lossReason: Error | undefined;

  constructor(client: RedisClient) {
    this.#client = client;
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
      getset: builtin('getset'),
      del: builtin('del'),
      evalsha: builtin('evalsha'),
      eval: builtin('eval'),
    };
  }

  get state(): TransportState {
    switch (this.#client.status) {
      case 'ready':
        this.#isFresh = false;
        this.#hearNoErrors();
        // between the end of a socket and its 'close' event, ioredis would put commands into the offline queue
        return this.isCluster || this.#client.stream?.writable !== false ? 'ready' : 'lost';
      case 'wait':
        this.#client.connect().catch(ignore); // nobody else does; a failure shows as 'close'
        return 'opening';
      case 'connecting':
      case 'connect':
        this.#hearErrors();
        return this.#isFresh ? 'opening' : 'lost';
      default:
        this.#hearErrors();
        this.#isFresh = false;
        return 'lost';
    }
  }

  get lossReason(): Error | undefined {
    return this.#lossReason;
  }

  call(command: Command): Promise<unknown> {
    const shared = this.#sendShared?.(command);
    if (shared !== undefined) return shared;
    const { name, args } = command;
    return this.#builtins[name].apply(this.#client, [...args]);
  }

  /** Lets go of the client. */
  close(): void {
    this.#hearNoErrors();
  }

  /** A client tells why it has no connection by 'error' only: one listener, for as long as it has none. */
  #hearErrors(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    this.#client.on('error', this.#onError);
  }

  #hearNoErrors(): void {
    if (!this.#isListening) return;
    this.#isListening = false;
    this.#lossReason = undefined;
    this.#client.removeListener('error', this.#onError);
  }

  readonly #onError = (error: Error): void => {
    this.#lossReason = error;
    // ioredis prints what nobody listens to; it is the caller's client, so that stays as it was
    // oxlint-disable-next-line no-console
    if (this.#client.listenerCount('error') === 1) console.error('[ioredis] Unhandled error event:', error);
  };

  watch(listener: () => void): () => void {
    const onEvent = (): void => {
      void this.state; // a lost connection is noted, even if nobody asks before the next attempt to connect
      listener();
    };
    for (const event of STATE_EVENTS) this.#client.on(event, onEvent);
    return () => {
      for (const event of STATE_EVENTS) this.#client.removeListener(event, onEvent);
    };
  }
}

/** Refuses what is no ioredis client, by name of its place. */
export function checkClient(client: unknown, place: string): asserts client is RedisClient {
  const isClient =
    typeof client === 'object' &&
    client !== null &&
    'status' in client &&
    'createBuiltinCommand' in client &&
    typeof client.createBuiltinCommand === 'function';
  if (!isClient) throw invalidArgument(place, client, 'an ioredis Redis or Cluster instance');
}

/** How a master is called in tallies: host:port, a socket's path, a sentinel's master, a cluster's first nodes. */
export function clientName(client: RedisClient & ClientDetails): string {
  if (client.isCluster === true) {
    return `cluster(${(client.startupNodes ?? []).slice(0, 3).map(startupName).join(',')})`;
  }
  const { host = 'localhost', port = 6379, path, name, sentinels } = client.options ?? {};
  if (sentinels !== undefined && sentinels !== null && sentinels.length > 0) {
    const first = sentinels[0];
    return `${name ?? 'mymaster'}@${first?.host ?? 'localhost'}:${first?.port ?? 26379}`;
  }
  if (path !== undefined && path !== null) return path;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** ioredis takes a Buffer as well, though its types do not say so. */
function prefixText(prefix: unknown): string {
  return typeof prefix === 'string' || Buffer.isBuffer(prefix) ? prefix.toString() : '';
}

function startupName(node: unknown): string {
  if (typeof node === 'string') return node.replace(/^[a-z]+:\/\/(?:.*@)?/, ''); // never a password
  if (typeof node === 'number') return `localhost:${node}`;
  const { host = 'localhost', port = 6379 } = (node ?? {}) as { host?: string; port?: number };
  return `${host}:${port}`;
}

const digests = new Map<string, string>(); // bounded by the number of scripts

/** The name under which a master keeps a script: the SHA-1 of its source, in hex. */
export function scriptDigest(source: string): string {
  let digest = digests.get(source);
  if (digest === undefined) {
    digest = createHash('sha1').update(source).digest('hex');
    digests.set(source, digest);
  }
  return digest;
}

const FINGERPRINT_LENGTH = 10;

/** Tells tokens apart without showing them: the first hex digits of a SHA-256. */
export function fingerprint(token: string): string {
  return createHash('sha256').update(token).digest('hex').slice(0, FINGERPRINT_LENGTH);
}

function ignore(): void {}
