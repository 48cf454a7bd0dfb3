import { expect } from 'chai';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { holdBack, sentTo } from '../support/commands.js';
import { type FakeMaster, serverError } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';

const SIZES = [1, 2, 3, 4, 5];
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;
const TTL = { ttlMs: 10_000, nodeTimeoutMs: 50 } as const;

/** Ways for a master not to confirm a release, and the way back. */
const FAILURES: { readonly name: string; happen(master: FakeMaster): void; end(master: FakeMaster): void }[] =
  [
    { name: 'frozen', happen: (one) => (one.manner = 'freeze'), end: (one) => one.thaw() },
    { name: 'requests lost', happen: (one) => (one.manner = 'lose-request'), end: (one) => restore(one) },
    { name: 'connection lost', happen: (one) => one.become('lost'), end: (one) => one.become('ready') },
    { name: 'errors', happen: (one) => one.replies.push(...busy(4)), end: () => undefined },
    { name: 'NOAUTH', happen: (one) => one.replies.push(serverError('NOAUTH')), end: () => undefined },
    { name: 'odd replies', happen: (one) => one.replies.push('QUEUED', null), end: () => undefined },
  ];

function restore(master: FakeMaster): void {
  master.cut();
  master.manner = 'answer';
  master.become('ready');
}

function busy(times: number): Error[] {
  return Array.from({ length: times }, () => serverError('BUSY Redis is busy'));
}

function expectNothingLeft({ masters, time }: Bench): void {
  expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([0, ...masters.map(() => 0)]);
}

