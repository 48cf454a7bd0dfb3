/** quorate on clients at their defaults: as it comes, and without fencing tokens. */
import type { Redis } from 'ioredis';
import { type Lease, Redlock, type RedlockOptions } from '../../lib/index.js';
import type { Asked, Contender, Session } from './contender.js';
import { closeClients, openClients, settleClients } from './clients.js';

const KINDS = [
  { label: 'held', renew: false, isWatched: false },
  { label: 'renewed', renew: true, isWatched: false },
  { label: 'held, signal read', renew: false, isWatched: true },
  { label: 'renewed, signal read', renew: true, isWatched: true },
];

export const quorate: Contender<Lease> = {
  name: 'quorate',
  about: 'this library: default options, ioredis clients at their defaults',
  kinds: KINDS,
  async open(urls) {
    return new QuorateSession(await openClients(urls), {});
  },
};

/** Sends what the floor sends. */
export const plain: Contender<Lease> = {
  name: 'plain',
  about: 'this library without fencing tokens: `fencing: false`',
  kinds: KINDS,
  async open(urls) {
    return new QuorateSession(await openClients(urls), { fencing: false });
  },
};

class QuorateSession implements Session<Lease> {
  readonly #clients: readonly Redis[];
  readonly #redlock: Redlock;

  constructor(clients: readonly Redis[], options: RedlockOptions) {
    this.#clients = clients;
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

  settled(): Promise<void> {
    return settleClients(this.#clients);
  }

  async close(): Promise<void> {
    await this.#redlock.close();
    closeClients(this.#clients);
  }
}
