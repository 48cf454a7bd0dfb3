/** Locks that are taken away, on real masters: by whom, from whom, and what the holder learns of it. */
import { expect } from 'chai';
import { once } from 'node:events';
import type { Lease } from '../../lib/lease/public.js';
import { Redlock } from '../../lib/redlock.js';
import type { RedlockError } from '../../lib/runtime/errors.js';
import { wide } from '../support/breadth.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { EVERY_MASTER, PATIENT } from '../support/patience.js';
import { eventually } from '../support/real.js';
import { rejection } from '../support/rejection.js';

for (const nodes of wide([1, 3, 5], [3])) {
  describe(`a lock that is stolen: N=${nodes}, real masters`, () => {
    let masters: Masters;
    let holders: Redlock;
    let thieves: Redlock;
    before(async () => {
      masters = await startMasters(nodes, { backend: 'process' });
      holders = Redlock.connect(masters.urls, { ...PATIENT, localTurns: 0 });
      thieves = Redlock.connect(masters.urls, { ...PATIENT, label: 'thief' });
      await Promise.all([holders.ready(EVERY_MASTER), thieves.ready(EVERY_MASTER)]);
    });
    after(async () => {
      await Promise.all([holders, thieves].map((one) => one.close({ releaseHeld: true })));
      await masters.stop();
    });

    /** A lease that was handed over: its instance has push connections. */
    async function handedOver(acquire: () => Promise<Lease>): Promise<Lease> {
      const first = await thieves.acquire('r');
      const waits = acquire();
      await eventually(async () => (await thieves.inspect('r')).waiting === 1);
      await first.release();
      return waits;
    }

    async function lossOf({ signal }: Lease): Promise<RedlockError> {
      if (!signal.aborted) await once(signal, 'abort');
      return signal.reason as RedlockError; // as a loss gives it
    }

    it('the holder is told by a push: its signal aborts with who took it, and the next one has it long before its ttl', async () => {
      const holder = await handedOver(() => holders.acquire('r'));
      const loss = lossOf(holder);
      const lease = await thieves.steal('r');
      expect([(await loss).code, (await loss).stolenBy]).to.deep.equal(['LOCK_LOST', 'thief']);
      expect(lease.fence).to.be.above(holder.fence ?? Infinity);
      await lease.release();
    });

    it('a holder without push connections learns of it by its next extension; then it is over', async () => {
      const silent = Redlock.connect(masters.urls, PATIENT);
      const holder = await silent.acquire('s');
      const { holder: before } = await thieves.inspect('s');
      const steal = thieves.steal('s');
      await eventually(async () => ![before, undefined].includes((await thieves.inspect('s')).holder));
      expect((await rejection(holder.extend())).code).to.equal('LOCK_LOST');
      const lease = await steal;
      expect(lease.fence).to.be.above(holder.fence ?? Infinity);
      await lease.release();
      await silent.close({ releaseHeld: true });
    });

    it('with a grace of 0 it has it at once, and those that wait after it, or before it', async () => {
      for (const passWaiters of [false, true]) {
        const silent = Redlock.connect(masters.urls, PATIENT);
        await silent.acquire('g');
        const order: string[] = [];
        const take = async (name: string, wait: Promise<Lease>): Promise<void> => {
          const lease = await wait;
          order.push(name);
          await lease.release();
        };
        const waiter = take('waiter', holders.acquire('g'));
        await eventually(async () => (await thieves.inspect('g')).waiting === 1);
        await Promise.all([waiter, take('thief', thieves.steal('g', { graceMs: 0, passWaiters }))]);
        expect(order).to.deep.equal(passWaiters ? ['thief', 'waiter'] : ['waiter', 'thief']);
        await silent.close({ releaseHeld: true });
      }
    });

    it('readers are told, and a writer has the lock', async () => {
      const lock = (redlock: Redlock) => redlock.readWriteLock('rw');
      const writer = await lock(thieves).write.acquire();
      const waits = [lock(holders).read.acquire(), lock(holders).read.acquire()];
      await eventually(async () => (await lock(thieves).read.inspect()).waiting === 2);
      await writer.release();
      const readers = await Promise.all(waits);
      const losses = Promise.all(readers.map(lossOf));
      const lease = await lock(thieves).steal();
      expect((await losses).map(({ code }) => code)).to.deep.equal(['LOCK_LOST', 'LOCK_LOST']);
      await lease.release();
    });

    it('a leader is deposed: its routine’s signal aborts, and another candidate leads', async () => {
      const stop = new AbortController();
      const led: string[] = [];
      const lead = (name: string, redlock: Redlock): Promise<void> =>
        redlock.election('boss').lead(
          async ({ signal }) => {
            led.push(name);
            if (!signal.aborted) await once(signal, 'abort');
          },
          { signal: stop.signal },
        );
      const first = lead('a', holders);
      await eventually(() => led.length === 1);
      const second = lead('b', thieves);
      await eventually(async () => (await holders.inspect('boss')).waiting === 1);
      expect(await thieves.election('boss').depose({ graceMs: 0 })).to.equal(true);
      await eventually(() => led.includes('b'));
      stop.abort();
      await Promise.all([first, second]);
    });

    if (nodes > 1)
      it('with a minority of masters frozen: the same', async () => {
        const holder = await handedOver(() => holders.acquire('r'));
        const loss = lossOf(holder);
        const frozen = masters.list[nodes - 1];
        await frozen?.freeze();
        const lease = await thieves.steal('r');
        expect((await loss).code).to.equal('LOCK_LOST');
        await frozen?.thaw();
        await lease.release();
      });
  });
}
