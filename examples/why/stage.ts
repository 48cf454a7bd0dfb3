/** The servers and connections of a run, and a gate that holds commands back where a network would. */
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { type Master, type Masters, startMasters } from '../../scripts/masters.js';

export class Stage {
  readonly #masters: Masters;
  /** A master and its replica. */
  readonly #pair: Masters;
  readonly #clients: Redis[] = [];

  private constructor(masters: Masters, pair: Masters) {
    this.#masters = masters;
    this.#pair = pair;
  }

  static async start(): Promise<Stage> {
    const [masters, pair] = await Promise.allSettled([startMasters(5), startMasters(2)]);
    if (masters.status === 'fulfilled' && pair.status === 'fulfilled')
      return new Stage(masters.value, pair.value);
    for (const one of [masters, pair]) if (one.status === 'fulfilled') await one.value.stop();
    throw masters.status === 'rejected' ? masters.reason : new Error('the pair did not start');
  }

  get masters(): readonly Master[] {
    return this.#masters.list;
  }

  get pair(): readonly [Master, Master] {
    const [master, replica] = this.#pair.list;
    if (master === undefined || replica === undefined) throw new Error('two were started');
    return [master, replica];
  }

  /** A connection to each of the five masters, all of them ready: a claim goes to all five. */
  async quorum(): Promise<readonly Redis[]> {
    const clients = this.masters.map((master) => this.client(master));
    await Promise.all(clients.map((client) => once(client, 'ready')));
    return clients;
  }

  client(master: Master): Redis {
    const client = new Redis(master.url);
    client.on('error', () => undefined); // servers are killed here
    this.#clients.push(client);
    return client;
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.disconnect();
    await Promise.all([this.#masters.stop(), this.#pair.stop()]);
  }
}

/** Holds commands of these names back on these connections, from `close` on, until it is opened. */
export class Gate {
  #names: readonly string[] = [];
  #held: (() => void)[] = [];
  #onArrival: (() => void) | undefined;

  constructor(clients: readonly Redis[]) {
    for (const client of clients) {
      const send = client.sendCommand.bind(client);
      client.sendCommand = (...args) => {
        if (!this.#names.includes(args[0].name)) return send(...args);
        this.#held.push(() => void send(...args));
        this.#onArrival?.();
        return args[0].promise;
      };
    }
  }

  close(...names: readonly string[]): void {
    this.#names = names;
  }

  /** Resolves when so many wait here. */
  async arrived(count: number): Promise<void> {
    while (this.#held.length < count) {
      await new Promise<void>((resolve) => {
        this.#onArrival = resolve;
      });
    }
  }

  open(): void {
    this.#names = [];
    for (const go of this.#held.splice(0)) go();
  }
}
