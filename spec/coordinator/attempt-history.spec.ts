/** What an acquisition makes of what its attempts have learned: whom it asks next, how soon, and what its error tells. */
import { expect } from 'chai';
import { FIRST_LIMIT } from '../../lib/coordinator/admission.js';
import { MOST_TRIES, TRY_AFTER_MS } from '../../lib/coordinator/attempt-history.js';
import { contendedLately } from '../support/contended.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { holdBack, kindsSentTo } from '../support/commands.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const EVERY_100_MS = { retry: { minDelayMs: 100, maxDelayMs: 100 } } as const;

const claims = (master: FakeMaster): number => kindsSentTo(master).filter((kind) => kind === 'claim').length;

/** How often each master was asked to vote, from the least to the most often. */
const counts = ({ masters }: Bench): number[] => masters.map(claims).sort((a, b) => a - b);

/** Waits for a lock that all masters refuse, without queueing, and is ended by `close`. */
function waiting(bench: Bench, names: readonly string[] = ['r']): void {
  bench.redlock.acquire(names, { waitMs: Infinity }).catch(() => undefined);
}

describe('what attempts have learned', () => {
  it('N=3: after eight refusals by the home master all are asked, and then the home master again', async () => {
    const bench = fakeCluster(3, EVERY_100_MS);
    for (const master of bench.masters) master.set('r', 'another');
    waiting(bench);
    await bench.time.advance(800);
    expect(counts(bench)).to.deep.equal([1, 1, 9]);
    await bench.time.advance(100);
    expect(counts(bench)).to.deep.equal([2, 2, 10]);
    await bench.time.advance(800);
    expect(counts(bench)).to.deep.equal([2, 2, 18]);
    await bench.redlock.close();
  });

  it('N=3: whether it tries again before it queues is decided by how often this very lock was held', async () => {
    const line = await contendedLately(3);
    await line.time.advance(7_000); // now and then
    const wait = line.redlock.acquire('r');
    const other = await line.other('third').redlock.acquire('s');
    const otherWait = line.redlock.acquire('s');
    await settle();
    expect(line.masters.flatMap(kindsSentTo).filter((kind) => kind === 'queue')).to.have.lengthOf(3); // for s
    await Promise.all([line.lease.release(), other.release()]);
    await line.time.advance(MOST_TRIES * TRY_AFTER_MS.most);
    for (const lease of await Promise.all([wait, otherWait])) await lease.release();
  });

  it('N=3: what is not contended is asked of all masters again', async () => {
    const bench = fakeCluster(3, { ...EVERY_100_MS, nodeTimeoutMs: 50 });
    for (const master of bench.masters) master.manner = 'lose-request';
    waiting(bench);
    await bench.time.advance(320);
    expect(counts(bench)).to.deep.equal([3, 3, 3]);
    const closed = bench.redlock.close();
    await bench.time.advance(1_000);
    await closed;
  });

  it('N=3: a home master that has lost its vote asks for a claim of all, and is asked alone after the next refusal', async () => {
    const bench = fakeCluster(3, { ...EVERY_100_MS, nodeTimeoutMs: 50 });
    for (const master of bench.masters) master.set('r', 'another');
    waiting(bench);
    await bench.time.advance(100);
    const home = bench.masters.find((master) => claims(master) === 2);
    for (const master of bench.masters) master.sent.length = 0;
    if (home !== undefined) home.manner = 'lose-request';
    await bench.time.advance(100 + 50 + 100); // it is silent once, and then all are asked
    const others = bench.masters.filter((master) => master !== home);
    expect(others.map(claims)).to.deep.equal([1, 1]);
    home?.thaw();
    await bench.time.advance(300);
    expect(others.map(claims).sort((a, b) => a - b)).to.not.deep.equal([1, 1]);
    const closed = bench.redlock.close();
    await bench.time.advance(1_000);
    await closed;
  });

  it('N=3: a home master that has other data under the name refuses for nobody: all are asked next', async () => {
    const bench = fakeCluster(3, EVERY_100_MS);
    for (const master of bench.masters) master.set('r', 'another');
    waiting(bench);
    await bench.time.advance(100);
    const home = bench.masters.find((master) => claims(master) === 2);
    home?.setForeign('r');
    await bench.time.advance(200);
    expect(counts(bench)).to.deep.equal([2, 2, 4]);
    await bench.redlock.close();
  });

  it('N=3: of several times left, the shortest is when it is tried again', async () => {
    const bench = fakeCluster(3, { retry: { minDelayMs: 10, maxDelayMs: 60_000 } });
    bench.random.fractionValue = 0.999;
    for (const [i, master] of bench.masters.entries()) master.set('r', 'another', 300 * (i + 1));
    const startMs = bench.time.now();
    let tookMs = -1;
    const acquired = bench.redlock
      .acquire('r', { waitMs: 60_000 })
      .finally(() => (tookMs = bench.time.now() - startMs));
    await bench.time.advance(5_000);
    await (await acquired).release();
    expect(tookMs).to.be.within(600, 700); // two of three are free then
  });

  it('N=3: an earlier refusal is told, and not that there was no room to ask again', async () => {
    const { masters, other, redlock, time } = fakeCluster(3, { ttlMs: 60_000, fair: false });
    await other('holder').redlock.acquire('busy');
    const call = rejection(redlock.acquire('busy', { waitMs: 300 }));
    await settle();
    for (const master of masters) master.manner = 'freeze';
    const crowd = Array.from({ length: FIRST_LIMIT + 50 }, (_, i) =>
      rejection(redlock.acquire(`r${i}`, { waitMs: 0, nodeTimeoutMs: 1_000 })),
    );
    await time.advance(300);
    const { code, tally } = await call;
    expect([code, ...tally.map(({ outcome }) => outcome)]).to.deep.equal([
      'LOCK_TAKEN',
      'refused',
      'refused',
      'refused',
    ]);
    await time.advance(10_000);
    await Promise.all(crowd);
  });

  it('N=3: one that never had room tells so, for each master', async () => {
    const { masters, redlock, time } = fakeCluster(3, { ttlMs: 60_000, nodeTimeoutMs: 1_000 });
    for (const master of masters) master.manner = 'freeze';
    const crowd = Array.from({ length: FIRST_LIMIT }, (_, i) =>
      rejection(redlock.acquire(`r${i}`, { waitMs: 0 })),
    );
    const late = rejection(redlock.acquire('late', { waitMs: 300, nodeTimeoutMs: 200 }));
    await time.advance(300);
    const { code, tally } = await late;
    const causes = tally.map((one) => (one.outcome === 'unknown' ? one.cause.message : one.outcome));
    expect([code, ...causes]).to.deep.equal([
      'NO_QUORUM',
      ...masters.map(() => `not sent: ${FIRST_LIMIT} other attempts were under way`),
    ]);
    await time.advance(10_000);
    await Promise.all(crowd);
  });

  it('N=3: a key of another type among the votes of a holder does not make the pauses shorter', async () => {
    const bench = fakeCluster(3, EVERY_100_MS);
    for (const master of bench.masters.slice(1)) master.set('r', 'another', 60_000);
    bench.masters[0]?.setForeign('r');
    const failed = rejection(bench.redlock.acquire('r', { waitMs: 1_000 }));
    await bench.time.advance(1_000);
    expect((await failed).attempts).to.be.within(10, 12);
  });

  it('N=1, fencing off: a refusal of which it is not known for how long it lasts leaves the pause as it is', async () => {
    const bench = fakeCluster(1, { ...EVERY_100_MS, fencing: false, fair: false, nodeTimeoutMs: 50 });
    const [master] = bench.masters as readonly [FakeMaster];
    master.set('r', 'another', 60_000);
    holdBack(master, 'undo'); // which looks
    waiting(bench);
    await bench.time.advance(149);
    expect(claims(master)).to.equal(1);
    await bench.time.advance(1);
    expect(claims(master)).to.equal(2);
    const closed = bench.redlock.close();
    await bench.time.advance(1_000);
    await closed;
  });

  for (const [holder, fair, minDelayMs, pauseMs, ...others] of [
    ['another library', true, 10, 250],
    ['another library', true, 10, 250, 'q'],
    ['another library', true, 250, 5_000],
    ['another library', true, 250, 5_000, 'q'],
    ['another library', false, 10, 5_000],
    ['this library', true, 10, 5_000],
  ] as const) {
    it(`N=1, a client of ${holder} holds ${others.length > 0 ? 'one of two' : 'it'}, fair ${fair}, pauses from ${minDelayMs} ms: it pauses for up to ${pauseMs} ms`, async () => {
      const retry = { minDelayMs, maxDelayMs: 5_000 };
      const bench = fakeCluster(1, { fair, retry }, { hasPushes: holder === 'another library' });
      bench.random.fractionValue = 0.999_999;
      const token = holder === 'this library' ? tokenFrom('other', '1') : 'a foreign client';
      bench.masters[0]?.set('r', token, 60_000);
      const pauses: number[] = [];
      let beforeMs = bench.time.now();
      for (const master of bench.masters) {
        const call = master.call.bind(master);
        master.call = (command) => {
          pauses.push(bench.time.now() - beforeMs);
          beforeMs = bench.time.now();
          return call(command);
        };
      }
      waiting(bench, [...others, 'r']);
      await bench.time.advance(20_000);
      expect(pauses.length).to.be.greaterThan(3);
      expect(Math.max(...pauses)).to.be.within(pauseMs - 1, pauseMs + 1 + minDelayMs);
      await bench.redlock.close();
    });
  }
});
