import { expect } from 'chai';
import { HeldLeases } from '../../lib/lease/held-leases.js';
import type { Lease as OwnLease } from '../../lib/lease/lease.js';
import type { Lease } from '../../lib/lease/public.js';
import type { CloseOptions } from '../../lib/input/lifecycle-options.js';
import { DEFAULTS } from '../../lib/input/options.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const SIZES = [1, 2, 3, 5];
const TTL_MS = 3_000;

/** A routine that runs under a lock until it is told to end. */
function routine(run: (work: (lease: Lease) => Promise<string>) => Promise<string>) {
  const state = { lease: undefined as Lease | undefined, end: (): void => undefined };
  const result = run(async (lease) => {
    state.lease = lease;
    await new Promise<void>((resolve) => (state.end = resolve));
    return lease.status;
  });
  return {
    result,
    end: (): void => state.end(),
    get lease(): Lease {
      if (state.lease === undefined) throw new Error('the routine has not begun');
      return state.lease;
    },
  };
}

function closing(bench: Bench, options?: CloseOptions): { readonly done: Promise<void>; isDone: boolean } {
  const state = { done: bench.redlock.close(options), isDone: false };
  void state.done.then(() => (state.isDone = true));
  return state;
}

/** What every master holds under that name. */
const held = ({ masters }: Bench, name = 'r'): (string | undefined)[] =>
  masters.map((one) => one.value(name));
const free = ({ masters }: Bench): undefined[] => masters.map(() => undefined);

