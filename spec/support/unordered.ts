/** Clients that send commands in any order: Valkey GLIDE, and pools of node-redis. */
import { GlideClient, GlideClusterClient, Logger } from '@valkey/valkey-glide';
import { createClientPool, createCluster } from 'redis';
import { createClientPool as createClientPool5, createCluster as createCluster5 } from 'redis5';
import { ALL_KINDS, type AnyClient, type ClientKind, connected, socketTo } from './real.js';

Logger.init('off'); // it writes each error of a server to the terminal

const HOST = '127.0.0.1';

/** What is used of a client of GLIDE, for one server or a cluster. */
interface Glide {
  customCommand(args: string[], options?: object): Promise<unknown>;
  close(): void;
}

type GlideConfiguration = Parameters<typeof GlideClient.createClient>[0];

/** A client of GLIDE, which takes time to be made: calls wait for it. */
class OpeningGlide implements Glide {
  static readonly createClient = GlideClient.createClient.bind(GlideClient);
  readonly config: GlideConfiguration;
  isClosed = false;
  isReady = false;
  readonly #client: Promise<Glide>;

  constructor(config: GlideConfiguration, create: (config: GlideConfiguration) => Promise<Glide>) {
    this.config = config;
    this.#client = this.#open(create);
    this.#client.catch(() => undefined);
  }

  async customCommand(args: string[], options?: object): Promise<unknown> {
    return (await this.#client).customCommand(args, options);
  }

  getStatistics(): object {
    return {};
  }

  close(): void {
    this.isClosed = true;
    this.isReady = false;
    this.#client.then(
      (client) => client.close(),
      () => undefined,
    );
  }

  readonly disconnect = (): void => this.close();

  async #open(create: (config: GlideConfiguration) => Promise<Glide>): Promise<Glide> {
    for (;;) {
      try {
        const client = await create(this.config);
        this.isReady = !this.isClosed;
        return client;
      } catch (error) {
        if (this.isClosed) throw error;
      }
    }
  }
}

class OpeningGlideCluster extends OpeningGlide {
  /** By this, a client for a cluster is known. */
  ssubscribe(): void {}
}

/** @param options  GLIDE's own, and the name of a user as the other clients have it */
function configuration(
  port: number,
  { username, password, ...options }: Record<string, unknown>,
): GlideConfiguration {
  const credentials = { username, password } as { username: string; password: string };
  return {
    addresses: [{ host: HOST, port }],
    requestTimeout: 1_000,
    ...(password === undefined ? {} : { credentials }),
    ...options,
  };
}

export const GLIDE_KINDS: readonly ClientKind<AnyClient>[] = [
  {
    name: 'GLIDE 2',
    open: (port, options = {}) =>
      new OpeningGlide(configuration(port, options), (config) => GlideClient.createClient(config)),
    openCluster: (port, options = {}) =>
      new OpeningGlideCluster(configuration(port, options), (config) =>
        GlideClusterClient.createClient(config),
      ),
  },
];

/** What is read of a pool. */
interface Pool {
  readonly isOpen: boolean;
  readonly idleClients: number;
}

/** Gives it a state, as clients have one: a pool has none beyond its connections. */
function pool(made: Parameters<typeof connected>[0] & Pool): AnyClient {
  const client = connected(made);
  return Object.defineProperty(client, 'isReady', { get: () => made.isOpen && made.idleClients > 0 });
}

export const POOL_KINDS: readonly ClientKind<AnyClient>[] = [
  {
    name: 'a pool of node-redis 6',
    open: (port, options = {}) => pool(createClientPool({ socket: socketTo(port), ...options })),
    openCluster: (port) => connected(createCluster({ rootNodes: [{ socket: socketTo(port) }] })),
  },
  {
    name: 'a pool of node-redis 5',
    open: (port, options = {}) => pool(createClientPool5({ socket: socketTo(port), ...options })),
    openCluster: (port) => connected(createCluster5({ rootNodes: [{ socket: socketTo(port) }] })),
  },
];

/** Without the older pool: if it is destroyed while its master is dead, the process does not end by itself. */
export const UNORDERED_KINDS = [...GLIDE_KINDS, ...POOL_KINDS.slice(0, 1)];

/** Every client that quorate takes. */
export const EVERY_KIND = [...ALL_KINDS, ...UNORDERED_KINDS];
