/**
 * Faults of redlock 4.2.0 and 5.0.0-beta.2 from which the faces are free: each with a check that fails with the package. The
 * table in docs/MIGRATION.md is made from this list.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import sinon from 'sinon';
import type { ChaosMasters } from '../chaos/kit/masters.js';
import { eventually, isReady } from '../support/real.js';
import { type AnySettings, FAIL_FAST, type AnyRedlock, type Subject, type Version } from './subject.js';

/** What a check works with. */
export interface FaultBench {
  readonly subject: Subject;
  readonly masters: ChaosMasters;
  /** To look at each master, beside its proxy. */
  readonly hands: readonly Redis[];
  /** Through the proxies, to all masters or to the first ones, which are connected. */
  open(
    settings: AnySettings,
    options?: object,
    masters?: number,
  ): Promise<{ readonly redlock: AnyRedlock; readonly clients: readonly Redis[] }>;
}

export interface Fault {
  readonly versions: readonly Version[];
  readonly what: string;
  readonly there: string;
  readonly here: string;
  /** How often it is looked for there, where it does not come up each time. @default 1 */
  readonly tries?: number;
  /** Resolves if the subject is free of it. */
  check(bench: FaultBench): Promise<void>;
}

const LONG_MS = 60_000;
const ONE_TRY: AnySettings = { retryCount: 0 };

/** Rejects if the subject takes longer than anything of it would. */
async function settled<T>({ subject }: FaultBench, call: PromiseLike<T>): Promise<T> {
  const over = new AbortController();
  const never = sleep(subject.patienceMs, undefined, { signal: over.signal }).then(() => {
    throw new Error('it does not settle');
  });
  never.catch(() => undefined);
  return Promise.race([call, never]).finally(() => over.abort());
}

/** The error that it rejects with; undefined if it resolves. Fails if it does neither. */
async function errorOf(bench: FaultBench, call: PromiseLike<unknown>): Promise<unknown> {
  const settledTo = Promise.resolve(call).then(
    () => undefined,
    (error: unknown) => error ?? new Error('no error'),
  );
  return settled(bench, settledTo);
}

/** On a busy machine, a short lock may have expired when the answers come. */
async function won<T>(acquire: () => PromiseLike<T>): Promise<T> {
  for (;;) {
    const lock = await acquire().then(
      (given) => given,
      () => undefined,
    );
    if (lock !== undefined) return lock;
  }
}

async function takenBy(hand: Redis | undefined, key: string): Promise<void> {
  await hand?.set(key, 'another', 'PX', LONG_MS);
}

/** How many scripts and claims a master has run. */
async function callsAt(hand: Redis): Promise<number> {
  const stats = await hand.info('commandstats');
  return [...stats.matchAll(/cmdstat_(?:eval|evalsha|set):calls=(\d+)/g)].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  );
}

async function isGone({ hands }: FaultBench, key: string): Promise<boolean> {
  const there = await Promise.all(hands.map((hand) => hand.exists(key)));
  return there.every((count) => count === 0);
}

/** All masters lose it. */
async function gone({ hands }: FaultBench, key: string): Promise<void> {
  await eventually(async () => (await Promise.all(hands.map((hand) => hand.exists(key)))).every(Boolean)); // a claim may be late
  for (const hand of hands) await hand.del(key);
}

