/** What all adapters do with their connections to the masters. */
import { quorumOf } from '../../lib/protocol/quorum.js';
import { type ClientName, type Connection, DEFAULT_CLIENT } from './connection.js';
import type { Kept } from './contender.js';
import { GlideConnection } from './glide-connection.js';
import { IoredisConnection, type IoredisOptions } from './ioredis-connection.js';
import { NodeRedisConnection } from './node-redis-connection.js';

export async function openConnections(
  urls: readonly string[],
  client: ClientName = DEFAULT_CLIENT,
): Promise<readonly Connection[]> {
  if (client === 'ioredis') return openIoredis(urls);
  const library = client === 'redis' ? NodeRedisConnection : GlideConnection;
  const connections: readonly Connection[] = await Promise.all(urls.map((url) => library.open(url)));
  await settle(connections);
  return connections;
}

/** For what ioredis alone has, and for the libraries that are compared on it. */
export async function openIoredis(
  urls: readonly string[],
  options: IoredisOptions = {},
): Promise<readonly IoredisConnection[]> {
  const connections = urls.map((url) => new IoredisConnection(url, options));
  await settle(connections);
  return connections;
}

/** A connection answers in order: the reply to a PING is the last of what was sent before. */
async function settle(connections: readonly Connection[]): Promise<void> {
  await Promise.all(
    connections.map(async (connection) => {
      await connection.ready();
      await connection.ping();
    }),
  );
}

/** What does not differ between the adapters. */
export abstract class ClientSession {
  protected readonly connections: readonly Connection[];
  #sent: number | undefined;

  constructor(connections: readonly Connection[]) {
    this.connections = connections;
  }

  settled(): Promise<void> {
    return settle(this.connections);
  }

  answered(): Promise<void> {
    return new Promise((resolve, reject) => {
      let answers = 0;
      for (const connection of this.connections) {
        connection.ping().then(() => {
          if (++answers === quorumOf(this.connections.length)) resolve();
        }, reject);
      }
    });
  }

  sent(): number {
    if (this.#sent === undefined) this.#count();
    return this.#sent ?? 0;
  }

  close(): Promise<void> {
    for (const connection of this.connections) connection.close();
    return Promise.resolve();
  }

  /**
   * Counted here, since the masters' own counts take in what a script calls. Installed on demand, so that it costs
   * nothing where time is measured.
   */
  #count(): void {
    this.#sent = 0;
    for (const connection of this.connections) {
      connection.watch(() => void (this.#sent = (this.#sent ?? 0) + 1));
    }
  }
}

/**
 * Keeps a lease by a library's `using`: its routine runs until the lease is let go.
 *
 * @param using takes the lease, then runs the routine that it is given
 */
export function keepByUsing(
  using: (routine: (signal: AbortSignal) => Promise<void>) => PromiseLike<unknown>,
): Promise<Kept> {
  return new Promise((resolve, reject) => {
    let end = (): void => undefined;
    const ended = new Promise<void>((done) => (end = done));
    const over = using((signal) => {
      resolve({
        isHeld: () => !signal.aborted,
        letGo() {
          end();
          return Promise.resolve(over);
        },
      });
      return ended;
    });
    Promise.resolve(over).catch(reject);
  });
}

/** Loads a library that only the bench's own package.json names, so that this file compiles without it. */
export async function loadPeer<Module>(name: string): Promise<Module> {
  return (await import(name)) as Module; // each adapter states the part that it uses
}
