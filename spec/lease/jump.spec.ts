/** Round trips that jump beyond what was measured, and stay there: all masters are up, and carry out every extension. */
import { expect } from 'chai';
import type { Lease } from '../../lib/lease/public.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { rejection } from '../support/rejection.js';
import { wide } from '../support/breadth.js';

const TTL_MS = 4_000;
const SIZES = wide([1, 2, 3, 4, 5], [1, 3]);

/** An instance that knows masters that are 1 ms away. */
async function near(nodes: number): Promise<Bench> {
  const bench = fakeCluster(nodes, { ttlMs: TTL_MS });
  for (const master of bench.masters) master.latencyMs = 1;
  for (let i = 0; i < 10; i++) {
    const lease = bench.redlock.acquire(`warm${i}`);
    await bench.time.advance(20);
    const release = (await lease).release();
    await bench.time.advance(20);
    await release;
  }
  return bench;
}

async function hold({ redlock, time }: Bench, count: number, renew: boolean): Promise<Lease[]> {
  const names = Array.from({ length: count }, (_, i) => `r${i}`);
  const taken = Promise.all(names.map((name) => redlock.acquire(name, { renew })));
  await time.advance(10);
  return await taken;
}

describe('round trips that jump and stay', () => {
  for (const nodes of SIZES) {
    for (const [count, known] of [
      [1, true],
      [1, false],
      [20, true],
      [20, false],
    ] as const) {
      const scripts = known ? '' : ', scripts that masters do not know';
      it(`N=${nodes}: ${count} renewed leases are kept at any round trip up to the node timeout's bound${scripts}`, async () => {
        for (const roundTripMs of [150, 300, 600, 880, 979]) {
          const bench = await near(nodes);
          const leases = await hold(bench, count, true);
          for (const master of bench.masters) {
            master.knowsScripts = known;
            master.latencyMs = roundTripMs;
          }
          for (let i = 0; i < 60; i++) {
            await bench.time.advance(TTL_MS / 10);
            expect(new Set(leases.map(({ status }) => status)), `${roundTripMs} ms`).to.deep.equal(
              new Set(['held']),
            );
          }
        }
      });
    }
  }

  it('an extension that failed for silence is followed by one that waits for as long as any may', async () => {
    const bench = await near(3);
    const [lease] = await hold(bench, 1, false);
    for (const master of bench.masters) master.latencyMs = 950;
    const failed = rejection(lease?.extend() ?? Promise.resolve());
    await bench.time.advance(200);
    expect((await failed).code).to.equal('NO_QUORUM');
    const next = lease?.extend();
    await bench.time.advance(950);
    await next;
  });

  it('after one that succeeded, the node timeout follows the network again', async () => {
    const bench = await near(3);
    const { masters, time } = bench;
    const [lease] = await hold(bench, 1, false);
    const waitedMs = async (): Promise<number> => {
      for (const master of masters) master.manner = 'freeze';
      const begunMs = time.now();
      const failed = rejection(lease?.extend() ?? Promise.resolve());
      let tookMs = 0;
      void failed.then(() => (tookMs = time.now() - begunMs));
      await time.advance(980);
      for (const master of masters) master.thaw();
      await time.advance(20);
      return tookMs;
    };
    expect(await waitedMs()).to.equal(200);
    for (let i = 0; i < 3; i++) {
      const extended = lease?.extend();
      await time.advance(20);
      await extended;
    }
    expect(await waitedMs()).to.equal(200);
    expect(await waitedMs()).to.equal(980);
  });

  it('longer than a renewal period: an extension by hand waits for one renewal, and not for one after another', async () => {
    const bench = await near(3);
    const { masters, redlock, time } = bench;
    const taken = redlock.acquire('r', { ttlMs: 600, renew: true });
    await time.advance(10);
    const lease = await taken;
    await time.advance(50);
    for (const master of masters) master.latencyMs = 230; // and a third of the ttl is 200
    const failed = rejection(lease.extend());
    await time.advance(70);
    await failed;
    const first = lease.extend(1_200); // a renewal falls due meanwhile, and is sent after it
    await time.advance(240);
    await first;
    let isSettled = false;
    const next = lease.extend().catch(() => undefined);
    void next.then(() => (isSettled = true));
    await time.advance(300);
    expect([isSettled, lease.status]).to.deep.equal([true, 'held']);
  });
});
