/** This library on ioredis clients at their defaults; each variant has a file of its own that sets its options. */
import type { Redis } from 'ioredis';
import { type Lease, Redlock, type RedlockOptions } from '../../lib/index.js';
import { ClientSession, openClients } from './clients.js';
import { type Asked, type Contender, type Kept, PLAIN_HOLD, type Session } from './contender.js';

const KINDS = [
  PLAIN_HOLD,
  { label: 'renewed', renew: true, isWatched: false },
  { label: 'held, signal read', renew: false, isWatched: true },
  { label: 'renewed, signal read', renew: true, isWatched: true },
];

export function quorateWith(options: RedlockOptions): Contender<Lease> {
  return {
    kinds: KINDS,
    async open(urls) {
      return new QuorateSession(await openClients(urls), options);
    },
  };
}

class QuorateSession extends ClientSession implements Session<Lease> {
  readonly #redlock: Redlock;

  constructor(clients: readonly Redis[], options: RedlockOptions) {
    super(clients);
    this.#redlock = new Redlock(clients, options);
  }

  acquire(resource: string, asked?: Asked): Promise<Lease> {
    return this.#redlock.acquire(resource, asked);
  }

  release(lease: Lease): Promise<void> {
    return lease.release();
  }

  watch(lease: Lease): void {
    void lease.signal;
  }

  async keep(resource: string, ttlMs: number): Promise<Kept> {
    const lease = await this.#redlock.acquire(resource, { ttlMs, renew: true });
    return { isHeld: () => lease.status === 'held', letGo: () => lease.release() };
  }

  override async close(): Promise<void> {
    await this.#redlock.close();
    await super.close();
  }
}
