import { expect } from 'chai';
import type { RedlockOptions } from '../../lib/input/options.js';
import { counterKey } from '../../lib/protocol/keys.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';
import { rejection } from '../support/rejection.js';

const ONCE = { waitMs: 0 } as const;

function cluster(latenciesMs: readonly number[], options: RedlockOptions = {}): Bench {
  const bench = fakeCluster(latenciesMs.length);
  bench.masters.forEach((master, i) => (master.latencyMs = latenciesMs[i] ?? 0));
  return { ...bench, ...bench.other('client', options) }; // that reads the clocks from where it is
}

const setLatency = ({ masters }: Bench, latencyMs: number): void => {
  for (const master of masters) master.latencyMs = latencyMs;
};

/** Locks come and go: enough for the measurements to settle. */
async function traffic({ redlock, time }: Bench, times = 60, forMs = 3_000): Promise<void> {
  for (let i = 0; i < times; i++) {
    const lease = redlock.acquire('traffic', ONCE);
    await time.advance(forMs / 2);
    void (await lease).release();
    await time.advance(forMs / 2);
  }
}

/** How long an attempt waits where no master answers any more. */
async function patience(bench: Bench, options: RedlockOptions = {}): Promise<number> {
  const manners = bench.masters.map(({ manner }) => manner);
  for (const master of bench.masters) master.manner = 'freeze';
  const failed = rejection(bench.redlock.acquire('patience', { ...options, waitMs: 0 }));
  await bench.time.advance(5_000);
  const { elapsedMs, tally } = await failed;
  const causes = new Set(tally.map((one) => (one.outcome === 'unknown' ? one.cause.message : '')));
  for (const cause of causes)
    expect(cause).to.match(new RegExp(`^(no reply|not sent) within ${elapsedMs} ms$`));
  bench.masters.forEach((master, i) => manners[i] === 'answer' && master.thaw());
  await bench.time.advance(5_000);
  return elapsedMs;
}

/** Counters that differ: a quorum accepts no token before the second round trip. */
function diverge(masters: readonly FakeMaster[], resource: string): void {
  for (const [i, master] of masters.entries())
    master.set(counterKey(resource), String(master.micros() + (10 + i) * 1_000_000), 60_000);
}

