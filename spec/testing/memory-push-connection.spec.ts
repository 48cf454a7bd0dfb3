/** Masters in memory: those who wait stand in the queue, as on real ones. */
import { expect } from 'chai';
import sinon from 'sinon';
import type { RedlockOptions } from '../../lib/input/options.js';
import { MemoryMasters } from '../../lib/testing/index.js';
import { FakeTime, settle } from '../support/fake-time.js';

const SIZES = [1, 3, 5];
const LONG = { ttlMs: 600_000, waitMs: 60_000 } as const;

const opened: { readonly masters: MemoryMasters; readonly time: FakeTime }[] = [];

function bench(nodes: number, options: RedlockOptions = LONG) {
  const time = new FakeTime();
  const masters = new MemoryMasters(nodes, { clock: time, timers: time });
  opened.push({ masters, time });
  const minority = masters.list.slice(0, Math.ceil(nodes / 2) - 1);
  return { masters, time, minority, one: masters.redlock(options), other: masters.redlock(options) };
}

describe('masters in memory: waiting in queues', () => {
  afterEach(async () => {
    for (const { masters, time } of opened.splice(0)) {
      for (const master of masters.list) master.thaw();
      const closed = masters.close();
      await time.advance(5_000);
      await closed;
    }
  });

  for (const nodes of SIZES) {
    it(`N=${nodes}: instances are served in the order in which they came, and no time passes`, async () => {
      const { masters, one, time } = bench(nodes);
      const lease = await one.acquire('r');
      const served: number[] = [];
      const waits: Promise<unknown>[] = [];
      for (let i = 0; i < 5; i++) {
        await time.advance(1); // later than the one before by the masters' clocks
        waits.push(masters.redlock(LONG).using('r', () => served.push(i)));
        await settle();
      }
      expect((await one.inspect('r')).waiting).to.equal(5);
      const startMs = time.now();
      await lease.release();
      await Promise.all(waits);
      expect([served, time.now() - startMs]).to.deep.equal([[0, 1, 2, 3, 4], 0]);
      expect((await one.inspect('r')).waiting).to.equal(0);
    });

    it(`N=${nodes}, latency: from the release to the next lease it takes its latency, the push's, and the claim's`, async () => {
      const { masters, one, other, time } = bench(nodes);
      const before = await one.acquire('r');
      const wait = other.using('r', () => undefined);
      await settle();
      await before.release();
      await wait; // lines are open, and scripts are known
      const lease = await one.acquire('r');
      for (const master of masters.list) master.latencyMs = 10;
      let isServed = false;
      void other.acquire('r').then(() => (isServed = true));
      await time.advance(500);
      void lease.release();
      await time.advance(39);
      expect(isServed).to.equal(false);
      await time.advance(1);
      expect(isServed).to.equal(true);
    });

    it(`N=${nodes}: masters are killed and restarted during a wait: it queues again, and is served at once`, async () => {
      for (const data of ['kept', 'lost'] as const) {
        const { masters, minority, one, other, time } = bench(nodes);
        const lease = await one.acquire('r');
        const wait = other.using('r', () => time.now());
        await time.advance(100);
        const struck = data === 'kept' ? masters.list : minority; // the lock is not to be lost
        for (const master of struck) await master.kill();
        await time.advance(100);
        for (const master of struck) master.restart({ data });
        if (data === 'lost') {
          await settle();
          const { nodes: said } = await one.inspect('r');
          expect(said.filter(({ state }) => state === 'held').length).to.equal(nodes); // asked again at once
        }
        await time.advance(5_000);
        const releasedAtMs = time.now();
        await lease.release();
        await settle();
        await time.advance(1_000);
        expect(await wait).to.equal(releasedAtMs);
      }
    });

    it(`N=${nodes}: masters are paused while the push connection is made: it works when they go on`, async () => {
      const { masters, one, other, time } = bench(nodes);
      const lease = await one.acquire('r');
      for (const master of masters.list) master.latencyMs = 1;
      const wait = other.using('r', () => time.now());
      await time.advance(2); // refused; the subscription is on its way
      for (const master of masters.list) master.freeze();
      await time.advance(50);
      for (const master of masters.list) master.thaw();
      await time.advance(50);
      expect((await Promise.all([one.inspect('r'), time.advance(10)]))[0].waiting).to.equal(1);
      for (const master of masters.list) master.latencyMs = 0;
      await lease.release();
      await time.advance(2);
      await wait;
    });

    it(`N=${nodes}: a minority is dead, or paused, from before the wait: it is served`, async () => {
      for (const strike of ['kill', 'freeze'] as const) {
        const { one, minority, other, time } = bench(nodes);
        const lease = await one.acquire('r');
        for (const master of minority) await master[strike]();
        const wait = other.using('r', () => time.now());
        await time.advance(1_000);
        const releasedAtMs = time.now();
        void lease.release();
        await time.advance(1_000);
        expect(await wait).to.equal(releasedAtMs);
      }
    });
  }

  it('N=3, timers faked by sinon: a waiter is served without a tick', async () => {
    const clock = sinon.useFakeTimers();
    try {
      await using masters = new MemoryMasters(3);
      const lease = await masters.redlock(LONG).acquire('r');
      const wait = masters.redlock(LONG).using('r', () => performance.now());
      const before = performance.now();
      await lease.release();
      expect(await wait).to.equal(before);
    } finally {
      clock.restore();
    }
  });

  it('N=3: when nobody waits any more, nothing of it is left after a while', async () => {
    const { one, other, time } = bench(3, { ...LONG, renew: false, label: false });
    const lease = await one.acquire('r');
    const before = time.pending;
    const wait = other.acquire('r');
    await time.advance(1_000);
    await lease.release();
    await (await wait).release();
    await time.advance(5_000);
    expect(time.pending).to.be.at.most(before);
  });
});