for (const nodes of SIZES) {
  describe(`close, N=${nodes}`, () => {
    const WAYS = {
      'redlock.using': (bench: Bench) => routine((work) => bench.redlock.using('r', { ttlMs: TTL_MS }, work)),
      'mutex.using': (bench: Bench) =>
        routine((work) => bench.redlock.mutex('r').using({ ttlMs: TTL_MS }, work)),
      'using of a re-entrant mutex': (bench: Bench) =>
        routine((work) =>
          bench.redlock
            .mutex('r', { reentrant: true })
            .using({ ttlMs: TTL_MS }, (entry) => work(entry as unknown as Lease)),
        ), // an entry has what these specs ask of a lease
    } as const;
    for (const [name, start] of Object.entries(WAYS)) {
      it(`${name}: its signal aborts, it is renewed while it stops, and freed when it has settled, not before`, async () => {
        const bench = fakeCluster(nodes);
        const work = start(bench);
        await settle();
        const { lease } = work;
        const close = closing(bench);
        await settle();
        expect(lease.signal.reason).to.include({ code: 'CLOSED' });
        await bench.time.advance(5 * TTL_MS); // longer than a lease that nobody renews
        expect([lease.status, close.isDone]).to.deep.equal(['held', false]);
        expect(held(bench)).to.deep.equal(bench.masters.map(() => lease.token));
        expect(await bench.other().redlock.tryAcquire('r')).to.equal(null);
        lease.assertHeld();
        await lease.extend();
        work.end();
        expect(await work.result).to.equal('held');
        await close.done;
        expect([lease.status, held(bench), bench.time.pending]).to.deep.equal(['released', free(bench), 0]);
      });
    }

    it('a signal that is asked for only then has fired', async () => {
      const bench = fakeCluster(nodes);
      const lease = await bench.redlock.acquire('r', { ttlMs: TTL_MS });
      const work = routine((run) => bench.redlock.using('s', { ttlMs: TTL_MS }, run));
      await settle();
      const close = closing(bench);
      for (const { signal } of [lease, work.lease]) {
        expect(signal.aborted).to.equal(true);
        expect(signal.reason).to.include({ code: 'CLOSED' });
      }
      work.end();
      await lease.release();
      await close.done;
    });

    it('a routine that goes on after drainMs: renewal ends, nothing is deleted, and it runs out by its ttl', async () => {
      const bench = fakeCluster(nodes);
      const work = routine((run) => bench.redlock.using('r', { ttlMs: TTL_MS }, run));
      await settle();
      const close = closing(bench, { drainMs: 10_000 });
      await bench.time.advance(9_999);
      expect(close.isDone).to.equal(false);
      await bench.time.advance(1);
      await close.done;
      expect(held(bench)).to.deep.equal(bench.masters.map(() => work.lease.token));
      expect([work.lease.status, bench.time.pending]).to.deep.equal(['held', 0]);
      const sent = bench.masters.map((master) => master.sent.length);
      await bench.time.advance(TTL_MS);
      expect(work.lease.status).to.equal('lost');
      expect(bench.masters.map((master) => master.sent.length)).to.deep.equal(sent);
      expect(held(bench)).to.deep.equal(free(bench));
      work.end();
      expect(await work.result).to.equal('lost');
    });

    it('a renewal that is under way as drainMs ends is not followed by another', async () => {
      const bench = fakeCluster(nodes);
      const lease = await bench.redlock.acquire('r', { ttlMs: TTL_MS, renew: true });
      for (const master of bench.masters) master.latencyMs = 50;
      const close = closing(bench, { drainMs: 1_025 });
      await bench.time.advance(1_025); // a third of the ttl, and half of the way
      await bench.time.advance(2_000);
      await close.done;
      expect(bench.time.pending).to.equal(0);
      expect(lease.status).to.equal('held');
      await bench.time.advance(TTL_MS);
      expect([lease.status, held(bench)]).to.deep.equal(['lost', free(bench)]);
    });

    it('drainMs 0 does not wait, Infinity waits for as long as it takes; by default it is 30 s', async () => {
      for (const [drainMs, waitsMs] of [
        [0, 0],
        [undefined, DEFAULTS.drainMs],
        [Infinity, undefined],
      ] as const) {
        const bench = fakeCluster(nodes);
        const work = routine((run) => bench.redlock.using('r', { ttlMs: TTL_MS }, run));
        await settle();
        const close = closing(bench, drainMs === undefined ? {} : { drainMs });
        if (waitsMs === undefined) {
          await bench.time.advance(3_600_000);
          expect(close.isDone).to.equal(false);
          work.end();
        } else {
          if (waitsMs > 0) await bench.time.advance(waitsMs - 1);
          await settle();
          expect(close.isDone).to.equal(false);
          await bench.time.advance(1);
        }
        await close.done;
        work.end();
        await work.result;
      }
    });

    it('close also waits for a routine whose lease was lost, released or given away', async () => {
      for (const way of ['lost', 'released', 'given away'] as const) {
        const bench = fakeCluster(nodes);
        const work = routine((run) => bench.redlock.using('r', { ttlMs: TTL_MS, renew: false }, run));
        await settle();
        if (way === 'lost') await bench.time.advance(TTL_MS);
        if (way === 'released') await work.lease.release();
        if (way === 'given away') work.lease.giveAway();
        const close = closing(bench);
        await bench.time.advance(100);
        expect(close.isDone, way).to.equal(false);
        work.end();
        await work.result;
        await close.done;
      }
    });

    it('a lease taken by hand: its signal aborts, and it is held and renewed until its holder releases it', async () => {
      const bench = fakeCluster(nodes);
      const lease = await bench.redlock.acquire('r', { ttlMs: TTL_MS, renew: true });
      const close = closing(bench);
      await bench.time.advance(2 * TTL_MS);
      expect([lease.status, lease.signal.aborted, close.isDone]).to.deep.equal(['held', true, false]);
      await lease.release();
      await close.done;
      expect([held(bench), bench.time.pending]).to.deep.equal([free(bench), 0]);
    });

    it('a lease taken by hand that nobody renews or releases: close goes on when it has run out', async () => {
      const bench = fakeCluster(nodes);
      const lease = await bench.redlock.acquire('r', { ttlMs: TTL_MS });
      const close = closing(bench);
      await bench.time.advance(TTL_MS);
      await close.done;
      expect([lease.status, bench.time.pending]).to.deep.equal(['lost', 0]);
    });

    it('releaseHeld: leases taken by hand are freed at once, those of routines are not', async () => {
      const bench = fakeCluster(nodes);
      const byHand = await bench.redlock.acquire('h', { ttlMs: TTL_MS, renew: true });
      const work = routine((run) => bench.redlock.using('r', { ttlMs: TTL_MS }, run));
      const mutex = bench.redlock.mutex('m', { reentrant: true });
      const outer = await mutex.acquire({ owner: 'x', ttlMs: TTL_MS, renew: true });
      const inner = routine((run) => mutex.using({ owner: 'x' }, (entry) => run(entry as unknown as Lease))); // as above
      await settle();
      const close = closing(bench, { releaseHeld: true });
      await settle();
      expect([byHand, work.lease, outer].map(({ status }) => status)).to.deep.equal([
        'released',
        'held',
        'held',
      ]);
      expect(held(bench, 'h')).to.deep.equal(free(bench));
      work.end();
      inner.end();
      await Promise.all([work.result, inner.result]);
      await settle();
      expect(close.isDone).to.equal(false); // the re-entrant hold has one entry left
      await outer.release();
      await close.done;
    });

    it('re-entry, a hand-over and an extension go on while it drains', async () => {
      const bench = fakeCluster(nodes);
      const mutex = bench.redlock.mutex('m', { reentrant: true });
      const outer = await mutex.acquire({ owner: 'x', ttlMs: TTL_MS });
      const given = await bench.redlock.acquire('g', { ttlMs: TTL_MS });
      const close = closing(bench);
      await settle();
      const inner = mutex.reenter({ owner: 'x' });
      await inner.extend();
      const again = await mutex.acquire({ owner: 'x' });
      const adopted = await bench.other().redlock.adopt(given.giveAway());
      expect([inner.status, again.status, adopted.status]).to.deep.equal(['held', 'held', 'held']);
      for (const entry of [outer, inner, again]) await entry.release();
      await close.done;
    });

    it('a later call can only shorten the wait, or add releaseHeld', async () => {
      const bench = fakeCluster(nodes);
      const lease = await bench.redlock.acquire('h', { ttlMs: TTL_MS, renew: true });
      const work = routine((run) => bench.redlock.using('r', { ttlMs: TTL_MS }, run));
      await settle();
      const closes = [
        closing(bench, { drainMs: 20_000 }),
        closing(bench, { drainMs: 60_000, releaseHeld: true }),
      ];
      await settle();
      expect([lease.status, work.lease.status]).to.deep.equal(['released', 'held']);
      closes.push(closing(bench, { drainMs: 1_000 }));
      await bench.time.advance(999);
      expect(closes.map(({ isDone }) => isDone)).to.deep.equal([false, false, false]);
      await bench.time.advance(1);
      await Promise.all(closes.map(({ done }) => done));
      expect(work.lease.status).to.equal('held');
      work.end();
    });

    it('new locks are refused and waiters fail, while routines still run', async () => {
      const bench = fakeCluster(nodes);
      const work = routine((run) => bench.redlock.using('r', { ttlMs: TTL_MS }, run));
      await settle();
      const waiting = [{}, { localTurns: 0 }].map((own) => rejection(bench.redlock.acquire('r', own)));
      await settle();
      const close = closing(bench);
      const { redlock } = bench;
      const calls = [redlock.acquire('s'), redlock.tryAcquire('s'), redlock.semaphore('s', 2).acquire()];
      for (const call of [...calls, redlock.inspect('r'), redlock.ready()])
        expect((await rejection(call)).code).to.equal('CLOSED');
      for (const { code } of await Promise.all(waiting)) expect(code).to.equal('CLOSED');
      work.end();
      await close.done;
    });

    it('a listener of the signal may release, and close again', async () => {
      const bench = fakeCluster(nodes);
      const lease = await bench.redlock.acquire('r', { ttlMs: TTL_MS, renew: true });
      lease.signal.addEventListener('abort', () => {
        void lease.release();
        void bench.redlock.close({ drainMs: 0 });
      });
      await closing(bench).done;
      expect([lease.status, held(bench), bench.time.pending]).to.deep.equal(['released', free(bench), 0]);
    });
  });
}