describe('the node timeout follows the network', () => {
  for (const [latenciesMs, timeoutMs] of [
    [[5], 200],
    [[120], 242],
    [[5, 120, 700], 242],
    [[120, 5, 120], 242],
    [[150, 5, 150, 120], 302],
    [[5, 600, 120, 130, 150], 262],
    [[300, 300, 300], 602],
    [[600, 5, 600], 980],
  ] as const) {
    it(`N=${latenciesMs.length}, round trips of ${latenciesMs.join(', ')} ms: ${timeoutMs} ms, in the error as well`, async () => {
      const bench = cluster(latenciesMs);
      await traffic(bench);
      expect(await patience(bench)).to.equal(timeoutMs);
    });
  }

  it('N=3, one silent from the beginning: it counts for nothing', async () => {
    const bench = cluster([120, 120, 120]);
    const [silent] = bench.masters;
    if (silent !== undefined) silent.manner = 'lose-request';
    await traffic(bench);
    expect(await patience(bench)).to.equal(242);
  });

  it('N=3, the fast one loses its connection: it does not speak for the others', async () => {
    const bench = cluster([5, 120, 120]);
    await traffic(bench);
    bench.masters[0]?.cut();
    setLatency(bench, 200);
    const lease = bench.redlock.acquire('r', ONCE);
    await bench.time.advance(200);
    expect((await lease).status).to.equal('held');
  });

  it('before the first measurement, it is the longest: masters 900 ms away grant the first attempt', async () => {
    const bench = cluster([900, 900, 900], { fencing: false }); // whose clocks are not read, either
    const lease = bench.redlock.tryAcquire('r');
    await bench.time.advance(900);
    expect(await lease).to.have.property('status', 'held');
  });

  it('before the first measurement, N=5 with two silent: nobody waits for them', async () => {
    const bench = cluster([5, 5, 5, 5, 5]);
    for (const master of bench.masters.slice(0, 2)) master.manner = 'freeze';
    const startMs = bench.time.now();
    const lease = bench.redlock.acquire('r', ONCE).then(() => bench.time.now() - startMs);
    await bench.time.advance(980);
    expect(await lease).to.be.within(5, 10);
  });

  it('a shorter ttl has a shorter one: a quarter of it at most', async () => {
    const bench = cluster([300, 300, 300]);
    await traffic(bench);
    expect(await patience(bench, { ttlMs: 1_000 })).to.equal(250);
  });

  it('what was set stays, for the instance or a call', async () => {
    const bench = cluster([120, 120, 120], { nodeTimeoutMs: 150 });
    await traffic(bench);
    expect(await patience(bench)).to.equal(150);
    expect(await patience(bench, { nodeTimeoutMs: 90 })).to.equal(90);
    setLatency(bench, 300);
    for (let i = 0; i < 5; i++) {
      const failed = rejection(bench.redlock.acquire('r', ONCE));
      await bench.time.advance(1_000);
      expect((await failed).code).to.equal('NO_QUORUM');
    }
  });

  for (const nodes of [1, 3, 5]) {
    it(`N=${nodes}, at 300 ms with counters that differ: granted in two round trips, once measured and before`, async () => {
      const bench = cluster(Array.from({ length: nodes }, () => 300));
      for (const name of ['first', 'second']) {
        diverge(bench.masters, name);
        const startMs = bench.time.now();
        const tookMs = bench.redlock.acquire(name, ONCE).then(() => bench.time.now() - startMs);
        await bench.time.advance(1_000);
        expect(await tookMs).to.equal(nodes === 1 ? 300 : 600);
        await traffic(bench);
      }
    });
  }

  for (const laterMs of [300, 900]) {
    it(`N=3, from 5 to ${laterMs} ms: the attempts of one call find out, and the next call is granted at once`, async () => {
      const bench = cluster([5, 5, 5]);
      await traffic(bench);
      setLatency(bench, laterMs);
      const lease = bench.redlock.acquire('r', { waitMs: 10_000 });
      await bench.time.advance(10_000);
      expect((await lease).status).to.equal('held');
      const next = bench.redlock.tryAcquire('next');
      await bench.time.advance(laterMs);
      expect(await next).to.have.property('status', 'held');
    });
  }

  it('N=3, all frozen for a minute: after it, one answer is enough to be as patient as before', async () => {
    const bench = cluster([5, 5, 5]);
    await traffic(bench);
    for (const master of bench.masters) master.manner = 'freeze';
    const failed = rejection(bench.redlock.acquire('r', { waitMs: 60_000 }));
    await bench.time.advance(61_000);
    expect((await failed).code).to.equal('NO_QUORUM');
    for (const master of bench.masters) master.thaw();
    await bench.time.advance(5_000);
    await traffic(bench, 1);
    expect(await patience(bench)).to.equal(200);
  });

  it('N=3, our own event loop stalls while answers wait: nothing is learned from that', async () => {
    const bench = cluster([5, 5, 5]);
    await traffic(bench);
    for (let i = 0; i < 5; i++) {
      const lease = bench.redlock.acquire('r', ONCE);
      await bench.time.advance(0);
      bench.time.stall(180);
      await bench.time.advance(100);
      void (await lease).release();
      await bench.time.advance(100);
    }
    expect(await patience(bench)).to.equal(200);
  });

  it('releases, extensions and looks wait as long as an attempt', async () => {
    const bench = cluster([120, 120, 120], { ttlMs: 30_000 });
    await traffic(bench);
    const { redlock, time } = bench;
    const grants = ['a', 'b'].map((name) => redlock.acquire(name, ONCE));
    await time.advance(500);
    const [one, other] = await Promise.all(grants);
    for (const master of bench.masters) master.manner = 'freeze';
    const startMs = time.now();
    const tookMs = (call: Promise<unknown> | undefined): Promise<number> =>
      Promise.resolve(call)
        .catch(() => undefined)
        .then(() => time.now() - startMs);
    const calls = [one?.release(), other?.extend(), redlock.inspect('r')].map(tookMs);
    await time.advance(242);
    expect(await Promise.all(calls)).to.deep.equal([242, 242, 242]);
  });
});

describe('admission, where the node timeout follows the network', () => {
  it('N=3 at 300 ms: more and more attempts are let in, as on masters nearby', async () => {
    const bench = cluster([300, 300, 300], { waitMs: 60_000 });
    await traffic(bench);
    let granted = 0;
    for (let i = 0; i < 1_200; i++) void bench.redlock.acquire(`r${i}`).then(() => granted++);
    await bench.time.advance(1_500);
    expect(granted).to.equal(1_200);
  });
});
