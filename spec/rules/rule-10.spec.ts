import { expect } from 'chai';
import type { TransportState } from '../../lib/redis/transport.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const SIZES = [1, 2, 3, 4, 5];
const quorum = (nodes: number): number => Math.floor(nodes / 2) + 1;

describe('rule 10: fast fail without queues', () => {
  for (const nodes of SIZES) {
    const most = nodes - quorum(nodes);

    it(`N=${nodes}, ${most} lost: acquire and release go on, in no time, and nothing is sent to the lost ones`, async () => {
      const { redlock, masters } = fakeCluster(nodes);
      for (const master of masters.slice(0, most)) master.state = 'lost';
      const lease = await redlock.acquire('r');
      await lease.release();
      expect(masters.slice(0, most).flatMap(({ sent }) => sent)).to.deep.equal([]);
    });

    it(`N=${nodes}, ${most + 1} lost: NO_QUORUM at once, naming each`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters.slice(0, most + 1)) master.state = 'lost';
      const error = await rejection(redlock.acquire('r', { waitMs: 0 })); // the clock does not move
      expect(error.code).to.equal('NO_QUORUM');
      const lost = error.tally.flatMap((one) =>
        one.outcome === 'unknown' && one.cause.message === 'not connected' ? [one.node] : [],
      );
      expect(lost).to.deep.equal(masters.slice(0, most + 1).map(({ name }) => name));
      await settle();
      expect(masters.slice(0, most + 1).flatMap(({ sent }) => sent)).to.deep.equal([]);
      expect(time.pending).to.equal(0);
    });

    it(`N=${nodes}, all opening: a call right after construction waits for them and works`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.state = 'opening';
      const lease = redlock.acquire('r');
      await time.advance(150);
      for (const master of masters) master.become('ready');
      await settle();
      expect((await lease).status).to.equal('held');
      expect(masters.map(({ listeners }) => listeners)).to.deep.equal(masters.map(() => 0));
    });

    it(`N=${nodes}, all opening for longer than the node timeout: goes on within waitMs`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.state = 'opening';
      const lease = redlock.acquire('r', { waitMs: 5_000 });
      await time.advance(3_000);
      for (const master of masters) master.become('ready');
      await time.advance(1_000);
      expect((await lease).status).to.equal('held');
      expect(masters.map(({ sent }) => sent.length)).to.deep.equal(masters.map(() => 1));
    });

    it(`N=${nodes}, all opening, then lost: unknown at that moment, not at the node timeout`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.state = 'opening';
      const failed = rejection(redlock.acquire('r', { waitMs: 0 }));
      await time.advance(10);
      for (const master of masters) master.become('lost');
      const error = await failed;
      expect([error.code, error.elapsedMs]).to.deep.equal(['NO_QUORUM', 10]);
    });

    it(`N=${nodes}, all opening and never ready: NO_QUORUM after one node timeout, nothing is sent later`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.state = 'opening';
      const failed = rejection(redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 50 }));
      await time.advance(50);
      expect((await failed).code).to.equal('NO_QUORUM');
      for (const master of masters) master.become('ready');
      await time.advance(60_000);
      expect(masters.flatMap(({ sent }) => sent)).to.deep.equal([]);
    });
  }
});

describe('rule 10: what else is asked of a client that is not ready', () => {
  for (const state of ['lost', 'opening'] as TransportState[]) {
    it(`N=3, all ${state}: an extension fails and the old validity holds`, async () => {
      const { redlock, masters, time } = fakeCluster(3);
      const lease = await redlock.acquire('r', { ttlMs: 1_000, nodeTimeoutMs: 100 });
      const remainingMs = lease.remainingMs();
      for (const master of masters) master.become(state);
      const failed = rejection(lease.extend());
      await time.advance(state === 'lost' ? 0 : 100);
      expect((await failed).code).to.equal('NO_QUORUM');
      expect(lease.remainingMs()).to.equal(remainingMs - (state === 'lost' ? 0 : 100));
    });

    it(`N=3, all ${state}: a release resolves, and the votes go when the masters are back`, async () => {
      const { redlock, masters, time } = fakeCluster(3);
      const lease = await redlock.acquire('r', { nodeTimeoutMs: 200 });
      for (const master of masters) master.become(state);
      const released = lease.release();
      await time.advance(200);
      await released;
      for (const master of masters) master.become('ready');
      await time.advance(2_000);
      expect(masters.map(({ size }) => size)).to.deep.equal([0, 0, 0]);
    });
  }

  it('N=3: a claim in flight when its connection breaks is unknown, and its vote is undone when it is back', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    for (const master of masters) master.manner = 'lose-reply';
    const failed = rejection(redlock.acquire('r', { waitMs: 0 }));
    for (const master of masters) master.cut();
    expect((await failed).code).to.equal('NO_QUORUM');
    expect(masters.map(({ size }) => size)).to.deep.equal([1, 1, 1]);
    for (const master of masters) {
      master.manner = 'answer';
      master.become('ready');
    }
    await time.advance(2_000);
    expect(masters.map(({ size }) => size)).to.deep.equal([0, 0, 0]);
  });

  it('ready() resolves when a quorum is connected, without polling, and leaves no listener', async () => {
    for (const nodes of SIZES) {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.state = 'opening';
      let isReady = false;
      const ready = redlock.ready().then(() => (isReady = true));
      for (const [i, master] of masters.entries()) {
        await settle();
        expect(isReady, `N=${nodes}, ${i} connected`).to.equal(i >= quorum(nodes));
        master.become('ready');
      }
      await ready;
      expect(masters.map(({ listeners }) => listeners)).to.deep.equal(masters.map(() => 0));
      expect(time.pending).to.equal(0);
    }
  });

  it('ready() rejects with CLOSED at close, and leaves no listener', async () => {
    const { redlock, masters } = fakeCluster(3);
    for (const master of masters) master.state = 'lost';
    const failed = rejection(redlock.ready());
    await redlock.close({ releaseHeld: true });
    expect((await failed).code).to.equal('CLOSED');
    expect(masters.map(({ listeners }) => listeners)).to.deep.equal([0, 0, 0]);
  });
});
