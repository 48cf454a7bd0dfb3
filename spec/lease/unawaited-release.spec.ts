import { expect } from 'chai';
import type { Redlock } from '../../lib/redlock.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { kindsSentTo } from '../support/commands.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection, thrown } from '../support/rejection.js';

const TERMS = { ttlMs: 3_000, nodeTimeoutMs: 100 };

const released = (master: FakeMaster): number => kindsSentTo(master).filter((it) => it === 'release').length;

/** Whether it has settled by now. */
async function isOver(promise: Promise<unknown>): Promise<boolean> {
  let over = false;
  void promise.then(() => (over = true));
  await settle();
  return over;
}

describe('a release that is not awaited', () => {
  for (const nodes of [1, 3, 5]) {
    it(`N=${nodes}: resolves once it was written to all masters, before any of them answers`, async () => {
      const { masters, redlock } = fakeCluster(nodes, TERMS);
      const lease = await redlock.acquire('r');
      for (const master of masters) master.manner = 'freeze';
      await lease.release({ await: false });
      expect(lease.status).to.equal('released');
      expect(masters.map(released)).to.deep.equal(masters.map(() => 1));
    });
  }

  it('a second call waits until a quorum has confirmed', async () => {
    const { masters, redlock } = fakeCluster(3, TERMS);
    const lease = await redlock.acquire('r');
    for (const master of masters) master.manner = 'freeze';
    await lease.release({ await: false });
    const confirmed = lease.release();
    expect(await isOver(confirmed)).to.equal(false);
    for (const master of masters.slice(0, 2)) master.thaw();
    expect(await isOver(confirmed)).to.equal(true);
    expect(masters.map(released)).to.deep.equal([1, 1, 1]);
  });

  it('a request that waits on a list is not written yet', async () => {
    const { masters, redlock, time } = fakeCluster(1, TERMS);
    const leases = [await redlock.acquire('a'), await redlock.acquire('b'), await redlock.acquire('c')];
    for (const master of masters) master.manner = 'freeze';
    const written: number[] = [];
    for (const lease of leases)
      void lease.release({ await: false }).then(() => written.push(...masters.map(released)));
    expect(masters.map(released)).to.deep.equal([2]); // two may be in flight
    while (written.length < leases.length) await time.advance(1);
    expect(written).to.deep.equal([2, 2, 3]);
  });

  it('a master that connects only later, or that does not answer, is not waited for', async () => {
    const { masters, redlock, time } = fakeCluster(3, TERMS);
    const lease = await redlock.acquire('r');
    masters[0]?.become('opening');
    if (masters[1] !== undefined) masters[1].manner = 'freeze';
    await lease.release({ await: false });
    expect(masters.map(released)).to.deep.equal([0, 1, 1]);
    masters[0]?.become('ready');
    await time.advance(TERMS.nodeTimeoutMs * 2);
    masters[1]?.thaw();
    await settle();
    expect(masters.map((master) => master.value('r'))).to.deep.equal([undefined, undefined, undefined]);
  });

  it('what was not confirmed is repaired, and close waits for it', async () => {
    const { masters, redlock, time } = fakeCluster(3, TERMS);
    const lease = await redlock.acquire('r');
    for (const master of masters) master.latencyMs = 20;
    masters[2]?.replies.push(new Error('LOADING'));
    await lease.release({ await: false });
    const closing = redlock.close();
    expect(await isOver(closing)).to.equal(false);
    await time.advance(1_000);
    await closing;
    expect(masters.map((master) => master.value('r'))).to.deep.equal([undefined, undefined, undefined]);
  });

  it('the next acquisition comes behind it, on the same connection', async () => {
    const { masters, redlock } = fakeCluster(3, TERMS);
    await (await redlock.acquire('r')).release();
    for (const master of masters) master.sent.length = 0;
    const lease = await redlock.acquire('r');
    for (const master of masters) master.manner = 'freeze';
    await lease.release({ await: false });
    const next = redlock.acquire('r');
    await settle();
    for (const master of masters) master.thaw();
    expect((await next).status).to.equal('held');
    const order = masters.map((master) =>
      kindsSentTo(master).filter((it) => it === 'release' || it === 'claim'),
    );
    expect(order).to.deep.equal(masters.map(() => ['claim', 'release', 'claim']));
  });

  it('a release that hands the lock on to another call of the instance resolves at once', async () => {
    const { masters, redlock } = fakeCluster(3, TERMS);
    const lease = await redlock.acquire('r');
    const next = redlock.acquire('r');
    await settle();
    await lease.release({ await: false });
    expect((await next).status).to.equal('held');
    expect(masters.map(released)).to.deep.equal([0, 0, 0]);
  });

  it('a lease that was lost is released at once, and nothing is sent', async () => {
    const { masters, redlock, time } = fakeCluster(3, TERMS);
    const lease = await redlock.acquire('r');
    time.stall(TERMS.ttlMs);
    await lease.release({ await: false });
    expect(lease.status).to.equal('lost');
    expect(masters.map(released)).to.deep.equal([0, 0, 0]);
  });

  it('listeners hear of it when it is done', async () => {
    const { masters, redlock } = fakeCluster(3, TERMS);
    const heard: number[] = [];
    redlock.on('released', ({ tally }) => heard.push(tally.length));
    const lease = await redlock.acquire('r');
    for (const master of masters) master.manner = 'freeze';
    await lease.release({ await: false });
    expect(heard).to.deep.equal([]);
    for (const master of masters) master.thaw();
    await settle();
    expect(heard).to.deep.equal([3]);
  });

  describe('who says so', () => {
    const ways: Readonly<Record<string, (redlock: Redlock) => Promise<unknown>>> = {
      'using()': (redlock) => redlock.using('r', { awaitRelease: false }, () => 1),
      'mutex().using()': (redlock) => redlock.mutex('r').using({ awaitRelease: false }, () => 1),
      'reentrant using()': (redlock) =>
        redlock.mutex('r', { reentrant: true }).using({ awaitRelease: false }, () => 1),
      'a reentrant entry': async (redlock) => {
        const lease = await redlock.mutex('r', { reentrant: true }).acquire();
        await lease.release({ await: false });
      },
      'read.using()': (redlock) => redlock.readWriteLock('r').read.using({ awaitRelease: false }, () => 1),
      'write.using()': (redlock) => redlock.readWriteLock('r').write.using({ awaitRelease: false }, () => 1),
      'semaphore().using()': (redlock) => redlock.semaphore('r', 3).using({ awaitRelease: false }, () => 1),
    };
    /** The masters answer the acquisition, and nothing after it. */
    const afterwardsSilent = (masters: readonly FakeMaster[], redlock: Redlock): void => {
      redlock.on('acquired', () => masters.forEach((master) => (master.manner = 'freeze')));
    };
    for (const [name, way] of Object.entries(ways)) {
      it(name, async () => {
        const { masters, redlock } = fakeCluster(3, TERMS);
        afterwardsSilent(masters, redlock);
        expect(await isOver(way(redlock))).to.equal(true);
        expect(masters.every(({ unanswered }) => unanswered > 0)).to.equal(true);
      });
    }

    it('the instance; a call says otherwise', async () => {
      const bench = fakeCluster(3, { ...TERMS, awaitRelease: false });
      const { masters, redlock } = bench;
      expect(redlock.options.awaitRelease).to.equal(false);
      afterwardsSilent(masters, redlock);
      expect(await isOver(redlock.using('r', () => 1))).to.equal(true);
      for (const master of masters) master.thaw();
      {
        await using lease = await redlock.acquire('s');
        expect(lease.status).to.equal('held');
      }
      for (const master of masters) master.thaw();
      expect(await isOver(redlock.using('t', { awaitRelease: true }, () => 1))).to.equal(false);
      for (const master of masters) master.thaw();
      const lease = await redlock.acquire('u');
      expect(await isOver(lease.release({ await: true }))).to.equal(false);
    });
  });

  describe('bad options are refused, and the lease stays held', () => {
    const bad: readonly (readonly [unknown, string])[] = [
      [{ await: 1 }, 'await must be true or false; got 1'],
      [{ await: null }, 'await must be true or false; got null'],
      [{ wait: false }, 'wait (false) is not an option here'],
      [false, 'options must be an object; got false'],
    ];
    for (const [options, named] of bad) {
      it(named, async () => {
        const { redlock } = fakeCluster(3, TERMS);
        const lease = await redlock.acquire('r');
        const entry = await redlock.mutex('s', { reentrant: true }).acquire();
        for (const one of [lease, entry]) {
          const error = await rejection(one.release(options as object));
          expect([error.code, error.message.startsWith(named)]).to.deep.equal(['INVALID_ARGUMENT', true]);
          expect(one.status).to.equal('held');
        }
      });
    }

    it('awaitRelease of an instance, and of using', async () => {
      const given = { awaitRelease: 'no' } as unknown as { awaitRelease: boolean };
      expect(thrown(() => fakeCluster(1, given)).message).to.match(
        /^awaitRelease must be true or false; .*no/,
      );
      const { masters, redlock } = fakeCluster(1, TERMS);
      const error = await rejection(redlock.using('r', given, () => 1));
      expect([error.code, masters[0]?.calls]).to.deep.equal(['INVALID_ARGUMENT', 0]);
      const late = await rejection(redlock.mutex('r', { reentrant: true }).using(given, () => 1));
      expect([late.code, masters[0]?.calls]).to.deep.equal(['INVALID_ARGUMENT', 0]);
    });
  });
});
