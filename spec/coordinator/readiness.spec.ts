/** `ready` and `health`: whether locks can be had. */
import { expect } from 'chai';
import type { Health } from '../../lib/coordinator/readiness.js';
import type { RedlockOptions } from '../../lib/input/options.js';
import type { ReadyOptions } from '../../lib/input/lifecycle-options.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { serverError } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const SIZES = [1, 2, 3, 4, 5];
const GUARD: RedlockOptions = { restartGuardMs: 5_000, ttlMs: 3_000 };
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;

/** What it says, with what it takes for masters that do not answer. */
async function health(bench: Bench): Promise<Health> {
  const asked = bench.redlock.health();
  await bench.time.advance(2_000);
  return asked;
}

describe('ready', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}, timeoutMs: too few are connected: NO_QUORUM then, with each master's cause`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.cut();
      const failed = rejection(redlock.ready({ timeoutMs: 700 }));
      await time.advance(2_000);
      const { code, elapsedMs, message, tally } = await failed;
      expect([code, elapsedMs, time.pending]).to.deep.equal(['NO_QUORUM', 700, 0]);
      expect(message).to.contain('not ready within 700 ms').and.contain('m1 unknown (not connected');
      expect(tally.map(({ outcome }) => outcome)).to.deep.equal(masters.map(() => 'unknown'));
    });

    it(`N=${nodes}: a quorum that is connected in time`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.cut();
      const ready = redlock.ready({ timeoutMs: 700 }).then(() => time.now());
      await time.advance(500);
      for (const master of masters.slice(0, quorumOf(nodes))) master.become('ready');
      await time.advance(2_000);
      expect([(await ready) - 1_000, time.pending]).to.deep.equal([500, 0]);
    });
  }

  it('says how many masters are connected, and waits for no more than a quorum', async () => {
    for (const nodes of SIZES) {
      const { redlock, masters } = fakeCluster(nodes);
      expect(await redlock.ready()).to.deep.equal({ connected: nodes, of: nodes });
      for (const master of masters.slice(quorumOf(nodes))) master.cut();
      expect(await redlock.ready()).to.deep.equal({ connected: quorumOf(nodes), of: nodes });
    }
  });

  for (const nodes of [2, 3, 4, 5]) {
    /** As many as make a quorum are connected, and the last one after so long. */
    const starting = (): Bench => {
      const bench = fakeCluster(nodes);
      for (const master of bench.masters) master.become('opening');
      for (const master of bench.masters.slice(0, quorumOf(nodes))) master.become('ready');
      return bench;
    };
    const rest = nodes - quorumOf(nodes);

    if (rest > 0)
      it(`N=${nodes}, allWithinMs: as soon as the last is connected, and not later`, async () => {
        const { redlock, masters, time } = starting();
        const listeners = masters.map((master) => master.listeners);
        const ready = redlock.ready({ allWithinMs: 200 }).then((found) => [found, time.now() - 1_000]);
        await time.advance(50);
        for (const master of masters) master.become('ready');
        await time.advance(500);
        expect(await ready).to.deep.equal([{ connected: nodes, of: nodes }, 50]);
        expect([time.pending, masters.map((master) => master.listeners)]).to.deep.equal([0, listeners]);
      });

    it(`N=${nodes}, allWithinMs: it ends with those that there are, counted from the quorum on`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.become('opening');
      const ready = redlock.ready({ allWithinMs: 200 }).then((found) => [found, time.now() - 1_000]);
      await time.advance(300);
      for (const master of masters.slice(0, quorumOf(nodes))) master.become('ready');
      await time.advance(1_000);
      const waitedMs = rest > 0 ? 500 : 300;
      expect(await ready).to.deep.equal([{ connected: quorumOf(nodes), of: nodes }, waitedMs]);
    });

    it(`N=${nodes}, timeoutMs bounds it, and is no error while there is a quorum`, async () => {
      const { redlock, time } = starting();
      const ready = redlock.ready({ allWithinMs: Infinity, timeoutMs: 700 });
      await time.advance(700);
      expect(await ready).to.deep.equal({ connected: quorumOf(nodes), of: nodes });
      expect(time.pending).to.equal(0);
    });
  }

  it('allWithinMs: a signal and close end it, with ABORTED and CLOSED', async () => {
    for (const code of ['ABORTED', 'CLOSED'] as const) {
      const { redlock, masters, time } = fakeCluster(3);
      masters[2]?.become('opening');
      const controller = new AbortController();
      const failed = rejection(redlock.ready({ allWithinMs: 5_000, signal: controller.signal }));
      await time.advance(100);
      if (code === 'ABORTED') controller.abort();
      else void redlock.close();
      await time.advance(1_000);
      expect((await failed).code).to.equal(code);
    }
  });

  it('allWithinMs, with a guard: counted from the end of quarantine', async () => {
    const { redlock, masters, time } = fakeCluster(3, GUARD);
    masters[2]?.become('opening');
    const ready = redlock.ready({ allWithinMs: 300 }).then((found) => [found, time.now() >= 6_300]);
    await time.advance(10_000);
    expect(await ready).to.deep.equal([{ connected: 2, of: 3 }, true]);
  });

  it('signal: ABORTED with its reason, and nothing stays behind', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    for (const master of masters) master.cut();
    const listeners = masters.map((master) => master.listeners);
    const controller = new AbortController();
    const failed = rejection(redlock.ready({ signal: controller.signal, timeoutMs: 5_000 }));
    await time.advance(300);
    controller.abort('no more');
    const { cause, code, elapsedMs } = await failed;
    expect([code, cause, elapsedMs, time.pending]).to.deep.equal(['ABORTED', 'no more', 300, 0]);
    expect(masters.map((master) => master.listeners)).to.deep.equal(listeners);
  });

  it('close: CLOSED, whatever the timeout', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    for (const master of masters) master.cut();
    const failed = rejection(redlock.ready({ timeoutMs: 300 }));
    void redlock.close();
    await time.advance(1_000);
    expect((await failed).code).to.equal('CLOSED');
  });

  it('quarantine outlasts the timeout: QUARANTINED, with the time left', async () => {
    const { redlock, time } = fakeCluster(3, GUARD);
    const failed = rejection(redlock.ready({ timeoutMs: 2_000 }));
    await time.advance(6_000);
    const { code, remainingMs, tally } = await failed;
    expect([code, tally.length]).to.deep.equal(['QUARANTINED', 3]);
    expect(remainingMs).to.be.within(3_000, 5_000);
  });

  it('without options, as long as it takes, and no timer keeps the process alive meanwhile', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    for (const master of masters) master.cut();
    let isReady = false;
    const ready = redlock.ready().then(() => (isReady = true));
    await time.advance(3_600_000);
    expect([isReady, time.pending]).to.deep.equal([false, 0]);
    for (const master of masters) master.become('ready');
    await ready;
  });

  for (const [given, text] of [
    [{ timeoutMs: -1 }, '-1'],
    [{ timeoutMs: 1.5 }, '1.5'],
    [{ timeoutMs: '5' }, '"5"'],
    [{ allWithinMs: -1 }, 'allWithinMs must be'],
    [{ allWithinMs: '5' }, '"5"'],
    [{ signal: {} }, 'signal'],
    [{ waitMs: 5 }, 'waitMs'],
  ] as [ReadyOptions, string][]) {
    it(`${JSON.stringify(given)} is refused, by name and value`, async () => {
      const error = await rejection(fakeCluster(1).redlock.ready(given));
      expect([error.code, error.message.includes(text)]).to.deep.equal(['INVALID_ARGUMENT', true]);
    });
  }
});

