/** One group of masters for a whole suite, and the clients of one test. */
import type { Redis } from 'ioredis';
import type { RedlockOptions } from '../../../lib/input/options.js';
import { Redlock } from '../../../lib/redlock.js';
import { PATIENT } from '../../support/patience.js';
import { type AnyClient, byHand, CLIENT_KINDS, type ClientKind, isReady } from '../../support/real.js';
import { type Kind, kindsOf } from './commands.js';
import { type ChaosBackend, type ChaosMaster, type ChaosMasters, startChaosMasters } from './masters.js';
import { eventually, type Guest } from './stage.js';

export class Bench {
  #masters: ChaosMasters | undefined;
  #hands: Redis[] = [];
  #guests: Guest[] = [];
  readonly #nodes: number;
  #next = 0;

  constructor(nodes: number) {
    this.#nodes = nodes;
  }

  async start(backend: ChaosBackend): Promise<void> {
    this.#masters = await startChaosMasters(this.#nodes, { backend, persist: true });
    this.#hands = this.list.map(({ directPort }) => byHand(directPort));
  }

  async stop(): Promise<void> {
    for (const hand of this.#hands) hand.disconnect();
    await this.#masters?.stop();
  }

  get list(): readonly ChaosMaster[] {
    if (this.#masters === undefined) throw new Error('the masters were not started');
    return this.#masters.list;
  }

  /** Clients that bypass the proxies, one for each master. */
  get hands(): readonly Redis[] {
    return this.#hands;
  }

  hand(master: ChaosMaster): Redis {
    const hand = this.#hands[this.list.indexOf(master)];
    if (hand === undefined) throw new Error(`${master.name} is another bench's`);
    return hand;
  }

  /** As programs take them. */
  get urls(): string {
    return this.list.map(({ url }) => url).join();
  }

  resource(): string {
    return `job:${++this.#next}`;
  }

  async open(
    kind: ClientKind<AnyClient> | undefined = CLIENT_KINDS[0],
    options: RedlockOptions = PATIENT,
  ): Promise<Guest> {
    if (kind === undefined) throw new Error('there are two kinds');
    const clients = this.list.map(({ port }) => kind.open(port));
    const guest = { clients, redlock: new Redlock(clients, { localTurns: 0, ...options }) }; // what masters say
    this.#guests.push(guest);
    await this.untilReady(guest);
    return guest;
  }

  async untilReady({ clients }: Guest): Promise<void> {
    await eventually('the clients to be connected', () => clients.every(isReady));
  }

  async close(): Promise<void> {
    for (const { redlock, clients } of this.#guests.splice(0)) {
      await redlock.close({ releaseHeld: true });
      for (const client of clients) client.disconnect();
    }
  }

  /** Resolves when no lock is left anywhere; counters and markers stay. */
  async untilEmpty(): Promise<void> {
    for (const [i, hand] of this.#hands.entries())
      await eventually(`master ${i + 1} to hold no vote`, async () => {
        if (hand.status !== 'ready') return false;
        return (await hand.keys('*')).every((key) => key.startsWith('quorate:'));
      });
  }

  /** Holds back the first answer of that kind, runs the deed meanwhile, and lets go. */
  async during(kind: Kind, call: () => Promise<unknown>, deed: () => Promise<void>): Promise<void> {
    const [first] = this.list;
    const trap = first?.proxy.trap({
      point: 'after-run',
      action: 'delay',
      match: (words) => kindsOf(words).includes(kind),
    });
    const done = call();
    const settled = done.catch(() => undefined); // awaited below; no rejection goes unhandled meanwhile
    await trap?.sprung;
    await deed();
    trap?.release();
    await settled;
    await done;
  }
}