export const FAULTS: readonly Fault[] = [
  {
    versions: ['5'],
    what: 'two masters of which one refuses',
    there: 'the call never settles',
    here: '`ExecutionError`',
    async check(bench) {
      await takenBy(bench.hands[1], 'r');
      expect(
        await errorOf(bench, (await bench.open(ONE_TRY, {}, 2)).redlock.acquire(['r'], LONG_MS)),
      ).to.be.instanceOf(Error);
    },
  },
  {
    versions: ['4', '5'],
    what: 'masters that do not answer (version 4: one; version 5: a majority)',
    there: 'the call never settles',
    here: 'a node timeout decides for them',
    async check(bench) {
      const { redlock } = await bench.open(ONE_TRY);
      await redlock.acquire(['warm'], LONG_MS); // connected
      for (const master of bench.masters.list.slice(1)) master.cut();
      await errorOf(bench, redlock.acquire(['r'], LONG_MS));
    },
  },
  {
    versions: ['5'],
    what: 'masters that answer after the lock has expired',
    there: '`acquire` resolves with an expired lock',
    here: '`ExecutionError`',
    async check(bench) {
      const { redlock } = await bench.open(ONE_TRY);
      await redlock.acquire(['warm'], LONG_MS);
      for (const { proxy } of bench.masters.list) proxy.delay(150);
      const lock = await redlock.acquire(['r'], 200).then(
        (given) => given,
        () => undefined,
      );
      if (lock !== undefined) expect(lock.expiration).to.be.above(Date.now());
    },
  },
  {
    versions: ['5'],
    what: 'masters that answer to an extension after the lock has expired',
    there: '`extend` resolves with an expired lock',
    here: '`ExecutionError`',
    async check(bench) {
      const { redlock } = await bench.open(ONE_TRY);
      await redlock.extend(await redlock.acquire(['warm'], LONG_MS), LONG_MS); // the script is loaded
      const lock = await won(() => redlock.acquire(['r'], 1_000));
      for (const { proxy } of bench.masters.list) proxy.delay(600);
      const extended = await redlock.extend(lock, 1_000).then(
        (given) => given,
        () => undefined,
      );
      if (extended !== undefined) expect(extended.expiration).to.be.above(Date.now());
    },
  },
  {
    versions: ['5'],
    what: 'attempts that won a minority of masters',
    there: 'its own votes refuse its next attempts, until they expire',
    here: 'they are undone before the next attempt',
    async check(bench) {
      const { redlock } = await bench.open({ retryCount: 100, retryDelay: 20, retryJitter: 0 });
      for (const hand of bench.hands.slice(0, 2)) await takenBy(hand, 'r');
      let refusals = 0;
      redlock.on('error', () => refusals++);
      const acquired = redlock.acquire(['r'], LONG_MS);
      acquired.then(undefined, () => undefined);
      await eventually(() => refusals >= 2); // by both: a claim that came after the key is free would be granted
      await bench.hands[0]?.del('r');
      expect(await errorOf(bench, acquired)).to.equal(undefined);
    },
  },
  {
    versions: ['4'],
    what: 'an extension that fails, since two masters are out of memory',
    there: 'it deletes the lock that is held',
    here: 'the lock stays as it was',
    async check(bench) {
      const { redlock } = await bench.open(ONE_TRY);
      const lock = await redlock.acquire(['r'], LONG_MS);
      await eventually(async () =>
        (await Promise.all(bench.hands.map((hand) => hand.exists('r')))).every(Boolean),
      );
      for (const master of bench.masters.list.slice(0, 2)) await master.fill();
      await errorOf(bench, redlock.extend(lock, 2 * LONG_MS));
      for (const master of bench.masters.list.slice(0, 2)) await master.empty();
      for (const hand of bench.hands) expect(await hand.get('r')).to.equal(lock.value);
    },
  },
  {
    versions: ['4', '5'],
    what: 'the release of a lock that has expired',
    there: 'rejects; version 5 retries for two seconds before',
    here: 'resolves: there is nothing to release',
    async check(bench) {
      const { redlock } = await bench.open(ONE_TRY);
      const lock = await won(() => redlock.acquire(['r'], 100));
      await eventually(async () => isGone(bench, 'r'));
      expect(await errorOf(bench, redlock.release(lock))).to.equal(undefined);
    },
  },
  {
    versions: ['5'],
    what: 'a routine returns after the lock was lost',
    there: '`using` rejects: its result is lost',
    here: '`using` resolves with it',
    async check(bench) {
      const { redlock } = await bench.open(ONE_TRY);
      const call = redlock.using(['r'], LONG_MS, async () => {
        await gone(bench, 'r');
        return 'done';
      });
      expect(await settled(bench, call)).to.equal('done');
    },
  },
  {
    versions: ['5'],
    what: 'a routine throws after the lock was lost',
    there: '`using` rejects with another error',
    here: '`using` rejects with the error of the routine',
    async check(bench) {
      const own = new Error('of the routine');
      const { redlock } = await bench.open(ONE_TRY);
      const call = redlock.using(['r'], LONG_MS, async () => {
        await gone(bench, 'r');
        throw own;
      });
      expect(await errorOf(bench, call)).to.equal(own);
    },
  },
  {
    versions: ['5'],
    what: 'a lock that cannot be extended any more',
    there: '`using` extends again and again, thousands of times a second',
    here: 'one renewal finds it, and the signal aborts',
    async check(bench) {
      const settings = { retryCount: 0, automaticExtensionThreshold: 1_100 };
      const { redlock } = await bench.open(settings, {}, 1);
      const [hand] = bench.hands;
      if (hand === undefined) throw new Error('there is a master');
      let before = 0;
      await redlock
        .using(['r'], 1_500, async (signal) => {
          await takenBy(hand, 'r');
          before = await callsAt(hand);
          if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
        })
        .catch(() => undefined);
      expect((await callsAt(hand)) - before).to.be.below(100);
    },
  },
  {
    versions: ['5'],
    what: 'a routine ends while the lock is being extended',
    there: 'a timer is left, which extends what was released, and the signal aborts after success',
    here: 'nothing is left',
    tries: 10,
    async check(bench) {
      const settings = { retryCount: 0, automaticExtensionThreshold: 850 };
      const { redlock } = await bench.open(settings, {}, 1);
      await redlock.acquire(['warm'], LONG_MS);
      for (const { proxy } of bench.masters.list) proxy.delay(30);
      let given: AbortSignal | undefined;
      await redlock.using(['r'], 1_000, async (signal) => {
        given = signal;
        await sleep(100);
      });
      await sleep(1_500); // the ttl, and half of it
      expect(given?.aborted).to.equal(false);
    },
  },
  {
    versions: ['4', '5'],
    what: 'the connection breaks when the master has set the lock',
    there: 'the lock stays for its whole duration, and nobody has it',
    here: 'it is undone when the connection is back',
    async check(bench) {
      const { redlock, clients } = await bench.open(ONE_TRY, FAIL_FAST, 1);
      await eventually(() => clients.every(isReady));
      await redlock.release(await redlock.acquire(['warm'], LONG_MS)); // the scripts are loaded
      const [master, hand] = [bench.masters.list[0], bench.hands[0]];
      const match = (words: readonly string[]): boolean => /^(evalsha|set)$/i.test(words[0] ?? '');
      const trap = master?.proxy.trap({ point: 'after-run', action: 'close', match });
      expect(await errorOf(bench, redlock.acquire(['r'], LONG_MS))).to.be.instanceOf(Error);
      await trap?.sprung;
      const undone = eventually(async () => (await hand?.exists('r')) === 0);
      await settled(bench, undone);
    },
  },
  {
    versions: ['4', '5'],
    what: 'the clock of the machine is set forward by an hour',
    there: 'a lock that is held cannot be extended',
    here: 'the clock plays no part',
    async check(bench) {
      const { redlock } = await bench.open(ONE_TRY);
      const lock = await redlock.acquire(['r'], LONG_MS);
      const nowMs = Date.now.bind(Date);
      const clock = sinon.stub(Date, 'now').callsFake(() => nowMs() + 3_600_000);
      try {
        expect(await errorOf(bench, redlock.extend(lock, LONG_MS))).to.equal(undefined);
      } finally {
        clock.restore();
      }
    },
  },
  {
    versions: ['5'],
    what: 'a long wait for a lock',
    there: 'each attempt stays in memory, and in `lock.attempts`',
    here: 'it waits in a queue, and keeps the last attempts',
    async check(bench) {
      const { redlock } = await bench.open({ retryCount: 100_000, retryDelay: 1, retryJitter: 0 }, {}, 1);
      const [hand] = bench.hands;
      await takenBy(hand, 'r');
      const acquired = redlock.acquire(['r'], LONG_MS);
      // version 5 makes as many calls in less than a second, and in more on a busy machine
      for (let i = 0; i < 30 && hand !== undefined && (await callsAt(hand)) < 300; i++) await sleep(100);
      await hand?.del('r');
      expect((await acquired).attempts).to.have.lengthOf.at.most(100);
    },
  },
  {
    versions: ['4', '5'],
    what: '`[]`, a name twice, durations of 0, below 0 and without end (version 5: a text in place of a list)',
    there: 'some are granted, others rejected by each master',
    here: 'an error that names it, before anything is sent',
    async check(bench) {
      const { redlock } = await bench.open(ONE_TRY);
      const calls = [
        () => redlock.acquire([], LONG_MS),
        () => redlock.acquire(['r', 'r'], LONG_MS),
        ...[0, -5, Infinity].map((duration) => () => redlock.acquire(['r'], duration)),
      ];
      for (const call of calls) {
        const error = await errorOf(bench, new Promise((resolve) => resolve(call())));
        expect(error)
          .to.be.instanceOf(Error)
          .with.property('message')
          .that.matches(/resources|duration/);
      }
      for (const hand of bench.hands) expect(await callsAt(hand)).to.equal(0);
    },
  },
];
