/** What specs of waiting on real masters stand on. */
import type { Redis } from 'ioredis';
import type { RedlockOptions } from '../../../lib/input/options.js';
import { Redlock } from '../../../lib/redlock.js';
import { type Masters, startMasters } from '../../../scripts/masters.js';
import { PATIENT } from '../../support/patience.js';
import {
  byHand,
  CLIENT_KINDS,
  type ClientKind,
  eventually,
  Program,
  type AnyClient,
  isReady,
} from '../../support/real.js';

const [IOREDIS_6] = CLIENT_KINDS as readonly [ClientKind<AnyClient>, ClientKind<AnyClient>];

/** Real masters, instances and programs over them, and hands to look at them. */
export class RealBench {
  readonly #defaults: RedlockOptions;
  masters!: Masters;
  hands!: Redis[];
  readonly #clients: AnyClient[] = [];
  readonly #locks: Redlock[] = [];
  readonly #programs: Program[] = [];

  /** @param defaults  options of each instance, unless it has others; what they leave out is patient */
  constructor(defaults: RedlockOptions = {}) {
    this.#defaults = { ...PATIENT, ...defaults };
  }

  async open(nodes: number, options: { readonly persist?: boolean } = {}): Promise<void> {
    this.masters = await startMasters(nodes, options);
    this.hands = this.masters.list.map(({ port }) => byHand(port));
  }

  async close(): Promise<void> {
    for (const program of this.#programs) program.kill();
    await Promise.all(this.#locks.map((lock) => lock.close({ releaseHeld: true })));
    for (const client of [...this.#clients, ...this.hands]) client.disconnect();
    await this.masters.stop();
  }

  /** An instance with connections of its own, as another process would have. */
  async lock(
    options: RedlockOptions = {},
    kind: ClientKind<AnyClient> = IOREDIS_6,
    client: object = {},
  ): Promise<Redlock> {
    const clients = this.masters.list.map(({ port }) => kind.open(port, { ...client }));
    const lock = new Redlock(clients, { ...this.#defaults, ...options });
    this.#clients.push(...clients);
    this.#locks.push(lock);
    await eventually(() => clients.every(isReady)); // all of them, and not a quorum
    return lock;
  }

  program(name: string, ...args: readonly string[]): Program {
    const program = new Program(name, this.masters.urls.join(), ...args);
    this.#programs.push(program);
    return program;
  }

  /** Nothing but counters is left, and looks at most: who did not name them leaves them to expire. */
  async nothingLeft(hands = this.hands): Promise<void> {
    for (const hand of hands) {
      await eventually(async () =>
        (await hand.keys('*')).every((key) => /:(?:fence|looks):|^quorate:(?:taken|client)/.test(key)),
      );
    }
  }

  /** Calls of scripts so far, over all masters. */
  async calls(): Promise<number> {
    let sum = 0;
    for (const hand of this.hands) {
      const stats = await hand.info('commandstats');
      for (const [, calls] of stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)) sum += Number(calls);
    }
    return sum;
  }
}
