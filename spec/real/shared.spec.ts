/**
 * Read-write locks and semaphores on real masters. In which order they are served, how often those who wait ask and what a
 * grant costs is shown under virtual time: `spec/queue/shared-waits.spec.ts`, `mute-place.spec.ts`, `grant-cost.spec.ts`.
 */
import { expect } from 'chai';
import { queueKey } from '../../lib/protocol/keys.js';
import type { Lease } from '../../lib/lease/public.js';
import type { Lockable } from '../../lib/locks/lockable.js';
import { Redlock } from '../../lib/redlock.js';
import { LONG_GUARD_MS, PATIENT } from '../support/patience.js';
import { rejection } from '../support/rejection.js';
import {
  ALL_KINDS,
  CLIENT_KINDS,
  type ClientKind,
  byHand,
  eventually,
  startCluster,
} from '../support/real.js';
import { RealBench } from './support/real-bench.js';
import { wide } from '../support/breadth.js';
import { EVERY_KIND } from '../support/unordered.js';

const QUEUE = queueKey('r');
const [IOREDIS_6] = CLIENT_KINDS as readonly [ClientKind, ClientKind];

class Ground extends RealBench {
  /** Resolves when so many wait at a quorum of masters. */
  async waiting(count: number, hands = this.hands): Promise<void> {
    await eventually(async () => {
      const counts = await Promise.all(hands.map((hand) => hand.zcard(QUEUE)));
      return counts.filter((found) => found === count).length > this.hands.length / 2;
    });
  }
}

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const other = Symbol('other');
  return (await Promise.race([promise, Promise.resolve(other)])) === other;
}

