/** Locks that are taken away: the holder is told, stops, and the next one has a higher fencing token. */
import { expect } from 'chai';
import type { Lease } from '../../lib/lease/public.js';
import { RedlockError } from '../../lib/runtime/errors.js';
import { LONG } from '../support/contended.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const TTL_MS = 30_000;
const TERMS = { ...LONG, ttlMs: TTL_MS } as const;

/** A lease of an instance that has no push connections. */
async function held(options = {}): Promise<Bench & { readonly holder: Lease }> {
  const bench = fakeCluster(3, { ...TERMS, ...options }, { hasPushes: true });
  const holder = await bench.other('holder').redlock.acquire('r');
  return { ...bench, holder };
}

/** A lease that came through the queue: its instance has push connections. */
async function handedOver(): Promise<Bench & { readonly holder: Lease }> {
  const bench = fakeCluster(3, TERMS, { hasPushes: true });
  const first = await bench.redlock.acquire('r');
  const wait = bench.other('holder').redlock.acquire('r');
  await bench.time.advance(100);
  await first.release();
  const holder = await wait;
  await settle();
  return { ...bench, holder };
}

function lossOf({ signal }: Lease): RedlockError | undefined {
  const reason: unknown = signal.reason;
  return RedlockError.is(reason) ? reason : undefined;
}

describe('a lock that is stolen', () => {
  it('nobody holds it: it is acquired', async () => {
    const { redlock } = fakeCluster(3, TERMS);
    const lease = await redlock.steal('r');
    expect(lease.status).to.equal('held');
    await lease.release();
  });

  it('its holder is told, its signal aborts, and the next one has it in the same instant, with a higher fence', async () => {
    const { holder, redlock, time } = await handedOver();
    const { signal } = holder;
    const fromMs = time.now();
    const lease = await redlock.steal('r');
    expect(time.now()).to.equal(fromMs);
    expect(signal.aborted).to.equal(true);
    expect(lossOf(holder)?.code).to.equal('LOCK_LOST');
    expect(lossOf(holder)?.message).to.match(/took it away/);
    expect(lease.fence).to.be.above(holder.fence ?? Infinity);
    await lease.release();
  });

  it('a holder without push connections keeps it until its validity ends, and cannot extend it', async () => {
    const { holder, redlock, time } = await held();
    let lease: Lease | undefined;
    void redlock.steal('r').then((one) => (lease = one));
    await time.advance(1_000);
    expect(holder.status).to.equal('held');
    const failed = await rejection(holder.extend());
    expect(failed.code).to.equal('LOCK_LOST');
    expect(failed.message).to.match(/taken away/);
    await time.advance(TTL_MS - 1_100);
    expect(lease).to.equal(undefined);
    await time.advance(1_000);
    expect(lease?.status).to.equal('held');
    await lease?.release();
  });

  it('with a shorter grace, it has it when that is over', async () => {
    const { holder, redlock, time } = await held();
    const steal = redlock.steal('r', { graceMs: 5_000 });
    await time.advance(4_900);
    expect(await redlock.tryAcquire('r')).to.equal(null);
    await time.advance(200);
    const lease = await steal;
    expect(holder.status).to.equal('held'); // it was not told
    expect(lease.fence).to.be.above(holder.fence ?? Infinity);
    await lease.release();
  });

  it('comes after those that wait, unless it is to pass them', async () => {
    for (const passWaiters of [false, true]) {
      const bench = await handedOver();
      const order: string[] = [];
      const take = async (name: string, wait: Promise<Lease>): Promise<void> => {
        const lease = await wait;
        order.push(name);
        await lease.release();
      };
      const waiter = take('waiter', bench.other('waiter').redlock.acquire('r'));
      await bench.time.advance(100);
      const thief = take('thief', bench.redlock.steal('r', { passWaiters }));
      await bench.time.advance(1_000);
      await Promise.all([waiter, thief]);
      expect(order).to.deep.equal(passWaiters ? ['thief', 'waiter'] : ['waiter', 'thief']);
    }
  });

  it('held by another library: LOCK_TAKEN, and nothing is taken', async () => {
    const { masters, redlock } = fakeCluster(3, TERMS);
    for (const master of masters) master.set('r', 'theirs', 60_000);
    const error = await rejection(redlock.steal('r'));
    expect(error.code).to.equal('LOCK_TAKEN');
    expect(error.message).to.match(/another library/);
    for (const master of masters) expect(master.value('r')).to.equal('theirs');
  });

  it('without a quorum of masters: NO_QUORUM, and what was taken on the others is given back', async () => {
    const { holder, masters, redlock, time } = await held();
    for (const master of masters.slice(1)) master.manner = 'lose-request';
    const failed = rejection(redlock.steal('r'));
    await time.advance(1_000);
    expect((await failed).code).to.equal('NO_QUORUM');
    for (const master of masters.slice(1)) master.thaw();
    expect(holder.status).to.equal('held');
    await holder.extend();
    await holder.release();
  });

  it('a signal ends the wait; the lock ends by itself two seconds after its grace', async () => {
    const { masters, redlock, time } = await held();
    const controller = new AbortController();
    const failed = rejection(redlock.steal('r', { graceMs: 5_000, signal: controller.signal }));
    await time.advance(1_000);
    controller.abort();
    expect((await failed).code).to.equal('ABORTED');
    await time.advance(5_900);
    for (const master of masters) expect(master.value('r')).to.not.equal(undefined);
    await time.advance(200);
    for (const master of masters) expect(master.value('r')).to.equal(undefined);
  });

  it('a process that holds it by another instance of its own is told as well', async () => {
    const { holder, other } = await handedOver();
    void holder.signal;
    const lease = await other('thief').redlock.steal('r', { passWaiters: true });
    expect(holder.status).to.equal('lost');
    await lease.release();
  });

  it('options are checked before anything is sent', async () => {
    const { masters, redlock } = fakeCluster(3, TERMS);
    for (const options of [{ graceMs: -1 }, { graceMs: 0.5 }, { passWaiters: 1 }, { grace: 1 }]) {
      const error = await rejection(redlock.steal('r', options as never));
      expect(error.code).to.equal('INVALID_ARGUMENT');
    }
    for (const master of masters) expect(master.sent).to.deep.equal([]);
  });
});
