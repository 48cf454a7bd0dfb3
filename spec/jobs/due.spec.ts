/** Which ticks are due, and which are run: pure. Ticks are named by their numbers; there is one each second. */
import { expect } from 'chai';
import { lifeMs, planOf } from '../../lib/jobs/due.js';
import type { Policy } from '../../lib/jobs/options.js';
import type { JobRecord, Known } from '../../lib/jobs/record.js';
import type { Schedule } from '../../lib/jobs/schedule.js';

const SECOND = 1_000;
const EACH_SECOND: Schedule = {
  text: 'every 1000',
  next: (afterMs) => (Math.floor(afterMs / SECOND) + 1) * SECOND,
};
const HOUR = 3_600;
const POLICY: Policy = {
  missed: 'skip',
  missedWithinMs: 3_600_000,
  missedMost: 100,
  overlap: 'skip',
  atLeastForMs: 0,
  spanMs: 0,
};

type Given = Partial<Omit<Known, 'record'>> & {
  readonly record?: Partial<JobRecord>;
  /** The process was there for all ticks after this one; by default, for its own and later ones, or from now on. */
  readonly there?: number;
  /** Another program had the name up to this tick. */
  readonly elsewhere?: number;
};

/** The plan of a process that was there for tick `own` and reads, at tick 100, what is given; ticks by their numbers. */
function planned(own: number | undefined, given: Given, policy: Partial<Policy> = {}): object {
  const { record, nowMs = 100 * SECOND, there, elsewhere = 0, ...rest } = given;
  const known: Known = {
    ...{ sinceMs: 0, nowMs, earliestMs: nowMs, latestMs: nowMs, isPartial: false },
    ...{ isGone: false, isOther: false, ...rest },
    record: record && {
      ...{
        tick: 0,
        state: 'done',
        notBeforeMs: 0,
        fromMs: record.tick ?? 0,
        schedule: 'every 1000',
        ...record,
      },
    },
  };
  const ownMs = own === undefined ? undefined : own * SECOND;
  const thereMs = there === undefined ? (ownMs === undefined ? nowMs : ownMs - 1) : there * SECOND;
  const plan = planOf(
    {
      ...{ schedule: EACH_SECOND, policy: { ...POLICY, ...policy }, own: ownMs, thereMs },
      elsewhereMs: elsewhere * SECOND,
    },
    known,
  );
  const of = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / SECOND);
  return {
    run: of(plan.run),
    over: of(plan.over),
    hasMore: plan.hasMore,
    skipped: plan.skipped.map(({ tick, reason }) => `${tick / SECOND} ${reason}`),
    missed: plan.missed.map(({ tick, reason }) => `${tick / SECOND} ${reason}`),
  };
}

const NOTHING = { run: undefined, over: undefined, hasMore: false, skipped: [], missed: [] };
const done = (tick: number, notBeforeMs = 0): Given => ({
  record: { tick: tick * SECOND, state: 'done', notBeforeMs },
});
const started = (tick: number): Given => ({ record: { tick: tick * SECOND, state: 'started' } });
const since = (tick: number): Given => ({ sinceMs: tick * SECOND });

