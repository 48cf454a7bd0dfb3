/** redlock 4.2.0 at its defaults: up to 10 retries, 200 ± 100 ms apart. It has no renewal. */
import type { Redis } from 'ioredis';
import { ClientSession, loadPeer, openIoredis } from './clients.js';
import type { Connection } from './connection.js';
import { type Asked, type Contender, PLAIN_HOLD, type Session, TTL_MS } from './contender.js';

interface Lock {
  unlock(): PromiseLike<void>;
}

interface Redlock {
  lock(resource: string, ttlMs: number): PromiseLike<Lock>;
  on(event: 'clientError', listener: () => void): unknown;
}

interface Module {
  readonly default: new (clients: readonly Redis[]) => Redlock;
}

export const contender: Contender<Lock> = {
  kinds: [PLAIN_HOLD],
  async open(urls) {
    const { default: Redlock } = await loadPeer<Module>('redlock4');
    const connections = await openIoredis(urls);
    const redlock = new Redlock(connections.map(({ client }) => client));
    redlock.on('clientError', () => undefined);
    return new Redlock4Session(connections, redlock);
  },
};

class Redlock4Session extends ClientSession implements Session<Lock> {
  readonly #redlock: Redlock;

  constructor(connections: readonly Connection[], redlock: Redlock) {
    super(connections);
    this.#redlock = redlock;
  }

  // its promises are Bluebird's, which `await` takes as well
  acquire(resource: string, asked?: Asked): Promise<Lock> {
    return this.#redlock.lock(resource, asked?.ttlMs ?? TTL_MS) as Promise<Lock>;
  }

  release(lock: Lock): Promise<void> {
    return lock.unlock() as Promise<void>;
  }
}
