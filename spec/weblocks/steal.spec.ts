/** Web locks: `steal`, from the text of the specification (https://w3c.github.io/web-locks/#algorithm-request-lock). */
import { expect } from 'chai';
import { MemoryMasters } from '../../lib/testing/index.js';
import { LockManager } from '../../lib/weblocks/index.js';
import { until } from '../support/rejection.js';
import { failure, hold, isPending } from './holding.js';

for (const nodes of [1, 3]) {
  describe(`web locks: steal, N=${nodes}`, () => {
    let masters: MemoryMasters;
    let locks: LockManager;
    let other: LockManager;
    beforeEach(() => {
      masters = new MemoryMasters(nodes);
      const options = { stealGraceMs: 0 };
      [locks, other] = [
        new LockManager(masters.redlock(), options),
        new LockManager(masters.redlock(), options),
      ];
    });
    afterEach(() => masters.close());

    it('of a free lock: it is granted, and given back', async () => {
      expect(await locks.request('a', { steal: true }, (lock) => lock.mode)).to.equal('exclusive');
      expect(await other.request('a', { ifAvailable: true }, (lock) => lock?.name)).to.equal('a');
    });

    it('of its own manager: the holder’s request rejects with AbortError, though its callback goes on', async () => {
      const holder = await hold(locks, 'a');
      const { signal, fence = Infinity } = holder.lock;
      const stolen = failure(holder.request);
      const next = await hold(locks, 'a', { steal: true });
      expect(await stolen).to.have.property('name', 'AbortError');
      expect(signal.aborted).to.equal(true);
      expect(next.lock.fence).to.be.above(fence);
      void holder.release().catch(() => undefined);
      expect(await isPending(next.request)).to.equal(true);
      await next.release();
    });

    it('of another manager that waited for it: the same', async () => {
      const first = await hold(locks, 'a');
      const waiting = hold(other, 'a');
      await until(
        async () => (await masters.redlock().readWriteLock('weblocks:a').write.inspect()).waiting === 1,
      );
      void first.release();
      const holder = await waiting;
      const stolen = failure(holder.request);
      const next = await hold(locks, 'a', { steal: true });
      expect(await stolen).to.have.property('name', 'AbortError');
      await next.release();
    });

    it('of shared locks: all their requests reject', async () => {
      const holders = await Promise.all([
        hold(locks, 'a', { mode: 'shared' }),
        hold(locks, 'a', { mode: 'shared' }),
      ]);
      const stolen = holders.map(({ request }) => failure(request));
      const next = await hold(locks, 'a', { steal: true });
      for (const error of await Promise.all(stolen)) expect(error).to.have.property('name', 'AbortError');
      await next.release();
    });

    it('before those that wait, who get it afterwards', async () => {
      const holder = await hold(locks, 'a');
      const stolen = failure(holder.request);
      const waiter = hold(locks, 'a');
      const next = await hold(locks, 'a', { steal: true });
      await stolen;
      expect(await isPending(waiter)).to.equal(true);
      void next.release();
      const last = await waiter;
      expect(last.lock.fence).to.be.above(next.lock.fence ?? Infinity);
      await last.release();
    });

    it('a lock that was stolen can be stolen', async () => {
      const first = await hold(locks, 'a', { steal: true });
      const stolen = failure(first.request);
      const second = await hold(locks, 'a', { steal: true });
      expect(await stolen).to.have.property('name', 'AbortError');
      await second.release();
    });

    it('the grace of a manager is checked', () => {
      for (const stealGraceMs of [-1, 0.5, '5'])
        expect(() => new LockManager(masters.redlock(), { stealGraceMs: stealGraceMs as number })).to.throw(
          /stealGraceMs/,
        );
    });
  });
}
