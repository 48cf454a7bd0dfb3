/** What a contended grant costs the masters, under virtual time: how long a hold lasts decides who looks again. */
import { expect } from 'chai';
import type { Lockable } from '../../lib/locks/lockable.js';
import type { Redlock } from '../../lib/redlock.js';
import { wide } from '../support/breadth.js';
import { fakeCluster } from '../support/fake-cluster.js';

const WAIT = { ttlMs: 60_000, waitMs: 600_000 };
/** Turns of each waiter until each knows that the lock is held more often than not. */
const WARM_UP = 10;
const TURNS = 10;
const HOLD_MS = 4;

const KINDS: readonly {
  readonly kind: string;
  readonly lockOf: (redlock: Redlock) => Lockable;
  readonly requests: (nodes: number) => number;
}[] = [
  {
    kind: 'an exclusive lock',
    lockOf: (redlock) => redlock.mutex('r'),
    requests: (nodes) => 2 * nodes,
  },
  {
    kind: 'a lock to write',
    lockOf: (redlock) => redlock.readWriteLock('r').write,
    requests: (nodes) => 2 * nodes,
  },
];

/** How many requests each grant costs, once all wait. */
async function costOf(
  nodes: number,
  waiters: number,
  lockOf: (redlock: Redlock) => Lockable,
): Promise<number> {
  const { masters, other, time } = fakeCluster(nodes, {}, { hasPushes: true });
  for (const master of masters) master.latencyMs = 1;
  const counts: number[] = [];
  const lanes = Array.from({ length: waiters }, async (_, i) => {
    const lock = lockOf(other(`waiter${i}`).redlock);
    for (let turn = 0; turn < WARM_UP + TURNS; turn++)
      await lock.using(WAIT, async () => {
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
  for (const nodes of wide([1, 3, 5], [3]))
    for (const waiters of [4, 16])
      for (const { kind, lockOf, requests } of KINDS)
        it(`N=${nodes}, ${waiters} wait for ${kind}: ${requests(nodes)} requests`, async () => {
          expect(await costOf(nodes, waiters, lockOf)).to.be.closeTo(requests(nodes), 0.1 * nodes);
        });
});