for (const nodes of SIZES) {
  describe(`health, N=${nodes}`, () => {
    it('all is well: fit, without a claim or a key', async () => {
      const bench = fakeCluster(nodes);
      const { fit, nodes: seen, problems } = await health(bench);
      expect([fit, problems]).to.deep.equal([true, []]);
      expect(seen).to.deep.equal(
        bench.masters.map(({ name }) => ({
          ...{ node: name, state: 'ready', roundTripMs: 0, clockAheadMs: 0, quarantinedMs: 0 },
          cause: undefined,
        })),
      );
      expect(bench.masters.map(({ sent, size }) => [sent.length, size])).to.deep.equal(
        bench.masters.map(() => [0, 0]),
      );
    });

    it('as many silent, or cut off, as may fail: fit; one more: quorum, within a node timeout', async () => {
      const spare = nodes - quorumOf(nodes);
      for (const [down, fit] of [
        [spare, true],
        [spare + 1, false],
      ] as const) {
        for (const way of ['freeze', 'cut'] as const) {
          const bench = fakeCluster(nodes, { nodeTimeoutMs: 70 });
          for (const master of bench.masters.slice(0, down)) {
            if (way === 'cut') master.cut();
            else master.manner = 'freeze';
          }
          let isDone = false;
          const asked = bench.redlock.health();
          void asked.then(() => (isDone = true));
          await bench.time.advance(70);
          expect(isDone).to.equal(true);
          const { problems, ...said } = await asked;
          expect([said.fit, problems]).to.deep.equal([fit, fit ? [] : ['quorum']]);
          const causes = said.nodes.filter(({ cause }) => cause !== undefined);
          expect(causes.map(({ node }) => node)).to.deep.equal(
            bench.masters.slice(0, down).map(({ name }) => name),
          );
        }
      }
    });
  });
}

