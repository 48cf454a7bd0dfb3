/**
 * The client of Valkey GLIDE (`@valkey/valkey-glide` 2) for one master or a Redis Cluster. It stays the caller's.
 *
 * GLIDE passes commands to threads of its own, which write them to one connection in any order. It reports neither a lost
 * connection nor a new one: commands wait for the next connection until their `requestTimeout`.
 *
 * That time limit rejects commands that run later. So a command that met it is over only once the master has answered a PING
 * that was sent afterwards: to one server, GLIDE has written the command before, or never will. In a cluster, GLIDE may send
 * a command again after a redirect or a lost connection: there that order is best-effort.
 */
import { addressName, type Command, type Transport } from '../transport.js';
import { invalidArgument } from '../../runtime/errors.js';
import { isServerError } from '../server-errors.js';
import type { UnorderedClient } from '../ordered/transport.js';
import { inServersWords, isTimeLimit } from './errors.js';
import { AS_TEXTS } from './scripts.js';
import { GlideSubscription, type PushClient } from './subscription.js';

/** The parts of a client of Valkey GLIDE (`GlideClient`, `GlideClusterClient`) that this library needs. */
export interface GlideClient {
  /** Sends a command. */
  customCommand(args: string[], options?: never): Promise<unknown>;
  /** Ends it. */
  close(reason?: string): void;
  /** Connections and compression of the whole process. */
  getStatistics(): object;
}

/** The parts of its configuration that are read. */
export interface GlideConfiguration {
  readonly addresses: readonly { readonly host: string; readonly port?: number }[];
  readonly databaseId?: number;
  readonly readFrom?: string;
  readonly clientSideCache?: unknown;
}

interface ClientDetails {
  readonly isClosed: boolean;
  readonly config: GlideConfiguration;
  readonly ssubscribe?: unknown;
  readonly publish: { readonly length: number };
  readonly constructor: { createClient(configuration: object): Promise<PushClient> };
  customCommand(args: readonly string[], options: object): Promise<unknown>;
}

const BY_ANY_NODE = Object.freeze({ ...AS_TEXTS, route: 'randomNode' });
const BY_ALL_PRIMARIES = Object.freeze({ ...AS_TEXTS, route: 'allPrimaries' });
const CLOSED = Object.freeze(new Error('this client is closed'));

/** What GLIDE says of a lost connection, and of a client that was closed. */
const LOSSES: readonly string[] = ['ConnectionError', 'ClosingError'];

export class GlideConnection implements UnorderedClient {
  readonly name: string;
  readonly isCluster: boolean;
  readonly keyPrefix = '';
  readonly isBehindSentinel = false;
  readonly wasConnected = true;
  readonly closedReason = CLOSED;
  readonly subscribe: Transport['subscribe'];
  readonly #client: ClientDetails;
  /** Resolves once it answers again, while a command has met GLIDE's time limit. */
  #answers: Promise<void> | undefined;

  constructor(client: GlideClient) {
    const details = client as unknown as ClientDetails;
    this.#client = details;
    this.isCluster = 'ssubscribe' in details;
    const names = details.config.addresses.slice(0, 3).map(addressName).join(',');
    this.name = this.isCluster ? `cluster(${names})` : names;
    if (this.isCluster) return;
    this.subscribe = (channel, listener) =>
      new GlideSubscription(
        (settings) => details.constructor.createClient({ ...details.config, ...settings }),
        channel,
        listener,
      );
  }

  get database(): number {
    return this.#client.config.databaseId ?? 0;
  }

  get isOpen(): boolean {
    return !this.#client.isClosed;
  }

  async send({ name, args }: Command): Promise<unknown> {
    const isOfAKey = name === 'eval' || name === 'evalsha' ? args[1] !== '0' : args.length > 0;
    const options = this.isCluster && !isOfAKey ? BY_ANY_NODE : AS_TEXTS;
    try {
      const reply = await this.#client.customCommand([name, ...args], options);
      return name === 'config' || name === 'pubsub' ? flat(reply) : reply;
    } catch (error) {
      if (isTimeLimit(error as Error)) await (this.#answers ??= this.#untilItAnswers());
      throw inServersWords(error as Error);
    }
  }

  /** Rejects if the connection is lost. A PING lasts as long as GLIDE's time limit at most. */
  async #untilItAnswers(): Promise<void> {
    const route = this.isCluster ? BY_ALL_PRIMARIES : AS_TEXTS;
    try {
      for (;;) {
        const error = await this.#client.customCommand(['PING'], route).then(() => undefined, inServersWords);
        if (error === undefined || isServerError(error)) return;
        if (!isTimeLimit(error)) throw error;
      }
    } finally {
      this.#answers = undefined;
    }
  }

  isLoss({ name }: Error): boolean {
    return LOSSES.includes(name);
  }

  /** It reports nothing: failing requests show a loss. */
  listen(): () => void {
    return () => undefined;
  }
}

/** Pairs, which are objects in GLIDE, as the other clients have them. */
function flat(reply: unknown): unknown {
  if (!Array.isArray(reply)) return reply;
  return reply.flatMap((one: unknown) =>
    typeof one === 'object' && one !== null && 'key' in one && 'value' in one ? [one.key, one.value] : [one],
  );
}

export function isGlide(given: unknown): given is GlideClient {
  return (
    typeof given === 'object' &&
    given !== null &&
    'customCommand' in given &&
    typeof given.customCommand === 'function' &&
    'config' in given
  );
}

/** @throws RedlockError `INVALID_ARGUMENT`: it may read what was true some time ago */
export function checkGlide(client: GlideClient, place: string): void {
  const { readFrom = 'primary', clientSideCache } = (client as unknown as ClientDetails).config;
  if (readFrom === 'primary' && clientSideCache === undefined) return;
  throw invalidArgument(place, client, "a client with readFrom: 'primary' and no clientSideCache");
}
