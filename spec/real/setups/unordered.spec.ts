/** Clients that send commands in any order, as their owners have set them up: Valkey GLIDE, and pools of node-redis. */
import { GlideClient, type GlideClusterClient } from '@valkey/valkey-glide';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { createClientPool, createSentinel } from 'redis';
import type { createClientPool as createClientPool5, createSentinel as createSentinel5 } from 'redis5';
import type { RedisClient, RedlockOptions } from '../../../lib/index.js';
import { Redlock } from '../../../lib/redlock.js';
import { type Masters, startMasters } from '../../../scripts/masters.js';
import { PATIENT } from '../../support/patience.js';
import { type AnyClient, byHand, eventually, Program } from '../../support/real.js';
import { rejection } from '../../support/rejection.js';
import { UNORDERED_KINDS } from '../../support/unordered.js';
import { expectPromises, untilAllAnswer } from '../support/promises.js';

const HOST = '127.0.0.1';
const DATABASE = 3;

/** Their own types fit. */
export type Taken = [
  ...[GlideClient, GlideClusterClient],
  ...[ReturnType<typeof createClientPool>, ReturnType<typeof createSentinel>],
  ...[ReturnType<typeof createClientPool5>, ReturnType<typeof createSentinel5>],
] extends RedisClient[]
  ? true
  : never;
const areTaken: Taken = true;

describe('set-ups: clients that send commands in any order', () => {
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
  function handOf(index: number, options: Record<string, unknown> = {}): Redis {
    const hand = byHand(masters.list[index]?.port ?? 0, options);
    hands.push(hand);
    return hand;
  }
  function over(own: readonly AnyClient[], options: RedlockOptions = PATIENT): Redlock {
    const redlock = new Redlock(own, options);
    clients.push(...own);
    locks.push(redlock);
    return redlock;
  }
  /** Of GLIDE. */
  async function open(options: object = {}): Promise<Redlock> {
    const own = masters.list.map(async ({ port }) => {
      const client = await GlideClient.createClient({ addresses: [{ host: HOST, port }], ...options });
      return Object.assign(client, { disconnect: () => client.close() });
    });
    return over(await Promise.all(own));
  }

  for (const [title, options] of [
    ['its defaults', {}],
    ['RESP 2', { protocol: 1 }],
    ['databaseId', { databaseId: DATABASE }],
    ['lazyConnect', { lazyConnect: true }],
    ['replies as bytes', { defaultDecoder: 0 }],
  ] as const) {
    it(`GLIDE, ${title}: all that locks do`, async () => {
      expect(areTaken).to.equal(true);
      await start(3);
      const [one, other] = [await open(options), await open(options)];
      await untilAllAnswer(one, other);
      await expectPromises(one, other);
    });
  }

  it('GLIDE: votes are in the database of its configuration', async () => {
    await start(1);
    const lease = await (await open({ databaseId: DATABASE })).acquire('r');
    expect(await handOf(0, { db: DATABASE }).get('r')).to.equal(lease.token);
  });

  it('GLIDE: a password, and a user of its own', async () => {
    await start(1, ['--requirepass', 'secret', '--user', 'locks', 'on', '>other', '~*', '&*', '+@all']);
    for (const credentials of [{ password: 'secret' }, { username: 'locks', password: 'other' }]) {
      const [one, other] = [await open({ credentials }), await open({ credentials })];
      await expectPromises(one, other);
    }
  });

  it('GLIDE: what a server refuses is named as by other clients', async () => {
    await start(1, ['--user', 'poor', 'on', '>p', '~*', '&*', '+@all', '-eval', '-evalsha']);
    const redlock = await open({ credentials: { username: 'poor', password: 'p' } });
    const error = await rejection(redlock.acquire('r', { waitMs: 0 }));
    expect(error.code).to.equal('MISCONFIGURED');
    expect(error.message).to.match(/NOPERM/);
  });

  it('GLIDE, closed while a lock is held: calls fail and name the cause, and close() ends', async () => {
    await start(1);
    const redlock = await open();
    await redlock.acquire('r');
    for (const client of clients) client.disconnect();
    const error = await rejection(redlock.acquire('r2', { waitMs: 0 }));
    expect(error.message).to.match(/not connected: this client is closed/);
    await redlock.close({ releaseHeld: true });
  });

  for (const kind of UNORDERED_KINDS) {
    it(`${kind.name}: its push connection is lost again and again: a waiter is served`, async () => {
      await start(3);
      const [one, other] = [1, 2].map(() => over(masters.list.map(({ port }) => kind.open(port)))) as [
        Redlock,
        Redlock,
      ];
      const first = await one.acquire('r');
      const next = other.acquire('r');
      const each = masters.list.map((_, i) => handOf(i));
      for (let times = 0; times < 3; times++) {
        for (const hand of each) {
          await eventually(async () => String(await hand.client('LIST')).includes('name=quorate-pushes'));
          await hand.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
        }
      }
      await first.release();
      await (await next).release();
    });

    it(`${kind.name}: close() with a claim in flight to frozen masters ends, and a thaw leaves no key`, async () => {
      await start(3);
      const { ttlMs, waitMs } = PATIENT; // it waits for a node timeout
      const redlock = over(
        masters.list.map(({ port }) => kind.open(port)),
        { ttlMs, waitMs },
      );
      await redlock.ready();
      for (const master of masters.list) await master.freeze();
      const waiting = rejection(redlock.acquire('r'));
      await eventually(() => redlock.stats().calls > 0);
      const closing = redlock.close();
      expect((await waiting).code).to.equal('CLOSED');
      await closing;
      for (const master of masters.list) await master.thaw();
      for (const [i] of masters.list.entries()) {
        const hand = handOf(i);
        await eventually(async () => (await hand.get('r')) === null);
      }
    });

    it(`${kind.name}: a process that has waited, and closed its clients alone, ends by itself`, async () => {
      await start(3);
      const redlock = Redlock.connect(masters.urls, PATIENT);
      locks.push(redlock);
      const lease = await redlock.acquire('r');
      const program = new Program('wait-and-end', masters.urls.join(), 'r', kind.name);
      await eventually(async () => (await redlock.inspect('r')).waiting === 1);
      await lease.release();
      await program.says('served');
      expect(await program.ends()).to.equal(0);
    });
  }
});
