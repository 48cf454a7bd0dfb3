import { expect } from 'chai';
import type { UsingOptions } from '../../lib/input/options.js';
import type { AnyLease, Lease } from '../../lib/lease/public.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';
import { TimestampBench } from '../support/timestamp-bench.js';

const SIZES = [1, 2, 3, 4, 5];

/** Runs a routine that takes 5 s; `meanwhile` happens in its first second. */
async function run<T>(
  bench: Bench,
  end: () => T,
  meanwhile: () => void,
): Promise<{ lease: Lease; result: Promise<T> }> {
  let held: Lease | undefined;
  const result = bench.redlock.using('r', { ttlMs: 3_000 }, async (lease) => {
    held = lease;
    await new Promise<void>((resolve) => bench.time.wait(5_000, resolve));
    return end();
  });
  result.catch(() => undefined); // looked at by the spec
  await bench.time.advance(1);
  meanwhile();
  await bench.time.advance(20_000);
  if (held === undefined) throw new Error('the routine did not start');
  return { lease: held, result };
}

const troubles: [string, (bench: Bench) => void, Lease['status']][] = [
  ['nothing happens', () => undefined, 'released'],
  [
    'the keys vanish and another takes them',
    ({ masters }) => masters.forEach((one) => (one.forget(), one.set('r', 'another'))),
    'lost',
  ],
  ['all masters freeze', ({ masters }) => masters.forEach((one) => (one.manner = 'freeze')), 'lost'],
  ['all connections break', ({ masters }) => masters.forEach((one) => one.cut()), 'lost'],
  [
    'all masters answer with errors',
    ({ masters }) => masters.forEach((one) => one.replies.push(...errors(1_000))),
    'lost',
  ],
];

function errors(count: number): Error[] {
  return Array.from({ length: count }, () => new Error('ERR no'));
}

describe('rule 9: `using` returns what the routine returned and throws what it threw', () => {
  for (const nodes of SIZES) {
    for (const [trouble, happen, status] of troubles) {
      it(`N=${nodes}, ${trouble}: returns the result`, async () => {
        const bench = fakeCluster(nodes);
        const { lease, result } = await run(
          bench,
          () => 'the result',
          () => happen(bench),
        );
        expect(await result).to.equal('the result');
        expect(lease.status).to.equal(status);
      });

      it(`N=${nodes}, ${trouble}: throws the routine's error, itself`, async () => {
        const bench = fakeCluster(nodes);
        const error = new Error("the routine's own");
        const fail = (): never => {
          throw error;
        };
        const { result } = await run(bench, fail, () => happen(bench));
        expect(await result.catch((caught: unknown) => caught)).to.equal(error);
      });
    }

    it(`N=${nodes}: a release that fails replaces neither`, async () => {
      const bench = fakeCluster(nodes);
      const failLater = (): void => bench.masters.forEach((one) => one.replies.push(...errors(100)));
      const value = bench.redlock.using('r', { renew: false }, () => (failLater(), 'the result'));
      expect(await value).to.equal('the result');
      for (const master of bench.masters) master.replies.length = 0;
      await bench.time.advance(2_000);
      const error = bench.redlock.using('r', { renew: false }, () => {
        failLater();
        throw new Error('mine');
      });
      expect(await error.catch((caught: Error) => caught.message)).to.equal('mine');
    });

    it(`N=${nodes}: a release that nobody answers takes one node timeout, no more`, async () => {
      const bench = fakeCluster(nodes);
      let isDone = false;
      const value = bench.redlock.using('r', { nodeTimeoutMs: 50, renew: false }, () => {
        for (const master of bench.masters) master.manner = 'freeze';
        return 'the result';
      });
      void value.then(() => (isDone = true));
      await bench.time.advance(49);
      expect(isDone).to.equal(false);
      await bench.time.advance(1);
      expect(await value).to.equal('the result');
    });
  }
});