describe('close, called again', () => {
  it('a longer wait does not lengthen the first, and a shorter one leaves no timer of it', async () => {
    for (const [firstMs, secondMs] of [
      [1_000, 60_000],
      [60_000, 1_000],
    ] as const) {
      const bench = fakeCluster(1);
      await bench.redlock.acquire('r', { ttlMs: TTL_MS, renew: true });
      const closes = [closing(bench, { drainMs: firstMs }), closing(bench, { drainMs: secondMs })];
      await bench.time.advance(1_000);
      expect(closes.map(({ isDone }) => isDone)).to.deep.equal([true, true]);
      expect(bench.time.pending).to.equal(0);
    }
  });

  it('when it is done: no timer is set', async () => {
    const bench = fakeCluster(1);
    await closing(bench, { drainMs: 60_000 }).done;
    void closing(bench, { drainMs: 1_000 });
    expect(bench.time.pending).to.equal(0);
  });
});

describe('leases that are held', () => {
  function some(): HeldLeases {
    const time = new FakeTime();
    const leases = new HeldLeases(time, time);
    for (const [token, status] of [
      ['first', 'held'],
      ['second', 'lost'],
      ['third', 'held'],
      ['fourth', 'held'],
    ] as const)
      leases.add({ token, status, checkValidity: () => undefined } as unknown as OwnLease); // all that is read of them
    return leases;
  }

  it('the oldest of so many, as far as they are held', () => {
    const tokens = (most: number): string[] =>
      some()
        .oldest(most, 0)
        .map(({ token }) => token);
    expect([tokens(3), tokens(9)]).to.deep.equal([
      ['first', 'third'],
      ['first', 'third', 'fourth'],
    ]);
  });

  it('whether there is any: however many have run out, of the latest or of the oldest', () => {
    const time = new FakeTime();
    const leases = new HeldLeases(time, time);
    expect(leases.isAnyHeld(0)).to.equal(false);
    const add = (status: string): void =>
      leases.add({ status, checkValidity: () => undefined } as unknown as OwnLease); // all that is read of them
    for (let i = 0; i < 40; i++) add('lost');
    expect(leases.isAnyHeld(0)).to.equal(false);
    add('held');
    for (let i = 0; i < 40; i++) add('lost');
    expect(leases.isAnyHeld(0)).to.equal(true);
  });

  it('one whose time is over is not held, though nobody has looked at it', () => {
    const time = new FakeTime();
    const leases = new HeldLeases(time, time);
    const lease = {
      status: 'held',
      checkValidity(nowMs: number): void {
        if (nowMs >= 5) this.status = 'lost';
      },
    };
    leases.add(lease as unknown as OwnLease); // all that is read of it
    expect([leases.isAnyHeld(4), leases.oldest(1, 4).length]).to.deep.equal([true, 1]);
    for (const ask of [() => leases.isAnyHeld(5), () => leases.oldest(1, 5).length > 0]) {
      lease.status = 'held';
      expect(ask()).to.equal(false);
    }
  });

  it('the one with a token, as far as it is held', () => {
    const found = ['third', 'second', 'fifth'].map((token) => some().find(token)?.token);
    expect(found).to.deep.equal(['third', undefined, undefined]);
  });
});

