import { expect } from 'chai';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const SIZES = [1, 2, 3, 4, 5];

/** N masters that know no script. */
function fresh(nodes: number): Bench {
  const bench = fakeCluster(nodes);
  for (const master of bench.masters) master.knowsScripts = false;
  return bench;
}

describe('rule 11: an unknown script costs a retry inside the node, not the attempt', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: acquire of several resources, extend, release and inspect, in no time`, async () => {
      const { redlock, masters, random } = fresh(nodes);
      const lease = await redlock.acquire(['a', 'b'], { waitMs: 0 });
      expect(random.tokens.length).to.equal(1); // one attempt
      await lease.extend();
      expect((await redlock.inspect('a')).state).to.equal('held');
      await lease.release();
      await settle();
      expect(masters.map(({ size }) => size)).to.deep.equal(masters.map(() => 0));
    });

    it(`N=${nodes}: after a script flush as well, and the whole script is sent once each time`, async () => {
      const { redlock, masters } = fresh(nodes);
      for (let round = 1; round <= 3; round++) {
        for (const resources of [
          ['a', 'b'],
          ['c', 'd'],
        ]) {
          const lease = await redlock.acquire(resources);
          await settle();
          await lease.release();
          await settle();
        }
        const whole = masters.map(({ sent }) => sent.filter(({ command }) => command.name === 'eval').length);
        expect(whole, `round ${round}`).to.deep.equal(masters.map(() => 2 * round)); // the claim's, the release's
        for (const master of masters) {
          master.forget();
          master.knowsScripts = false;
        }
      }
    });

    it(`N=${nodes}: adopt`, async () => {
      const { redlock, masters, other } = fakeCluster(nodes);
      const handle = (await redlock.acquire('r')).giveAway();
      for (const master of masters) master.knowsScripts = false;
      expect((await other().redlock.adopt(handle, { waitMs: 0 })).status).to.equal('held');
    });
  }

  it('N=3: one master that knows them and two that do not agree all the same', async () => {
    const { redlock, masters } = fresh(3);
    const [first] = masters;
    if (first !== undefined) first.knowsScripts = true;
    const lease = await redlock.acquire(['a', 'b'], { waitMs: 0 });
    await lease.release();
    await settle();
    expect(masters.map(({ size }) => size)).to.deep.equal([0, 0, 0]);
  });

  it('a refusal is learned from the second step', async () => {
    const { redlock, masters } = fresh(3);
    for (const master of masters) master.set('a', 'another', 7_000);
    const error = await rejection(redlock.acquire(['a', 'b'], { waitMs: 0 }));
    expect(error.code).to.equal('LOCK_TAKEN');
    expect(error.tally.map((entry) => entry.outcome === 'refused' && entry.remainingMs)).to.include(7_000);
  });
});

describe('rule 11: a reconnect costs no lease and no attempt', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: the connections break and come back between renewals: the lease stays held`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', { ttlMs: 3_000, renew: true });
      for (let second = 0; second < 20; second++) {
        for (const master of masters) master.cut();
        await time.advance(300);
        for (const master of masters) master.become('ready');
        await time.advance(700);
        expect(lease.status).to.equal('held');
      }
    });

    it(`N=${nodes}: they break during each renewal: it is tried again, and the lease stays held`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', { ttlMs: 3_000, renew: true });
      for (let round = 0; round < 10; round++) {
        for (const master of masters) master.manner = 'lose-request';
        await time.advance(1_050); // a renewal is under way
        for (const master of masters) {
          master.cut();
          master.manner = 'answer';
          master.become('ready');
        }
        await time.advance(700);
        expect(lease.status).to.equal('held');
        expect(lease.remainingMs()).to.be.above(2_000);
      }
    });

    it(`N=${nodes}: acquire during a reconnect gets through within waitMs`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.cut();
      const lease = redlock.acquire('r', { waitMs: 2_000 });
      await time.advance(1_000);
      for (const master of masters) master.become('ready');
      await time.advance(300);
      expect((await lease).status).to.equal('held');
    });
  }
});
