/**
 * G7b: a renewed lease whose holder and waiters live is not lost to failures of minorities that follow each other at more
 * than a renewal period and two seconds. After each failure it regains its vote on every master that is up; the long form
 * of it, with exact times, is `npm run chaos -- --rolling`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { Redlock } from '../../lib/redlock.js';
import { until } from '../support/rejection.js';
import { Distance } from './support/distance.js';
import { RealBench } from './support/real-bench.js';
import { Voting } from './support/voting.js';
import { further, wide } from '../support/breadth.js';

const TTL_MS = 3_000;
/** So many that chance spares not all of them where votes erode. */
const NAMES = Array.from({ length: 8 }, (_, i) => `lock-${i + 1}`);
const RESTARTS = [
  [3, true],
  [5, true],
  [3, false],
] as const;
const LEADER = 'leader';
const JOB = 'job';

describe('a renewed lease that is waited for regains each vote', function () {
  this.timeout(300_000);
  let bench: RealBench;
  let voting: Voting;
  const open = async (nodes: number, persist: boolean): Promise<void> => {
    bench = new RealBench({ ttlMs: TTL_MS });
    voting = new Voting(bench, TTL_MS);
    await bench.open(nodes, { persist });
  };
  const distances: Distance[] = [];
  const instances: Redlock[] = [];
  afterEach(async () => {
    await voting.stop();
    await Promise.all(instances.splice(0).map((redlock) => redlock.close({ releaseHeld: true })));
    for (const distance of distances.splice(0)) distance.close();
    await bench.close();
  });

  /** Two candidates: resolves when one of them leads and the other waits. A leader that is deposed is noted. */
  async function elect(): Promise<Promise<void>[]> {
    let leaders = 0;
    const candidates = [await bench.lock(), await bench.lock()].map((redlock) =>
      redlock.election(LEADER).lead(
        async ({ signal }) => {
          if (++leaders > 1) voting.lost.push('a second one leads');
          await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        },
        { signal: voting.signal },
      ),
    );
    await until(() => leaders > 0);
    return candidates;
  }

  for (const [nodes, persist] of wide(RESTARTS, RESTARTS.slice(2))) {
    const data = persist ? 'with its data, past the ttl' : 'without its data';
    it(`N=${nodes}, three masters restart in turn, ${data}: nobody is deposed, no lease is lost`, async () => {
      await open(nodes, persist);
      const candidates = await elect();
      const leases = await voting.hold(await bench.lock(), NAMES);
      voting.wait(await bench.lock(), NAMES);
      await voting.whole([LEADER, ...NAMES]); // claims that crossed may have split the votes
      for (const i of [0, 1, 2]) {
        await voting.restart(i, persist ? undefined : 0);
        await voting.whole([LEADER, ...NAMES]);
        expect(voting.lost, `after the restart of master ${i + 1}`).to.deep.equal([]);
      }
      expect(leases.map(({ status }) => status)).to.deep.equal(NAMES.map(() => 'held'));
      await voting.stop();
      await Promise.all(candidates);
    });
  }

  further(
    'N=3, one master is frozen past the ttl and comes back, then another: no lease is lost',
    async () => {
      await open(3, false);
      const leases = await voting.hold(await bench.lock(), NAMES);
      voting.wait(await bench.lock(), NAMES);
      await voting.whole(NAMES);
      for (const i of [0, 1, 2]) {
        await voting.freeze(i);
        await voting.whole(NAMES);
        expect(voting.lost, `after master ${i + 1} was frozen`).to.deep.equal([]);
      }
      expect(leases.map(({ status }) => status)).to.deep.equal(NAMES.map(() => 'held'));
    },
  );

  /** An instance whose way to each master takes so long; it is connected to all of them. */
  async function far(roundTripsMs: readonly number[]): Promise<Redlock> {
    const ways = await Promise.all(
      bench.masters.list.map(({ port }, i) => Distance.to(port, roundTripsMs[i] ?? 0)),
    );
    distances.push(...ways);
    const urls = ways.map(({ port }) => `redis://127.0.0.1:${port}`);
    const redlock = Redlock.connect(urls, { ttlMs: TTL_MS, nodeTimeoutMs: 700 });
    instances.push(redlock);
    await redlock.inspect('nothing'); // once all are connected, and not a quorum
    return redlock;
  }

  for (const nodes of wide([3, 5], [3]))
    it(`N=${nodes}, a claim comes late to one master, where a waiter has the vote by then: the holder has it in the end, and one frozen master costs nothing`, async () => {
      await open(nodes, false);
      const [holder, waiter] = [await far([300]), await bench.lock()];
      const leases = await voting.hold(holder, NAMES);
      voting.wait(waiter, NAMES);
      await voting.whole(NAMES);
      await voting.freeze(1);
      expect([voting.lost, leases.map(({ status }) => status)]).to.deep.equal([[], NAMES.map(() => 'held')]);
    });

  it('N=3, three ask at about one instant, each nearest to another master: whoever has a lock has all of its votes', async () => {
    await open(3, false);
    const asking = [await far([0, 20, 40]), await far([40, 0, 20]), await far([20, 40, 0])];
    const { signal } = voting;
    const names = Array.from({ length: 24 }, (_, i) => `lock-${i + 1}`);
    let held = 0;
    const asked = names.flatMap((name, i) =>
      asking.map(async (redlock, who) => {
        await sleep((i * (who + 1) * 7) % 40);
        await voting.keep(redlock.acquire(name, { renew: true, waitMs: Infinity, signal }));
        held++;
      }),
    );
    await until(() => held === names.length);
    await voting.whole(names);
    expect(voting.lost).to.deep.equal([]);
    await voting.stop();
    await Promise.allSettled(asked);
  });

  further(
    'N=3, a job runs for long with two processes in line; one master is frozen and comes back, then another: it runs on',
    async () => {
      await open(3, false);
      const begun: number[] = [];
      const locks = await Promise.all([0, 1, 2].map(() => bench.lock()));
      const jobs = await Promise.all(
        locks.map((redlock, who) =>
          redlock.job(JOB, { every: 500 }, async ({ signal }) => {
            begun.push(who);
            const isOver = AbortSignal.any([signal, voting.signal]);
            await new Promise((resolve) => isOver.addEventListener('abort', resolve, { once: true }));
            if (!voting.signal.aborted) voting.lost.push(String(signal.reason));
          }),
        ),
      );
      await until(() => begun.length > 0);
      await sleep(1_000); // the others are in line by then
      await voting.whole([JOB]);
      for (const i of [0, 1]) {
        await voting.freeze(i);
        await voting.whole([JOB]);
        expect([voting.lost, begun.length], `after master ${i + 1} was frozen`).to.deep.equal([[], 1]);
      }
      await voting.stop();
      await Promise.all(jobs.map((job) => job.stop()));
    },
  );
});
