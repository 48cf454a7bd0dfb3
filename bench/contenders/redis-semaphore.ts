/**
 * redis-semaphore at its defaults: `RedlockMutex`, and `Mutex` where there is one master, made for each acquisition as
 * its documentation shows; tries every 10 ms for up to 10 s, and renews what is held at 0.8 of the ttl.
 */
import type { Redis } from 'ioredis';
import { ClientSession, loadPeer, openIoredis } from './clients.js';
import { type Asked, type Contender, type Kept, type Session, TTL_MS } from './contender.js';
import type { IoredisConnection } from './ioredis-connection.js';

interface Mutex {
  readonly isAcquired: boolean;
  acquire(): Promise<void>;
  release(): Promise<void>;
}

interface Options {
  readonly lockTimeout: number;
}

interface Module {
  readonly Mutex: new (client: Redis, key: string, options: Options) => Mutex;
  readonly RedlockMutex: new (clients: readonly Redis[], key: string, options: Options) => Mutex;
}

export const contender: Contender<Mutex> = {
  kinds: [{ label: 'renewed', renew: true, isWatched: false }],
  async open(urls) {
    const library = await loadPeer<Module>('redis-semaphore');
    return new SemaphoreSession(await openIoredis(urls), library);
  },
};

class SemaphoreSession extends ClientSession implements Session<Mutex> {
  readonly #make: (key: string, lockTimeout: number) => Mutex;

  constructor(connections: readonly IoredisConnection[], library: Module) {
    super(connections);
    const clients = connections.map(({ client }) => client);
    const [client] = clients;
    this.#make =
      client !== undefined && clients.length === 1
        ? (key, lockTimeout) => new library.Mutex(client, key, { lockTimeout })
        : (key, lockTimeout) => new library.RedlockMutex(clients, key, { lockTimeout });
  }

  async acquire(resource: string, asked?: Asked): Promise<Mutex> {
    const mutex = this.#make(resource, asked?.ttlMs ?? TTL_MS);
    await mutex.acquire();
    return mutex;
  }

  release(mutex: Mutex): Promise<void> {
    return mutex.release();
  }

  async keep(resource: string, ttlMs: number): Promise<Kept> {
    const mutex = await this.acquire(resource, { ttlMs });
    return { isHeld: () => mutex.isAcquired, letGo: () => mutex.release() };
  }
}
