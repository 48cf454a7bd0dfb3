/**
 * G7b: a renewed lease whose holder and waiters live regains its vote on every master that is up. That it is not lost to
 * failures of minorities that follow each other is a matter of times: `spec/coordinator/regaining.spec.ts` under virtual time,
 * and `npm run chaos -- --rolling` on masters that restart and freeze.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { Redlock } from '../../lib/redlock.js';
import { PATIENT } from '../support/patience.js';
import { until } from '../support/rejection.js';
import { Distance } from './support/distance.js';
import { RealBench } from './support/real-bench.js';
import { Voting } from './support/voting.js';
import { wide } from '../support/breadth.js';

/**
 * A vote that is not regained at once is regained by the next renewal, a third of the ttl later: with that of `PATIENT`, beyond
 * the end of the spec.
 */
const TERMS = { ...PATIENT, ttlMs: 60_000 };

/** So many that chance spares not all of them where votes erode. */
const NAMES = Array.from({ length: 8 }, (_, i) => `lock-${i + 1}`);

describe('a renewed lease that is waited for regains each vote', () => {
  let bench: RealBench;
  let voting: Voting;
  const open = async (nodes: number): Promise<void> => {
    bench = new RealBench(TERMS);
    voting = new Voting(bench);
    await bench.open(nodes);
  };
  const distances: Distance[] = [];
  const instances: Redlock[] = [];
  afterEach(async () => {
    await voting.stop();
    await Promise.all(instances.splice(0).map((redlock) => redlock.close({ releaseHeld: true })));
    for (const distance of distances.splice(0)) distance.close();
    await bench.close();
  });

  /** An instance whose way to each master takes so long; it is connected to all of them. */
  async function far(roundTripsMs: readonly number[]): Promise<Redlock> {
    const ways = await Promise.all(
      bench.masters.list.map(({ port }, i) => Distance.to(port, roundTripsMs[i] ?? 0)),
    );
    distances.push(...ways);
    const urls = ways.map(({ port }) => `redis://127.0.0.1:${port}`);
    const redlock = Redlock.connect(urls, TERMS);
    instances.push(redlock);
    await redlock.inspect('nothing'); // once all are connected, and not a quorum
    return redlock;
  }

  for (const nodes of wide([3, 5], [3]))
    it(`N=${nodes}, a claim comes late to one master, where a waiter has the vote by then: the holder has it in the end`, async () => {
      await open(nodes);
      const [holder, waiter] = [await far([300]), await bench.lock()];
      const leases = await voting.hold(holder, NAMES);
      voting.wait(waiter, NAMES);
      await voting.whole(NAMES);
      expect([voting.lost, leases.map(({ status }) => status)]).to.deep.equal([[], NAMES.map(() => 'held')]);
    });

  it('N=3, three ask at about one instant, each nearest to another master: whoever has a lock has all of its votes', async () => {
    await open(3);
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
});