describe('health: what else there is', () => {
  it('clocks of a quorum a minute apart: clocks; with fencing off, they do not matter', async () => {
    for (const [fencing, problems] of [
      [true, ['clocks']],
      [false, []],
    ] as const) {
      const bench = fakeCluster(3, { fencing });
      bench.masters.forEach((master, i) => (master.clockAheadUs = i * 61_000_000));
      const { nodes, problems: found } = await health(bench);
      expect(found).to.deep.equal(problems);
      expect(nodes.map(({ clockAheadMs }) => clockAheadMs)).to.deep.equal([-61_000, 0, 61_000]);
    }
  });

  it('the clock of a minority an hour apart: fit, and told', async () => {
    const bench = fakeCluster(3);
    for (const master of bench.masters.slice(2)) master.clockAheadUs = 3_600_000_000;
    const { fit, nodes } = await health(bench);
    expect([fit, nodes[2]?.clockAheadMs]).to.deep.equal([true, 3_600_000]);
  });

  it('a restart guard: quarantine until a quorum votes, with the time of each master', async () => {
    const bench = fakeCluster(3, GUARD);
    const before = await health(bench);
    expect([before.fit, before.problems]).to.deep.equal([false, ['quarantine']]);
    for (const { quarantinedMs } of before.nodes) expect(quarantinedMs).to.be.within(2_500, 5_000);
    await bench.time.advance(5_000);
    const after = await health(bench);
    expect([after.fit, after.problems]).to.deep.equal([true, []]);
    expect(after.nodes.map(({ quarantinedMs }) => quarantinedMs)).to.deep.equal([0, 0, 0]);
  });

  it('no password, or no right: misconfigured; without fencing, the right to read the clock is not needed', async () => {
    for (const [text, fencing, problems] of [
      ['NOAUTH Authentication required.', true, ['misconfigured']],
      ['NOAUTH Authentication required.', false, ['misconfigured']],
      ["NOPERM this user has no permissions to run the 'time' command", true, ['misconfigured']],
      ["NOPERM this user has no permissions to run the 'time' command", false, []],
    ] as const) {
      const bench = fakeCluster(3, { fencing });
      for (const master of bench.masters) master.call = () => Promise.reject(serverError(text));
      expect((await health(bench)).problems).to.deep.equal(problems);
    }
  });

  it('closed: not fit, and says so; it still resolves', async () => {
    const bench = fakeCluster(3);
    await bench.redlock.close();
    const { fit, problems } = await health(bench);
    expect([fit, problems]).to.deep.equal([false, ['closed']]);
  });
});

