/**
 * One master of three that gives nobody its vote for as long as it is as it is, and contention on the two others: whoever
 * waits is served, as beside a master that is dead. Everything is counted, and nothing is timed.
 */
import { expect } from 'chai';
import type { RedlockOptions } from '../../lib/input/options.js';
import { counterKey } from '../../lib/protocol/keys.js';
import type { Lockable } from '../../lib/locks/lockable.js';
import { LAST_FENCE } from '../../lib/protocol/lua/stored.js';
import { RedlockError } from '../../lib/runtime/errors.js';
import { Redlock } from '../../lib/redlock.js';
import type { Redis } from 'ioredis';
import { LONG_GUARD_MS, PATIENT } from '../support/patience.js';
import { eventually } from '../support/real.js';
import { RealBench } from './support/real-bench.js';
import { wide } from '../support/breadth.js';

const CLIENTS = 4;
const CALLS_EACH = 12;
const NAMES = ['queued for', 'waited for', 'permits', 'tried', 'led', 'run'] as const;
const [QUEUED, WAITED, PERMITS, TRIED, LED, RUN] = NAMES;

interface Wrong {
  readonly name: string;
  readonly options?: RedlockOptions;
  /** Makes the master so; the returned function makes it right again. */
  begin(hand: Redis): Promise<() => Promise<unknown>>;
}

const WRONGS: readonly Wrong[] = [
  {
    name: 'NOPERM',
    begin: async (hand) => {
      await hand.call('ACL', 'SETUSER', 'admin', 'on', 'nopass', '~*', '&*', '+@all');
      await hand.call('AUTH', 'admin', 'any');
      await hand.call('ACL', 'SETUSER', 'default', 'resetkeys');
      return () => hand.call('ACL', 'SETUSER', 'default', '~*');
    },
  },
  {
    name: 'another type under the name',
    begin: async (hand) => {
      for (const name of NAMES) await hand.lpush(name, 'data');
      return () => hand.del(...NAMES);
    },
  },
  {
    name: 'a spent counter',
    begin: async (hand) => {
      for (const name of NAMES) await hand.set(counterKey(name), String(LAST_FENCE));
      return () => hand.del(...NAMES.map(counterKey));
    },
  },
  {
    name: 'READONLY',
    begin: async (hand) => {
      await hand.call('REPLICAOF', '127.0.0.1', '1');
      return () => hand.call('REPLICAOF', 'NO', 'ONE');
    },
  },
  {
    name: 'another guard period',
    options: { restartGuardMs: LONG_GUARD_MS },
    begin: async (hand) => {
      const marker = String(await hand.get('quorate:guard'));
      await hand.set('quorate:guard', marker.replace(/\d+$/, String(LONG_GUARD_MS + 1_000)));
      return () => hand.set('quorate:guard', marker);
    },
  },
];

/** Locks that one may hold at a time. */
const WAITING: readonly (readonly [string, (lock: Redlock) => Lockable])[] = [
  ['in the queue', (lock) => lock.mutex(QUEUED)],
  ['without a queue', (lock) => lock.mutex(WAITED, { fair: false })],
  ['a semaphore of one permit', (lock) => lock.semaphore(PERMITS, 1)],
];

describe('one master of three is wrong for good, and clients contend on the two others', () => {
  for (const wrong of wide(WRONGS, WRONGS.slice(0, 1))) {
    describe(wrong.name, () => {
      const bench = new RealBench();
      let locks: Redlock[];
      let end: () => Promise<unknown>;
      before(async () => {
        await bench.open(3);
        const [hand] = bench.hands;
        if (hand === undefined) throw new Error('three were started');
        locks = await Promise.all(Array.from({ length: CLIENTS }, (_, i) => open(bench, i, wrong.options)));
        if (wrong.options !== undefined) await locks[0]?.bootstrap({ force: true });
        end = await wrong.begin(hand);
      });
      after(async () => {
        await end();
        await Promise.all(locks.map((lock) => lock.close({ releaseHeld: true })));
        await bench.close();
      });

      for (const [title, lockOf] of WAITING) {
        it(`${title}: ${CLIENTS * CALLS_EACH} calls that wait are all served, one at a time`, async () => {
          const seen = { served: 0, inside: 0, together: 0, rejected: {} as Tally };
          await eachClient(async (lock) => {
            for (let call = 0; call < CALLS_EACH; call++) {
              try {
                await lockOf(lock).using(async () => {
                  seen.together += seen.inside++;
                  await new Promise(setImmediate);
                  seen.inside--;
                });
                seen.served++;
              } catch (error) {
                count(seen.rejected, error);
              }
            }
          });
          const all = CLIENTS * CALLS_EACH;
          expect(seen).to.deep.equal({ served: all, inside: 0, together: 0, rejected: {} });
        });
      }

      it('tryAcquire: a lease or null, and never an error; a lease if nobody else calls', async () => {
        const rejected: Tally = {};
        await eachClient(async (lock) => {
          for (let i = 0; i < CALLS_EACH; i++) {
            try {
              await (await lock.tryAcquire(TRIED))?.release(); // calls that cross may all get null
            } catch (error) {
              count(rejected, error);
            }
          }
        });
        expect(rejected).to.deep.equal({});
        const [first, second] = locks;
        let lease = await first?.tryAcquire(TRIED);
        while (lease === null) lease = await first?.tryAcquire(TRIED); // an undo was under way
        expect(await second?.tryAcquire(TRIED)).to.equal(null);
        await lease?.release();
      });

      it('lead goes on in all of them: each leads several times, and nothing rejects', async () => {
        const stop = new AbortController();
        const led = locks.map(() => 0);
        const failed: Tally = {};
        const leading = locks.map((lock, i) =>
          lock
            .election(LED)
            .lead(() => void (led[i] = (led[i] ?? 0) + 1), { signal: stop.signal })
            .catch((error: unknown) => count(failed, error)),
        );
        await eventually(() => Object.keys(failed).length > 0 || led.every((times) => times >= 3));
        stop.abort();
        await Promise.all(leading);
        expect(failed).to.deep.equal({});
      });

      it('a job runs at each tick, in one of them', async () => {
        const done = new Set<number>();
        const unavailable: unknown[] = [];
        const options = { every: 100 };
        const jobs = await Promise.all(locks.map((lock) => lock.job(RUN, options, () => undefined)));
        for (const job of jobs) {
          job.on('done', ({ scheduledAt }) => done.add(scheduledAt.getTime()));
          job.on('skipped', (tick) => tick.reason === 'unavailable' && unavailable.push(tick));
        }
        await eventually(() => unavailable.length > 0 || done.size >= 15);
        await Promise.all(jobs.map((job) => job.stop()));
        expect(unavailable).to.deep.equal([]);
      });

      /** Does it in all clients at the same time. */
      async function eachClient(run: (lock: Redlock) => Promise<void>): Promise<void> {
        await Promise.all(locks.map(run));
      }
    });
  }
});

/** How many errors have each code. */
type Tally = Record<string, number>;

function count(tally: Tally, error: unknown): void {
  const code = RedlockError.is(error) ? error.code : String(error);
  tally[code] = (tally[code] ?? 0) + 1;
}

/** Every other client asks the masters in the opposite order: votes cross. */
async function open({ masters }: RealBench, i: number, options: RedlockOptions = {}): Promise<Redlock> {
  const urls = i % 2 === 0 ? masters.urls : masters.urls.toReversed();
  const lock = Redlock.connect(urls, { ...PATIENT, ...options });
  await eventually(async () => (await lock.inspect('any')).nodes.every(({ state }) => state === 'free'));
  return lock;
}
