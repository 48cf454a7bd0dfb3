/** What redlock 5 and its fork have in common. */
import type { Redis } from 'ioredis';
import { ClientSession, keepByUsing } from './clients.js';
import { type Asked, type Kept, type Session, TTL_MS } from './contender.js';
import type { IoredisConnection } from './ioredis-connection.js';

interface Lock {
  release(): Promise<unknown>;
}

interface Redlock {
  acquire(resources: string[], ttlMs: number): Promise<Lock>;
  using(resources: string[], ttlMs: number, routine: (signal: AbortSignal) => Promise<void>): Promise<void>;
  on(event: 'error', listener: () => void): unknown;
}

export type RedlockClass = new (clients: readonly Redis[]) => Redlock;

export class RedlockSession extends ClientSession implements Session<Lock> {
  readonly #redlock: Redlock;

  constructor(connections: readonly IoredisConnection[], Redlock: RedlockClass) {
    super(connections);
    this.#redlock = new Redlock(connections.map(({ client }) => client));
    this.#redlock.on('error', () => undefined);
  }

  acquire(resource: string, asked?: Asked): Promise<Lock> {
    return this.#redlock.acquire([resource], asked?.ttlMs ?? TTL_MS);
  }

  release(lock: Lock): Promise<unknown> {
    return lock.release();
  }

  keep(resource: string, ttlMs: number): Promise<Kept> {
    return keepByUsing((routine) => this.#redlock.using([resource], ttlMs, routine));
  }
}