for (const nodes of wide([1, 3, 5], [3])) {
  describe(`read-write locks and semaphores on real masters: N=${nodes}`, () => {
    let environment: Ground;
    beforeEach(async () => {
      environment = new Ground();
      await environment.open(nodes);
    });
    afterEach(() => environment.close());

    for (const kind of wide(EVERY_KIND, ALL_KINDS)) {
      it(`${kind.name}: readers beside each other, one writer alone, fences for writers (T-D2)`, async () => {
        const locks = await Promise.all(Array.from({ length: 6 }, () => environment.lock({}, kind)));
        let [readers, writers, last] = [0, 0, 0];
        const together = await Promise.all(locks.map((redlock) => redlock.readWriteLock('r').read.acquire()));
        await Promise.all(together.map((lease) => lease.release()));
        const work = locks.map(async (redlock, i) => {
          const { read, write } = redlock.readWriteLock('r');
          for (let turn = 0; turn < 6; turn++) {
            if ((i + turn) % 3 === 0) {
              await write.using(async ({ fence = 0 }) => {
                expect([++writers, readers, fence > last]).to.deep.equal([1, 0, true]);
                last = fence;
                await Promise.resolve();
                writers--;
              });
            } else {
              await read.using(async (lease) => {
                expect([writers, lease.fence]).to.deep.equal([0, undefined]);
                readers++;
                await new Promise((resolve) => setTimeout(resolve, 2));
                readers--;
              });
            }
          }
        });
        await Promise.all(work);
        await environment.nothingLeft();
      });

      it(`${kind.name}: never more holders than permits, several at once, all or none (T-D1)`, async () => {
        const locks = await Promise.all(Array.from({ length: 8 }, () => environment.lock({}, kind)));
        let [held, most] = [0, 0];
        const work = locks.map(async (redlock, i) => {
          const semaphore = redlock.semaphore('r', 3);
          for (let turn = 0; turn < 5; turn++) {
            const permits = (i + turn) % 4 === 0 ? 2 : 1;
            await semaphore.using({ permits }, async () => {
              held += permits;
              most = Math.max(most, held);
              await new Promise((resolve) => setTimeout(resolve, 2));
              held -= permits;
            });
          }
        });
        await Promise.all(work);
        expect(most).to.equal(3);
        await environment.nothingLeft();
      });
    }

    it('a writer is not starved by a stream of readers, nor a reader by a stream of writers (T-D3)', async () => {
      const redlock = await environment.lock();
      const { read, write } = redlock.readWriteLock('r');
      const orders: readonly (readonly [Lockable, Lockable])[] = [
        [read, write],
        [write, read],
      ];
      for (const [stream, single] of orders) {
        let isServed = false;
        let turns = 0;
        const flow = [1, 2, 3].map(async () => {
          while (!isServed) {
            await stream.using(() => new Promise<void>((resolve) => setTimeout(resolve, 3)));
            turns++;
          }
        });
        await eventually(() => turns > 5);
        await single.using(() => undefined);
        isServed = true;
        await Promise.all(flow);
      }
    });

    it('with fair: false: a writer is not starved by readers either, since it keeps new ones out', async () => {
      const locks = await Promise.all(Array.from({ length: 4 }, () => environment.lock({ fair: false })));
      let isServed = false;
      let turns = 0;
      const flow = locks.slice(1).map(async (redlock) => {
        while (!isServed) {
          await redlock
            .readWriteLock('r')
            .read.using(() => new Promise<void>((resolve) => setTimeout(resolve, 20)));
          turns++;
        }
      });
      await eventually(() => turns > 5);
      await locks[0]?.readWriteLock('r').write.using(() => undefined);
      isServed = true;
      await Promise.all(flow);
    });

    it('abort: ABORTED, nothing is left, and the next waiter goes on', async () => {
      const redlock = await environment.lock();
      const holder = await redlock.readWriteLock('r').read.acquire();
      const controller = new AbortController();
      const aborted = (await environment.lock())
        .readWriteLock('r')
        .write.acquire({ signal: controller.signal });
      await environment.waiting(1);
      const reader = (await environment.lock()).readWriteLock('r').read.acquire();
      await environment.waiting(2);
      expect(await isPending(reader)).to.equal(true);
      controller.abort();
      expect(await rejection(aborted)).to.have.property('code', 'ABORTED');
      await (await reader).release();
      await holder.release();
      await environment.nothingLeft();
      expect(await redlock.readWriteLock('r').write.tryAcquire()).not.to.equal(null);
    });

    it('WRONG_KIND both ways, with the numbers of permits where they differ; nothing is taken', async () => {
      const redlock = await environment.lock();
      const wrong = async (call: Promise<unknown>, text: string): Promise<void> => {
        const error = await rejection(call);
        expect(error).to.have.property('code', 'WRONG_KIND');
        expect(String(error)).to.include(text);
      };
      const { read, write } = redlock.readWriteLock('r');
      const mutex = await redlock.mutex('r').acquire();
      await wrong(read.acquire(), 'an exclusive lock');
      await wrong(redlock.semaphore('r', 2).tryAcquire(), 'an exclusive lock');
      await mutex.release();
      const reader = await read.acquire();
      await wrong(redlock.mutex('r').acquire(), 'something else than this kind of lock');
      await wrong(redlock.semaphore('r', 2).acquire(), 'a read-write lock');
      await reader.release();
      const permit = await redlock.semaphore('r', 2).acquire();
      await wrong(write.tryAcquire(), 'a semaphore');
      await wrong(redlock.semaphore('r', 3).tryAcquire(), 'of 2 permits, and asked for as one of 3');
      await wrong(
        redlock.semaphore('r', 5).acquire({ waitMs: 0 }),
        'of 2 permits, and asked for as one of 5',
      );
      const waits = redlock.semaphore('r', 3).acquire();
      await environment.waiting(1);
      await permit.release(); // the old ones drain
      await (await waits).release();
      await environment.nothingLeft();
    });

    it('holders whose fields are gone learn of it by their signals', async () => {
      const redlock = await environment.lock();
      const { read } = redlock.readWriteLock('r');
      const [one, other] = [
        await read.acquire({ ttlMs: 900, renew: true }),
        await read.acquire({ ttlMs: 900, renew: true }),
      ];
      for (const hand of environment.hands) await hand.set('r', 'data');
      await eventually(() => one.signal.aborted && other.signal.aborted);
      expect(one.signal.reason).to.have.property('code', 'LOCK_LOST');
    });

    it('downgrade: readers come in, a writer does not; the fence stays; extend goes on', async () => {
      const redlock = await environment.lock();
      const writer = await redlock.readWriteLock('r').write.acquire();
      const reader = (await environment.lock()).readWriteLock('r').read.acquire();
      await environment.waiting(1);
      const { fence } = writer;
      expect(writer.mode).to.equal('write');
      await writer.downgrade();
      expect([writer.mode, writer.fence, writer.status]).to.deep.equal(['read', fence, 'held']);
      await writer.downgrade();
      await (await reader).release();
      expect(await redlock.readWriteLock('r').write.tryAcquire()).to.equal(null);
      await writer.extend();
      await writer.release();
      await environment.nothingLeft();
      expect(await rejection(writer.downgrade())).to.have.property('code', 'NOT_HELD');
    });

    it('handle and adopt: a reader, a writer and permits go over to another instance', async () => {
      const [here, there] = [await environment.lock(), await environment.lock()];
      const leases: Lease[] = [
        await here.readWriteLock('r').read.acquire(),
        await here.semaphore('s', 3).acquire({ permits: 2 }),
        await here.readWriteLock('t').write.acquire(),
      ];
      for (const lease of leases) {
        const adopted = await there.adopt(JSON.parse(JSON.stringify(lease.giveAway())) as never); // as it travels
        expect([adopted.status, adopted.fence]).to.deep.equal(['held', lease.fence]);
        await adopted.extend();
        await adopted.release();
      }
      await environment.nothingLeft();
    });

    it('inspect shows holders and waiters, and no token', async () => {
      const redlock = await environment.lock();
      const { read, write } = redlock.readWriteLock('r');
      expect(await read.inspect()).to.include({ state: 'free', waiting: 0, writer: undefined });
      const holders = [await read.acquire(), await read.acquire()];
      const wait = (await environment.lock()).readWriteLock('r').write.acquire();
      await environment.waiting(1);
      const behind = (await environment.lock()).readWriteLock('r').read.acquire();
      await environment.waiting(2);
      await eventually(async () => (await write.inspect()).waiting === 2);
      const seen = await write.inspect();
      expect([seen.state, seen.readers.length]).to.deep.equal(['held', 2]);
      for (const node of seen.nodes) expect(node).to.have.nested.property('waiting', 2);
      for (const { token } of holders) expect(JSON.stringify(seen)).not.to.include(token);
      for (const holder of holders) await holder.release();
      const writer = await wait;
      expect((await read.inspect()).writer).to.be.a('string');
      await writer.release();
      await (await behind).release();
      const permits = await redlock.semaphore('s', 3).acquire({ permits: 2 });
      const { holders: held } = await redlock.semaphore('s', 3).inspect();
      expect(held.map(({ slots }) => slots)).to.deep.equal([[0, 1]]);
      await permits.release();
    });

    it('restart guard: quarantined masters give nothing, and a bootstrap lets them vote', async () => {
      const redlock = await environment.lock({ restartGuardMs: LONG_GUARD_MS });
      for (const call of [
        redlock.readWriteLock('r').read.acquire({ waitMs: 0 }),
        redlock.readWriteLock('r').write.acquire({ waitMs: 0 }),
        redlock.semaphore('s', 2).acquire({ waitMs: 0 }),
      ])
        expect(await rejection(call)).to.have.property('code', 'QUARANTINED');
      await redlock.bootstrap({ force: true });
      await (await redlock.readWriteLock('r').write.acquire()).release();
      await (await redlock.semaphore('s', 2).acquire()).release();
    });

    if (nodes === 1) return; // the rest is about a minority

    for (const fault of ['kill', 'freeze'] as const) {
      it(`a minority (${fault}): holders stay, others come and go, k permits are still to be had (T-D6)`, async () => {
        const redlock = await environment.lock();
        const { read, write } = redlock.readWriteLock('r');
        const reader = await read.acquire();
        const permit = await redlock.semaphore('s', 3).acquire();
        const waiter = (await environment.lock()).readWriteLock('r').write;
        const struck = environment.masters.list.slice(0, (nodes - 1) / 2);
        const well = environment.hands.slice(struck.length);
        for (const master of struck) await master[fault]();
        const others = [await redlock.semaphore('s', 3).acquire(), await redlock.semaphore('s', 3).acquire()];
        expect(await redlock.semaphore('s', 3).tryAcquire()).to.equal(null);
        expect(await write.tryAcquire()).to.equal(null);
        const wait = waiter.acquire();
        await environment.waiting(1, well);
        expect(reader.status).to.equal('held');
        await permit.extend();
        await reader.release();
        await (await wait).release();
        for (const lease of [permit, ...others]) await lease.release();
        await environment.nothingLeft(well);
        if (fault === 'freeze') for (const master of struck) await master.thaw();
        if (fault === 'freeze') await environment.nothingLeft();
      });
    }

    it('a reader is killed: a writer comes in when its ttl is over (T-D4)', async () => {
      const redlock = await environment.lock();
      const dead = environment.program('hold-to-read', 'r', '1500');
      await dead.says('held');
      const wait = redlock.readWriteLock('r').write.acquire();
      dead.kill();
      await (await wait).release();
    });
  });
}

