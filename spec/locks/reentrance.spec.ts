/** Entering a mutex again while holding it, by the flow of calls or by an owner, over masters in memory. */
import { expect } from 'chai';
import { HeldLeases } from '../../lib/lease/held-leases.js';
import { ReentrantLease } from '../../lib/locks/reentrant-lease.js';
import { type Owner, Reentrance, reentrantOf } from '../../lib/locks/reentrance.js';
import type { Redlock } from '../../lib/redlock.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { rejection, thrown } from '../support/rejection.js';

const OWNERS: readonly (readonly [string, (job?: number) => Owner])[] = [
  ['an object', (job) => ({ job })],
  ['a text', (job = 7) => `job ${job}`],
  ['a symbol', (job) => Symbol(job)],
  ['a symbol of the registry', (job = 7) => Symbol.for(`job ${job}`)],
];

for (const nodes of [1, 3]) {
  describe(`re-entrance, N=${nodes}`, () => {
    const setUp = () => {
      const { time, masters, redlock } = fakeCluster(nodes);
      const mutex = redlock.mutex('r', { reentrant: true });
      const sent = (): number => masters.reduce((sum, master) => sum + master.sent.length, 0);
      const owners = (): Set<string> => new Set(masters.map((master) => String(master.value('r'))));
      /** Lets what is under way go on until it needs more time. */
      const settle = (): Promise<unknown> => time.advance(0);
      return { time, masters, mutex, owners, redlock, sent, settle };
    };

    it('using in using: no message, the same lease and fence, and the last exit releases', async () => {
      const { mutex, owners, sent } = setUp();
      await mutex.using(async (outer) => {
        const before = sent();
        const [token] = owners();
        expect(outer.token).to.equal(token);
        const told = await mutex.using(async (inner) => {
          expect(inner).to.be.instanceOf(ReentrantLease).that.does.not.equal(outer);
          expect([inner.fence, inner.token]).to.deep.equal([outer.fence, outer.token]);
          return mutex.using((innermost) => innermost.status);
        });
        expect(told).to.equal('held');
        expect([sent(), outer.status, [...owners()]]).to.deep.equal([before, 'held', [token]]);
      });
      expect([...owners()]).to.deep.equal(['undefined']);
    });

    it('an exit ends its own entry alone, and the second time does nothing', async () => {
      const { mutex, owners } = setUp();
      await mutex.using(async (outer) => {
        const inner = mutex.reenter();
        await inner.release();
        await inner.release();
        expect([inner.status, inner.remainingMs(), outer.status]).to.deep.equal(['released', 0, 'held']);
        expect(thrown(() => inner.assertHeld()).code).to.equal('NOT_HELD');
        expect((await rejection(inner.extend())).code).to.equal('NOT_HELD');
        expect(outer.remainingMs()).to.be.above(0);
        expect([...owners()]).to.not.include('undefined');
      });
      expect([...owners()]).to.deep.equal(['undefined']);
    });

    it('branches that run in parallel inside a holder hold it together', async () => {
      const { mutex, owners, settle } = setUp();
      let inside = 0;
      let most = 0;
      const branch = (): Promise<void> =>
        mutex.using(async () => {
          most = Math.max(most, ++inside);
          await settle();
          inside--;
        });
      await mutex.using(() => Promise.all([branch(), branch(), branch()]));
      expect(most).to.equal(3);
      expect([...owners()]).to.deep.equal(['undefined']);
    });

    it('a branch that is still in when the outer one leaves: it is the last exit', async () => {
      const { mutex, owners, settle } = setUp();
      let leave = (): void => undefined;
      const told = new Promise<void>((resolve) => (leave = resolve));
      let branch: Promise<unknown> = Promise.resolve();
      await mutex.using(() => void (branch = mutex.using(() => told)));
      await settle();
      expect([...owners()]).to.not.include('undefined');
      leave();
      await branch;
      expect([...owners()]).to.deep.equal(['undefined']);
    });

    it('a flow that goes on after the last exit holds nothing: it waits like any other', async () => {
      const { mutex, redlock, settle } = setUp();
      let goOn = (): void => undefined;
      const told = new Promise<void>((resolve) => (goOn = resolve));
      let later: Promise<unknown> = Promise.resolve();
      await mutex.using(() => {
        later = told.then(async () => {
          expect(thrown(() => mutex.reenter()).code).to.equal('NOT_HELD');
          return mutex.tryAcquire();
        });
      });
      const other = await redlock.acquire('r');
      goOn();
      await settle();
      expect(await later).to.equal(null);
      await other.release();
    });

    it('another flow of the same process does not get in, nor does another lock or instance', async () => {
      const { mutex, redlock } = setUp();
      let tryFromOutside = (): Promise<unknown> => Promise.resolve();
      const outside = new Promise<unknown>((resolve) => {
        tryFromOutside = () => Promise.resolve().then(resolve);
      }).then(() => mutex.tryAcquire());
      await mutex.using(async () => {
        await tryFromOutside();
        expect(await outside).to.equal(null);
        expect(await redlock.mutex('r').tryAcquire()).to.equal(null); // one that is not re-entrant
        expect(thrown(() => redlock.mutex('s', { reentrant: true }).reenter()).code).to.equal('NOT_HELD');
      });
    });

    it('an owner: acquire again without a message; each release takes back one', async () => {
      const { mutex, owners, sent } = setUp();
      for (const owner of [{ name: 'job 7' }, 'job 7', Symbol('job 7')]) {
        const first = await mutex.acquire({ owner });
        const before = sent();
        const [second, third] = [await mutex.acquire({ owner }), await mutex.tryAcquire({ owner })];
        expect(sent()).to.equal(before);
        expect(await mutex.tryAcquire({ owner: 'another' })).to.equal(null);
        await first.release();
        await first.release();
        await third?.release();
        expect([first.status, second.status]).to.deep.equal(['released', 'held']);
        expect([...owners()]).to.not.include('undefined');
        await second.release();
        expect([...owners()]).to.deep.equal(['undefined']);
      }
    });

    for (const localTurns of [8, 0]) {
      it(`an owner whose calls wait at the same time, localTurns: ${localTurns}: the first that gets it takes the others in`, async () => {
        const { mutex, redlock, time } = setUp();
        const other = await redlock.acquire('r');
        const owner = {};
        const waiting = [1, 2, 3].map(() => mutex.acquire({ owner, waitMs: 60_000, localTurns }));
        await time.advance(50);
        void other.release();
        await time.advance(1_000);
        const entries = await Promise.all(waiting);
        expect(new Set(entries.map(({ token }) => token)).size).to.equal(1);
        expect(new Set(entries).size).to.equal(3);
        for (const entry of entries) await entry.release();
        expect((await redlock.inspect('r')).state).to.equal('free');
      });

      it(`an owner whose call is aborted or times out while another waits, localTurns: ${localTurns}: the other one is not disturbed`, async () => {
        const { mutex, redlock, time } = setUp();
        const other = await redlock.acquire('r');
        const owner = {};
        const controller = new AbortController();
        const errors = [
          rejection(mutex.acquire({ owner, signal: controller.signal, waitMs: 60_000, localTurns })),
          rejection(mutex.acquire({ owner, waitMs: 20, localTurns })),
        ];
        const waiting = mutex.acquire({ owner, waitMs: 60_000, localTurns });
        controller.abort(new Error('enough'));
        await time.advance(500);
        expect((await Promise.all(errors)).map(({ code }) => code)).to.deep.equal(['ABORTED', 'LOCK_TAKEN']);
        void other.release();
        await time.advance(1_000);
        await (await waiting).release();
        expect((await redlock.inspect('r')).state).to.equal('free');
      });
    }

    it('a signal that has been aborted: ABORTED, also for an owner, and nothing is taken', async () => {
      const { mutex, masters } = setUp();
      for (const owner of [undefined, {}]) {
        const options = { signal: AbortSignal.abort(new Error('enough')), ...(owner && { owner }) };
        expect((await rejection(mutex.acquire(options))).code).to.equal('ABORTED');
      }
      expect(masters.some((master) => master.value('r') !== undefined)).to.equal(false);
    });

    for (const [what, ownerOf] of OWNERS) {
      it(`the next call of ${what} whose lease was lost fails once with LOCK_LOST, and may acquire anew then`, async () => {
        for (const call of ['acquire', 'tryAcquire', 'using', 'reenter'] as const) {
          const { mutex, masters, time, owners } = setUp();
          const owner = ownerOf();
          const entry = await mutex.acquire({ owner, ttlMs: 1_000 });
          await time.advance(1_100);
          expect(entry.status).to.equal('lost');
          const told = {
            acquire: () => rejection(mutex.acquire({ owner })),
            tryAcquire: () => rejection(mutex.tryAcquire({ owner })),
            using: () => rejection(mutex.using({ owner }, () => undefined)),
            reenter: () => Promise.resolve(thrown(() => mutex.reenter({ owner }))),
          };
          const error = await told[call]();
          expect([error.code, error.resources]).to.deep.equal(['LOCK_LOST', ['r']]);
          expect(thrown(() => mutex.reenter({ owner })).code).to.equal('NOT_HELD');
          expect(masters.some((master) => master.value('r') !== undefined)).to.equal(false);
          const next = await mutex.acquire({ owner });
          await entry.release(); // late, and of the old one
          expect([entry.status, next.status]).to.deep.equal(['released', 'held']);
          expect(mutex.reenter({ owner }).token).to.equal(next.token);
          expect([...owners()]).to.not.include('undefined');
        }
      });
    }

    it('a lease that expired while the event loop was stalled is not entered either, and reported once', async () => {
      const { mutex, time } = setUp();
      const entry = await mutex.acquire({ owner: 'x', ttlMs: 1_000 });
      time.stall(1_100);
      expect(thrown(() => mutex.reenter({ owner: 'x' })).code).to.equal('LOCK_LOST');
      expect(thrown(() => mutex.reenter({ owner: 'x' })).code).to.equal('NOT_HELD');
      await (await mutex.acquire({ owner: 'x' })).release();
      expect(entry.status).to.equal('lost');
    });

    it('releasing a lost lease takes note of the loss: the next call acquires anew', async () => {
      const { mutex, time } = setUp();
      const entry = await mutex.acquire({ owner: 'x', ttlMs: 1_000 });
      await time.advance(1_100);
      await entry.release();
      await (await mutex.acquire({ owner: 'x' })).release();
    });

    it("the routine's result and error are passed on, at each depth", async () => {
      const { mutex, owners } = setUp();
      const failure = new Error('the routine failed');
      expect(
        await mutex.using(() => mutex.using(() => Promise.reject(failure))).catch((error: unknown) => error),
      ).to.equal(failure);
      expect(await mutex.using({ ttlMs: 5_000 }, () => mutex.using(() => 7))).to.equal(7);
      expect([...owners()]).to.deep.equal(['undefined']);
    });

    it('reenter: NOT_HELD where this flow, or owner, does not hold, and nothing is sent', () => {
      const { mutex, sent } = setUp();
      const error = thrown(() => mutex.reenter());
      expect([error.code, error.resources]).to.deep.equal(['NOT_HELD', ['r']]);
      expect(error.message).to.include('this flow of calls does not hold it');
      expect(thrown(() => mutex.reenter({ owner: 'me' })).message).to.include('this owner');
      expect(sent()).to.equal(0);
    });

    it('bad input: an owner or a flag of another kind, by name and value; nothing is sent', async () => {
      const { mutex, redlock, sent } = setUp();
      for (const [owner, shown] of [
        ['', '""'],
        ['a\ud800', '"a\\ud800"'],
        [7, '7'],
        [null, 'null'],
        [true, 'true'],
      ] as unknown as [string, string][]) {
        const error = await rejection(mutex.acquire({ owner }));
        expect([error.code, error.message]).to.deep.equal([
          'INVALID_ARGUMENT',
          `owner must be an object, a symbol or a non-empty string of well-formed Unicode; got ${shown}.`,
        ]);
      }
      const odd = { reentrant: 'yes' } as unknown as { reentrant: true };
      expect(thrown(() => redlock.mutex('r', odd)).message).to.include(
        'reentrant must be true or false; got "yes"',
      );
      expect((await rejection(redlock.mutex('r').acquire({ owner: {} } as object))).message).to.include(
        'owner',
      );
      expect((await rejection(mutex.acquire({ permits: 2 } as object))).message).to.include('permits');
      expect(sent()).to.equal(0);
    });

    it('close releases what is held, whatever the count', async () => {
      const { mutex, owners, redlock } = setUp();
      const [one, two] = [await mutex.acquire({ owner: 'x' }), await mutex.acquire({ owner: 'x' })];
      await close(redlock);
      expect([one.status, two.status, ...owners()]).to.deep.equal(['released', 'released', 'undefined']);
      await one.release();
      await two.release();
    });
  });
}

