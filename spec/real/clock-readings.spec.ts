/** `TIME` over real connections: what real clients send, and when. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { RedlockOptions } from '../../lib/input/options.js';
import { Redlock } from '../../lib/redlock.js';
import { AHEAD_US, BACK_US } from '../../lib/protocol/lua/stored.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { PATIENT } from '../support/patience.js';
import { ALL_KINDS, type AnyClient, byHand, CLIENT_KINDS, eventually, isReady } from '../support/real.js';
import { EVERY_KIND } from '../support/unordered.js';
import { wide } from '../support/breadth.js';

/** What is set on the client, each in the words of its library. */
type Settings = Readonly<Record<string, unknown>>;

const OF_IOREDIS: Readonly<Record<string, Settings>> = {
  defaults: {},
  keyPrefix: { keyPrefix: 'theirs:' },
  'db 3': { db: 3 },
  'db 3 and keyPrefix': { db: 3, keyPrefix: 'theirs:' },
  enableAutoPipelining: { enableAutoPipelining: true },
  stringNumbers: { stringNumbers: true },
  'enableOfflineQueue: false': { enableOfflineQueue: false },
  'enableReadyCheck: false': { enableReadyCheck: false },
  commandTimeout: { commandTimeout: 90_000 },
};

const OF_NODE_REDIS: Readonly<Record<string, Settings>> = {
  defaults: {},
  'database 3': { database: 3 },
  'RESP 2': { RESP: 2 },
  'RESP 3': { RESP: 3 },
  'disableOfflineQueue: true': { disableOfflineQueue: true },
  'commandOptions.timeout': { commandOptions: { timeout: 90_000 } },
};

for (const kind of wide(EVERY_KIND, ALL_KINDS)) {
  describe(`clock readings: ${kind.name}`, () => {
    const isIoredis = CLIENT_KINDS.some(({ name }) => name === kind.name);
    let masters: Masters;
    let hand: Redis;
    const clients: AnyClient[] = [];
    const locks: Redlock[] = [];
    before(async () => {
      masters = await startMasters(1);
      hand = byHand(portOf());
    });
    after(async () => {
      hand.disconnect();
      await masters.stop();
    });
    beforeEach(() => hand.config('RESETSTAT'));
    afterEach(async () => {
      for (const redlock of locks.splice(0)) await redlock.close({ releaseHeld: true });
      for (const client of clients.splice(0)) client.disconnect();
      await hand.flushall();
    });

    const portOf = (): number => masters.list[0]?.port ?? 0;
    function open(settings: Settings, options?: RedlockOptions): [AnyClient, Redlock] {
      const client = kind.open(portOf(), settings);
      const redlock = new Redlock([client], { ...PATIENT, ...options });
      clients.push(client);
      locks.push(redlock);
      return [client, redlock];
    }

    /** How often the server's clock was read, in scripts as well. */
    async function looks(): Promise<number> {
      const stats = await hand.info('commandstats');
      return Number(/cmdstat_time:calls=(\d+)/.exec(stats)?.[1] ?? 0);
    }

    /** The server's clock in µs. */
    async function clockUs(): Promise<number> {
      const [seconds = NaN, us = NaN] = (await hand.time()).map(Number);
      return seconds * 1e6 + us;
    }

    for (const [title, settings] of Object.entries(isIoredis ? OF_IOREDIS : OF_NODE_REDIS)) {
      it(`${title}: TIME once it is connected, and the first claim proposes by it`, async () => {
        const [client, redlock] = open(settings);
        await eventually(() => isReady(client));
        await eventually(async () => (await looks()) >= 1);
        await (await redlock.acquire('plain', { fencing: false })).release(); // its reply came after that of TIME
        const beforeUs = await clockUs();
        const { fence } = await redlock.acquire('r');
        expect(fence).to.be.within(beforeUs - BACK_US, (await clockUs()) + AHEAD_US); // whatever it proposed
      });
    }

    const whileLazy = async (): Promise<void> => {
      const [client, redlock] = open({ lazyConnect: true });
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      expect([isReady(client), await looks()]).to.deep.equal([false, 0]);
      await (await redlock.acquire('r')).release();
      expect(isReady(client)).to.equal(true);
      await eventually(async () => (await looks()) >= 2); // the claim's own, and this
    };
    if (isIoredis) it('a lazy client stays unconnected until it is used; then it is asked', whileLazy);

    it('without fencing: none', async () => {
      const [client, redlock] = open({}, { fencing: false });
      await eventually(() => isReady(client));
      await (await redlock.acquire('r')).release();
      expect(await looks()).to.equal(0);
    });

    it('a user who may not read the clock: the clients go on', async () => {
      await hand.acl('SETUSER', 'blind', 'on', '>secret', '~*', '&*', '+@all', '-time');
      const [client] = open({ username: 'blind', password: 'secret' });
      await eventually(() => isReady(client));
      await eventually(async () => /errorstat_NOPERM/.test(await hand.info('errorstats')));
      expect(isReady(client)).to.equal(true);
    });
  });
}
