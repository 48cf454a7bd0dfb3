/** quorate with its default options, on clients at their defaults. */
import type { Redis } from 'ioredis';
import { type Lease, Redlock } from '../../lib/index.js';
import type { Asked, Contender, Session } from './contender.js';
import { closeClients, openClients, settleClients } from './clients.js';

export const quorate: Contender<Lease> = {
  name: 'quorate',
  about: 'this library: default options, ioredis clients at their defaults',
  kinds: [
    { label: 'plain', renew: false, isWatched: false },
    { label: 'renewed', renew: true, isWatched: false },
    { label: 'plain, signal read', renew: false, isWatched: true },
    { label: 'renewed, signal read', renew: true, isWatched: true },
  ],
  async open(urls) {
    return new QuorateSession(await openClients(urls));
  },
};

class QuorateSession implements Session<Lease> {
  readonly #clients: readonly Redis[];
  readonly #redlock: Redlock;

  constructor(clients: readonly Redis[]) {
    this.#clients = clients;
    this.#redlock = new Redlock(clients);
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

  settled(): Promise<void> {
    return settleClients(this.#clients);
  }

  async close(): Promise<void> {
    await this.#redlock.close();
    closeClients(this.#clients);
  }
}
