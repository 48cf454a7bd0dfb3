/**
 * A master of a simulated run: it tells of its pushes. It can be full: then votes cannot be set now and then, as at
 * `maxmemory`. A real master refuses nothing more once a script has written; this one may refuse a vote at any time.
 */
import type { WRONG_TYPE } from '../../../lib/testing/master/keyspace.js';
import { MemoryServer, type ServerClock } from '../../../lib/testing/master/server.js';
import { serverError } from '../../../lib/testing/master/execution.js';
import type { Seeded } from './seeded.js';

/** The share of votes that cannot be set while it is full. A script stops there, and what it did before stays. */
const FAILING = 0.5;

export class SimulatedServer extends MemoryServer {
  /** Called with each text that a script publishes, before anybody is told. */
  onPublished: (text: string) => void = () => undefined;
  /** It has no memory left. */
  isFull = false;
  readonly #clock: ServerClock;
  readonly #seeded: Seeded;

  constructor(name: string, clock: ServerClock, seeded: Seeded) {
    super(name, clock);
    this.#clock = clock;
    this.#seeded = seeded;
  }

  /** Its process goes on as a server that nobody can connect to; here, another one may be started. */
  leaveBehind(): MemoryServer {
    const old = new SimulatedServer(`${this.name}'s old server`, this.#clock, this.#seeded);
    old.takeOver(this);
    return old;
  }

  override set(key: string, text: string | typeof WRONG_TYPE, ttlMs?: number | 'keep' | 'none'): void {
    if (this.isFull && !key.startsWith('quorate:') && this.#seeded.chance(FAILING))
      throw serverError("OOM command not allowed when used memory > 'maxmemory'.");
    super.set(key, text, ttlMs);
  }

  override publish(channel: string, text: string): number {
    this.onPublished(text);
    return super.publish(channel, text);
  }
}
