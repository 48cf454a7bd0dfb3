/** `redlock.stats()`: what is counted, and what it costs the masters: nothing. */
import { expect } from 'chai';
import { fakeCluster } from './support/fake-cluster.js';
import { rejection } from './support/rejection.js';

const NONE = {
  ...{ acquired: 0, localHandOvers: 0, adopted: 0, waited: 0, failed: {} },
  ...{ renewed: 0, renewalsFailed: 0, lost: 0 },
};

describe('redlock.stats', () => {
  it('nothing yet: zeros, and a state for each master that connects none of them', () => {
    const { redlock, masters } = fakeCluster(3);
    masters[1]?.cut();
    const { nodes, ...rest } = redlock.stats();
    expect(rest).to.deep.equal({
      counts: { ...NONE, released: 0, givenAway: 0 },
      ...{ held: 0, calls: 0, waiting: 0, owedUndos: 0 },
    });
    expect(nodes.map(({ node, state }) => `${node} ${state}`)).to.deep.equal([
      ...['m1 ready', 'm2 disconnected', 'm3 ready'],
    ]);
  });

  for (const nodes of [1, 3, 5]) {
    it(`N=${nodes}: counts each thing once, of all kinds of lock, with nobody listening`, async () => {
      const bench = fakeCluster(nodes, { ttlMs: 3_000 });
      const { redlock, time } = bench;
      const lease = await redlock.acquire('a', { renew: true });
      await redlock.using('b', () => undefined);
      await redlock.readWriteLock('c').write.using(() => undefined);
      await redlock.semaphore('d', 2).acquire();
      expect(redlock.stats()).to.include({ held: 2, calls: 0 });
      expect(await redlock.tryAcquire('a')).to.equal(null);
      await time.advance(1_500);
      await lease.extend();
      await lease.release();
      const handed = await redlock.acquire('e');
      await bench.other().redlock.adopt(handed.giveAway());
      const adopted = await redlock.adopt((await bench.other('third').redlock.acquire('f')).giveAway());
      await adopted.release();
      await redlock.acquire('g');
      await time.advance(4_000);
      await redlock.tryAcquire('h'); // as one is taken, others are looked at
      const { counts } = redlock.stats();
      expect(counts).to.deep.include({ acquired: 7, adopted: 1, renewed: 2, released: 4, givenAway: 1 });
      expect(counts.failed).to.deep.equal({ LOCK_TAKEN: 1 });
    });

    it(`N=${nodes}: a loss, and the extensions that failed before it`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes, { ttlMs: 3_000 });
      await redlock.acquire('a', { renew: true });
      for (const master of masters) master.cut();
      await time.advance(4_000);
      const { counts, held, nodes: seen } = redlock.stats();
      expect([counts.lost, held, counts.renewalsFailed > 1]).to.deep.equal([1, 0, true]);
      expect(seen.map(({ state }) => state)).to.deep.equal(masters.map(() => 'disconnected'));
      expect((await rejection(redlock.acquire('b', { waitMs: 0 }))).code).to.equal('NO_QUORUM');
      expect(redlock.stats().counts.failed).to.deep.equal({ NO_QUORUM: 1 });
    });

    it(`N=${nodes}: round trips, calls and requests of each master; silence`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes, { nodeTimeoutMs: 50 });
      for (const master of masters) master.latencyMs = 8;
      await time.advance(100);
      const taken = Promise.all(Array.from({ length: 10 }, (_, i) => redlock.acquire(`r${i}`)));
      await time.advance(100);
      await taken;
      for (const { calls, inFlight, requests, roundTripMs } of redlock.stats().nodes) {
        expect(calls).to.be.within(2, 9); // the first claims alone, the others together
        expect(requests).to.be.at.least(10);
        expect([inFlight, roundTripMs !== undefined && roundTripMs > 0]).to.deep.equal([0, true]);
      }
      for (const master of masters) master.manner = 'freeze';
      const failed = rejection(redlock.acquire('s', { waitMs: 0 }));
      await time.advance(60);
      expect((await failed).code).to.equal('NO_QUORUM');
      const silent = redlock.stats();
      expect(silent.nodes.map(({ state }) => state)).to.deep.equal(masters.map(() => 'silent'));
      expect(silent.nodes.every(({ inFlight }) => inFlight > 0)).to.equal(true);
    });
  }

  for (const nodes of [3, 5]) {
    it(`N=${nodes}: the round trip of a frozen master grows, though nobody waits for it; then it is as before`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.latencyMs = 8;
      const trips = (): readonly (number | undefined)[] =>
        redlock.stats().nodes.map(({ roundTripMs }) => roundTripMs);
      const use = async (name: string): Promise<void> => {
        await time.advance(100);
        const used = redlock.using(name, () => undefined);
        await time.advance(100);
        await used;
      };
      await use('a');
      const [frozen] = masters;
      if (frozen !== undefined) frozen.manner = 'freeze';
      await use('b');
      await time.advance(9_900);
      const [grown = 0, ...others] = trips();
      expect(grown).to.equal(10_000); // since the claim of `b`
      expect(Math.max(...others.map(Number)), 'an average of 0 and 8 ms').to.be.within(1, 8);
      const asked = redlock.health();
      await time.advance(1_000);
      const { nodes: health } = await asked;
      expect(health[0]?.roundTripMs).to.be.at.least(10_000);
      frozen?.thaw();
      await use('c');
      expect(trips()[0]).to.be.within(1, 8);
    });
  }

  it('a client that times commands out by itself: it grows all the same, from the first that it gave up on', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    await redlock.using('a', () => undefined);
    const [frozen] = masters;
    if (frozen !== undefined) frozen.manner = 'freeze';
    await time.advance(100);
    await redlock.using('b', () => undefined);
    frozen?.timeOutByClient();
    await time.advance(5_000);
    expect(redlock.stats().nodes.map(({ roundTripMs }) => roundTripMs)).to.deep.equal([5_000, 0, 0]);
  });

  it('without a connection there is none; with the next one, it is as before', async () => {
    const { redlock, masters, time } = fakeCluster(1);
    for (const master of masters) master.latencyMs = 8;
    await time.advance(100);
    const used = redlock.using('a', () => undefined);
    await time.advance(100);
    await used;
    masters[0]?.cut();
    expect(redlock.stats().nodes[0]?.roundTripMs).to.equal(undefined);
    masters[0]?.become('ready');
    expect(redlock.stats().nodes[0]?.roundTripMs).to.equal(1); // an average of 0 and 8 ms
  });

  it('a copy: what is counted later does not change it', async () => {
    const { redlock, masters } = fakeCluster(1);
    for (const master of masters) master.set('r', 'another', 60_000);
    const before = redlock.stats();
    await redlock.tryAcquire('r');
    expect([before.counts.failed, redlock.stats().counts.failed]).to.deep.equal([{}, { LOCK_TAKEN: 1 }]);
  });

  it('asks no master', () => {
    const { redlock, masters } = fakeCluster(3);
    const before = masters.map(({ looks, sent }) => [looks, sent.length]);
    redlock.stats();
    expect(masters.map(({ looks, sent }) => [looks, sent.length])).to.deep.equal(before);
  });
});