describe('re-entrance: owners that never leave', () => {
  it('3,000 of them: all are forgotten as their leases run out', async () => {
    const { time, redlock } = fakeCluster(1);
    const reentrance = new Reentrance(new HeldLeases(time, time));
    const owners = Array.from({ length: 3_000 }, (_, i) => OWNERS[i % OWNERS.length]?.[1](i) ?? 'none');
    const mutexOf = (i: number) => reentrantOf(redlock.mutex(`r${i}`), reentrance);
    for (const [i, owner] of owners.entries()) await mutexOf(i).acquire({ owner, ttlMs: 60_000 });
    expect(reentrance.size).to.equal(3_000);
    await time.advance(60_000);
    expect([reentrance.size, time.pending]).to.deep.equal([0, 0]);
  });

  it('one owner of 1,500 locks: so is what it has', async () => {
    const { time, redlock } = fakeCluster(1);
    const reentrance = new Reentrance(new HeldLeases(time, time));
    for (let i = 0; i < 1_500; i++) {
      await reentrantOf(redlock.mutex(`r${i}`), reentrance).acquire({ owner: redlock, ttlMs: 60_000 });
    }
    await time.advance(60_000);
    expect(reentrance.size).to.equal(0);
    const last = reentrantOf(redlock.mutex('r1499'), reentrance);
    expect((await rejection(last.acquire({ owner: redlock }))).code).to.equal('LOCK_LOST');
    await last.acquire({ owner: redlock, ttlMs: 60_000 });
    expect(reentrance.size).to.equal(1);
  });
});

function close(redlock: Redlock): Promise<void> {
  return redlock.close({ releaseHeld: true });
}
