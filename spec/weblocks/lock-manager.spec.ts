/** Web locks over a fleet: loss, failures of masters, `close`, and what is left when all is over. */
import { expect } from 'chai';
import { once } from 'node:events';
import { MemoryMasters } from '../../lib/testing/index.js';
import type { Redlock } from '../../lib/redlock.js';
import { LockManager } from '../../lib/weblocks/index.js';
import { FakeTime } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';
import { gate, hold, Noted, unreached } from './holding.js';

const NODES = 3;

describe('web locks over a fleet', () => {
  let masters: MemoryMasters;
  let redlock: Redlock;
  let locks: LockManager;
  beforeEach(() => {
    masters = new MemoryMasters(NODES);
    redlock = masters.redlock();
    locks = new LockManager(redlock);
  });
  afterEach(() => masters.close());

  it('a lost lock: its signal aborts, and the request settles as its callback does', async () => {
    const short = new LockManager(redlock, { ttlMs: 300 });
    const result = await short.request('a', async ({ signal }) => {
      for (const master of masters.list) master.flush();
      const next = await hold(new LockManager(masters.redlock()), 'a');
      if (!signal.aborted) await once(signal, 'abort');
      await next.release();
      return (signal.reason as { readonly code: string }).code; // a RedlockError
    });
    expect(result).to.equal('LOCK_LOST');
  });

  it('a lost lock does not keep ifAvailable out, although its callback still runs', async () => {
    const short = new LockManager(redlock, { ttlMs: 300 });
    const held = await hold(short, 'a');
    for (const master of masters.list) master.flush();
    const next = await hold(new LockManager(masters.redlock()), 'a');
    if (!held.lock.signal.aborted) await once(held.lock.signal, 'abort');
    await next.release();
    expect(await short.request('a', { ifAvailable: true }, (lock) => lock?.name)).to.equal('a');
    await held.release();
  });

  it('a lock is renewed while its callback runs, and not after', async () => {
    const time = new FakeTime();
    await using virtual = new MemoryMasters(NODES, { clock: time, timers: time });
    const [first, second] = [virtual.redlock(), virtual.redlock()];
    const held = await hold(new LockManager(first, { ttlMs: 3_000 }), 'a');
    await time.advance(60_000);
    expect([held.lock.signal.aborted, first.stats().counts.renewed > 20]).to.deep.equal([false, true]);
    const refused = new LockManager(second).request('a', { ifAvailable: true }, (lock) => lock);
    await time.advance(1_000);
    expect(await refused).to.equal(null);
    await held.release();
    const { renewed } = first.stats().counts;
    await time.advance(60_000);
    expect(first.stats().counts.renewed).to.equal(renewed);
  });

  it('a request waits without end, whatever the instance’s waitMs', async () => {
    const time = new FakeTime();
    await using virtual = new MemoryMasters(NODES, { clock: time, timers: time });
    const held = await hold(new LockManager(virtual.redlock()), 'a');
    const waits = new LockManager(virtual.redlock({ waitMs: 1_000 })).request('a', () => 'granted');
    await time.advance(3_600_000);
    await held.release();
    await time.advance(1_000);
    expect(await waits).to.equal('granted');
  });

  it('a minority of masters is dead: all goes on', async () => {
    await masters.list[0].kill();
    const held = await hold(locks, 'a');
    expect((await locks.query()).held).to.have.length(1);
    const noted = new Noted();
    const next = noted.request(locks, 'a', 'next');
    await held.release();
    await next;
    expect(noted.order).to.deep.equal(['next']);
  });

  it('errors of quorate reject the request as they are, and the next in the line goes on', async () => {
    const mutex = await redlock.acquire('weblocks:a');
    const waits = Promise.all([
      rejection(locks.request('a', unreached)),
      rejection(locks.request('a', { mode: 'shared' }, unreached)),
    ]);
    const wrong = [...(await waits), await rejection(locks.request('a', { ifAvailable: true }, unreached))];
    for (const error of wrong)
      expect([error.code, error.resources]).to.deep.equal(['WRONG_KIND', ['weblocks:a']]);
    await mutex.release();
    expect(await locks.request('a', () => 1)).to.equal(1);
  });

  it('no quorum: ifAvailable rejects with NO_QUORUM, and a request that waits gets the lock later', async () => {
    const dead = masters.list.slice(1);
    for (const master of dead) await master.kill();
    const error = await rejection(locks.request('a', { ifAvailable: true }, unreached));
    expect(error.code).to.equal('NO_QUORUM');
    const waits = locks.request('a', () => 'granted');
    for (const master of dead) master.restart({ data: 'kept' });
    expect(await waits).to.equal('granted');
  });

  it('close of the instance: those that wait reject with CLOSED, and the holder’s signal aborts with it', async () => {
    const held = await hold(locks, 'a');
    const waits = ['exclusive', 'shared', 'exclusive'].map((mode) =>
      rejection(locks.request('a', { mode: mode as 'shared' }, unreached)),
    );
    const closed = redlock.close();
    for (const wait of waits) expect((await wait).code).to.equal('CLOSED');
    expect(held.lock.signal.reason).to.have.property('code', 'CLOSED');
    const other = new LockManager(masters.redlock());
    expect(await other.request('a', { ifAvailable: true }, (lock) => lock)).to.equal(null); // it is still held
    await held.release();
    await closed;
    expect(await other.request('a', { ifAvailable: true }, (lock) => lock?.name)).to.equal('a');
    expect((await rejection(locks.request('a', unreached))).code).to.equal('CLOSED');
    expect(await locks.query()).to.deep.equal({ held: [], pending: [] });
  });

  it('close with releaseHeld frees nothing under a callback that runs, with ifAvailable either', async () => {
    const held = await hold(locks, 'a', { ifAvailable: true });
    const closed = redlock.close({ releaseHeld: true });
    const other = new LockManager(masters.redlock());
    expect(await other.request('a', { ifAvailable: true }, (lock) => lock)).to.equal(null);
    await held.release();
    await closed;
  });

  it('maxWaiters of the instance: a request beyond it rejects with LOCK_TAKEN', async () => {
    const few = new LockManager(masters.redlock({ maxWaiters: 0 }));
    const held = await hold(locks, 'a');
    expect((await rejection(few.request('a', unreached))).code).to.equal('LOCK_TAKEN');
    await held.release();
  });

  it('when all is over, a manager keeps nothing of a name', async () => {
    const { opened, open } = gate();
    const controller = new AbortController();
    const all = [
      locks.request('a', () => opened),
      locks.request('a', { signal: controller.signal }, unreached),
      locks.request('a', { ifAvailable: true }, () => undefined),
      locks.request('b', { mode: 'shared' }, () => Promise.reject(new Error('of the callback'))),
    ];
    controller.abort();
    open();
    await Promise.allSettled(all);
    for (const master of masters.list) await master.kill();
    expect(await locks.query()).to.deep.equal({ held: [], pending: [] }); // it asks about no name
  });
});
