import { expect } from 'chai';
import { fakeCluster } from '../support/fake-cluster.js';
import { sentTo } from '../support/commands.js';
import { serverError } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const SIZES = [1, 2, 3, 4, 5];
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;
const TTL = { ttlMs: 1_000, nodeTimeoutMs: 50 } as const;
const VALID_MS = 988;

describe('rule 6: a failed or partial extension never shortens or deletes what was held', () => {
  for (const nodes of SIZES) {
    const quorum = quorumOf(nodes);

    for (const manner of ['freeze', 'lose-reply', 'lose-request'] as const) {
      it(`N=${nodes}, ${quorum} silent (${manner}): NO_QUORUM, the old validity and the votes stay`, async () => {
        const { redlock, masters, time } = fakeCluster(nodes);
        const lease = await redlock.acquire('r', TTL);
        await time.advance(100);
        const before = masters.map((master) => master.ttlMs('r'));
        for (const master of masters.slice(0, quorum)) master.manner = manner;
        const failed = rejection(lease.extend());
        await time.advance(50);
        expect((await failed).code).to.equal('NO_QUORUM');
        expect([lease.status, lease.remainingMs()]).to.deep.equal(['held', VALID_MS - 150]);
        for (const [i, master] of masters.entries()) {
          expect(master.value('r')).to.equal(lease.token);
          expect(master.ttlMs('r')).to.be.at.least((before[i] ?? 0) - 50);
        }
      });
    }

    it(`N=${nodes}, ${quorum} answer with errors: the same, and it can be tried again`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', TTL);
      await time.advance(100);
      for (const master of masters.slice(0, quorum)) master.replies.push(serverError('ERR no'));
      expect((await rejection(lease.extend())).code).to.equal('NO_QUORUM');
      expect(lease.remainingMs()).to.equal(VALID_MS - 100);
      await lease.extend();
      expect(lease.remainingMs()).to.equal(VALID_MS);
    });

    it(`N=${nodes}, set up wrong: MISCONFIGURED, the old validity holds`, async () => {
      const { redlock, masters } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', TTL);
      for (const master of masters.slice(0, quorum)) master.replies.push(serverError('READONLY a replica'));
      expect((await rejection(lease.extend())).code).to.equal('MISCONFIGURED');
      expect([lease.status, lease.remainingMs()]).to.deep.equal(['held', VALID_MS]);
    });

    it(`N=${nodes}: a shorter extension shortens nothing, neither here nor on any master`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', { ttlMs: 10_000 });
      await time.advance(100);
      await lease.extend(500);
      expect(lease.remainingMs()).to.equal(9_898 - 100);
      for (const master of masters) expect(master.ttlMs('r')).to.equal(9_900);
    });

    it(`N=${nodes}: no more than N − q refusals lose nothing, whether the rest agrees or not`, async () => {
      const { redlock, masters } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', TTL);
      for (const master of masters.slice(quorum)) master.set('r', 'another', 60_000);
      await lease.extend();
      for (const master of masters.slice(0, quorum)) master.replies.push(serverError('ERR no'));
      expect((await rejection(lease.extend())).code).to.equal('NO_QUORUM');
      expect(lease.status).to.equal('held');
    });

    it(`N=${nodes}: ${quorum - 1} refusals are nobody's quorum: held, and extended once they are fewer`, async () => {
      const { redlock, masters } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', TTL);
      const refusing = masters.slice(0, quorum - 1);
      for (const master of refusing) master.set('r', 'another', 60_000);
      const isTie = refusing.length > nodes - quorum; // of an even N
      if (isTie) expect((await rejection(lease.extend())).code).to.equal('NO_QUORUM');
      else await lease.extend();
      expect(lease.status).to.equal('held');
      for (const master of refusing) master.forget();
      await lease.extend();
      expect(masters.map((master) => master.value('r'))).to.deep.equal(masters.map(() => lease.token));
    });

    it(`N=${nodes}: refused by a quorum: lost at once, and its other votes are undone`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', TTL);
      const { signal } = lease;
      const refusing = quorum;
      for (const master of masters.slice(0, refusing)) master.set('r', 'another', 60_000);
      const error = await rejection(lease.extend());
      expect(error.code).to.equal('LOCK_LOST');
      expect([lease.status, lease.remainingMs(), signal.aborted]).to.deep.equal(['lost', 0, true]);
      expect(signal.reason).to.equal(error);
      await settle();
      const values = masters.map((_, i) => (i < refusing ? 'another' : undefined));
      expect(masters.map((master) => master.value('r'))).to.deep.equal(values);
      expect(time.pending).to.equal(0);
    });

    it(`N=${nodes}, the keys hold another type by now: lost as well`, async () => {
      const { redlock, masters } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', TTL);
      for (const master of masters) master.setForeign('r');
      expect((await rejection(lease.extend())).code).to.equal('LOCK_LOST');
      expect(lease.status).to.equal('lost');
    });

    it(`N=${nodes}: keys that vanished while it is valid are set again by an extension`, async () => {
      const { redlock, masters } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', TTL);
      for (const master of masters) master.forget();
      await lease.extend();
      expect(masters.map((master) => master.value('r'))).to.deep.equal(masters.map(() => lease.token));
    });

    for (const lateMs of [0, 1, 200]) {
      it(`N=${nodes}: a quorum ${lateMs} ms after the old validity ended is too late: VALIDITY_EXPIRED and lost`, async () => {
        const { redlock, masters, time } = fakeCluster(nodes);
        const lease = await redlock.acquire('r', { ttlMs: 1_000, nodeTimeoutMs: 5_000 });
        await time.advance(900);
        for (const master of masters) master.latencyMs = 88 + lateMs;
        const failed = rejection(lease.extend(5_000));
        await settle();
        time.stall(88 + lateMs); // no timer tells of the end of validity: the replies are there first
        await time.advance(500);
        expect((await failed).code).to.be.oneOf(['VALIDITY_EXPIRED', 'LOCK_LOST']);
        expect([lease.status, lease.remainingMs()]).to.deep.equal(['lost', 0]);
        await time.advance(1_000);
        expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([
          0,
          ...masters.map(() => 0),
        ]);
      });
    }

    it(`N=${nodes}: continuity: an extension that is confirmed after another came and went brings nothing back`, async () => {
      const { redlock, masters, time, other } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', { ttlMs: 1_000, nodeTimeoutMs: 60_000 });
      await time.advance(980);
      for (const master of masters) master.manner = 'freeze';
      const failed = rejection(lease.extend(30_000));
      await settle();
      time.stall(50); // its keys run out; nobody told it
      for (const master of masters) master.manner = 'answer';
      const theirs = await other().redlock.acquire('r');
      await theirs.release();
      for (const master of masters) master.thaw(); // sets the keys again
      await time.advance(0);
      expect((await failed).code).to.be.oneOf(['VALIDITY_EXPIRED', 'LOCK_LOST']);
      expect(lease.status).to.equal('lost');
      await time.advance(1_000);
      expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0));
    });

    it(`N=${nodes}: a lease never comes back from lost or released`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const [lost, released] = [await redlock.acquire('a', TTL), await redlock.acquire('b', TTL)];
      await released.release();
      await time.advance(VALID_MS);
      const sent = masters.map((master) => master.sent.length);
      expect((await rejection(lost.extend())).code).to.equal('LOCK_LOST');
      expect((await rejection(released.extend())).code).to.equal('NOT_HELD');
      await settle();
      expect([lost.status, released.status]).to.deep.equal(['lost', 'released']);
      for (const [i, master] of masters.entries()) {
        const since = sentTo(master).slice(sent[i]);
        expect(since.filter((one) => one.startsWith('extend'))).to.deep.equal([]);
      }
    });
  }
});

describe('rule 6: what an extension leaves behind', () => {
  it('N=3, it reached one frozen master and failed; the lease is released: the thawed master keeps no vote', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', TTL);
    for (const master of masters) master.manner = 'freeze';
    const failed = rejection(lease.extend(60_000));
    await time.advance(50);
    await failed;
    const released = lease.release();
    await time.advance(50);
    await released;
    await time.advance(5_000); // the old keys have run out; the extension would set new ones
    for (const master of masters) master.thaw();
    await time.advance(1_000);
    expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([0, 0, 0, 0]);
  });

  it('N=3, one master never granted: an extension makes its vote good, and the release clears it', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const [away] = masters;
    if (away === undefined) throw new Error('there are three');
    away.become('lost');
    const lease = await redlock.acquire('r', TTL);
    away.become('ready');
    await lease.extend();
    await settle();
    expect(away.value('r')).to.equal(lease.token);
    await lease.release();
    await time.advance(1_000);
    expect(away.size).to.equal(0);
  });
});
