/** Elections and jobs on real servers, over each client. */
import { expect } from 'chai';
import type { Leader } from '../../lib/election/public.js';
import { valueKey } from '../../lib/protocol/keys.js';
import { Redlock } from '../../lib/redlock.js';
import type { Masters } from '../../scripts/masters.js';
import { PATIENT } from '../support/patience.js';
import { ALL_KINDS, CLIENT_KINDS, eventually, loadScripts, startCluster } from '../support/real.js';
import { wide } from '../support/breadth.js';
import { until } from '../support/rejection.js';
import { RealBench } from './support/real-bench.js';
import { EVERY_KIND } from '../support/unordered.js';

const NEWEST = ALL_KINDS.filter(({ name }) => name.endsWith('6'));

for (const kind of wide(EVERY_KIND, NEWEST)) {
  describe(`elections and jobs on real servers: ${kind.name}`, () => {
    const bench = new RealBench();
    before(() => bench.open(3));
    after(() => bench.close());
    afterEach(() => Promise.all(bench.hands.map((hand) => hand.flushall())));

    it('one leads, the next takes over when it resigns, and a watcher is told by pushes', async () => {
      const [a, b, watcher] = [
        await bench.lock({}, kind),
        await bench.lock({}, kind),
        await bench.lock({}, kind),
      ];
      const seen: (Leader | null)[] = [];
      const controller = new AbortController();
      const watching = (async (): Promise<void> => {
        for await (const leader of watcher.election('e').observe({ signal: controller.signal }))
          seen.push(leader);
      })();
      await eventually(() => seen.length === 1);
      const first = await a.election('e').campaign('a');
      const second = b.election('e').campaign('b');
      await eventually(() => seen.at(-1)?.value === 'a');
      await first.proclaim('a, ready');
      await eventually(() => seen.at(-1)?.value === 'a, ready');
      await first.resign();
      const { fence } = await second;
      await eventually(() => seen.at(-1)?.value === 'b');
      expect(seen.at(-1)).to.deep.equal({ value: 'b', fence, seq: 1 });
      expect(fence).to.be.above(first.fence);
      controller.abort();
      await watching;
      await (await second).resign();
      for (const hand of bench.hands)
        await eventually(async () => (await hand.exists(valueKey('e'), 'e')) === 0);
    });

    it('a leader is named while a master is down, and its value comes back with that master’s vote', async () => {
      // without an order of their own, clients show a loss late or never: a dead master is waited for until the node timeout
      const options = ALL_KINDS.includes(kind) ? {} : { nodeTimeoutMs: 10_000 };
      const redlock = await bench.lock(options, kind);
      await loadScripts(bench.hands);
      const leadership = await redlock.election('e').campaign('a');
      for (const one of bench.hands)
        // else the two that are left may not both have the vote and the value yet
        await eventually(async () => (await one.get(valueKey('e')))?.endsWith('|a') === true);
      const [master, hand] = [bench.masters.list[0], bench.hands[0]];
      await master?.kill();
      expect(await redlock.election('e').leader()).to.include({ value: 'a' });
      await leadership.proclaim('b');
      await master?.restart(); // without its data
      await eventually(async () => {
        await leadership.extend(); // as a renewal does in time, and then the value is written again
        await leadership.proclaim('b');
        return ((await hand?.get(valueKey('e')).catch(() => '')) ?? '').endsWith('|b');
      });
      expect(leadership.status).to.equal('held');
      await leadership.resign();
    });

    it('three instances run each tick once', async () => {
      const ran: number[] = [];
      const jobs = await Promise.all(
        Array.from({ length: 3 }, async () => {
          const redlock = await bench.lock({}, kind);
          return redlock.job('j', { every: 100 }, ({ scheduledAt }) => void ran.push(scheduledAt.getTime()));
        }),
      );
      await until(() => ran.length >= 10);
      await Promise.all(jobs.map((job) => job.stop()));
      expect(new Set(ran).size).to.equal(ran.length);
    });

    it('runOnce: one of many calls succeeds', async () => {
      const locks = await Promise.all(Array.from({ length: 3 }, () => bench.lock({}, kind)));
      const results = await Promise.all(locks.map((redlock) => redlock.runOnce('o', 60_000, () => 'done')));
      expect(results.filter(({ executed }) => executed)).to.have.lengthOf(1);
    });
  });
}

describe('elections and jobs on a Redis Cluster', () => {
  const [kind] = CLIENT_KINDS;
  let masters: Masters;
  const locks: Redlock[] = [];
  const clients: { disconnect(): void }[] = [];
  before(async () => {
    masters = await startCluster(3);
    for (let i = 0; i < 2; i++) {
      const cluster = kind?.openCluster(masters.list[0]?.port ?? 0);
      if (cluster === undefined) throw new Error('there are kinds of client');
      clients.push(cluster);
      locks.push(new Redlock([cluster], PATIENT));
    }
    await Promise.all(locks.map((redlock) => redlock.ready()));
  });
  after(async () => {
    await Promise.all(locks.map((redlock) => redlock.close({ releaseHeld: true })));
    for (const client of clients) client.disconnect();
    await masters.stop();
  });

  it('all of it works, without pushes: watchers ask once a second', async () => {
    const [a, b] = locks as [Redlock, Redlock];
    const leadership = await a.election('e').campaign('a');
    const watching = b.election('e').observe();
    expect((await watching.next()).value).to.include({ value: 'a' });
    const next = watching.next();
    await leadership.proclaim('b');
    expect((await next).value).to.include({ value: 'b' });
    await watching.return?.();
    await leadership.resign();
    expect(await a.runOnce('o', 60_000, () => 1)).to.deep.equal({ executed: true, value: 1 });
    expect(await b.runOnce('o', 60_000, () => 2)).to.deep.equal({ executed: false, reason: 'done' });
    const ran: number[] = [];
    const jobs = await Promise.all(
      locks.map((redlock) =>
        redlock.job('j', { every: 100 }, ({ scheduledAt }) => void ran.push(scheduledAt.getTime())),
      ),
    );
    await until(() => ran.length >= 3);
    await Promise.all(jobs.map((job) => job.stop()));
    expect(new Set(ran).size).to.equal(ran.length);
  });
});
