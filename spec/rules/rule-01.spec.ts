import { expect } from 'chai';
import { fakeCluster } from '../support/fake-cluster.js';
import { kindOf, sentTo, tokenOf } from '../support/commands.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const SIZES = [1, 2, 3, 4, 5];

describe('rule 1: a fresh token for each attempt', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}, all held by another: no two attempts claim with one token, no master sees two for one attempt`, async () => {
      const { redlock, masters, time, random } = fakeCluster(nodes);
      for (const master of masters) master.set('r', 'another', 60_000);
      const failed = rejection(redlock.acquire('r', { waitMs: 2_000 }));
      await time.advance(3_000);
      const { attempts } = await failed;
      expect(attempts).to.be.greaterThan(5);
      expect(random.tokens.length).to.equal(attempts);
      for (const master of masters) {
        const claims = master.sent.filter((command) => kindOf(command) === 'claim').map(tokenOf);
        expect(new Set(claims).size).to.equal(claims.length);
      }
    });

    it(`N=${nodes}, all silent: the same, also for several resources`, async () => {
      const { redlock, masters, time, random } = fakeCluster(nodes);
      for (const master of masters) master.manner = 'lose-request';
      const failed = rejection(redlock.acquire(['a', 'b'], { waitMs: 2_000, nodeTimeoutMs: 50 }));
      await time.advance(3_000);
      const { attempts } = await failed;
      expect(attempts).to.be.greaterThan(5);
      expect(new Set(random.tokens).size).to.equal(attempts);
      for (const master of masters) {
        const claims = master.sent.filter((command) => kindOf(command) === 'claim').map(tokenOf);
        expect(new Set(claims).size).to.equal(claims.length);
      }
    });

    it(`N=${nodes}: each undo names the token of its own attempt, and the lease has the last one`, async () => {
      const { redlock, masters, time, random } = fakeCluster(nodes);
      for (const master of masters) master.set('r', 'another', 300);
      const acquired = redlock.acquire('r', { waitMs: 2_000 });
      await time.advance(1_000);
      const lease = await acquired;
      expect(lease.token).to.equal(random.tokens.at(-1));
      for (const master of masters) {
        const undone = master.sent.filter((command) => kindOf(command) === 'undo').map(tokenOf);
        expect(undone).to.not.include(lease.token);
        expect(random.tokens).to.include.members(undone);
      }
    });

    it(`N=${nodes}, replies lost with the connections: a late undo of attempt 1 deletes no vote of attempt 2`, async () => {
      const { redlock, masters, time, other } = fakeCluster(nodes);
      for (const master of masters) master.manner = 'lose-reply';
      const acquired = redlock.acquire('r', { ttlMs: 10_000, nodeTimeoutMs: 500 });
      await settle();
      for (const master of masters) {
        master.cut(); // the vote is there; its undo is owed and comes after the next claim
        master.manner = 'answer';
        master.become('ready');
      }
      await time.advance(5_000);
      const lease = await acquired;
      expect(lease.status).to.equal('held');
      expect(masters.map((master) => master.value('r'))).to.deep.equal(masters.map(() => lease.token));
      expect(await other().redlock.tryAcquire('r')).to.equal(null);
    });
  }

  it('N=3, one master frozen over two attempts: as it thaws, the second attempt has its vote there', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const [frozen] = masters;
    if (frozen === undefined) throw new Error('there are three');
    frozen.manner = 'freeze';
    for (const master of masters.slice(1)) {
      master.set('r', 'another', 100);
      master.latencyMs = 1; // nothing answers in the turn in which it was asked
    }
    const acquired = redlock.acquire('r', { waitMs: 2_000, nodeTimeoutMs: 50 });
    await time.advance(1_000);
    const lease = await acquired;
    frozen.thaw();
    await settle();
    expect(frozen.value('r')).to.equal(lease.token);
    expect(sentTo(frozen)).to.include.members(['claim 1', 'undo 1']);
  });

  it('N=3: a lease given back and acquired again has a token of its own', async () => {
    const { redlock } = fakeCluster(3);
    const tokens = new Set<string>();
    for (let times = 0; times < 10; times++) {
      const lease = await redlock.acquire('r');
      tokens.add(lease.token);
      await lease.release();
    }
    expect(tokens.size).to.equal(10);
  });
});
