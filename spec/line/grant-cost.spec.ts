/** What a contended grant costs the masters, under virtual time: how long a hold lasts decides who looks again. */
import { expect } from 'chai';
import { fakeCluster } from '../support/fake-cluster.js';

const WAIT = { ttlMs: 60_000, waitMs: 600_000 };
/** Turns of each waiter until each knows that the lock is held more often than not. */
const WARM_UP = 10;
const TURNS = 10;
const HOLD_MS = 4;

/** How many requests each grant costs, once all wait. */
async function costOf(nodes: number, waiters: number): Promise<number> {
  const { masters, other, time } = fakeCluster(nodes, {}, { hasPushes: true });
  for (const master of masters) master.latencyMs = 1;
  const counts: number[] = [];
  const lanes = Array.from({ length: waiters }, async (_, i) => {
    const { redlock } = other(`waiter${i}`);
    for (let turn = 0; turn < WARM_UP + TURNS; turn++)
      await redlock.using('r', WAIT, async () => {
        counts.push(masters.reduce((sum, { sent }) => sum + sent.length, 0));
        await new Promise<void>((resolve) => void time.wait(HOLD_MS, resolve));
      });
  });
  let isOver = false;
  void Promise.all(lanes).then(() => (isOver = true));
  while (!isOver) await time.advance(100);
  const [first = 0] = counts.slice(WARM_UP * waiters);
  const last = (WARM_UP + TURNS - 1) * waiters;
  return ((counts[last] ?? 0) - first) / (last - WARM_UP * waiters);
}

describe('what a contended grant costs', () => {
  for (const nodes of [1, 3, 5])
    for (const waiters of [4, 16])
      it(`N=${nodes}, ${waiters} wait: two requests a master`, async () => {
        expect(await costOf(nodes, waiters)).to.be.closeTo(2 * nodes, 0.1 * nodes);
      });
});
