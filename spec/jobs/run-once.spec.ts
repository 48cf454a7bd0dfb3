/** `runOnce` over masters in memory, under virtual time. */
import { expect } from 'chai';
import { fakeCluster } from '../support/fake-cluster.js';
import { rejection } from '../support/rejection.js';

const TERMS = { ttlMs: 3_000, nodeTimeoutMs: 200 } as const;
const HOUR = 3_600_000;

describe('runOnce', () => {
  it('at most one succeeds in so long, over the fleet', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    let runs = 0;
    const all = Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => bench.other(name).redlock.runOnce('o', HOUR, () => ++runs)),
    );
    await bench.time.advance(2_000);
    const results = await all;
    expect(results.filter(({ executed }) => executed)).to.deep.equal([{ executed: true, value: 1 }]);
    expect(results.filter(({ executed }) => !executed)).to.have.lengthOf(3);
    await bench.time.advance(HOUR - 3_000);
    expect(await bench.redlock.runOnce('o', HOUR, () => ++runs)).to.deep.equal({
      executed: false,
      reason: 'done',
    });
    await bench.time.advance(2_000);
    expect(await bench.redlock.runOnce('o', HOUR, () => ++runs)).to.deep.equal({ executed: true, value: 2 });
  });

  it('one that throws does not count, and those who wait for it try', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const failure = new Error('a bug');
    const first = bench.redlock
      .runOnce('o', HOUR, async () => {
        await new Promise<void>((resolve) => void bench.time.wait(500, resolve));
        throw failure;
      })
      .catch((error: unknown) => error);
    await bench.time.advance(10);
    const second = bench.other('b').redlock.runOnce('o', HOUR, () => 'second');
    await bench.time.advance(1_000);
    expect(await first).to.equal(failure);
    expect(await second).to.deep.equal({ executed: true, value: 'second' });
  });

  it('one that takes longer than forMs keeps its lock', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const first = bench.redlock.runOnce('o', 1_000, async () => {
      await new Promise<void>((resolve) => void bench.time.wait(10_000, resolve));
      return 'first';
    });
    await bench.time.advance(5_000);
    const second = bench.other('b').redlock.runOnce('o', 1_000, () => 'second', { waitMs: 1_000 });
    await bench.time.advance(1_500);
    expect(await second).to.deep.equal({ executed: false, reason: 'running' });
    await bench.time.advance(5_000);
    expect(await first).to.deep.equal({ executed: true, value: 'first' });
  });

  it('is not done where a quorum could not be told: NO_QUORUM, and another may run', async () => {
    const bench = fakeCluster(3, TERMS);
    const failing = rejection(
      bench.redlock.runOnce('o', HOUR, () => {
        for (const master of bench.masters.slice(1)) master.become('lost');
      }),
    );
    await bench.time.advance(5_000);
    expect((await failing).code).to.be.oneOf(['NO_QUORUM', 'LOCK_LOST']);
  });

  it('holds though a minority of the masters has lost its data', async () => {
    for (const lost of [0, 1, 2]) {
      const bench = fakeCluster(3, TERMS);
      await bench.redlock.runOnce('o', HOUR, () => undefined);
      bench.masters[lost]?.forget();
      await bench.time.advance(1_000);
      expect(await bench.redlock.runOnce('o', HOUR, () => undefined)).to.have.property('executed', false);
    }
  });

  describe('under a restart guard', () => {
    const GUARDED = { ...TERMS, restartGuardMs: 4_000 } as const;

    it('a master that came back without its data does not count, though it votes again', async () => {
      const bench = fakeCluster(3, GUARDED);
      const { masters, redlock, time } = bench;
      await redlock.bootstrap();
      await time.advance(HOUR); // bootstrap is long ago
      masters[2]?.become('lost');
      await redlock.runOnce('o', HOUR / 2, () => undefined);
      masters[2]?.become('ready');
      masters[0]?.restart('lost');
      await time.advance(60_000);
      await rejection(redlock.acquire('x', { waitMs: 0 })).catch(() => undefined); // its quarantine begins
      await time.advance(10_000);
      masters[1]?.become('lost'); // the other one that knew
      const error = await rejection(redlock.runOnce('o', HOUR / 2, () => undefined, { waitMs: 0 }));
      expect(error.code).to.equal('QUARANTINED');
      expect(error.remainingMs).to.be.within(HOUR / 2 - 75_000, HOUR / 2);
    });

    it('one that meets a record again knows it from then on', async () => {
      const bench = fakeCluster(3, GUARDED);
      const { masters, redlock, time } = bench;
      await redlock.bootstrap();
      await time.advance(HOUR);
      await redlock.runOnce('o', HOUR / 2, () => undefined);
      masters[0]?.restart('lost');
      await redlock.runOnce('o', HOUR / 2, () => undefined);
      await time.advance(10_000);
      expect(await redlock.runOnce('o', HOUR / 2, () => undefined)).to.have.property('executed', false);
      masters[1]?.become('lost');
      expect(await redlock.runOnce('o', HOUR / 2, () => undefined)).to.deep.equal({
        executed: false,
        reason: 'done',
      });
    });
  });

  it('bad input is refused before anything is sent', async () => {
    const { redlock, masters } = fakeCluster(1, TERMS);
    const routine = (): void => undefined;
    const errors = await Promise.all([
      rejection(redlock.runOnce('o', 0, routine)),
      rejection(redlock.runOnce('o', 1.5, routine)),
      rejection(redlock.runOnce('', HOUR, routine)),
      rejection(redlock.runOnce('o', HOUR, undefined as unknown as () => void)),
      rejection(redlock.runOnce('o', HOUR, routine, { renew: true } as object)),
    ]);
    expect(errors.map(({ code }) => code)).to.deep.equal(errors.map(() => 'INVALID_ARGUMENT'));
    expect(masters[0]?.sent).to.deep.equal([]);
  });
});
