/** Clients of node-redis as their owners have set them up. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { createClient } from 'redis';
import { createClient as createClient5 } from 'redis5';
import sinon from 'sinon';
import { Redlock } from '../../../lib/redlock.js';
import { type Masters, startMasters } from '../../../scripts/masters.js';
import { PATIENT } from '../../support/patience.js';
import { type AnyClient, byHand, eventually, NODE_REDIS_KINDS } from '../../support/real.js';
import { expectPromises, untilAllAnswer } from '../support/promises.js';

const DATABASE = 3;

for (const kind of NODE_REDIS_KINDS) {
  describe(`set-ups: ${kind.name}`, () => {
    let masters: Masters;
    const clients: AnyClient[] = [];
    const locks: Redlock[] = [];
    const hands: Redis[] = [];
    afterEach(async () => {
      for (const redlock of locks.splice(0)) await redlock.close({ releaseHeld: true });
      for (const client of [...clients.splice(0), ...hands.splice(0)]) client.disconnect();
      await masters.stop();
    });
    async function start(nodes: number, args: string[] = []): Promise<void> {
      masters = await startMasters(nodes, { args });
    }
    function open(options: Record<string, unknown> = {}): Redlock {
      const own = masters.list.map(({ port }) => kind.open(port, options));
      const redlock = new Redlock(own, PATIENT);
      clients.push(...own);
      locks.push(redlock);
      return redlock;
    }
    function handOf(index: number, options: Record<string, unknown> = {}): Redis {
      const hand = byHand(masters.list[index]?.port ?? 0, options);
      hands.push(hand);
      return hand;
    }

    const settings: [string, Record<string, unknown>][] = [
      ['RESP 2', { RESP: 2 }],
      ['RESP 3', { RESP: 3 }],
      ['database', { database: DATABASE }],
      ['disableOfflineQueue', { disableOfflineQueue: true }],
      ['commandOptions', { commandOptions: { timeout: 1, typeMapping: { 36: Buffer, 58: String } } }],
      ['pingInterval', { pingInterval: 50 }],
      ['commandsQueueMaxLength', { commandsQueueMaxLength: 1_000 }],
    ];
    for (const [title, options] of settings) {
      it(`${title}: all that locks do`, async () => {
        await start(3);
        const [one, other] = [open(options), open(options)];
        await untilAllAnswer(one, other);
        await expectPromises(one, other);
      });
    }

    it('votes are in the database of its options', async () => {
      await start(1);
      const lease = await open({ database: DATABASE }).acquire('r');
      expect(await handOf(0, { db: DATABASE }).get('r')).to.equal(lease.token);
    });

    it('a password, and a user of its own', async () => {
      await start(1, ['--requirepass', 'secret', '--user', 'locks', 'on', '>other', '~*', '&*', '+@all']);
      for (const rights of [{ password: 'secret' }, { username: 'locks', password: 'other' }]) {
        const [one, other] = [open(rights), open(rights)];
        await untilAllAnswer(one, other);
        await expectPromises(one, other);
      }
    });

    it('a call right after connect() waits for the connection', async () => {
      await start(1);
      const redlock = open();
      const lease = await redlock.acquire('r');
      expect(lease.status).to.equal('held');
    });

    it('destroy() while a lock is held: calls fail and name the cause, and close() ends', async () => {
      await start(1);
      const redlock = open();
      await redlock.ready();
      await redlock.acquire('r');
      for (const client of clients) client.disconnect();
      const error: unknown = await redlock.acquire('r2', { waitMs: 0 }).catch((reason: unknown) => reason);
      expect(String(error)).to.match(
        /no quorum .*not connected: this client is not open: call its connect\(\)/,
      );
      await redlock.close({ releaseHeld: true });
    });

    it('a client without listeners of its own, in a second instance: its losses are heard of', async () => {
      await start(1);
      const create = (kind.name === 'node-redis 6' ? createClient : createClient5) as typeof createClient;
      const client = create({ url: masters.urls[0] ?? '' });
      const printed = sinon.stub(console, 'error');
      try {
        await client.connect();
        await new Redlock([client], PATIENT).close();
        const redlock = new Redlock([client], PATIENT);
        locks.push(redlock);
        await redlock.ready();
        const down = new Promise<void>((resolve) => redlock.on('nodeDown', () => resolve()));
        await handOf(0).call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
        await down;
        await redlock.ready();
        await (await redlock.acquire('r')).release();
      } finally {
        printed.restore();
        client.destroy();
      }
    });
  });
}

describe('set-ups: Redlock.connect by node-redis', () => {
  it('waits and is handed over by pushes; closed, also while it dials, or refused: no connection is left', async () => {
    const masters = await startMasters(3);
    const [url = ''] = masters.urls;
    const hand = byHand(masters.list[0]?.port ?? 0);
    const names = async (): Promise<(string | undefined)[]> =>
      String(await hand.call('CLIENT', 'LIST'))
        .trim()
        .split('\n')
        .map((line) => /name=(\S*)/.exec(line)?.[1]);
    await Redlock.connect(masters.urls, { client: 'redis' }).close();
    expect(() => Redlock.connect([...masters.urls, url], { client: 'redis' })).to.throw('given twice');
    await Redlock.connect(['redis://127.0.0.1:1', url], { client: 'redis' }).close();
    const [one, other] = [1, 2].map(() => Redlock.connect(masters.urls, { ...PATIENT, client: 'redis' })) as [
      Redlock,
      Redlock,
    ];
    const lease = await one.acquire('r');
    const next = other.acquire('r');
    await eventually(async () => (await names()).includes('quorate-pushes'));
    await lease.release();
    await (await next).release();
    await Promise.all([one.close(), other.close()]);
    await eventually(async () => (await names()).join() === '');
    hand.disconnect();
    await masters.stop();
  });
});
