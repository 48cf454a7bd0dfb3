/** What an acquisition has learned decides whether it queues next, and what the error of a wait in the queue tells. */
import { expect } from 'chai';
import type { Redlock } from '../../lib/redlock.js';
import { kindsSentTo } from '../support/commands.js';
import { all, contendedLately, held, LONG } from '../support/contended.js';
import { fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const writing = ({ redlock }: { readonly redlock: Redlock }) => redlock.readWriteLock('r').write;

const claims = ({ sent }: FakeMaster): number => sent.filter(({ kind }) => kind === 'rw-claim').length;

describe('what attempts have learned, and the line', () => {
  for (const [what, options] of [
    ['a single try', { waitMs: 0 }],
    ['fair false', { fair: false, waitMs: 100 }],
  ] as const) {
    it(`N=3, ${what}: it does not queue, also for a lock that was contended just now`, async () => {
      const line = await contendedLately(3);
      const failed = rejection(line.redlock.acquire('r', options));
      await line.time.advance(options.waitMs);
      const { attempts } = await failed;
      expect(attempts === 1).to.equal(options.waitMs === 0);
      const kinds = new Set(line.masters.flatMap(line.kinds));
      expect([kinds.has('claim'), kinds.has('queue')]).to.deep.equal([true, false]);
    });
  }

  for (const [what, first] of [
    ['was refused', 'queue'],
    ['found no quorum', 'claim'],
  ] as const) {
    it(`N=3: after a single try that ${what}, the next acquisition begins with a ${first}`, async () => {
      const line = await contendedLately(3);
      await line.time.advance(1_000); // its share is 0.48 by now; push connections are open
      if (first === 'claim') for (const master of line.masters) master.manner = 'lose-request';
      const failed = rejection(line.redlock.acquire('r', { waitMs: 0 }));
      await line.time.advance(LONG.nodeTimeoutMs);
      await failed;
      for (const master of line.masters) master.thaw();
      await line.time.advance(10);
      for (const master of line.masters) master.sent.length = 0;
      const closing = line.redlock.acquire('r').catch(() => undefined);
      await settle();
      expect(line.masters.map((master) => line.kinds(master)[0])).to.deep.equal(all(line, first));
      await Promise.all([line.redlock.close({ releaseHeld: true }), closing, line.time.advance(1_000)]);
    });
  }

  it('N=3, push connections are lost while it queues: the next attempt asks all masters', async () => {
    const line = await held(3, { ...LONG, retry: { minDelayMs: 50, maxDelayMs: 50 } });
    const failed = rejection(line.redlock.acquire('r', { waitMs: 300 }));
    await settle();
    expect(line.masters.map(line.kinds)).to.deep.equal(all(line, ['claim', 'queue']));
    for (const master of line.masters) master.opensLines = false;
    for (const master of line.masters) master.connection.lose('NOPERM no channels', true);
    await line.time.advance(50);
    const kinds = line.masters.map((master) => line.kinds(master).filter((kind) => kind !== 'undo'));
    expect(kinds).to.deep.equal(all(line, ['claim', 'queue', 'claim']));
    await line.time.advance(250);
    await failed;
  });

  it('N=3: a lock that several may hold is not tried again before it is queued for, though it is held now and then', async () => {
    const line = fakeCluster(3, LONG, { hasPushes: true });
    const [own, theirs] = [line.redlock, line.other().redlock].map((one) => one.semaphore('r', 1));
    const [m1] = line.masters as readonly [FakeMaster, FakeMaster, FakeMaster];
    for (const isFirst of [true, false]) {
      const held = await theirs?.acquire();
      m1.sent.length = 0;
      const wait = own?.acquire();
      await settle();
      const kinds = kindsSentTo(m1);
      if (!isFirst) expect(kinds.slice(0, 2)).to.deep.equal(['permit-claim', 'queue']);
      await held?.release();
      await line.time.advance(100);
      await (await wait)?.release();
      await line.time.advance(100);
    }
  });

  for (const names of [['r'], ['q', 'r']])
    it(`N=3: a foreign client holds ${names.length === 1 ? 'it' : 'one of two'}: no place is taken, and it is looked at every 250 ms at least`, async () => {
      const line = fakeCluster(
        3,
        { ...LONG, retry: { minDelayMs: 2, maxDelayMs: 60_000 } },
        { hasPushes: true },
      );
      for (const master of line.masters) master.set('r', 'a foreign client', 60_000);
      const wait = line.redlock.acquire(names);
      await line.time.advance(5_000);
      for (const master of line.masters) master.forget();
      await line.time.advance(252);
      expect(line.masters.map((master) => master.value('r'))).to.deep.equal(
        all(line, line.random.tokens.at(-1)),
      );
      expect(line.masters.flatMap(kindsSentTo)).to.not.include('queue');
      await (await wait).release();
    });

  it('N=3: a foreign client holds one of two, it is not known which: each of them is queued for as before', async () => {
    const line = fakeCluster(3, LONG, { hasPushes: true });
    for (const master of line.masters) master.set('r', 'a foreign client', 60_000);
    await rejection(line.redlock.acquire(['q', 'r'], { waitMs: 0 }));
    const holder = await line.other().redlock.acquire('q');
    const wait = line.redlock.acquire('q');
    await line.time.advance(50);
    expect(line.masters.flatMap(kindsSentTo)).to.include('queue');
    await holder.release();
    await (await wait).release();
  });

  it('N=3: a client of another library takes it while it is queued for: it is not queued for any more', async () => {
    const line = await held(3);
    const failed = rejection(line.redlock.acquire('r'));
    await line.time.advance(100);
    for (const master of line.masters) {
      master.set('r', 'a foreign client', 600_000);
      master.sent.length = 0;
    }
    await line.time.advance(59_900);
    await failed;
    for (const master of line.masters) {
      const kinds = line.kinds(master);
      expect(kinds.filter((kind) => kind === 'queue').length).to.be.below(3);
    }
    expect(line.masters.flatMap(line.kinds).filter((kind) => kind === 'claim').length).to.be.above(200);
  });

  it('N=3: an error tells what holds the lock, and not how it stands in the queue for it', async () => {
    const bench = fakeCluster(3, { ttlMs: 60_000, waitMs: 60_000 }, { hasPushes: true });
    await writing(bench.other()).acquire();
    const controller = new AbortController();
    const failed = rejection(writing(bench).acquire({ signal: controller.signal }));
    await bench.time.advance(100);
    controller.abort();
    expect((await failed).tally.map(({ outcome }) => outcome)).to.deep.equal([
      'refused',
      'refused',
      'pending',
    ]);
  });

  it('N=3: one that queued at once, and did not come to claim, tells how it stood in the queue', async () => {
    const bench = fakeCluster(3, { ttlMs: 60_000, waitMs: 60_000 }, { hasPushes: true });
    await writing(bench.other()).acquire();
    for (let times = 0; times < 6; times++) {
      const refused = rejection(writing(bench).acquire({ waitMs: 100 }));
      await bench.time.advance(100);
      await refused;
    }
    void writing(bench.other('front')).acquire();
    await bench.time.advance(100);
    for (const master of bench.masters) master.sent.length = 0;
    const controller = new AbortController();
    const failed = rejection(writing(bench).acquire({ signal: controller.signal }));
    await bench.time.advance(100);
    controller.abort();
    expect((await failed).tally.map(({ outcome }) => outcome)).to.deep.equal([
      'refused',
      'refused',
      'refused',
    ]);
    expect(bench.masters.map(claims)).to.deep.equal([0, 0, 0]);
  });

  it('N=3, fair false: one that could queue is not to, and masters watch for it instead', async () => {
    const options = { fair: false, retry: { minDelayMs: 100, maxDelayMs: 100 } };
    const bench = fakeCluster(3, options, { hasPushes: true });
    await bench.other().redlock.readWriteLock('r').read.acquire();
    for (const master of bench.masters) master.sent.length = 0;
    const failed = rejection(writing(bench).acquire({ waitMs: 550 }));
    await bench.time.advance(550);
    const { attempts } = await failed;
    expect(bench.masters.map(claims)).to.deep.equal([attempts, attempts, attempts]);
  });
});
