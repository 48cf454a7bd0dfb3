/** This library's timestamp locks, on one client at its defaults: one master, whatever the algorithm is called. */
import { type TimestampLease, TimestampLock, type TimestampMethod } from '../../lib/timestamp/index.js';
import { ClientSession, openConnections } from './clients.js';
import type { Connection } from './connection.js';
import { type Asked, type Contender, type Kept, PLAIN_HOLD, type Session, TTL_MS } from './contender.js';

const KINDS = [PLAIN_HOLD, { label: 'renewed', renew: true, isWatched: false }];

export function timestampBy(method: TimestampMethod): Contender<TimestampLease> {
  return {
    kinds: KINDS,
    async open(urls, client) {
      const [connection, ...others] = await openConnections(urls, client);
      if (connection === undefined || others.length > 0) throw new Error('a timestamp lock has one master');
      return new TimestampSession(connection, method);
    },
  };
}

/** The ttl belongs to the lock: one instance for each that is asked for, on the same connection. */
class TimestampSession extends ClientSession implements Session<TimestampLease> {
  readonly #make: (ttlMs: number) => TimestampLock;
  readonly #lock: TimestampLock;

  constructor(connection: Connection, method: TimestampMethod) {
    super([connection]);
    const { client } = connection;
    this.#make = (ttlMs) => new TimestampLock(client, { method, unit: 'ms', ttlMs });
    this.#lock = this.#make(TTL_MS);
  }

  acquire(resource: string, asked: Asked = {}): Promise<TimestampLease> {
    const { ttlMs, ...call } = asked;
    const lock = ttlMs === undefined || ttlMs === TTL_MS ? this.#lock : this.#make(ttlMs);
    return lock.acquire(resource, call);
  }

  release(lease: TimestampLease): Promise<void> {
    return lease.release();
  }

  watch(lease: TimestampLease): void {
    void lease.signal;
  }

  async keep(resource: string, ttlMs: number): Promise<Kept> {
    const lease = await this.#make(ttlMs).acquire(resource, { renew: true });
    return { isHeld: () => lease.status === 'held', letGo: () => lease.release() };
  }
}