describe('rule 9: what is around the routine', () => {
  it('undefined, null and a value that is no promise come back as they are', async () => {
    const { redlock } = fakeCluster(3);
    for (const value of [undefined, null, 0, false])
      expect(await redlock.using('r', () => value)).to.equal(value);
  });

  it('throws what was thrown, also when it is no error', async () => {
    const { redlock } = fakeCluster(3);
    const call = redlock.using('r', () => {
      throw 'a text'; // eslint-disable-line -- routines do that
    });
    expect(await call.catch((caught: unknown) => caught)).to.equal('a text');
  });

  it('waits for a routine whose lease is lost', async () => {
    const bench = fakeCluster(3);
    let isDone = false;
    const value = bench.redlock.using('r', { renew: false, ttlMs: 1_000 }, async (lease) => {
      await new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
      await new Promise<void>((resolve) => bench.time.wait(5_000, resolve));
      return lease.status;
    });
    void value.then(() => (isDone = true));
    await bench.time.advance(5_900);
    expect(isDone).to.equal(false);
    await bench.time.advance(200);
    expect(await value).to.equal('lost');
  });

  it('does not run the routine without the lock', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    for (const master of masters) master.set('r', 'another', 60_000);
    let runs = 0;
    const call = rejection(redlock.using('r', { waitMs: 500 }, () => runs++));
    await time.advance(1_000);
    expect([(await call).code, runs]).to.deep.equal(['LOCK_TAKEN', 0]);
  });

  it('renews unless told otherwise, whatever the instance says', async () => {
    for (const [renew, status] of [
      [undefined, 'held'],
      [true, 'held'],
      [false, 'lost'],
    ] as const) {
      const bench = fakeCluster(3, { renew: false });
      const options = { ttlMs: 1_000, ...(renew === undefined ? {} : { renew }) };
      const seen = bench.redlock.using('r', options, async (lease) => {
        await new Promise<void>((resolve) => bench.time.wait(5_000, resolve));
        return lease.status;
      });
      await bench.time.advance(5_100);
      expect(await seen).to.equal(status);
    }
  });

  it('leaves no key and no timer', async () => {
    const { redlock, masters, time } = fakeCluster(5);
    await redlock.using(['a', 'b'], () => undefined);
    await settle();
    expect(masters.map(({ size }) => size)).to.deep.equal([0, 0, 0, 0, 0]);
    expect(time.pending).to.equal(0);
  });

  it('leaves a lease alone that the routine released or gave away', async () => {
    const { redlock, masters } = fakeCluster(3);
    await redlock.using('r', (lease) => lease.release());
    const handle = await redlock.using('r', (lease) => lease.giveAway());
    await settle();
    expect(masters.map((master) => master.value('r'))).to.deep.equal([
      handle.token,
      handle.token,
      handle.token,
    ]);
  });
});

/** What `using` is called on, each with its own way to hold. */
const LOCKS = {
  redlock: ({ redlock }, options, routine) => redlock.using('r', options, routine),
  mutex: ({ redlock }, options, routine) => redlock.mutex('r').using(options, routine),
  reader: ({ redlock }, options, routine) => redlock.readWriteLock('r').read.using(options, routine),
  writer: ({ redlock }, options, routine) => redlock.readWriteLock('r').write.using(options, routine),
  semaphore: ({ redlock }, options, routine) => redlock.semaphore('r', 2).using(options, routine),
  're-entrant mutex': ({ redlock }, options, routine) =>
    redlock.mutex('r', { reentrant: true }).using(options, routine),
} satisfies Record<string, (bench: Bench, options: UsingOptions, routine: AnyRoutine) => Promise<unknown>>;

type AnyRoutine = (lease: AnyLease) => unknown;
const THROW = { onLoss: 'throw', ttlMs: 1_000, renew: false } as const;

