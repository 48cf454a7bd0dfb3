/**
 * redlock-universal at its defaults: `createRedlock`, and `createLock` where there is one master, made for each
 * acquisition as its documentation shows; 3 retries, 200 ms apart (100 ms with one master).
 */
import type { Redis } from 'ioredis';
import { ClientSession, keepByUsing, loadPeer, openIoredis } from './clients.js';
import { type Asked, type Contender, type Kept, PLAIN_HOLD, type Session, TTL_MS } from './contender.js';
import type { IoredisConnection } from './ioredis-connection.js';

interface Lock {
  acquire(): Promise<object>;
  release(handle: object): Promise<unknown>;
  using(routine: (signal: AbortSignal) => Promise<void>): Promise<void>;
}

interface Module {
  readonly IoredisAdapter: new (client: Redis) => object;
  createLock(config: { adapter: object; key: string; ttl: number }): Lock;
  createRedlock(config: { adapters: readonly object[]; key: string; ttl: number }): Lock;
}

interface Held {
  readonly lock: Lock;
  readonly handle: object;
}

export const contender: Contender<Held> = {
  kinds: [PLAIN_HOLD],
  async open(urls) {
    const library = await loadPeer<Module>('redlock-universal');
    return new UniversalSession(await openIoredis(urls), library);
  },
};

class UniversalSession extends ClientSession implements Session<Held> {
  readonly #make: (key: string, ttl: number) => Lock;

  constructor(connections: readonly IoredisConnection[], library: Module) {
    super(connections);
    const adapters = connections.map(({ client }) => new library.IoredisAdapter(client));
    const [adapter] = adapters;
    this.#make =
      adapter !== undefined && adapters.length === 1
        ? (key, ttl) => library.createLock({ adapter, key, ttl })
        : (key, ttl) => library.createRedlock({ adapters, key, ttl });
  }

  async acquire(resource: string, asked?: Asked): Promise<Held> {
    const lock = this.#make(resource, asked?.ttlMs ?? TTL_MS);
    return { lock, handle: await lock.acquire() };
  }

  release({ lock, handle }: Held): Promise<unknown> {
    return lock.release(handle);
  }

  keep(resource: string, ttlMs: number): Promise<Kept> {
    const lock = this.#make(resource, ttlMs);
    return keepByUsing((routine) => lock.using(routine));
  }
}