describe('maxWaiters', () => {
  const taken = ({ masters }: Bench): void => {
    for (const master of masters) master.set('r', 'another', 600_000);
  };

  for (const [title, own, tries] of [
    ['fair: false', { fair: false }, 1],
    ['fair: true, localTurns: 0', { localTurns: 0 }, 1],
    ['fair: true', {}, 0],
  ] as const) {
    const when = tries === 0 ? 'without an attempt' : 'after its first attempt';
    it(`${title}: so many wait; one more is LOCK_TAKEN ${when}, and says why`, async () => {
      const { fair = true } = own as RedlockOptions;
      const bench = fakeCluster(3, { maxWaiters: 2, waitMs: Infinity, ...own }, { hasPushes: fair });
      const holder = await bench.other('holder', { fair }).redlock.acquire('r', { ttlMs: 60_000 });
      const { redlock, time } = bench;
      const waiting = [redlock.acquire('r'), redlock.using('r', () => 'done')];
      await time.advance(300);
      expect(redlock.stats().waiting).to.equal(2);
      const third = rejection(redlock.acquire('r'));
      await time.advance(100);
      const { attempts, code, message, tally } = await third;
      expect([code, attempts]).to.deep.equal(['LOCK_TAKEN', tries]);
      expect(message).to.contain('2 calls of this instance already wait (maxWaiters)');
      const outcomes = tally.map(({ outcome }) => outcome);
      if (tries === 0) expect(outcomes).to.deep.equal([]);
      else expect(outcomes).to.include('refused');
      void holder.release();
      await time.advance(2_000);
      const first = await waiting[0];
      expect(redlock.stats().waiting).to.equal(1);
      void (first as { release(): Promise<void> }).release(); // the lease of `acquire`
      await time.advance(2_000);
      expect(await waiting[1]).to.equal('done');
      expect([redlock.stats().waiting, redlock.stats().calls]).to.deep.equal([0, 0]);
      await redlock.close();
    });
  }

  it('many at once: all get their first attempt, and no more than that wait', async () => {
    const bench = fakeCluster(3, { maxWaiters: 5, fair: false });
    taken(bench);
    const calls = Array.from({ length: 40 }, () => rejection(bench.redlock.acquire('r', { waitMs: 5_000 })));
    await bench.time.advance(100);
    expect(bench.redlock.stats()).to.include({ waiting: 5, calls: 5 });
    await bench.time.advance(6_000);
    for (const { code } of await Promise.all(calls)) expect(code).to.equal('LOCK_TAKEN');
    expect(bench.redlock.stats().waiting).to.equal(0);
  });

  it('0: nobody waits; a lock that is free is granted all the same', async () => {
    const bench = fakeCluster(3, { maxWaiters: 0 });
    taken(bench);
    expect((await rejection(bench.redlock.acquire('r'))).elapsedMs).to.equal(0);
    expect((await bench.redlock.acquire('s')).status).to.equal('held');
  });

  it('who has no time left to wait is no waiter too many', async () => {
    const bench = fakeCluster(3, { maxWaiters: 0 });
    taken(bench);
    for (const master of bench.masters) master.latencyMs = 10;
    const failed = rejection(bench.redlock.acquire('r', { waitMs: 5 }));
    await bench.time.advance(100);
    const { code, message } = await failed;
    expect(code).to.equal('LOCK_TAKEN');
    expect(message).not.to.contain('maxWaiters');
  });

  it('a shared lock has the same bound', async () => {
    const bench = fakeCluster(3, { maxWaiters: 1, waitMs: 60_000 }, { hasPushes: true });
    const semaphore = bench.redlock.semaphore('s', 1);
    const held = await semaphore.acquire({ ttlMs: 60_000 });
    const next = semaphore.acquire();
    await bench.time.advance(200);
    const failed = rejection(semaphore.acquire());
    await bench.time.advance(200);
    expect((await failed).code).to.equal('LOCK_TAKEN');
    void held.release();
    await bench.time.advance(2_000);
    expect((await next).status).to.equal('held');
  });

  it('an outage keeps its own code: what waits for masters counts as well', async () => {
    const bench = fakeCluster(3, { maxWaiters: 0 });
    for (const master of bench.masters) master.cut();
    expect((await rejection(bench.redlock.acquire('r'))).code).to.equal('NO_QUORUM');
  });

  it('an aborted wait makes room', async () => {
    const bench = fakeCluster(3, { maxWaiters: 1 });
    taken(bench);
    const controller = new AbortController();
    const aborted = rejection(bench.redlock.acquire('r', { signal: controller.signal }));
    await settle();
    expect(bench.redlock.stats().waiting).to.equal(1);
    controller.abort();
    expect((await aborted).code).to.equal('ABORTED');
    expect(bench.redlock.stats().waiting).to.equal(0);
  });
});
