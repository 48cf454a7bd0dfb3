import { expect } from 'chai';
import { counterKey } from '../../lib/protocol/keys.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { kindsSentTo, sentTo } from '../support/commands.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const SIZES = [2, 3, 4, 5];
const RETRY = { retry: { minDelayMs: 100, maxDelayMs: 100 } };

const claims = (master: FakeMaster): number => kindsSentTo(master).filter((kind) => kind === 'claim').length;

/** All masters held by another, and an acquisition that has met it; the second attempt has been made. */
async function contended(nodes: number): Promise<Bench & { home: FakeMaster; others: FakeMaster[] }> {
  const bench = fakeCluster(nodes, { ...RETRY, nodeTimeoutMs: 200 });
  for (const master of bench.masters) master.set('r', 'another');
  bench.redlock.acquire('r', { waitMs: Infinity }).catch(() => undefined);
  await bench.time.advance(100);
  const [home] = bench.masters.filter((master) => claims(master) === 2);
  if (home === undefined) throw new Error('nobody was asked again');
  return { ...bench, home, others: bench.masters.filter((master) => master !== home) };
}

describe('home first', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: the first attempt asks all; after contention only the home master is asked`, async () => {
      const { time, home, others, redlock } = await contended(nodes);
      expect(others.map(claims)).to.deep.equal(others.map(() => 1));
      await time.advance(300);
      expect([claims(home), ...others.map(claims)]).to.deep.equal([5, ...others.map(() => 1)]);
      await redlock.close({ releaseHeld: true });
    });

    it(`N=${nodes}: the others are asked after its yes, and not before`, async () => {
      const { time, home, others, masters, redlock } = await contended(nodes);
      for (const master of masters) {
        master.forget();
        master.latencyMs = 10;
      }
      await time.advance(100);
      expect([claims(home), ...others.map(claims)]).to.deep.equal([3, ...others.map(() => 1)]);
      await time.advance(9);
      expect(others.map(claims)).to.deep.equal(others.map(() => 1));
      await time.advance(1);
      expect([claims(home), ...others.map(claims)]).to.deep.equal([3, ...others.map(() => 2)]);
      await time.advance(10);
      expect(masters.map((master) => master.value('r'))).to.deep.equal(
        masters.map(() => tokenFrom('client', 'secret-3')),
      );
      const closed = redlock.close({ releaseHeld: true });
      await time.advance(300);
      await closed;
    });

    for (const fencing of [true, false])
      it(`N=${nodes}, fencing ${fencing}: validity counts from the claim to the home master`, async () => {
        const bench = fakeCluster(nodes, { ...RETRY, fencing });
        for (const master of bench.masters) {
          master.set('r', 'another', 150);
          master.set(counterKey('r'), '7'); // alike: no second round trip, whichever is asked first
        }
        const acquired = bench.redlock.acquire('r', { ttlMs: 1_000, nodeTimeoutMs: 90 });
        await bench.time.advance(100);
        for (const master of bench.masters) master.latencyMs = 20;
        let remainingMs = NaN;
        void acquired.then((lease) => (remainingMs = lease.remainingMs()));
        for (let ms = 0; ms < 400 && Number.isNaN(remainingMs); ms++) await bench.time.advance(1);
        expect(remainingMs).to.equal(988 - 40);
      });

    it(`N=${nodes}: masters' clocks are not learned then, since the others were asked later: the next first grant takes one round trip`, async () => {
      const { masters, redlock, time } = fakeCluster(nodes, { ...RETRY, nodeTimeoutMs: 200 });
      const tookMs = async (name: string): Promise<number> => {
        const startMs = time.now();
        let endMs = NaN;
        const acquired = redlock.acquire(name).then(() => (endMs = time.now()));
        await time.advance(1_000);
        await acquired;
        return endMs - startMs;
      };
      for (const [i, master] of masters.entries())
        Object.assign(master, { clockAheadUs: 700 * i, latencyMs: 10 });
      await tookMs('first'); // teaches
      for (const master of masters) {
        master.set('r', 'another', 100);
        master.latencyMs = 60;
      }
      await tookMs('r');
      for (const master of masters) master.latencyMs = 10;
      expect(await tookMs('next')).to.equal(10);
    });

    it(`N=${nodes}: a silent home is skipped: all are asked, then another home`, async () => {
      const { time, home, others, redlock } = await contended(nodes);
      home.manner = 'freeze';
      await time.advance(100 + 200); // the third attempt waits for it in vain
      const before = claims(home);
      await time.advance(100); // the fourth asks all
      expect(others.every((master) => claims(master) === 2)).to.equal(true);
      await time.advance(100 + 200);
      const asked = others.filter((master) => claims(master) > 2);
      if (nodes > 2) expect(asked.length).to.equal(1);
      expect(claims(home)).to.be.at.most(before + 2);
      const closed = redlock.close({ releaseHeld: true });
      await time.advance(300);
      await closed;
    });

    it(`N=${nodes}: a home that lost its connection is skipped without a wait`, async () => {
      const { time, home, others, redlock } = await contended(nodes);
      home.cut();
      for (const master of others) master.forget();
      const sent = home.sent.length;
      await time.advance(300);
      const held = others.filter((master) => master.value('r')?.startsWith('client') === true);
      expect(held.length).to.equal(nodes === 2 ? 0 : others.length);
      expect(home.sent.length).to.equal(sent);
      await redlock.close({ releaseHeld: true });
    });

    it(`N=${nodes}: an orphan at the home master does not block for its ttl: now and then all are asked`, async () => {
      const { time, home, others, redlock } = await contended(nodes);
      for (const master of others) master.forget(); // only the home's vote is left, without expiry
      await time.advance(1_500);
      const held = others.filter((master) => master.value('r')?.startsWith('client') === true);
      expect(held.length).to.equal(nodes === 2 ? 0 : others.length); // of two, one is no quorum
      expect(home.value('r')).to.equal('another');
      await redlock.close({ releaseHeld: true });
    });

    it(`N=${nodes}: clients that were given the masters in another order meet at the same home`, async () => {
      const { home } = await contended(nodes);
      const bench = await contended(nodes);
      expect(bench.home.name).to.equal(home.name);
      const homes = new Set<string>();
      for (let i = 0; i < 60; i++) homes.add(await homeOf(`resource ${i}`, nodes));
      expect(homes.size).to.equal(nodes); // and resources are spread over all
    });

    it(`N=${nodes}: the last attempt of a wait asks all`, async () => {
      const bench = fakeCluster(nodes, RETRY);
      for (const master of bench.masters) master.set('r', 'another');
      const failed = rejection(bench.redlock.acquire('r', { waitMs: 350 }));
      await bench.time.advance(400);
      const { attempts } = await failed;
      // the first one and the last one: all; those between: the home master alone
      const counts = bench.masters.map(claims).sort((a, b) => a - b);
      expect(counts).to.deep.equal([...bench.masters.slice(1).map(() => 2), attempts]);
    });

    it(`N=${nodes}: the home grants and too many others refuse: its vote is undone before the next attempt`, async () => {
      const { time, home, others, redlock } = await contended(nodes);
      home.forget();
      await time.advance(100);
      expect(home.value('r')).to.equal(undefined);
      expect(sentTo(home).slice(-2)).to.deep.equal(['claim 3', 'undo 3']);
      expect(others.map((master) => master.value('r'))).to.deep.equal(others.map(() => 'another'));
      await redlock.close({ releaseHeld: true });
    });

    it(`N=${nodes}: all were asked after its yes, and an error tells what they said then`, async () => {
      const bench = fakeCluster(nodes, RETRY);
      for (const master of bench.masters) master.set('r', 'another');
      const controller = new AbortController();
      const failed = rejection(bench.redlock.acquire('r', { signal: controller.signal }));
      await bench.time.advance(100);
      const home = bench.masters.findIndex((master) => claims(master) === 2);
      bench.masters[home]?.forget();
      await bench.time.advance(110);
      controller.abort();
      expect((await failed).tally[home]).to.include({ outcome: 'granted' });
    });

    it(`N=${nodes}, twenty wait for one lock: each gets it, one at a time`, async () => {
      const bench = fakeCluster(nodes);
      for (const master of bench.masters) master.latencyMs = 1;
      let [inside, most, done] = [0, 0, 0];
      for (let i = 0; i < 20; i++) {
        const { redlock, random } = bench.other(`client-${i}`);
        random.fractionValue = ((i * 7919) % 20) / 20;
        void redlock.using('r', { waitMs: Infinity }, async () => {
          most = Math.max(most, ++inside);
          await new Promise<void>((resolve) => bench.time.wait(5, resolve));
          inside--;
          done++;
        });
      }
      for (let s = 0; s < 60 && done < 20; s++) await bench.time.advance(500);
      expect([done, most]).to.deep.equal([20, 1]);
      await bench.time.advance(2_000);
      expect(bench.masters.map(({ size }) => size)).to.deep.equal(bench.masters.map(() => 0));
    });
  }

  it('N=1: there is no home; each attempt asks the one master once', async () => {
    const { redlock, masters, time } = fakeCluster(1, RETRY);
    masters[0]?.set('r', 'another');
    const failed = rejection(redlock.acquire('r', { waitMs: 350 }));
    await time.advance(400);
    const { attempts } = await failed;
    expect(masters.map(claims)).to.deep.equal([attempts]);
  });
});

/** The master that is asked second, by a client that was given them in reverse order. */
async function homeOf(resource: string, nodes: number): Promise<string> {
  const bench = fakeCluster(nodes, RETRY);
  for (const master of bench.masters) master.set(resource, 'another');
  const failed = rejection(bench.redlock.acquire(resource, { waitMs: 250 }));
  await bench.time.advance(100);
  const [home] = bench.masters.filter((master) => claims(master) === 2);
  await bench.time.advance(300);
  await failed;
  await settle();
  return home?.name ?? '';
}
