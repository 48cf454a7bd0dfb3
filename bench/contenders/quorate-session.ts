/** This library on clients at their defaults; each variant has a file of its own that sets its options. */
import { type Lease, Redlock, type RedlockOptions } from '../../lib/index.js';
import { ClientSession, openConnections } from './clients.js';
import type { Connection } from './connection.js';
import { type Asked, type Contender, type Kept, PLAIN_HOLD, type Session, type Tally } from './contender.js';
import { tallyOf } from './tally.js';

const KINDS = [
  PLAIN_HOLD,
  { label: 'renewed', renew: true, isWatched: false },
  { label: 'held, signal read', renew: false, isWatched: true },
  { label: 'renewed, signal read', renew: true, isWatched: true },
];

/** How a lock of that name is made. */
type LockOf = (redlock: Redlock, name: string) => { acquire(options?: Asked): Promise<Lease> };

/** @param lockOf  by default the exclusive lock of `redlock.acquire` */
export function quorateWith(options: RedlockOptions, lockOf?: LockOf): Contender<Lease> {
  return {
    kinds: KINDS,
    async open(urls, client) {
      const connections = await openConnections(urls, client);
      return lockOf === undefined
        ? new QuorateSession(connections, options)
        : new OtherLockSession(connections, options, lockOf);
    },
  };
}

/** The same over clients of another database than 0. */
export function inDatabase<Held>(contender: Contender<Held>, database: number): Contender<Held> {
  const placed = (url: string): string => `${url}/${database}`;
  return { ...contender, open: (urls, client) => contender.open(urls.map(placed), client) };
}

class QuorateSession extends ClientSession implements Session<Lease> {
  protected readonly redlock: Redlock;
  #tally: (() => Tally) | undefined;

  constructor(connections: readonly Connection[], options: RedlockOptions) {
    super(connections);
    const clients = connections.map(({ client }) => client);
    this.redlock = new Redlock(clients, options);
  }

  acquire(resource: string, asked?: Asked): Promise<Lease> {
    return this.redlock.acquire(resource, asked);
  }

  attempt(resource: string): Promise<Lease | null> {
    return this.redlock.tryAcquire(resource);
  }

  tally(): Tally {
    this.#tally ??= tallyOf(this.connections);
    return this.#tally();
  }

  release(lease: Lease): Promise<void> {
    return lease.release();
  }

  watch(lease: Lease): void {
    void lease.signal;
  }

  async keep(resource: string, ttlMs: number): Promise<Kept> {
    const lease = await this.redlock.acquire(resource, { ttlMs, renew: true });
    return { isHeld: () => lease.status === 'held', letGo: () => lease.release() };
  }

  override async close(): Promise<void> {
    await this.redlock.close({ releaseHeld: true });
    await super.close();
  }
}

/** The same with locks of another kind. */
class OtherLockSession extends QuorateSession {
  readonly #lockOf: LockOf;

  constructor(connections: readonly Connection[], options: RedlockOptions, lockOf: LockOf) {
    super(connections, options);
    this.#lockOf = lockOf;
  }

  override acquire(resource: string, asked?: Asked): Promise<Lease> {
    return this.#lockOf(this.redlock, resource).acquire(asked);
  }

  /** A burst asks for exclusive locks only. */
  override attempt(resource: string): Promise<Lease | null> {
    return this.acquire(resource, { waitMs: 0 });
  }

  override async keep(resource: string, ttlMs: number): Promise<Kept> {
    const lease = await this.acquire(resource, { ttlMs, renew: true });
    return { isHeld: () => lease.status === 'held', letGo: () => lease.release() };
  }
}
