import { expect } from 'chai';
import { blockEnd } from '../support/fence-blocks.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';

const MANY = 30;

/** Masters whose clocks are apart, at some distance. */
async function distant(nodes: number): Promise<Bench> {
  const bench = fakeCluster(nodes);
  bench.masters.forEach((master: FakeMaster, i) => (master.clockAheadUs = 1_700 * i));
  await settle(); // the clocks are read
  for (const master of bench.masters) master.latencyMs = 10;
  return bench;
}

describe('fencing: many at once, each resource used once', () => {
  for (const nodes of [1, 2, 3, 5]) {
    for (const isBehind of [false, true]) {
      const when = isBehind ? ', while something is unanswered' : '';
      it(`N=${nodes}${when}: one round trip and few calls for all`, async () => {
        const { redlock, masters, time } = await distant(nodes);
        for (const turn of ['first', 'second', 'third']) {
          for (const name of isBehind ? ['a', 'b'] : [])
            void redlock.acquire(`plain-${turn}-${name}`, { fencing: false });
          await time.advance(1);
          const sentBefore = masters.map(({ calls }) => calls);
          const startMs = time.now();
          const times: number[] = [];
          const leases = Array.from({ length: MANY }, async (_, i) => {
            const lease = await redlock.acquire(`${turn}-${i}`, { waitMs: 0, nodeTimeoutMs: 1_000 });
            times.push(time.now() - startMs);
            return lease;
          });
          await time.advance(100);
          for (const lease of await Promise.all(leases)) {
            const counts = masters.map((master) => master.value(`quorate:fence:{${lease.resources.join()}}`));
            const accepted = counts.filter((count) => count === String(blockEnd(lease.fence ?? NaN))).length;
            expect(accepted).to.be.at.least(Math.floor(nodes / 2) + 1);
          }
          // what is unanswered is 1 ms old, and holds them up for another
          expect(new Set(times), turn).to.deep.equal(new Set([isBehind ? 11 : 10]));
          // where nothing is under way the first two go alone, and the others together
          const calls = masters.map((master, i) => master.calls - (sentBefore[i] ?? 0));
          expect(calls).to.deep.equal(masters.map(() => (isBehind ? 1 : 3)));
        }
        const closed = redlock.close({ releaseHeld: true });
        await time.advance(100);
        await closed;
      });
    }
  }
});