describe('leases that nobody gave back', () => {
  it('are found as others are taken, once there are more than a hundred; fewer are not looked for', async () => {
    const bench = fakeCluster(1);
    const take = async (from: number, to: number): Promise<number> => {
      for (let i = from; i < to; i++) await bench.redlock.acquire(`r${i}`, { ttlMs: TTL_MS });
      return bench.redlock.stats().held;
    };
    await take(0, 99);
    await bench.time.advance(TTL_MS);
    expect(await take(99, 100)).to.equal(100);
    const counts: number[] = [];
    for (let i = 100; i < 105; i++) counts.push(await take(i, i + 1));
    expect(counts).to.deep.equal([101, 100, 99, 100, 99]); // two are looked at for each, the latest first
  });
});

describe('close: what it takes', () => {
  for (const options of [{ drainMs: -1 }, { drainMs: 1.5 }, { drainMs: Number.NaN }, { drainMs: null }]) {
    it(`${JSON.stringify(options)} is refused by name, and nothing is closed`, async () => {
      const bench = fakeCluster(1);
      const error = await rejection(bench.redlock.close(options as CloseOptions));
      expect([error.code, error.message.includes('drainMs')]).to.deep.equal(['INVALID_ARGUMENT', true]);
      await (await bench.redlock.acquire('r')).release();
      await bench.redlock.close();
    });
  }

  it('an unknown option, and releaseHeld that is no boolean, are refused', async () => {
    const bench = fakeCluster(1);
    for (const options of [{ drain: 5 }, { releaseHeld: 'yes' }])
      expect((await rejection(bench.redlock.close(options as CloseOptions))).code).to.equal(
        'INVALID_ARGUMENT',
      );
    await bench.redlock.close();
  });
});
