/**
 * Web locks: which requests are granted, and in which order, from the text of the specification
 * (https://w3c.github.io/web-locks/#concepts): requests for one name are granted in their order, shared ones together, and a
 * request behind one that waits does not overtake it.
 */
import { expect } from 'chai';
import type { Redlock } from '../../lib/index.js';
import { MemoryMasters } from '../../lib/testing/index.js';
import { LockManager } from '../../lib/weblocks/index.js';
import type { LockMode, LockOptions } from '../../lib/weblocks/public.js';
import { until } from '../support/rejection.js';
import { gate, hold, isPending, Noted } from './holding.js';

const SHARED: LockOptions = { mode: 'shared' };
const NOW: LockOptions = { ifAvailable: true };
const SHARED_NOW: LockOptions = { mode: 'shared', ifAvailable: true };

for (const nodes of [1, 3]) {
  describe(`web locks: order, N=${nodes}`, () => {
    let masters: MemoryMasters;
    let locks: LockManager;
    let other: LockManager;
    let onlooker: Redlock;
    let noted: Noted;
    beforeEach(() => {
      masters = new MemoryMasters(nodes);
      [locks, other] = [new LockManager(masters.redlock()), new LockManager(masters.redlock())];
      onlooker = masters.redlock();
      noted = new Noted();
    });
    afterEach(() => masters.close());

    /** Whether so many requests wait at all masters. */
    async function areWaiting(count: number): Promise<boolean> {
      const { nodes: all } = await onlooker.readWriteLock('weblocks:a').read.inspect();
      return all.every((one) => 'waiting' in one && one.waiting === count);
    }

    async function waiting(count: number): Promise<void> {
      await until(() => areWaiting(count));
    }

    it('exclusive requests of one tick: one at a time, in their order', async () => {
      const holders: string[] = [];
      let most = 0;
      const marks = Array.from({ length: 12 }, (_, i) => `${i}`);
      await Promise.all(
        marks.map((mark) =>
          locks.request('a', async () => {
            noted.order.push(mark);
            holders.push(mark);
            most = Math.max(most, holders.length);
            await Promise.resolve();
            holders.pop();
          }),
        ),
      );
      expect([noted.order, most]).to.deep.equal([marks, 1]);
    });

    it('shared requests of one tick are held together; an exclusive one of another manager waits for all', async () => {
      const held = await Promise.all(['1', '2', '3'].map(() => hold(locks, 'a', SHARED)));
      const exclusive = noted.request(other, 'a', 'exclusive');
      await waiting(1);
      for (const { release } of held) {
        expect(noted.order).to.deep.equal([]);
        await release();
      }
      await exclusive;
      expect(noted.order).to.deep.equal(['exclusive']);
    });

    it('mixed, in one tick: shared ones together, an exclusive one alone, later shared ones behind it', async () => {
      const { opened, open } = gate();
      const first = ['s1', 's2', 's3'].map((mark) => noted.request(locks, 'a', mark, SHARED, opened));
      const exclusive = noted.request(locks, 'a', 'x1');
      const last = ['s4', 's5'].map((mark) => noted.request(locks, 'a', mark, SHARED));
      await noted.request(locks, 'b', 'b1');
      await until(() => noted.order.length === 4);
      expect([...noted.order].sort()).to.deep.equal(['b1', 's1', 's2', 's3']);
      await waiting(1);
      for (const request of [exclusive, ...last]) expect(await isPending(request)).to.equal(true);
      open();
      await Promise.all([...first, exclusive, ...last]);
      expect(noted.order[4]).to.equal('x1');
      expect(noted.order.slice(5)).to.have.members(['s4', 's5']);
    });

    it('a request that waits for another process keeps later ones of its own manager behind it', async () => {
      const held = await hold(other, 'a');
      const all = (['shared', 'exclusive', 'shared', 'shared', 'exclusive'] as const).map(
        (mode: LockMode, i) => noted.request(locks, 'a', `${i} ${mode}`, { mode }),
      );
      await waiting(1);
      await held.release();
      await Promise.all(all);
      expect(noted.order.slice(0, 2)).to.deep.equal(['0 shared', '1 exclusive']);
      expect(noted.order.slice(2, 4)).to.have.members(['2 shared', '3 shared']);
      expect(noted.order[4]).to.equal('4 exclusive');
    });

    it('between managers, a waiting exclusive request stops later shared ones', async () => {
      let order: readonly string[] = [];
      // each manager knows the masters' time to within a round trip: where the machine stalls, the later one may be in front
      while (order[0] !== 'exclusive') {
        noted = new Noted();
        const held = await hold(other, 'a', SHARED);
        const exclusive = noted.request(locks, 'a', 'exclusive');
        await waiting(1);
        const shared = noted.request(other, 'a', 'shared', SHARED);
        await until(async () => noted.order.length > 0 || (await areWaiting(2)));
        await held.release();
        await Promise.all([exclusive, shared]);
        order = noted.order;
      }
      expect(order).to.deep.equal(['exclusive', 'shared']);
    });

    it('two managers contend for a name: never beside each other, and all of them get it', async () => {
      let inside = 0;
      const turns = [locks, other].flatMap((manager) =>
        Array.from({ length: 10 }, (_, i) =>
          manager.request('a', async () => {
            expect(++inside).to.equal(1);
            await Promise.resolve();
            inside--;
            return i;
          }),
        ),
      );
      expect(await Promise.all(turns)).to.have.length(20);
    });

    it('locks of different names do not meet', async () => {
      const [one, two] = [await hold(locks, 'a'), await hold(locks, 'b')];
      await one.release();
      await two.release();
    });

    describe('ifAvailable', () => {
      it('gets a free lock, and one that is shared if it is shared too', async () => {
        expect(await locks.request('a', NOW, (lock) => lock?.mode)).to.equal('exclusive');
        const held = await hold(locks, 'a', SHARED);
        for (const manager of [locks, other]) {
          expect(await manager.request('a', SHARED_NOW, (lock) => lock?.mode)).to.equal('shared');
          expect(await manager.request('a', NOW, (lock) => lock)).to.equal(null);
        }
        await held.release();
      });

      it('gets null while it is held exclusively, by its own manager or another; settles as the callback does', async () => {
        const held = await hold(locks, 'a');
        const error = new Error('of the callback');
        for (const manager of [locks, other]) {
          for (const options of [NOW, SHARED_NOW]) {
            expect(await manager.request('a', options, async (lock) => [lock, 123])).to.deep.equal([
              null,
              123,
            ]);
            const throwing = manager.request('a', options, () => {
              throw error;
            });
            expect(await throwing.catch((reason: unknown) => reason)).to.equal(error);
          }
        }
        await held.release();
        expect(await other.request('a', NOW, (lock) => lock?.name)).to.equal('a');
      });

      it('does not overtake: null where another request waits, of its own manager or another', async () => {
        const held = await hold(locks, 'a', SHARED);
        const exclusive = noted.request(locks, 'a', 'exclusive');
        expect(await locks.request('a', SHARED_NOW, (lock) => lock)).to.equal(null);
        await waiting(1);
        expect(await other.request('a', SHARED_NOW, (lock) => lock)).to.equal(null);
        await held.release();
        await exclusive;
        expect(await other.request('a', SHARED_NOW, (lock) => lock?.mode)).to.equal('shared');
      });

      it('in one tick, each is decided as if those before it had been', async () => {
        const { opened, open } = gate();
        const requests = [
          noted.request(locks, 'a', '1 shared now', SHARED_NOW, opened),
          noted.request(locks, 'a', '2 exclusive now', NOW, opened),
          noted.request(locks, 'a', '3 shared now', SHARED_NOW, opened),
          noted.request(locks, 'a', '4 exclusive', {}, opened),
          noted.request(locks, 'a', '5 shared now', SHARED_NOW, opened),
        ];
        await until(() => noted.order.length === 4);
        open();
        await Promise.all(requests);
        expect(noted.order.slice(0, 4)).to.have.members([
          '1 shared now',
          '2 exclusive now: null',
          '3 shared now',
          '5 shared now: null',
        ]);
        expect(noted.order.slice(4)).to.deep.equal(['4 exclusive']);
      });

      it('in one tick, beside others’ shared locks: an exclusive one is refused, and one behind it is not', async () => {
        const held = await hold(other, 'a', SHARED);
        await Promise.all([
          noted.request(locks, 'a', '1 exclusive now', NOW),
          noted.request(locks, 'a', '2 shared now', SHARED_NOW),
          noted.request(locks, 'a', '3 shared', SHARED),
        ]);
        expect(noted.order[0]).to.equal('1 exclusive now: null');
        expect(noted.order.slice(1)).to.have.members(['2 shared now', '3 shared']);
        await held.release();
      });

      it('two exclusive ones of one tick: the first has it', async () => {
        const { opened, open } = gate();
        const first = noted.request(locks, 'a', 'first', NOW, opened);
        const second = noted.request(locks, 'a', 'second', NOW);
        await until(() => noted.order.length === 2);
        open();
        await Promise.all([first, second]);
        expect(noted.order).to.deep.equal(['first', 'second: null']);
      });

      it('a callback that got null holds nothing, and keeps nobody out', async () => {
        const held = await hold(locks, 'a');
        const { opened, open } = gate();
        const without = locks.request('a', NOW, () => opened);
        await held.release();
        await (await hold(locks, 'a')).release();
        expect((await locks.query()).held).to.deep.equal([]);
        open();
        await without;
      });
    });

    it('a lock is available once the request before has settled', async () => {
      for (let turn = 0; turn < 5; turn++) {
        await locks.request('a', () => undefined);
        expect(await other.request('a', NOW, (lock) => lock?.name)).to.equal('a');
      }
    });
  });
}