describe('rule 8: release', () => {
  for (const nodes of SIZES) {
    const quorum = quorumOf(nodes);

    it(`N=${nodes}: sets the lease aside first: at once, before anything is answered`, async () => {
      const bench = fakeCluster(nodes);
      const { redlock, masters, time } = bench;
      const lease = await redlock.acquire('r', { ...TTL, renew: true });
      const { signal } = lease;
      for (const master of masters) master.latencyMs = 20;
      const released = lease.release();
      expect([lease.status, lease.remainingMs(), signal.aborted]).to.deep.equal(['released', 0, false]);
      expect(() => lease.assertHeld())
        .to.throw()
        .with.property('code', 'NOT_HELD');
      await time.advance(20);
      await released;
      expect(signal.aborted).to.equal(false); // for loss only
      expectNothingLeft(bench);
    });

    it(`N=${nodes}: asks every master, once, with the token`, async () => {
      const { redlock, masters } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', TTL);
      await lease.release();
      await settle();
      for (const master of masters) expect(sentTo(master)).to.deep.equal(['claim 1', 'release 1']);
    });

    it(`N=${nodes}: is idempotent: the second time, and at the same time, nothing is sent`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', TTL);
      for (const master of masters) master.latencyMs = 10;
      const twice = Promise.all([lease.release(), lease.release(), lease[Symbol.asyncDispose]()]);
      await time.advance(10);
      await twice;
      await lease.release();
      for (const master of masters) expect(sentTo(master)).to.deep.equal(['claim 1', 'release 1']);
    });

    it(`N=${nodes}: "already gone" and "another's by now" are done, and the other's vote stays`, async () => {
      const bench = fakeCluster(nodes);
      for (const change of [
        (master: FakeMaster) => master.forget(),
        (master: FakeMaster) => master.set('r', 'another', 500),
        (master: FakeMaster) => master.setForeign('r'),
      ]) {
        const lease = await bench.redlock.acquire('r', { ...TTL, waitMs: 5_000 });
        for (const master of bench.masters) change(master);
        const kept = bench.masters.map((master) => master.value('r'));
        await lease.release();
        expect([lease.status, bench.time.pending]).to.deep.equal(['released', 0]);
        expect(bench.masters.map((master) => master.value('r'))).to.deep.equal(kept);
        for (const master of bench.masters) master.forget();
      }
    });

    it(`N=${nodes}: of a lease that ran out does nothing, and throws nothing`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', TTL);
      time.stall(60_000);
      await lease.release();
      await settle();
      expect(lease.status).to.equal('lost');
      for (const master of masters) expect(sentTo(master)).to.not.include('release 1');
    });

    for (const { name, happen, end } of FAILURES) {
      it(`N=${nodes}, ${nodes - quorum} ${name}: resolves at the quorum, in no time, and the rest is repaired`, async () => {
        const bench = fakeCluster(nodes);
        const { redlock, masters, time } = bench;
        const lease = await redlock.acquire('r', TTL);
        for (const master of masters.slice(0, nodes - quorum)) happen(master);
        await lease.release(); // the clock does not move
        await time.advance(3_000);
        for (const master of masters.slice(0, nodes - quorum)) end(master);
        await time.advance(2_100); // repairs are at most a second apart, and the timer looks once more
        expectNothingLeft(bench);
      });

      it(`N=${nodes}, ${quorum} ${name}: does not throw, takes one node timeout at most, and is repaired`, async () => {
        const bench = fakeCluster(nodes);
        const { redlock, masters, time } = bench;
        const lease = await redlock.acquire('r', TTL);
        for (const master of masters.slice(0, quorum)) happen(master);
        let isDone = false;
        void lease.release().then(() => (isDone = true));
        await time.advance(50);
        expect(isDone).to.equal(true);
        await time.advance(2_000);
        for (const master of masters.slice(0, quorum)) end(master);
        await time.advance(2_000);
        expectNothingLeft(bench);
      });
    }

    it(`N=${nodes}, all gone for good: repairs end when the ttl has passed, and with them every timer`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', { ...TTL, renew: true });
      for (const master of masters) master.become('lost');
      await lease.release();
      await time.advance(9_900);
      expect(time.pending).to.equal(1); // one for all
      await time.advance(1_300);
      expect(time.pending).to.equal(0);
    });

    it(`N=${nodes}: during an extension: the lease stays released, and no vote stays`, async () => {
      const bench = fakeCluster(nodes);
      const { redlock, masters, time } = bench;
      const lease = await redlock.acquire('r', { ttlMs: 10_000, nodeTimeoutMs: 1_000 });
      for (const master of masters) master.latencyMs = 20;
      const extended = lease.extend().catch((error: unknown) => error);
      await time.advance(10);
      const released = lease.release();
      await time.advance(30);
      await released;
      expect(await extended).to.have.property('code', 'NOT_HELD');
      expect(lease.status).to.equal('released');
      for (const master of masters)
        expect(sentTo(master).slice(0, 3)).to.deep.equal(['claim 1', 'extend 1', 'release 1']);
      await time.advance(2_000);
      expectNothingLeft(bench);
    });

    it(`N=${nodes}: a grant that is late comes after the release and is undone again`, async () => {
      const bench = fakeCluster(nodes);
      const { redlock, masters, time } = bench;
      for (const master of masters.slice(quorum)) master.manner = 'freeze';
      const lease = await redlock.acquire('r', TTL);
      const released = lease.release();
      await time.advance(50);
      await released;
      for (const master of masters.slice(quorum)) master.thaw();
      await time.advance(1_100);
      expectNothingLeft(bench);
    });
  }

  for (const nodes of [3, 4, 5]) {
    const slow = nodes - quorumOf(nodes);
    for (const kind of ['claim', 'extend'] as const) {
      for (const way of ['on a cluster', 'sent again by the client after a reconnect']) {
        it(`N=${nodes}, the ${kind} to ${slow} runs past the release, ${way}: its late vote is undone again`, async () => {
          const bench = fakeCluster(nodes);
          const { redlock, masters, time } = bench;
          for (const master of masters) master.isCluster = way === 'on a cluster';
          const late = masters.slice(quorumOf(nodes));
          const runLate = late.map((master) => holdBack(master, kind));
          const lease = await redlock.acquire('r', TTL);
          await lease.extend();
          await settle();
          if (way !== 'on a cluster') for (const master of late) master.state = 'lost';
          await lease.release();
          for (const master of late) master.become('ready');
          await time.advance(2_000);
          for (const master of late) expect(master.size).to.equal(0); // the release or its repair was answered
          for (const run of runLate) run();
          expect(late.map((master) => master.value('r'))).to.deep.equal(late.map(() => lease.token));
          await time.advance(1_100);
          expectNothingLeft(bench);
        });
      }
    }
  }

  it('N=3: what of an extension was not sent yet is not sent after the release', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', TTL);
    for (const master of masters) master.become('opening');
    const extended = lease.extend().catch((error: unknown) => error);
    await settle();
    const released = lease.release();
    for (const master of masters) master.become('ready');
    await time.advance(100);
    await released;
    expect(await extended).to.have.property('code', 'NOT_HELD');
    for (const master of masters) expect(sentTo(master)).to.deep.equal(['claim 1', 'release 1']);
  });

  it('N=3: the timer of the repairs ends with the last one that is confirmed, not a second later', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', TTL);
    for (const master of masters) master.become('lost');
    await lease.release();
    await time.advance(3_000);
    for (const master of masters) master.become('ready');
    for (let ms = 0; ms < 1_100 && masters.some(({ size }) => size > 0); ms++) await time.advance(1);
    expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([0, 0, 0, 0]);
  });

  it('N=3: nothing that release leaves behind keeps the process alive', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', TTL);
    for (const master of masters) master.become('lost');
    const kinds: string[] = [];
    const wait = time.wait.bind(time);
    time.wait = (ms, callback) => (kinds.push('wait'), wait(ms, callback));
    await lease.release();
    await time.advance(1_000);
    expect([kinds.length, time.pending]).to.deep.equal([0, 1]);
  });
});
