/**
 * Jobs whose ticks are far apart, or that meet what lasts: jitter, outages, long runs, other programs. Each of these lost
 * ticks, or told what was not so. Over masters in memory, under virtual time; ticks are numbered from the beginning.
 */
import { expect } from 'chai';
import type { JobOptions } from '../../lib/jobs/public.js';
import { recordKey } from '../../lib/protocol/keys.js';
import type { FakeMaster } from '../support/fake-master.js';
import { type JobBench, jobBench } from '../support/job-bench.js';

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000] as const;
/** As services have it: what lasts longer than a ttl costs the lease. */
const TERMS = { ttlMs: 30_000, nodeTimeoutMs: 200 } as const;

/** A day begins at this tick of the masters' time, in ms after the beginning. */
function untilFirst(everyMs: number): number {
  return everyMs - (1_790_000_001_000 % everyMs);
}

/** Ticks by their numbers: 1 is the first. */
function numbered(bench: JobBench, everyMs: number): readonly number[] {
  const offset = untilFirst(everyMs) / everyMs;
  return bench.ran.map((tick) => Math.round((tick - offset + 1) * 1e6) / 1e6);
}

function away(masters: readonly FakeMaster[], isAway: boolean): void {
  for (const master of masters) master.become(isAway ? 'lost' : 'ready');
}

function loseReplies(master: FakeMaster): void {
  master.manner = 'lose-reply';
}

/** The connection that swallowed them breaks, and the next one works. */
function breakAndAnswer(master: FakeMaster): void {
  master.manner = 'answer';
  master.cut();
  master.become('ready');
}

const range = (to: number): readonly number[] => Array.from({ length: to }, (_, i) => i + 1);

