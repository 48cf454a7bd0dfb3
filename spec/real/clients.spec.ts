import type { Writable } from 'node:stream';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { Redlock } from '../../lib/redlock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { locksOn } from '../support/commands.js';
import { LONGER_MS, PATIENT } from '../support/patience.js';
import { byHand, CLIENT_KINDS, eventually, type SpecClient } from '../support/real.js';
import { rejection } from '../support/rejection.js';

/** {client}:{secret}, whole or cut off. */
const TOKEN = /'[\w-]{8}:[\w-]+/;

/** ioredis keeps them on every client. */
function unansweredOn(client: SpecClient | undefined): number {
  return (client as unknown as { readonly commandQueue: { readonly length: number } }).commandQueue.length;
}

/** What callers are told once the servers have refused to let the clients in: until then they are still connecting. */
async function toldOnceRefused(redlock: Redlock, reason: RegExp): Promise<string> {
  for (;;) {
    const { code, message } = await rejection(redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 300 }));
    expect(code).to.be.oneOf(['MISCONFIGURED', 'NO_QUORUM']);
    if (reason.test(message)) return message;
  }
}

for (const kind of CLIENT_KINDS) {
  describe(`clients as their owners have set them up: ${kind.name}`, () => {
    let masters: Masters;
    let clients: SpecClient[] = [];
    let hands: Redis[] = [];
    afterEach(async () => {
      for (const client of [...clients, ...hands]) client.disconnect();
      hands = [];
      await masters.stop();
    });
    const handOf = (index: number): Redis => {
      const hand = byHand(masters.list[index]?.port ?? 0);
      hands.push(hand);
      return hand;
    };
    async function open(
      nodes: number,
      options: Record<string, unknown>,
      args: string[] = [],
    ): Promise<Redlock> {
      masters = await startMasters(nodes, { args });
      clients = masters.list.map(({ port }) => kind.open(port, options));
      return new Redlock(clients, { ...PATIENT, label: false }); // commands are counted
    }
    /** All that one does with a lock. */
    async function roundTrip(redlock: Redlock): Promise<void> {
      const lease = await redlock.acquire(['a', 'b']);
      await lease.extend(LONGER_MS);
      expect(await redlock.tryAcquire('a')).to.equal(null);
      expect((await redlock.inspect('a')).state).to.equal('held');
      const adopted = await redlock.adopt(lease.giveAway());
      await adopted.release();
      expect((await redlock.inspect('a')).state).to.equal('free');
      expect(await redlock.using('c', () => 'ran')).to.equal('ran');
    }

    const settings: [string, Record<string, unknown>][] = [
      ['stringNumbers', { stringNumbers: true }],
      ['enableAutoPipelining', { enableAutoPipelining: true }],
      ['commandTimeout', { commandTimeout: 90_000 }],
      ['lazyConnect', { lazyConnect: true }],
      ['enableOfflineQueue: false', { enableOfflineQueue: false }],
      ['lazyConnect without an offline queue', { lazyConnect: true, enableOfflineQueue: false }],
      ['keyPrefix', { keyPrefix: 'theirs:' }],
      ['maxRetriesPerRequest: null', { maxRetriesPerRequest: null }],
      ['showFriendlyErrorStack', { showFriendlyErrorStack: true }],
      ['enableReadyCheck: false', { enableReadyCheck: false }],
      ['db 3', { db: 3 }],
    ];
    for (const [title, options] of settings) {
      it(`${title}: all that one does with a lock, right after construction`, async () => {
        await roundTrip(await open(3, options));
      });
    }

    it("keyPrefix: the client's own precedes quorate's key", async () => {
      const redlock = await open(1, { keyPrefix: 'theirs:' });
      const lease = await redlock.acquire('r');
      const hand = handOf(0);
      expect(await hand.get('theirs:r')).to.equal(lease.token);
    });

    it('what goes to a master in one turn of the event loop is one write, also in calls of several kinds', async () => {
      const redlock = await open(1, {});
      const use = (count: number): Promise<unknown> =>
        Promise.all(
          Array.from({ length: count }, async (_, i) => {
            const lock = i % 2 === 0 ? redlock.mutex(`m${i}`) : redlock.readWriteLock(`s${i}`).write;
            await (await lock.acquire()).release();
          }),
        );
      await use(8); // the scripts are known from here on
      const { stream } = clients[0] as unknown as { readonly stream: Writable };
      const writes: number[] = [];
      const [write, writev] = [stream._write.bind(stream), stream._writev?.bind(stream)];
      stream._write = (...given) => {
        writes.push(1);
        write(...given);
      };
      stream._writev = (chunks, done) => {
        writes.push(chunks.length);
        writev?.(chunks, done);
      };
      await use(8);
      expect(writes[0], 'calls in the write of the claims').to.be.at.least(2); // a look at the clock may be a third
    });

    it('lazyConnect: ready() connects', async () => {
      const redlock = await open(3, { lazyConnect: true });
      await redlock.ready();
      expect(clients.filter(({ status }) => status === 'ready').length).to.be.at.least(2);
    });

    it('autopipelining: what is sent to a dead master does not wait to run later', async () => {
      const redlock = await open(3, { enableAutoPipelining: true });
      await roundTrip(redlock);
      const [master] = masters.list;
      const [client] = clients;
      await eventually(() => unansweredOn(client) === 0);
      await master?.kill();
      await eventually(() => client?.status !== 'ready');
      await roundTrip(redlock);
      await master?.restart({ empty: true });
      await eventually(() => client?.status === 'ready');
      const hand = handOf(0);
      // the undo of what the lost master may have kept is sent anew (EVAL); no claim, extension or release is
      expect(await hand.info('commandstats')).to.not.match(/cmdstat_(?:set|evalsha):/);
    });

    for (const nodes of [1, 3]) {
      it(`commandTimeout: N=${nodes}, all frozen: NO_QUORUM; thawed: locks again, and no key is left`, async () => {
        const redlock = await open(nodes, { commandTimeout: 50 });
        await redlock.ready();
        for (const master of masters.list) await master.freeze();
        const failed = Array.from({ length: 30 }, (_, i) =>
          rejection(redlock.acquire(`r${i}`, { waitMs: 0 })),
        );
        for (const one of failed) expect((await one).code).to.equal('NO_QUORUM');
        for (const master of masters.list) await master.thaw();
        await (await redlock.acquire('r')).release();
        for (const i of masters.list.keys()) {
          const hand = handOf(i);
          await eventually(async () => (await locksOn(hand)).length === 0);
        }
      });
    }

    it('a server with a password, clients without: an error that says so, and no token', async () => {
      const redlock = await open(3, {}, ['--requirepass', 'secret']);
      const text = await toldOnceRefused(redlock, /NOAUTH/);
      expect(text).to.not.match(TOKEN);
    });

    it('a server with a password, clients with a wrong one: an error that says so', async () => {
      const redlock = await open(3, { password: 'wrong' }, ['--requirepass', 'secret']);
      expect(await toldOnceRefused(redlock, /WRONGPASS/)).to.not.contain('wrong ');
    });

    it('a server with a password, clients that have it', async () => {
      await roundTrip(await open(3, { password: 'secret' }, ['--requirepass', 'secret']));
    });

    it('replicas: MISCONFIGURED, naming READONLY; two masters of three are enough', async () => {
      const redlock = await open(3, {});
      const turn = (i: number): Promise<unknown> => handOf(i).replicaof('127.0.0.1', 1);
      await turn(0);
      await roundTrip(redlock);
      await turn(1);
      const error = await rejection(redlock.acquire('r', { waitMs: 0 }));
      expect(error.code).to.equal('MISCONFIGURED');
      expect(error.message).to.contain('READONLY');
    });

    it('a user who may not run scripts or set keys: MISCONFIGURED at once, naming NOPERM', async () => {
      masters = await startMasters(1);
      const hand = handOf(0);
      await hand.call('ACL', 'SETUSER', 'reader', 'on', '>secret', '~*', '+@read', '+@connection', '+info');
      clients = [kind.open(masters.list[0]?.port ?? 0, { username: 'reader', password: 'secret' })];
      const error = await rejection(new Redlock(clients, PATIENT).acquire('r'));
      expect(error.code).to.equal('MISCONFIGURED');
      expect(error.message).to.contain('NOPERM');
    });

    it('a server without EVALSHA: MISCONFIGURED, and no part of a token in any text', async () => {
      const redlock = await open(1, {}, ['--rename-command', 'EVALSHA', '']);
      for (let length = 1; length < 90; length += 3) {
        const error = await rejection(redlock.acquire(['a', 'x'.repeat(length)], { waitMs: 0 }));
        expect(error.code).to.equal('MISCONFIGURED');
        const texts = `${error.message} ${error.tally.map((one) => (one.outcome === 'unknown' ? one.cause.message : '')).join()}`;
        expect(texts, `a name of ${length}`).to.not.match(TOKEN);
      }
    });

    it('at maxmemory: MISCONFIGURED, naming OOM; what is held can be released', async () => {
      const redlock = await open(1, {});
      const lease = await redlock.acquire('r');
      const hand = handOf(0);
      await hand.config('SET', 'maxmemory', '1');
      const error = await rejection(redlock.acquire('s', { waitMs: 0 }));
      expect([error.code, /OOM/.test(error.message)]).to.deep.equal(['MISCONFIGURED', true]);
      await lease.release();
      expect(await hand.exists('r')).to.equal(0);
    });
  });
}
