/** Web locks on real masters: two managers of two instances, one on ioredis and one on node-redis, as two processes would have. */
import { once } from 'node:events';
import { expect } from 'chai';
import { LockManager } from '../../lib/weblocks/index.js';
import type { Redlock } from '../../lib/index.js';
import type { LockMode } from '../../lib/weblocks/public.js';
import { wide } from '../support/breadth.js';
import { CLIENT_KINDS, eventually, NODE_REDIS_KINDS } from '../support/real.js';
import { failure, gate, hold, Noted, unreached } from '../weblocks/holding.js';
import { RealBench } from './support/real-bench.js';

const RESOURCE = 'weblocks:a';

for (const nodes of wide([1, 3], [3])) {
  describe(`web locks on real masters: N=${nodes}`, () => {
    let bench: RealBench;
    let locks: LockManager;
    let other: LockManager;
    let onlooker: Redlock;
    beforeEach(async () => {
      bench = new RealBench();
      await bench.open(nodes);
      locks = new LockManager(await bench.lock({}, CLIENT_KINDS[0]));
      other = new LockManager(await bench.lock({}, NODE_REDIS_KINDS[0]));
      onlooker = await bench.lock();
    });
    afterEach(() => bench.close());

    /** Whether so many requests wait at all masters. */
    async function areWaiting(count: number): Promise<boolean> {
      const { nodes } = await onlooker.readWriteLock(RESOURCE).read.inspect();
      return nodes.every((one) => 'waiting' in one && one.waiting === count);
    }

    async function waiting(count: number): Promise<void> {
      await eventually(() => areWaiting(count));
    }

    it('they contend for one name: shared ones beside each other, an exclusive one alone, and fencing tokens rise', async () => {
      const inside: LockMode[] = [];
      const fences: number[] = [];
      const requests = [locks, other].flatMap((manager) =>
        Array.from({ length: 24 }, (_, i) => {
          const mode: LockMode = i % 3 === 0 ? 'exclusive' : 'shared';
          return manager.request('a', { mode }, async ({ fence }) => {
            inside.push(mode);
            expect(inside.length === 1 || !inside.includes('exclusive')).to.equal(true);
            if (fence !== undefined) fences.push(fence);
            await new Promise((resolve) => setImmediate(resolve));
            inside.splice(inside.indexOf(mode), 1);
          });
        }),
      );
      await Promise.all(requests);
      expect(fences).to.have.length(16);
      expect(fences).to.deep.equal([...new Set(fences)].sort((one, two) => one - two));
      await bench.nothingLeft();
    });

    it('in order: behind another process’s lock, and among the requests of one tick', async () => {
      const held = await hold(other, 'a');
      const noted = new Noted();
      const { opened, open } = gate();
      const shared = ['1', '2'].map((mark) => noted.request(locks, 'a', mark, { mode: 'shared' }, opened));
      const rest = [noted.request(locks, 'a', '3'), noted.request(locks, 'a', '4', { mode: 'shared' })];
      await waiting(2);
      expect(await other.request('a', { ifAvailable: true, mode: 'shared' }, (lock) => lock)).to.equal(null);
      await held.release();
      await eventually(() => noted.order.length === 2);
      await waiting(1);
      // an exclusive request waits in front of it, here and in the other process
      for (const manager of [locks, other])
        expect(await manager.request('a', { ifAvailable: true, mode: 'shared' }, (lock) => lock)).to.equal(
          null,
        );
      open();
      await Promise.all([...shared, ...rest]);
      expect([...noted.order.slice(0, 2)].sort()).to.deep.equal(['1', '2']);
      expect(noted.order.slice(2)).to.deep.equal(['3', '4']);
      await bench.nothingLeft();
    });

    it('an abort while it waits at the masters: its reason, and the next goes on', async () => {
      const held = await hold(other, 'a', { mode: 'shared' });
      const controller = new AbortController();
      const aborted = failure(locks.request('a', { signal: controller.signal }, unreached));
      await waiting(1);
      let isThere = false; // it may be in front, as far as its process knows the masters' time
      const next = other.request('a', { mode: 'shared' }, (lock) => {
        isThere = true;
        return lock.mode;
      });
      await eventually(async () => isThere || (await areWaiting(2)));
      controller.abort();
      expect(await aborted).to.equal(controller.signal.reason);
      expect(await next).to.equal('shared');
      await held.release();
      await bench.nothingLeft();
    });

    it('the lock is lost: its signal aborts, and the request settles as its callback does', async () => {
      const short = new LockManager(await bench.lock(), { ttlMs: 1_500 });
      const code = await short.request('a', async ({ signal }) => {
        for (const hand of bench.hands) await hand.del(RESOURCE);
        const next = await hold(other, 'a');
        if (!signal.aborted) await once(signal, 'abort');
        await next.release();
        return (signal.reason as { readonly code: string }).code; // a RedlockError
      });
      expect(code).to.equal('LOCK_LOST');
    });

    it('query: who holds it, in either process', async () => {
      const held = [await hold(locks, 'a', { mode: 'shared' }), await hold(other, 'a', { mode: 'shared' })];
      const waits = other.request('a', () => undefined);
      const snapshots = await Promise.all([locks.query(), other.query()]);
      for (const [i, manager] of [locks, other].entries()) {
        const clients = snapshots[i]?.held.map(({ clientId, mode, name }) => {
          expect([name, mode]).to.deep.equal(['a', 'shared']);
          return clientId === manager.clientId;
        });
        expect(clients).to.deep.equal([true, false]);
      }
      expect(snapshots.map(({ pending }) => pending.length)).to.deep.equal([0, 1]);
      for (const { release } of held) await release();
      await waits;
    });

    it('names that Redis has as bytes: the empty one, unpaired surrogates, NUL', async () => {
      const names = ['', '\uD800', '\uDC00', '\uFFFD', '\uFFFF', 'a\0b', '{a}'];
      const held = await Promise.all(names.map((name) => hold(locks, name)));
      for (const name of names)
        expect(await other.request(name, { ifAvailable: true }, (lock) => lock)).to.equal(null);
      for (const { release } of held) await release();
      await bench.nothingLeft();
    });
  });
}