describe('which tick is run', () => {
  const cases: readonly (readonly [
    title: string,
    own: number | undefined,
    given: Given,
    policy: Partial<Policy>,
    plan: Partial<typeof NOTHING> | object,
  ])[] = [
    ['the one before is done: its own', 100, done(99), {}, { run: 100 }],
    ['its own is done', 100, done(100), {}, { skipped: ['100 done'] }],
    ['its own, and a later one, is done', 99, done(100), {}, { skipped: ['99 done'] }],
    [
      'its own is done, of those that came since the latest is run, and all are told',
      98,
      done(98),
      {},
      { run: 100, skipped: ['98 done', '99 overlap'] },
    ],
    [
      'masters are behind who waited: its own all the same',
      100,
      { ...done(99), nowMs: 99_990 },
      {},
      { run: 100 },
    ],
    ['who only looks for missed ones finds none', undefined, done(100), {}, {}],

    // without a record
    ['no record: its own, and none before it', 100, {}, { missed: 'all' }, { run: 100 }],
    ['no record: who only looks has missed nothing', undefined, {}, { missed: 'all' }, {}],
    [
      'no record, and so long ago that one may have ended its life: it may be done, and what has come since is run',
      98,
      { nowMs: (100 + HOUR) * SECOND },
      { missedMost: 2 },
      {
        run: 100 + HOUR,
        skipped: [`${99 + HOUR} overlap`],
        missed: ['98 unknown', `${99 + HOUR / 2} unknown`, `${100 + HOUR / 2} unknown`],
      },
    ],
    [
      'no record, and as long ago as one lives, with what it is needed for: its own is run',
      98,
      { nowMs: (100 + HOUR) * SECOND },
      { missedMost: 1, spanMs: (HOUR / 2 + 1) * SECOND },
      { run: 100 + HOUR },
    ],
    [
      'no record, and less than that ago: its own is run',
      99,
      {},
      { overlap: 'queue' },
      { run: 99, hasMore: true },
    ],
    [
      'the record is gone: those since the one that is remembered may be done, and its own is run',
      100,
      { ...done(97), isGone: true },
      { missed: 'all' },
      { run: 100, missed: ['98 unknown', '99 unknown'] },
    ],

    // ticks that are nobody's
    [
      'before there was a job of that schedule, nothing was missed',
      100,
      { record: { tick: 50 * SECOND, fromMs: 98_000 } },
      { missed: 'all' },
      { run: 99, hasMore: true, missed: ['99 not started'] },
    ],
    [
      'under a record of another schedule, nothing was missed; what it was there for is run',
      100,
      { ...done(50), isOther: true },
      { missed: 'all' },
      { run: 100 },
    ],
    ['the same for who only looks', undefined, { ...done(50), isOther: true }, { missed: 'all' }, {}],
    [
      'overtaken by the job of another schedule: it may be run or not; at the same instant, it is done',
      99,
      { record: { tick: 99_500 }, isOther: true },
      {},
      { run: 100, missed: ['99 unknown'] },
    ],
    [
      'a tick of both schedules is done by either',
      100,
      { ...done(100), isOther: true },
      {},
      { skipped: ['100 done'] },
    ],
    [
      'who waited in the queue to look for missed ones was there for those that came meanwhile',
      undefined,
      { ...done(97), there: 98 },
      { missed: 'all' },
      { run: 98, hasMore: true, skipped: ['99 overlap'], missed: ['98 not started'] },
    ],

    // another program on the name
    [
      'another program had the name when it came: it is over, and not run',
      99,
      { ...done(98), elsewhere: 100 },
      {},
      { over: 100, skipped: ['99 elsewhere', '100 elsewhere'] },
    ],
    [
      'those that nobody was there for are missed, whoever had the name; it was there for what came after that instant',
      undefined,
      { ...done(96), there: 98, elsewhere: 99 },
      {},
      { run: 100, skipped: ['99 elsewhere'], missed: ['97 not started', '98 not started'] },
    ],
    ['the same without a record', 100, { elsewhere: 100 }, {}, { over: 100, skipped: ['100 elsewhere'] }],
    [
      'what has come since it left is run',
      99,
      { ...done(98), elsewhere: 99 },
      { missed: 'all' },
      { run: 100, skipped: ['99 elsewhere'] },
    ],

    // of several that are due
    ['overlap skip: the latest', 98, done(97), {}, { run: 100, skipped: ['98 overlap', '99 overlap'] }],
    [
      'overlap queue: the earliest, and more follow',
      98,
      done(97),
      { overlap: 'queue' },
      { run: 98, hasMore: true },
    ],
    [
      'at most so many: the latest',
      90,
      done(89),
      { overlap: 'queue', missedMost: 2 },
      { run: 99, hasMore: true },
    ],

    // those that nobody was there for
    [
      'missed skip: they are listed, and its own is run',
      100,
      done(97),
      {},
      { run: 100, missed: ['98 not started', '99 not started'] },
    ],
    [
      'missed skip: who only looks notes that they are over',
      undefined,
      done(97),
      {},
      { over: 100, missed: ['98 not started', '99 not started', '100 not started'] },
    ],
    [
      'missed once: its own makes up for them',
      100,
      done(97),
      { missed: 'once' },
      { run: 100, missed: ['98 not started', '99 not started'] },
    ],
    [
      'missed once: without one of its own, the latest of them',
      undefined,
      done(98),
      { missed: 'once' },
      { run: 100, missed: ['99 not started', '100 not started'] },
    ],
    [
      'missed all: the earliest, and more follow',
      100,
      done(98),
      { missed: 'all' },
      { run: 99, hasMore: true, missed: ['99 not started'] },
    ],
    [
      'missed all: the last of them',
      undefined,
      done(99),
      { missed: 'all' },
      { run: 100, missed: ['100 not started'] },
    ],
    [
      'missed all: as far back as they are wanted',
      undefined,
      done(97),
      { missed: 'all', missedWithinMs: 1_000 },
      { run: 99, hasMore: true, missed: ['98 not started', '99 not started', '100 not started'] },
    ],

    // a runner that died
    [
      'begun and not done, missed skip: it is over',
      100,
      started(100),
      {},
      { over: 100, missed: ['100 interrupted'] },
    ],
    [
      'begun and not done, missed once: again',
      100,
      started(100),
      { missed: 'once' },
      { run: 100, missed: ['100 interrupted'] },
    ],
    [
      'begun and not done, missed all: again, before those that came since',
      100,
      started(99),
      { missed: 'all' },
      { run: 99, hasMore: true, missed: ['99 interrupted'] },
    ],
    [
      'begun, and its end may be forgotten: it may be done, and is not run again',
      100,
      { ...started(100), ...since(100) },
      { missed: 'all' },
      { over: 100, missed: ['100 unknown'] },
    ],
    [
      'begun long before what may be forgotten: all up to there is over, or what is written would hide it',
      undefined,
      { ...started(98), ...since(100) },
      {},
      { over: 100, missed: ['98 unknown', '99 unknown', '100 unknown'] },
    ],
    [
      'begun just after what may be forgotten: again',
      100,
      { ...started(100), sinceMs: 99_999 },
      { missed: 'all' },
      { run: 100, missed: ['100 interrupted'] },
    ],

    // masters that may have forgotten
    [
      'what may be forgotten may be done: it is not run',
      100,
      { ...done(99), ...since(100) },
      {},
      { missed: ['100 unknown'] },
    ],
    ['the same without a record', 100, since(100), {}, { missed: ['100 unknown'] }],
    [
      'its own came later than that: it is run; those before may be done',
      100,
      { ...done(97), sinceMs: 98_500 },
      { missed: 'all' },
      { run: 99, hasMore: true, missed: ['98 unknown', '99 not started'] },
    ],
    [
      'the record says that it is done, whatever is forgotten',
      100,
      { ...done(100), ...since(101) },
      {},
      { skipped: ['100 done'] },
    ],

    // not before
    ['too soon: it is over', 100, done(99, 100_001), {}, { over: 100, skipped: ['100 too soon'] }],
    ['at that instant it is no longer too soon', 100, done(99, 100_000), {}, { run: 100 }],
    [
      'by the earliest of the clocks',
      100,
      { ...done(99, 100_000), earliestMs: 99_999 },
      {},
      { over: 100, skipped: ['100 too soon'] },
    ],
    [
      'too soon: those that came together are over together',
      99,
      done(98, 100_001),
      { overlap: 'queue' },
      { over: 100, skipped: ['99 too soon', '100 too soon'] },
    ],
    [
      'too soon for one that was missed and is wanted: it is not over',
      100,
      done(98, 100_001),
      { missed: 'all' },
      { skipped: ['100 too soon'], missed: ['99 not started'] },
    ],
    [
      'too soon, and only missed ones that nobody wants: they are over',
      undefined,
      done(99, 100_001),
      {},
      { over: 100, missed: ['100 not started'] },
    ],
    [
      'too soon, since the last run may be forgotten',
      100,
      { ...done(98), ...since(99) },
      { atLeastForMs: 1_001 },
      { over: 100, skipped: ['100 too soon'], missed: ['99 unknown'] },
    ],
    [
      'the span after what may be forgotten is over',
      100,
      { ...done(98), ...since(99) },
      { atLeastForMs: 1_000 },
      { run: 100, missed: ['99 unknown'] },
    ],
  ];
  for (const [title, own, given, policy, plan] of cases) {
    it(title, () => expect(planned(own, given, policy)).to.deep.equal({ ...NOTHING, ...plan }));
  }
});

describe('how long a record lives', () => {
  const HOUR_MS = HOUR * SECOND;
  const until = (last: number): Schedule => ({
    text: 'until then',
    next: (afterMs) => (afterMs < last * SECOND ? EACH_SECOND.next(afterMs) : undefined),
  });

  it('until the tick after the next of its own or of now, as long as it is needed beyond that, and an hour', () => {
    const life = (tick: number, now: number): number =>
      lifeMs(EACH_SECOND, 5_000, { tick: tick * SECOND, nowMs: now * SECOND }) - HOUR_MS;
    expect([life(100, 100.5), life(100, 110.5), life(101, 100.5)]).to.deep.equal([6_500, 6_500, 7_500]);
  });

  it('in a schedule that ends: until its last tick, where fewer than two are left', () => {
    const life = (last: number): number =>
      lifeMs(until(last), 5_000, { tick: 100 * SECOND, nowMs: 100 * SECOND }) - HOUR_MS;
    expect([life(102), life(101), life(100)]).to.deep.equal([7_000, 6_000, 5_000]);
  });
});