describe("rule 9, its exception: `onLoss: 'throw'`", () => {
  for (const [name, using] of Object.entries(LOCKS)) {
    const lose = ({ time }: Bench): void => time.stall(2_000);

    it(`${name}: a result after the loss is not returned: LOCK_LOST`, async () => {
      const bench = fakeCluster(3);
      const error = await rejection(using(bench, THROW, () => (lose(bench), 'the result')));
      expect([error.code, error.resources, error.cause]).to.deep.equal(['LOCK_LOST', ['r'], undefined]);
    });

    it(`${name}: LOCK_LOST has what the routine threw as its cause`, async () => {
      const bench = fakeCluster(3);
      const mine = new Error('mine');
      const failing = using(bench, THROW, () => {
        lose(bench);
        throw mine;
      });
      const error = await rejection(failing);
      expect([error.code, error.cause]).to.deep.equal(['LOCK_LOST', mine]);
    });

    it(`${name}: result and error stand where the lease was not lost`, async () => {
      const bench = fakeCluster(3);
      const mine = new Error('mine');
      expect(await using(bench, THROW, () => 'the result')).to.equal('the result');
      const failing = using(bench, THROW, () => Promise.reject(mine));
      expect(await failing.catch((caught: unknown) => caught)).to.equal(mine);
    });

    it(`${name}: nothing of a value that is none is run, and nothing is sent`, async () => {
      const bench = fakeCluster(3);
      let runs = 0;
      const options = { onLoss: 'shout' } as unknown as UsingOptions; // what untyped callers may give
      const error = await rejection(using(bench, options, () => runs++));
      expect([error.code, runs]).to.deep.equal(['INVALID_ARGUMENT', 0]);
      expect(error.message).to.contain('onLoss').and.contain('shout');
      expect(bench.masters.flatMap(({ sent }) => sent)).to.deep.equal([]);
    });
  }

  it('the instant counts at which the routine settles: a loss while it is released is none', async () => {
    const bench = fakeCluster(3);
    const value = bench.redlock.using('r', { ...THROW, nodeTimeoutMs: 900 }, async () => {
      await new Promise<void>((resolve) => bench.time.wait(500, resolve));
      for (const master of bench.masters) master.manner = 'freeze';
      return 'the result';
    });
    await bench.time.advance(2_000); // the release waits for its node timeout, beyond the end of validity
    expect(await value).to.equal('the result');
  });

  it('validity decides, not the signal: it has not fired yet after a stalled event loop', async () => {
    const bench = fakeCluster(3);
    let wasAborted: boolean | undefined;
    const error = await rejection(
      bench.redlock.using('r', THROW, ({ signal }) => {
        bench.time.stall(2_000);
        wasAborted = signal.aborted;
      }),
    );
    expect([wasAborted, error.code]).to.deep.equal([false, 'LOCK_LOST']);
  });

  it('validity decides, not the signal: it aborts as the instance closes, and nothing is lost', async () => {
    const bench = fakeCluster(3);
    const value = bench.redlock.using('r', THROW, async ({ signal }) => {
      const close = bench.redlock.close();
      await settle();
      void close;
      return (signal.reason as { readonly code: string }).code; // an error of quorate
    });
    await bench.time.advance(10);
    expect(await value).to.equal('CLOSED');
  });

  it('the error has the tally of the extension that failed, also where the routine threw', async () => {
    for (const fails of [false, true]) {
      const bench = fakeCluster(3);
      const failed = rejection(
        bench.redlock.using('r', { onLoss: 'throw', ttlMs: 1_000 }, async () => {
          for (const master of bench.masters) master.forget();
          for (const master of bench.masters) master.set('r', 'another', 60_000);
          await new Promise<void>((resolve) => bench.time.wait(3_000, resolve));
          if (fails) throw new Error('mine');
        }),
      );
      await bench.time.advance(4_000);
      const { code, tally } = await failed;
      expect(code).to.equal('LOCK_LOST');
      expect(tally.map(({ outcome }) => outcome)).to.include('refused');
    }
  });

  it('a lease that the routine released or given away was not lost', async () => {
    const { redlock, time } = fakeCluster(3);
    expect(await redlock.using('r', THROW, (lease) => (lease.giveAway(), time.stall(2_000), 1))).to.equal(1);
    const released = redlock.using('s', THROW, async (lease) => {
      await lease.release();
      time.stall(2_000);
      return 2;
    });
    expect(await released).to.equal(2);
  });

  it('entered again: each `using` judges as its own routine settles', async () => {
    const { redlock, time } = fakeCluster(3);
    const mutex = redlock.mutex('r', { reentrant: true });
    const seen: string[] = [];
    const outer = mutex.using(THROW, async () => {
      seen.push(await mutex.using(THROW, () => 'inner, held'));
      time.stall(2_000);
      return 'outer';
    });
    expect((await rejection(outer)).code).to.equal('LOCK_LOST');
    expect(seen).to.deep.equal(['inner, held']);
  });

  it('a timestamp lock does the same', async () => {
    const bench = new TimestampBench();
    const lock = bench.lock({ unit: 'ms', ttlMs: 1_000 });
    const mine = new Error('mine');
    const lose = (): void => bench.time.stall(2_000);
    const lost = await rejection(lock.using('r', { onLoss: 'throw' }, lose));
    expect([lost.code, lost.cause]).to.deep.equal(['LOCK_LOST', undefined]);
    const failed = lock.using('s', { onLoss: 'throw' }, () => {
      lose();
      throw mine;
    });
    expect((await rejection(failed)).cause).to.equal(mine);
    expect(await lock.using('t', { onLoss: 'throw' }, () => 'kept')).to.equal('kept');
  });
});
