/** Real masters, locks in a database other than 0, and a user whose rights change. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { type Masters, startMasters } from '../../../scripts/masters.js';
import {
  type AnyClient,
  byHand,
  type ClientKind,
  eventually,
  isReady,
  type SpecClient,
} from '../../support/real.js';

/** The database of the locks. */
export const DATABASE = 3;
export const USER = { username: 'locker', password: 'secret' } as const;

export class DatabaseBench {
  masters!: Masters;
  /** In the database of the locks. */
  hands!: readonly Redis[];
  /** In database 0, where nothing of a lock must be. */
  strays!: readonly Redis[];
  readonly #clients: { disconnect(): void }[] = [];

  async open(nodes: number): Promise<void> {
    this.masters = await startMasters(nodes, { backend: 'process' });
    this.hands = this.masters.list.map(({ port }) => this.#keep(byHand(port, { db: DATABASE })));
    this.strays = this.masters.list.map(({ port }) => this.#keep(byHand(port)));
    await this.allow('on', `>${USER.password}`, '~*', '&*', '+@all');
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.disconnect();
    await this.masters.stop();
  }

  /** Changes what the user may do, also on connections that are there. */
  async allow(...rules: readonly string[]): Promise<void> {
    for (const hand of this.strays) await hand.call('ACL', 'SETUSER', USER.username, ...rules);
  }

  /** The user's connections to all masters. */
  async connect<Client extends AnyClient>(
    kind: ClientKind<Client>,
    options: object = {},
  ): Promise<readonly Client[]> {
    const clients = this.begin(kind, options);
    await eventually(() => clients.every(isReady));
    return clients;
  }

  /** The same, and they need not get through. */
  begin<Client extends AnyClient>(kind: ClientKind<Client>, options: object = {}): readonly Client[] {
    const settings = { ...USER, db: DATABASE, database: DATABASE, ...options }; // each library has its own word
    return this.masters.list.map(({ port }) => this.#keep(kind.open(port, settings)));
  }

  /** Connections that are in database 0 against the will of their owner, who may select the other one by now. */
  async connectAstray(kind: ClientKind, options: object = {}): Promise<readonly SpecClient[]> {
    await this.allow('-select');
    const clients = await this.connect(kind, options);
    await this.allow('+select');
    return clients;
  }

  /** The masters end the user's connections. */
  async disconnect(): Promise<void> {
    for (const hand of this.strays) await hand.call('CLIENT', 'KILL', 'USER', USER.username);
  }

  async expectHeld(...keys: readonly string[]): Promise<void> {
    for (const hand of this.hands) await eventually(async () => (await hand.exists(...keys)) === keys.length);
  }

  async expectReleased(...keys: readonly string[]): Promise<void> {
    for (const hand of this.hands) await eventually(async () => (await hand.exists(...keys)) === 0);
  }

  async expectNothingElsewhere(): Promise<void> {
    for (const hand of this.strays) {
      expect(await hand.info('keyspace')).to.not.match(new RegExp(`^db(?!${DATABASE}:)`, 'm'));
    }
  }

  #keep<T extends { disconnect(): void }>(client: T): T {
    this.#clients.push(client);
    return client;
  }
}
