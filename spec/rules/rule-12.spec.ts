import { EventEmitter, getEventListeners } from 'node:events';
import { expect } from 'chai';
import { MOST_HELD_MS } from '../../lib/node/pace.js';
import { SILENT_WINDOW, WINDOW } from '../../lib/node/send-window.js';
import type { Redlock } from '../../lib/redlock.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';
import { wide } from '../support/breadth.js';

/** Acquires and releases that many resources, so many at a time. */
async function traffic({ redlock, time }: Bench, count: number, atATime = 50): Promise<void> {
  for (let done = 0; done < count; done += atATime) {
    const leases = await Promise.all(
      Array.from({ length: atATime }, (_, i) => redlock.acquire(`r${done + i}`)),
    );
    await Promise.all(leases.map((lease) => lease.release()));
    await time.advance(10);
  }
}

const listenersOf = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

const acquireMany = (redlock: Redlock, count: number, options = {}) =>
  Promise.all(Array.from({ length: count }, (_, i) => redlock.acquire(`r${i}`, options)));

const MINORITIES = [
  [3, 1],
  [4, 1],
  [5, 2],
] as const;

describe('rule 12: bounded while a minority is silent', () => {
  for (const [nodes, silent] of wide(MINORITIES, MINORITIES.slice(0, 1))) {
    for (const manner of ['freeze', 'lose-reply', 'lose-request'] as const) {
      it(`N=${nodes}, ${silent} with ${manner}: thousands of acquisitions leave a bounded number of commands there`, async () => {
        const bench = fakeCluster(nodes);
        const { masters, time } = bench;
        await traffic(bench, 100);
        for (const master of masters.slice(0, silent)) master.manner = manner;
        await traffic(bench, 3_000);
        const early = masters.map(({ unanswered }) => unanswered);
        await traffic(bench, 3_000);
        // silence is found out after 200 ms; from then on no command more
        expect(masters.map(({ unanswered }) => unanswered)).to.deep.equal(early);
        expect(Math.max(...early)).to.be.at.most(2 * WINDOW + SILENT_WINDOW);
        await time.advance(120_000);
        expect(time.pending).to.equal(0);
      });
    }
  }

  it('N=3, one frozen: all that had reached it is undone as it thaws, and nothing is left there', async () => {
    const bench = fakeCluster(3);
    const [frozen] = bench.masters;
    if (frozen === undefined) throw new Error('there are three');
    frozen.manner = 'freeze';
    await traffic(bench, 2_000);
    frozen.thaw();
    await bench.time.advance(2_000);
    expect(frozen.size).to.equal(0);
    const claims = frozen.run.filter(({ command }) => command.name === 'set').length;
    expect(frozen.run.length).to.be.at.least(2 * claims);
  });

  it(`N=3, one silent: one attempt that waits for it in vain is enough; then ${SILENT_WINDOW} at most`, async () => {
    const bench = fakeCluster(3);
    const [silent, lost] = bench.masters;
    if (silent === undefined || lost === undefined) throw new Error('there are three');
    silent.manner = 'freeze';
    lost.state = 'lost';
    const failed = Array.from({ length: 3 }, (_, i) =>
      rejection(bench.redlock.acquire(`r${i}`, { waitMs: 0, nodeTimeoutMs: 200 })),
    );
    await bench.time.advance(200);
    expect((await Promise.all(failed)).map(({ code }) => code)).to.deep.equal([
      'NO_QUORUM',
      'NO_QUORUM',
      'NO_QUORUM',
    ]);
    lost.state = 'ready';
    await bench.time.advance(MOST_HELD_MS); // their undos were sent to a quorum, which has not answered
    await traffic(bench, 1_000);
    expect(silent.unanswered).to.be.at.most(2 * SILENT_WINDOW);
  });

  it('N=1, silent for 20 minutes: callers fail, and what waits there goes with them', async () => {
    const { redlock, masters, time } = fakeCluster(1, { waitMs: 500 });
    for (const master of masters) master.manner = 'freeze';
    for (let minute = 0; minute < 20; minute++) {
      const failed = Array.from({ length: 100 }, (_, i) => rejection(redlock.acquire(`r${i}`)));
      await time.advance(60_000);
      for (const one of failed) expect((await one).code).to.equal('NO_QUORUM');
    }
    await time.advance(60_000);
    expect(masters[0]?.unanswered).to.be.at.most(2 * 100 + SILENT_WINDOW);
    expect(time.pending).to.equal(0);
    masters[0]?.thaw();
    await time.advance(1_000);
    expect(masters[0]?.size).to.equal(0);
  });

  it('N=3: leases that were held before the freeze and are released in it leave no more than their undos', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const leases = await acquireMany(redlock, 1_000);
    const [frozen] = masters;
    if (frozen === undefined) throw new Error('there are three');
    frozen.manner = 'freeze';
    for (const lease of leases) {
      await lease.release();
      await time.advance(20);
    }
    await time.advance(120_000); // their ttl is over: nothing is owed any more
    frozen.thaw();
    const before = frozen.sent.length;
    await time.advance(10_000);
    expect(frozen.sent.length - before, 'sent for votes that have run out').to.equal(0);
    expect(time.pending).to.equal(0);
  });
});

