import { expect } from 'chai';
import type { Lease } from '../../lib/lease/public.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { kindsSentTo } from '../support/commands.js';
import { serverError } from '../support/fake-master.js';
import { type FakeTime, settle } from '../support/fake-time.js';

const SIZES = [1, 2, 3, 4, 5];
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;
const TTL = { ttlMs: 3_000 } as const;
const VALID_MS = 2_968;
const LOST = ['freeze', 'lose-reply', 'lose-request'] as const;

/** When the signal fires, counted from now; within `withinMs`. */
async function firesAfter(lease: Lease, time: FakeTime, withinMs: number): Promise<number> {
  const startedAtMs = time.now();
  let firedAtMs = NaN;
  lease.signal.addEventListener('abort', () => (firedAtMs = time.now()));
  await time.advance(withinMs);
  return firedAtMs - startedAtMs;
}

describe('rule 7: the holder hears of loss in time', () => {
  for (const nodes of SIZES) {
    const quorum = quorumOf(nodes);

    it(`N=${nodes}, not renewed: the signal fires at the end of validity, no later and no more than 2 ms earlier`, async () => {
      const { redlock, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', TTL);
      const afterMs = await firesAfter(lease, time, 10_000);
      expect(afterMs).to.be.within(VALID_MS - 2, VALID_MS);
      expect(lease.signal.reason).to.have.property('code', 'LOCK_LOST');
      expect([lease.status, time.pending]).to.deep.equal(['lost', 0]);
    });

    for (const manner of LOST) {
      it(`N=${nodes}, renewed, all silent (${manner}): by the end of validity, too`, async () => {
        const { redlock, masters, time } = fakeCluster(nodes);
        const lease = await redlock.acquire('r', { ...TTL, renew: true });
        for (const master of masters) master.manner = manner;
        expect(await firesAfter(lease, time, 10_000)).to.be.within(VALID_MS - 2, VALID_MS);
        expect([lease.status, time.pending]).to.deep.equal(['lost', 0]);
      });

      it(`N=${nodes}, ${nodes - quorum} silent (${manner}): renewal goes on, in its time, for as long as it is held`, async () => {
        const { redlock, masters, time } = fakeCluster(nodes);
        const lease = await redlock.acquire('r', { ...TTL, renew: true });
        for (const master of masters.slice(0, nodes - quorum)) master.manner = manner;
        for (let renewals = 1; renewals <= 20; renewals++) {
          await time.advance(1_000);
          expect(lease.remainingMs()).to.equal(VALID_MS); // at once, not after a node timeout
        }
        expect(lease.signal.aborted).to.equal(false);
      });
    }

    it(`N=${nodes}, all connections lost: by the end of validity`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', { ...TTL, renew: true });
      for (const master of masters) master.cut();
      expect(await firesAfter(lease, time, 10_000)).to.be.within(VALID_MS - 2, VALID_MS);
    });

    it(`N=${nodes}, the keys were taken by another: at the next renewal`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', { ...TTL, renew: true });
      for (const master of masters) master.set('r', 'another', 60_000);
      expect(await firesAfter(lease, time, 10_000)).to.equal(1_000);
      expect([lease.status, time.pending]).to.deep.equal(['lost', 0]);
    });

    it(`N=${nodes}, renewed: an extension is sent when a third of the ttl is over, and again each third`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      await redlock.acquire('r', { ...TTL, renew: true });
      const extensions = (): number[] =>
        masters.map((master) => kindsSentTo(master).filter((kind) => kind === 'extend').length);
      for (let times = 0; times < 5; times++) {
        await time.advance(999);
        expect(extensions()).to.deep.equal(masters.map(() => times));
        await time.advance(1);
        expect(extensions()).to.deep.equal(masters.map(() => times + 1));
      }
    });

    it(`N=${nodes}, a renewal fails: tried again quickly, inside what is left`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', { ...TTL, renew: true });
      await time.advance(999);
      for (const master of masters) master.replies.push(...[1, 2, 3, 4].map(() => serverError('ERR busy')));
      await time.advance(1_300); // more than half of it is left at the first failure
      expect(lease.status).to.equal('held');
      expect(lease.remainingMs()).to.be.greaterThan(VALID_MS - 1_001);
      for (const master of masters) {
        expect(kindsSentTo(master).filter((kind) => kind === 'extend').length).to.be.at.least(5);
      }
    });

    it(`N=${nodes}, all frozen over two renewals and back in time: the lease is held on`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', { ...TTL, renew: true, nodeTimeoutMs: 100 });
      for (const master of masters) master.manner = 'freeze';
      await time.advance(2_500);
      for (const master of masters) master.thaw();
      await time.advance(20_000);
      expect([lease.status, lease.signal.aborted]).to.deep.equal(['held', false]);
    });
  }
});

describe('rule 7: an event loop that was stalled', () => {
  for (const renew of [false, true]) {
    for (const nodes of SIZES) {
      it(`N=${nodes}, ${renew ? '' : 'not '}renewed: status, remainingMs and assertHeld are right before any timer has fired`, async () => {
        const { redlock, time } = fakeCluster(nodes);
        for (const read of ['status', 'remainingMs', 'assertHeld'] as const) {
          const lease = await redlock.acquire(read, { ...TTL, renew });
          time.stall(VALID_MS - 1);
          expect([lease.status, lease.remainingMs()]).to.deep.equal(['held', 1]);
          lease.assertHeld();
          time.stall(7);
          if (read === 'status') expect(lease.status).to.equal('lost');
          if (read === 'remainingMs') expect(lease.remainingMs()).to.equal(0);
          if (read === 'assertHeld')
            expect(() => lease.assertHeld())
              .to.throw()
              .with.property('code', 'LOCK_LOST');
        }
      });

      it(`N=${nodes}, ${renew ? '' : 'not '}renewed: the signal fires in the first timer phase after, without an extension`, async () => {
        const { redlock, masters, time } = fakeCluster(nodes);
        const lease = await redlock.acquire('r', { ...TTL, renew });
        const { signal } = lease;
        time.stall(60_000);
        expect(signal.aborted).to.equal(false); // nothing can fire
        await time.advance(0);
        expect([signal.aborted, time.pending]).to.deep.equal([true, 0]);
        for (const master of masters) expect(kindsSentTo(master)).to.not.include('extend');
      });
    }
  }

  it('N=3: the first look makes the signal fire', async () => {
    const { redlock, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', TTL);
    const { signal } = lease;
    time.stall(VALID_MS);
    expect(lease.status).to.equal('lost');
    expect(signal.aborted).to.equal(true);
  });

  it('N=3: a signal that is first read after the end is aborted already, with the loss as its reason', async () => {
    const { redlock, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', TTL);
    time.stall(VALID_MS);
    expect(lease.signal.aborted).to.equal(true);
    expect(lease.signal.reason).to.have.property('code', 'LOCK_LOST');
    await settle();
    expect(time.pending).to.equal(0);
  });

  it('N=3, paused past its end with an extension under way: the answer that comes then brings nothing back', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ...TTL, renew: true });
    for (const master of masters) master.latencyMs = 5;
    await time.advance(1_001);
    time.stall(60_000);
    await time.advance(10_000);
    expect(lease.status).to.equal('lost');
    expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([0, 0, 0, 0]);
  });
});
