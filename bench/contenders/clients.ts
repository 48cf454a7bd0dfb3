/** Plain ioredis clients at their defaults, as a caller would bring them, and what all adapters do with them. */
import { once } from 'node:events';
import { Redis, type RedisOptions } from 'ioredis';
import { quorumOf } from '../../lib/protocol/quorum.js';
import type { Kept } from './contender.js';

/** What differs from ioredis's defaults. */
export type ClientOptions = Pick<RedisOptions, 'enableAutoPipelining'>;

export async function openClients(urls: readonly string[], options: ClientOptions = {}): Promise<Redis[]> {
  const clients = urls.map((url) => new Redis(url, options));
  for (const client of clients) client.on('error', () => undefined); // a master that is killed is part of the bench
  await settleClients(clients);
  return clients;
}

/** A connection answers in order: the reply to a PING is the last of what was sent before. */
async function settleClients(clients: readonly Redis[]): Promise<void> {
  await Promise.all(
    clients.map(async (client) => {
      if (client.status !== 'ready') await once(client, 'ready');
      await client.ping();
    }),
  );
}

/** What does not differ between the adapters. */
export abstract class ClientSession {
  protected readonly clients: readonly Redis[];
  #sent: number | undefined;

  constructor(clients: readonly Redis[]) {
    this.clients = clients;
  }

  settled(): Promise<void> {
    return settleClients(this.clients);
  }

  answered(): Promise<void> {
    return new Promise((resolve, reject) => {
      let answers = 0;
      for (const client of this.clients) {
        client.ping().then(() => {
          if (++answers === quorumOf(this.clients.length)) resolve();
        }, reject);
      }
    });
  }

  sent(): number {
    if (this.#sent === undefined) this.#count();
    return this.#sent ?? 0;
  }

  close(): Promise<void> {
    for (const client of this.clients) client.disconnect();
    return Promise.resolve();
  }

  /**
   * Counted here, since the masters' own counts take in what a script calls. Installed on demand, so that it costs
   * nothing where time is measured.
   */
  #count(): void {
    this.#sent = 0;
    for (const client of this.clients) {
      const send = client.sendCommand.bind(client);
      client.sendCommand = (...args) => {
        this.#sent = (this.#sent ?? 0) + 1;
        return send(...args);
      };
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