describe('a job with long gaps', () => {
  describe('jitter', () => {
    for (const [title, every, jitterMs, processes, ticks] of [
      ['a day, five minutes of jitter, one process', DAY, 5 * MINUTE, 1, 20],
      ['a day, five minutes of jitter, three processes', DAY, 5 * MINUTE, 3, 20],
      ['an hour, a minute of jitter', HOUR, MINUTE, 1, 40],
    ] as const) {
      it(`${title}: ${ticks} of ${ticks} ticks are run`, async () => {
        const bench = jobBench(3, every, TERMS);
        for (const name of ['a', 'b', 'c'].slice(0, processes)) await bench.client(name, { every, jitterMs });
        await bench.time.advance(untilFirst(every) + (ticks - 0.5) * every);
        expect(numbered(bench, every)).to.deep.equal(range(ticks));
        expect(bench.told.filter((one) => one.includes('missed'))).to.deep.equal([]);
      });
    }
  });

  describe('missed ticks of a daily job', () => {
    const restarted = async (options: Partial<JobOptions>, downMs: number): Promise<JobBench> => {
      const bench = jobBench(3, DAY, TERMS);
      const { job } = await bench.client('a', { every: DAY, ...options });
      await bench.time.advance(untilFirst(DAY) + HOUR);
      await job.stop();
      await bench.time.advance(downMs);
      await bench.client('b', { every: DAY, ...options });
      await bench.time.advance(MINUTE);
      return bench;
    };

    it('once: made up for within missedWithinMs, and told', async () => {
      const bench = await restarted({ missed: 'once' }, DAY - HOUR / 2);
      expect(numbered(bench, DAY)).to.deep.equal([1, 2]);
      expect(bench.told.filter((one) => one.includes('missed'))).to.have.lengthOf(1);
    });

    it('all, within three days: each is made up for', async () => {
      const bench = await restarted({ missed: 'all', missedWithinMs: 3 * DAY }, 3 * DAY);
      expect(numbered(bench, DAY)).to.deep.equal([1, 2, 3, 4]);
    });

    it('of a job that has never run, but was there: made up for, too', async () => {
      const bench = jobBench(3, DAY, TERMS);
      const { job } = await bench.client('a', { every: DAY, missed: 'once' });
      await bench.time.advance(MINUTE);
      await job.stop();
      await bench.time.advance(untilFirst(DAY));
      await bench.client('b', { every: DAY, missed: 'once' });
      await bench.time.advance(MINUTE);
      expect(numbered(bench, DAY)).to.deep.equal([1]);
    });

    it('masters that lose the record: nothing that this process has run is run again', async () => {
      const bench = jobBench(3, HOUR, TERMS);
      await bench.client('a', { every: HOUR, missed: 'all' });
      await bench.time.advance(untilFirst(HOUR) + MINUTE);
      for (const master of bench.masters) master.forget();
      await bench.time.advance(HOUR);
      expect(numbered(bench, HOUR)).to.deep.equal([1, 2]);
    });
  });

  describe('outages', () => {
    for (const lastingMs of [8 * SECOND, 40 * SECOND, 20 * MINUTE]) {
      it(`${lastingMs / SECOND} s over a tick: it is run when masters are back`, async () => {
        const bench = jobBench(3, DAY, TERMS);
        await bench.client('a', { every: DAY });
        await bench.time.advance(untilFirst(DAY) - SECOND);
        away(bench.masters, true);
        await bench.time.advance(lastingMs);
        away(bench.masters, false);
        await bench.time.advance(MINUTE);
        expect(numbered(bench, DAY)).to.deep.equal([1]);
      });
    }

    for (const [what, begin, end] of [
      [
        'connections are lost',
        (one: FakeMaster) => one.become('lost'),
        (one: FakeMaster) => one.become('ready'),
      ],
      ['replies are lost', loseReplies, breakAndAnswer],
    ] as const) {
      it(`${what} for 8 and 40 s just after the grant of a fleet of one, at 31 instants: the tick is run`, async () => {
        let lost = 0;
        for (const lastingMs of [8 * SECOND, 40 * SECOND]) {
          for (let offMs = 0; offMs <= 30; offMs++) {
            const bench = jobBench(1, HOUR, TERMS);
            for (const master of bench.masters) master.latencyMs = 5;
            const { job } = await bench.client('a', { every: HOUR });
            await bench.time.advance(untilFirst(HOUR) + offMs);
            for (const master of bench.masters) begin(master);
            await bench.time.advance(lastingMs);
            for (const master of bench.masters) end(master);
            await bench.time.advance(2 * MINUTE);
            if (!numbered(bench, HOUR).includes(1)) lost++;
            await job.stop();
          }
        }
        expect(lost).to.equal(0);
      });
    }
  });

  describe('runs', () => {
    it('a runner that dies after 200 s, and one that dies after three or five ticks: interrupted', async () => {
      for (const lastingMs of [200 * SECOND, 3.5 * HOUR, 5.5 * HOUR]) {
        const bench = jobBench(3, HOUR, TERMS);
        // after that it hangs, and has lost the lock
        const hung = { every: HOUR, atMostForMs: lastingMs };
        await bench.client('a', hung, () => new Promise(() => undefined));
        await bench.time.advance(untilFirst(HOUR) + lastingMs + MINUTE);
        await bench.client('b', { every: HOUR });
        await bench.time.advance(HOUR);
        expect(bench.told.find((one) => one.includes('missed'))).to.match(/interrupted$/);
      }
    });

    for (const overlap of ['queue', 'skip'] as const) {
      it(`run() of two minutes over a tick, overlap ${overlap}: the tick is run after it`, async () => {
        const bench = jobBench(3, HOUR, TERMS);
        const { job } = await bench.client('a', { every: HOUR, overlap }, () =>
          bench.pass(bench.ran.length === 1 ? 2 * MINUTE : SECOND),
        );
        await bench.time.advance(untilFirst(HOUR) - MINUTE);
        void job.run();
        await bench.time.advance(5 * MINUTE);
        expect(numbered(bench, HOUR).slice(1)).to.deep.equal([1]);
      });
    }

    it('run() between a tick and its claim, with a record and without: the tick is run all the same', async () => {
      const bench = jobBench(3, HOUR, TERMS);
      const { job } = await bench.client('a', { every: HOUR, jitterMs: MINUTE });
      await bench.time.advance(untilFirst(HOUR) + SECOND);
      for (let i = 0; i < 2; i++) {
        expect(await job.run()).to.include({ executed: true });
        await bench.time.advance(HOUR);
      }
      const ticks = numbered(bench, HOUR).filter((tick) => Number.isInteger(tick));
      expect(ticks).to.deep.equal([1, 2]);
    });
  });

  describe('another schedule under the name', () => {
    it('a schedule that is new: its ticks before are no news, and those that come are run', async () => {
      const bench = jobBench(3, MINUTE, TERMS);
      const { job } = await bench.client('old', { every: HOUR });
      await bench.time.advance(HOUR);
      await job.stop();
      await bench.time.advance(15 * MINUTE);
      await bench.client('new', { every: MINUTE, missed: 'all' });
      const before = bench.ran.length;
      await bench.time.advance(5 * MINUTE);
      expect(bench.ran.length - before).to.equal(5);
      expect(bench.told.filter((one) => one.includes('missed'))).to.deep.equal([]);
      expect(bench.told).to.include('new has every 60000, and there is every 3600000');
    });

    it('a schedule that is new, and has not come to a tick: there is a job of it from here on', async () => {
      const bench = jobBench(3, MINUTE, TERMS);
      const { job: old } = await bench.client('old', { every: HOUR });
      await bench.time.advance(HOUR);
      await old.stop();
      const options = { every: MINUTE, missed: 'all' } as const;
      const { job } = await bench.client('new', options);
      await bench.time.advance(SECOND);
      await job.stop();
      const before = bench.ran.length;
      await bench.time.advance(5 * MINUTE);
      await bench.client('again', options);
      await bench.time.advance(SECOND);
      expect(bench.ran.length - before).to.equal(5);
    });

    it('two processes that differ: each runs its ticks, and both are told once an hour', async () => {
      const bench = jobBench(3, MINUTE, TERMS);
      await bench.client('a', { every: 7 * MINUTE });
      await bench.client('b', { every: 11 * MINUTE });
      await bench.time.advance(4.5 * HOUR);
      const [sinceMs, untilMs] = [1_790_000_001_000, 1_790_000_001_000 + 4.5 * HOUR];
      const ticks = new Set<number>();
      for (const every of [7 * MINUTE, 11 * MINUTE])
        for (let tick = Math.ceil(sinceMs / every) * every; tick < untilMs; tick += every)
          ticks.add((tick - sinceMs) / MINUTE);
      expect(bench.ran).to.deep.equal([...ticks].toSorted((one, other) => one - other));
      for (const name of ['a', 'b'])
        expect(bench.told.filter((one) => one.startsWith(`${name} has`)).length).to.be.within(4, 5);
      expect(bench.told.filter((one) => one.includes('missed'))).to.deep.equal([]);
    });
  });

  describe('beside a cron that locks by SET NX', () => {
    /** Sets the key as such a program does. @returns whether it has it */
    const setNx = (bench: JobBench, key: string, ms: number): boolean => {
      const isFree = bench.masters.every((master) => master.get(key) === undefined);
      if (isFree) for (const master of bench.masters) master.set(key, '1', ms);
      return isFree;
    };

    it('its lock on the name, as the tick comes: the tick is told to be elsewhere, and not run; the next is', async () => {
      const bench = jobBench(3, HOUR, TERMS);
      for (const name of ['a', 'b']) await bench.client(name, { every: HOUR });
      await bench.time.advance(untilFirst(HOUR) - 100);
      expect(setNx(bench, 'j', 55 * SECOND)).to.equal(true);
      await bench.time.advance(2 * MINUTE);
      expect(bench.ran).to.deep.equal([]);
      expect(bench.told.filter((one) => one.endsWith('elsewhere'))).to.not.be.empty;
      await bench.time.advance(HOUR);
      expect(numbered(bench, HOUR)).to.deep.equal([2]);
    });

    it('moving over as JOBS says, the routine takes the old key: each tick is run once, by the old or the new', async () => {
      const bench = jobBench(3, MINUTE, TERMS);
      const by: string[] = [];
      const asBefore = (who: string): void => void (setNx(bench, 'old-key', 50 * SECOND) && by.push(who));
      for (const name of ['a', 'b']) await bench.client(name, { every: MINUTE }, () => asBefore('new'));
      await bench.time.advance(untilFirst(MINUTE) - MINUTE / 2);
      for (let tick = 1; tick <= 20; tick++) {
        const oldMs = tick > 10 ? undefined : [100, -100][tick % 2]; // the old programs end after ten ticks
        await bench.time.advance(MINUTE / 2 + (oldMs ?? 0));
        if (oldMs !== undefined) asBefore('old');
        await bench.time.advance(MINUTE / 2 - (oldMs ?? 0));
        expect(by, `tick ${tick}`).to.have.lengthOf(tick);
      }
      expect(by.slice(10)).to.deep.equal(Array.from({ length: 10 }, () => 'new'));
      expect(by.slice(0, 10)).to.include.members(['old', 'new']);
    });
  });

  it('a record lives until the tick after the next, and an hour', async () => {
    const bench = jobBench(1, HOUR, TERMS);
    const [master] = bench.masters;
    const { job } = await bench.client('a', { every: HOUR, jitterMs: MINUTE });
    await bench.time.advance(untilFirst(HOUR) + 2 * MINUTE);
    await job.stop();
    await bench.time.advance(2 * HOUR + 50 * MINUTE);
    expect(master?.get(recordKey('j'))).to.be.a('string');
    await bench.time.advance(12 * MINUTE);
    expect(master?.get(recordKey('j'))).to.equal(undefined);
  });
});