describe('read-write locks and semaphores on a Redis Cluster as the one master', () => {
  it('exclude each other, wait by trying, and leave nothing', async () => {
    const cluster = await startCluster();
    const [{ port }] = cluster.list as readonly [(typeof cluster.list)[number]];
    const clients = [1, 2].map(() => IOREDIS_6.openCluster(port));
    const hand = byHand(port);
    try {
      await eventually(() => clients.every(({ status }) => status === 'ready'));
      const [one, other] = clients.map(
        (client) => new Redlock([client], { ...PATIENT, label: false }), // or its record is there for a minute
      ) as [Redlock, Redlock];
      const reader = await one.readWriteLock('r').read.acquire();
      const wait = other.readWriteLock('r').write.acquire();
      await eventually(async () => (await hand.zcard(QUEUE)) === 1);
      expect(await one.readWriteLock('r').read.tryAcquire()).to.equal(null);
      await reader.release();
      await (await wait).release();
      const permits = await one.semaphore('s', 2).acquire({ permits: 2 });
      const next = other.semaphore('s', 2).acquire();
      expect(await other.semaphore('s', 2).tryAcquire()).to.equal(null);
      await permits.release();
      await (await next).release();
      expect((await hand.keys('*')).every((key) => key.includes(':fence:'))).to.equal(true);
      await Promise.all([one.close({ releaseHeld: true }), other.close()]);
    } finally {
      hand.disconnect();
      for (const client of clients) client.disconnect();
      await cluster.stop();
    }
  });
});
