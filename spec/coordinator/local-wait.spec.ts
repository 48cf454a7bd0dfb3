/** How a call takes part in the local line of its lock: as the head, behind others, or not at all. */
import { expect } from 'chai';
import { sentTo } from '../support/commands.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const TERMS = { ttlMs: 10_000, waitMs: 60_000, nodeTimeoutMs: 50 } as const;

describe('a call and the local line', () => {
  it('tryAcquire: null at once and without a message while this instance holds it', async () => {
    const { masters, redlock } = fakeCluster(3, TERMS);
    const holder = await redlock.acquire('r');
    const waiter = redlock.acquire('r');
    await settle();
    expect(await redlock.tryAcquire('r')).to.equal(null);
    const error = await rejection(redlock.acquire('r', { waitMs: 0 }));
    expect([error.code, error.attempts, error.tally]).to.deep.equal(['LOCK_TAKEN', 0, []]);
    expect(error.message).to.include('no master was asked');
    for (const master of masters) expect(sentTo(master)).to.deep.equal(['claim 1']);
    expect(await redlock.tryAcquire('r', { localTurns: 0 })).to.equal(null);
    for (const master of masters) expect(sentTo(master)).to.include('claim 2');
    await holder.release();
    await (await waiter).release();
  });

  it('tryAcquire waits for no other call: it asks the masters; if it gets the lock, others wait for it', async () => {
    const { masters, redlock } = fakeCluster(3, TERMS);
    const [head, tried] = [redlock.acquire('r'), redlock.tryAcquire('r')];
    expect(await tried).to.equal(null);
    for (const master of masters) expect(sentTo(master)).to.include('claim 2');
    await (await head).release();
    const lease = await redlock.tryAcquire('r');
    const next = redlock.acquire('r');
    await settle();
    await lease?.release();
    await (await next).release();
    expect(redlock.stats().counts.localHandOvers).to.equal(1);
  });

  it('a call that was cancelled before it began keeps nobody waiting', async () => {
    const { redlock } = fakeCluster(3, TERMS);
    expect(await rejection(redlock.acquire('r', { signal: AbortSignal.abort() }))).to.include({
      code: 'ABORTED',
    });
    const next = await redlock.acquire('r');
    expect(next.status).to.equal('held');
    await next.release();
  });

  it('one that asks for itself, since it wants no fencing, is not in the way of those that wait for each other', async () => {
    const { redlock, time } = fakeCluster(3, TERMS);
    const holder = await redlock.acquire('r');
    const stranger = redlock.acquire('r', { fencing: false });
    await settle();
    const next = redlock.acquire('r');
    await settle();
    await holder.release();
    await (await next).release();
    expect(redlock.stats().counts.localHandOvers).to.equal(1);
    await time.advance(1_000);
    await (await stranger).release();
  });
});
