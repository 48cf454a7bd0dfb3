/** Web locks: `signal`, from the text of the specification (https://w3c.github.io/web-locks/#algorithm-abort-request). */
import { expect } from 'chai';
import { MemoryMasters } from '../../lib/testing/index.js';
import { LockManager } from '../../lib/weblocks/index.js';
import { settle } from '../support/fake-time.js';
import { until } from '../support/rejection.js';
import { failure, gate, hold, isPending, Noted, unreached } from './holding.js';

for (const nodes of [1, 3]) {
  describe(`web locks: signal, N=${nodes}`, () => {
    let masters: MemoryMasters;
    let locks: LockManager;
    let other: LockManager;
    let controller: AbortController;
    beforeEach(() => {
      masters = new MemoryMasters(nodes);
      [locks, other] = [new LockManager(masters.redlock()), new LockManager(masters.redlock())];
      controller = new AbortController();
    });
    afterEach(() => masters.close());

    async function waiting(count: number): Promise<void> {
      const lock = masters.redlock().readWriteLock('weblocks:a').read;
      await until(async () =>
        (await lock.inspect()).nodes.every((one) => 'waiting' in one && one.waiting === count),
      );
    }

    it('that has aborted: rejects with its reason, and asks nobody', async () => {
      const reason = new Error('of the caller');
      expect(await failure(locks.request('a', { signal: AbortSignal.abort(reason) }, unreached))).to.equal(
        reason,
      );
      controller.abort();
      const error = await failure(locks.request('a', { signal: controller.signal }, unreached));
      expect(error).to.equal(controller.signal.reason);
      expect(error).to.have.property('name', 'AbortError');
    });

    it('aborted in the same tick, although the lock is free: rejects, and the lock is free for the next', async () => {
      const aborted = locks.request('a', { signal: controller.signal }, unreached);
      const next = locks.request('a', () => 'next');
      controller.abort();
      expect((await locks.query()).pending.length).to.be.at.most(1);
      expect(await failure(aborted)).to.equal(controller.signal.reason);
      expect(await next).to.equal('next');
      expect(await other.request('a', { ifAvailable: true }, (lock) => lock?.name)).to.equal('a');
    });

    it('aborted in the same tick: a later ifAvailable of that tick finds it free', async () => {
      const aborted = locks.request('a', { signal: controller.signal }, unreached);
      controller.abort();
      const available = locks.request('a', { ifAvailable: true }, (lock) => lock?.name);
      expect(await failure(aborted)).to.equal(controller.signal.reason);
      expect(await available).to.equal('a');
    });

    it('aborted in the same tick: later requests of that tick are this manager’s as before', async () => {
      const aborted = failure(locks.request('a', { signal: controller.signal }, unreached));
      controller.abort();
      const next = await hold(locks, 'a');
      await aborted;
      const behind = locks.request('a', () => undefined);
      const { held, pending } = await locks.query();
      expect([...held, ...pending].map(({ clientId }) => clientId === locks.clientId)).to.deep.equal([
        true,
        true,
      ]);
      await next.release();
      await behind;
    });

    it('aborted while it waits, at the masters or behind others: rejects at once, and those behind go on', async () => {
      const held = await hold(other, 'a', { mode: 'shared' });
      const [behind, noted] = [new AbortController(), new Noted()];
      const atMasters = locks.request('a', { signal: controller.signal }, unreached);
      const inLine = locks.request('a', { signal: behind.signal }, unreached);
      const shared = noted.request(locks, 'a', 'shared', { mode: 'shared' });
      await waiting(1);
      behind.abort('behind');
      expect(await failure(inLine)).to.equal('behind');
      expect(await isPending(shared)).to.equal(true);
      controller.abort('at the masters');
      expect(await failure(atMasters)).to.equal('at the masters');
      await shared; // beside the other's shared lock
      await waiting(0);
      await held.release();
    });

    it('aborted while no master answers: rejects although none of them does', async () => {
      for (const master of masters.list) master.freeze();
      const request = locks.request('a', { signal: controller.signal }, unreached);
      await settle();
      controller.abort();
      expect(await failure(request)).to.equal(controller.signal.reason);
      for (const master of masters.list) master.thaw();
      expect(await other.request('a', () => 1)).to.equal(1);
    });

    it('aborted with any reason, null too: that is what it rejects with', async () => {
      const held = await hold(other, 'a');
      for (const reason of [null, 0, 'text', new TypeError('own')]) {
        const one = new AbortController();
        const request = locks.request('a', { signal: one.signal }, unreached);
        one.abort(reason);
        expect(await failure(request)).to.equal(reason);
      }
      await held.release();
    });

    it('aborted after the grant: no effect on the lock, nor on what the request settles with', async () => {
      const { opened, open } = gate();
      const granted = gate();
      const request = locks.request('a', { signal: controller.signal }, async (lock) => {
        granted.open();
        await opened;
        return lock.signal.aborted;
      });
      await granted.opened;
      controller.abort();
      expect(await other.request('a', { ifAvailable: true }, (lock) => lock)).to.equal(null);
      expect((await locks.query()).held.map(({ clientId }) => clientId)).to.deep.equal([locks.clientId]);
      open();
      expect(await request).to.equal(false);
    });

    it('aborted by the callback itself, and after the end: no effect', async () => {
      const { signal } = controller;
      const result = await locks.request('a', { signal }, () => {
        controller.abort();
        return 'result';
      });
      expect(result).to.equal('result');
      const late = new AbortController();
      expect(await locks.request('a', { signal: late.signal }, () => 1)).to.equal(1);
      late.abort();
    });

    it('one signal for many requests: all that wait reject, and no listener is left', async () => {
      const held = await hold(locks, 'a');
      const requests = Array.from({ length: 50 }, () =>
        locks.request('a', { signal: controller.signal }, unreached),
      );
      const failures = requests.map(failure);
      controller.abort();
      for (const one of failures) expect(await one).to.equal(controller.signal.reason);
      expect((await locks.query()).pending).to.deep.equal([]);
      await held.release();
    });

    it('at whichever moment the abort comes, the callback ran or the request rejected, and never both', async () => {
      for (let turns = 0; turns < 60; turns++) {
        const one = new AbortController();
        let hasRun = false;
        const request = locks.request('a', { signal: one.signal }, () => {
          hasRun = true;
          return 'ran';
        });
        const settled = request.catch((reason: unknown) => reason);
        for (let i = 0; i < turns; i++) await Promise.resolve();
        one.abort('aborted');
        const wasRunning = hasRun;
        expect(await settled).to.equal(hasRun ? 'ran' : 'aborted');
        expect(hasRun).to.equal(wasRunning); // no callback begins after an abort
      }
      expect(await other.request('a', () => 1)).to.equal(1);
    });
  });
}