describe('rule 12: bounded for what is held', () => {
  for (const count of wide([1_000, 10_000], [1_000])) {
    it(`${count} plain leases set no timer, renewed ones share a few, and none is left after release`, async () => {
      for (const [renew, most, timers] of [
        [false, count, 0],
        [true, 2_000, 5],
      ] as const) {
        const { redlock, time, masters } = fakeCluster(1);
        const leases = await acquireMany(redlock, Math.min(count, most), { renew });
        await settle();
        expect(time.pending).to.be.at.most(timers);
        await Promise.all(leases.map((lease) => lease.release()));
        await settle();
        expect([time.pending, masters[0]?.size]).to.deep.equal([0, 0]);
      }
    });
  }

  it('a plain lease sets none after an extension either', async () => {
    const { redlock, time } = fakeCluster(3);
    const lease = await redlock.acquire('r');
    await lease.extend();
    await settle();
    expect(time.pending).to.equal(0);
  });

  it('renewals go on without a second timer', async () => {
    const { redlock, time } = fakeCluster(3);
    await acquireMany(redlock, 100, { renew: true });
    for (let second = 0; second < 60; second++) {
      await time.advance(1_000);
      expect(time.pending).to.be.within(1, 10);
    }
  });

  it('a lease whose signal was read has one timer, renewed or not, and none when it is over', async () => {
    for (const renew of [false, true]) {
      const { redlock, time } = fakeCluster(3);
      const leases = await acquireMany(redlock, 10, { renew });
      for (const lease of leases)
        expect([lease.signal.aborted, lease.signal === lease.signal]).to.deep.equal([false, true]);
      expect(time.pending).to.equal(renew ? 1 : 10); // renewals that fall due together share one
      await leases[0]?.release();
      leases[1]?.giveAway();
      expect(time.pending).to.equal(renew ? 1 : 8);
    }
  });

  it('renewal costs one command per master and third of a ttl, not polling', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    await redlock.acquire('r', { renew: true, ttlMs: 30_000 });
    await time.advance(60 * 60_000);
    for (const { sent } of masters) expect(sent.length).to.be.within(300, 362); // 360 in an hour
  });

  it('leases that ran out without a release are forgotten as new ones come', async () => {
    const { redlock, time, masters } = fakeCluster(1);
    await acquireMany(redlock, 1_000, { ttlMs: 1_000 });
    await time.advance(2_000);
    await acquireMany(redlock, 1_000, { ttlMs: 60_000 });
    await settle();
    const before = masters[0]?.sent.length ?? 0;
    await redlock.close({ releaseHeld: true }); // releases what it still knows of
    expect((masters[0]?.sent.length ?? 0) - before).to.equal(1_000);
  });
});

describe('rule 12: bounded for waiters', () => {
  for (const localTurns of [8, 0])
    it(`100 waits on one signal, localTurns: ${localTurns}: one listener, no warning, and none when they are over`, async () => {
      const { redlock, masters, time } = fakeCluster(3);
      for (const master of masters) master.set('r', 'another', 600_000);
      const controller = new AbortController();
      const warnings: Error[] = [];
      const onWarning = (warning: Error): void => void warnings.push(warning);
      process.on('warning', onWarning);
      const options = { signal: controller.signal, waitMs: 60_000, localTurns };
      const failed = Array.from({ length: 100 }, () => rejection(redlock.acquire('r', options)));
      await time.advance(1_000);
      expect(listenersOf(controller.signal)).to.equal(1);
      controller.abort(new Error('enough'));
      for (const one of failed) expect(await one).to.deep.include({ code: 'ABORTED' });
      await settle();
      process.off('warning', onWarning);
      expect([listenersOf(controller.signal), warnings.length, time.pending]).to.deep.equal([0, 0, 0]);
    });

  it('a signal that outlives its waits keeps no listener, however they ended', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const controller = new AbortController();
    const { signal } = controller;
    for (let i = 0; i < 50; i++) await (await redlock.acquire(`r${i}`, { signal })).release();
    for (const master of masters) master.set('r', 'another', 600_000);
    expect(await redlock.tryAcquire('r', { signal })).to.equal(null);
    const failed = rejection(redlock.acquire('r', { signal, waitMs: 100 }));
    await time.advance(400);
    expect((await failed).code).to.equal('LOCK_TAKEN');
    expect(listenersOf(controller.signal)).to.equal(0);
  });

  it('1,000 calls while clients connect: one listener per client, none when they are ready', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    for (const master of masters) master.state = 'opening';
    const leases = acquireMany(redlock, 1_000);
    await settle();
    expect(masters.map(({ listeners }) => listeners)).to.deep.equal([1, 1, 1]);
    for (const master of masters) master.become('ready');
    await time.advance(10);
    await leases;
    expect(masters.map(({ listeners }) => listeners)).to.deep.equal([0, 0, 0]);
  });

  it('100 calls of ready(): as many listeners as a client takes without a warning', async () => {
    const { redlock, masters } = fakeCluster(3);
    for (const master of masters) master.state = 'opening';
    const ready = Array.from({ length: 100 }, () => redlock.ready());
    await settle();
    expect(Math.max(...masters.map(({ listeners }) => listeners))).to.be.below(
      EventEmitter.defaultMaxListeners,
    );
    for (const master of masters) master.become('ready');
    await Promise.all(ready);
  });
});
