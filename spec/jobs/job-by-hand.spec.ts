/** A job by itself: when it claims, what it makes of a record, what it writes and what it tells. Ticks by their numbers. */
import { expect } from 'chai';
import { jobOf } from '../../lib/jobs/job.js';
import type { Job, JobOptions } from '../../lib/jobs/public.js';
import { NOTE_READ, NOTE_WRITE } from '../../lib/protocol/lua/scripts.js';
import { unknown } from '../../lib/protocol/quorum.js';
import type { Request } from '../../lib/protocol/request.js';
import { RedlockError } from '../../lib/runtime/errors.js';
import { scriptOf } from '../../lib/testing/master/execution.js';
import { answered, FakeCoordination } from '../support/fake-coordination.js';
import { settle } from '../support/fake-time.js';
import { rejection, thrown } from '../support/rejection.js';

const SECOND = { every: 1_000 } as const;
/** What the masters show when the job is made: tick 0. */
const START_MS = 1_790_000_001_000;
const EVENTS = ['scheduled', 'started', 'done', 'failed', 'skipped', 'missed'] as const;

/** What a master knows: `3 s 500` is tick 3, started, and nothing before 500 ms after the start. */
interface Known {
  readonly record?: string;
  /** The first master may have forgotten what was written before, or a quorum may have. */
  readonly sinceMs?: number;
  readonly isForgottenByAll?: boolean;
}

interface Bench extends FakeCoordination {
  readonly job: Job<unknown>;
  /** `event tick reason`. */
  readonly told: string[];
  /** What was written, as in `Known`. */
  readonly written: string[];
  readonly ran: number[];
  /** When the masters were asked for their time. */
  readonly timesAsked: number[];
  /** How long each sleep was to be. */
  readonly sleeps: number[];
  /** What is read next; what was written last, once there is nothing more. */
  readonly reads: Known[];
  readonly errors: Error[];
  knowsTime: boolean;
  onWrite: () => void;
}

/** What a run does. */
type Routine = (one: FakeCoordination) => unknown;

interface Given {
  readonly reads?: readonly Known[];
  readonly knowsTime?: boolean;
  /** What the nth claim brings; a lease by default. */
  readonly claim?: (nth: number, one: FakeCoordination) => Promise<unknown>;
  readonly onWrite?: (one: FakeCoordination) => void;
  /** All masters answer in one turn; else no more than a quorum is waited for. */
  readonly isTogether?: boolean;
  /** When it is made, after tick 0. */
  readonly afterMs?: number;
}

const tickOf = (ms: number): number => (ms - START_MS) / 1_000;

function textOf(record: string): string {
  const [tick = '', state = '', notBeforeMs = '0'] = record.split(' ');
  const notBefore = notBeforeMs === '0' ? 0 : START_MS + Number(notBeforeMs);
  return ['1', START_MS + Number(tick) * 1_000, state, notBefore].join('|');
}

function shown(text: string): string {
  const [, tick, state, notBefore] = text.split('|');
  return [tickOf(Number(tick)), state, Number(notBefore) === 0 ? 0 : Number(notBefore) - START_MS].join(' ');
}

/** A job on three masters that all know the same. */
async function started(
  options: JobOptions,
  { reads = [], knowsTime = true, claim, onWrite, isTogether = false, afterMs = 0 }: Given = {},
  routine: Routine = () => undefined,
): Promise<Bench> {
  const coordination = new FakeCoordination(3);
  const { time } = coordination;
  time.stall(afterMs);
  const sleeps: number[] = [];
  const wait = time.wait.bind(time);
  time.wait = (delayMs, callback) => {
    sleeps.push(delayMs);
    return wait(delayMs, callback);
  };
  const one = Object.assign(coordination, {
    ...{ told: [], written: [], ran: [], timesAsked: [], sleeps, reads: [...reads], errors: [], knowsTime },
    onWrite: () => onWrite?.(coordination),
    job: undefined as unknown as Job<unknown>, // it is made below
  } as Omit<Bench, keyof FakeCoordination>);
  let [text, claims] = ['', 0];
  coordination.answers = ({ command }) => {
    const clockMs = START_MS + time.now() - 1_000;
    if (command.name === 'time') {
      one.timesAsked.push(time.now() - 1_000);
      return one.knowsTime ? each([Math.floor(clockMs / 1_000), (clockMs % 1_000) * 1_000]) : [];
    }
    const name = scriptOf(command)?.name;
    if (name === NOTE_READ.name) {
      const next = one.reads.shift();
      if (next !== undefined) text = next.record === undefined ? '' : textOf(next.record);
      const [sinceMs, isThere] = [next?.sinceMs ?? 0, text === '' ? 0 : 1];
      const read = (since: number): unknown => [1, 9_000, clockMs * 1_000, since, 0, isThere, isThere, text];
      return [sinceMs, next?.isForgottenByAll === true ? sinceMs : 0, 0].map((since) =>
        answered(read(since)),
      );
    }
    if (name === NOTE_WRITE.name) {
      text = command.args.find((arg) => /^[12]\|\d/.test(arg)) ?? '';
      one.written.push(shown(text));
      one.onWrite();
    }
    return each([1, 0, 0]);
  };
  if (isTogether)
    Object.assign(coordination.coordinator, {
      survey: (asked: Request) => Promise.resolve(one.answers(asked)),
    });
  if (claim !== undefined)
    coordination.acquire = async (_names, _kind, _call, signal, extras) => {
      const over = new AbortController();
      const ended = new Promise((_resolve, reject) => {
        const end = (): void => reject(new RedlockError('ABORTED', 'it was ended'));
        signal?.addEventListener('abort', end, { signal: over.signal });
      });
      const brought = await Promise.race([claim(++claims, one), ended]).finally(() => over.abort());
      if (brought === 'outage')
        extras?.observer?.refused(
          1,
          { outcomes: each(0).map(() => unknown(new Error('silent'))) },
          'unknown',
        );
      return one.lease;
    };
  const job = await jobOf(coordination, 'j', options, (run) => {
    one.ran.push(tickOf(run.scheduledAt.getTime()));
    return routine(one);
  });
  for (const event of EVENTS)
    job.on(event, (what) => {
      const reason = 'reason' in what ? [what.reason] : [];
      one.told.push([event, tickOf(what.scheduledAt.getTime()), ...reason].join(' '));
      if ('error' in what && what.error instanceof Error) one.errors.push(what.error);
    });
  Object.assign(one, { job });
  return one;
}

const each = (reply: unknown): ReturnType<typeof answered>[] => [1, 2, 3].map(() => answered(reply));

/** A routine that takes so long the first time. */
function taking(ms: number): Routine {
  let isFirst = true;
  return ({ time }) => {
    if (!isFirst) return undefined;
    isFirst = false;
    return new Promise((resolve) => void time.wait(ms, () => resolve(undefined)));
  };
}

describe('job: when it claims', () => {
  it('a tick is told as it is scheduled; nothing is claimed before, unless missed ones are to be run', async () => {
    for (const [missed, claims] of [
      ['skip', 0],
      ['once', 1],
    ] as const) {
      let count = 0;
      const claim = (nth: number): Promise<void> => {
        count = nth;
        return Promise.resolve();
      };
      const { job, told } = await started({ ...SECOND, missed }, { claim });
      await settle();
      expect([told, count]).to.deep.equal([['scheduled 1'], claims]);
      await job.stop();
    }
  });

  it('a long sleep ends early, and the time is read again if the reading is old', async () => {
    const { job, sleeps, time, timesAsked } = await started({ every: 1_000_000_000 });
    await settle();
    const [first = 0] = sleeps;
    const leftMs = first / 0.9;
    await time.advance(leftMs);
    const expected = [leftMs];
    for (let left = leftMs; left > 1_000;) {
      left -= Math.ceil(left * 0.9);
      expected.push(left);
    }
    const toBe = expected.map((left) => Math.ceil(left > 1_000 ? left * 0.9 : left));
    expect(sleeps.slice(0, toBe.length)).to.deep.equal(toBe);
    expect(timesAsked.length).to.be.above(2);
    await time.advance(100_000_000);
    const before = timesAsked.length;
    await job.stop();
    expect(timesAsked.length).to.equal(before); // and not as it ends
  });

  it('a sleep of a second is not cut', async () => {
    const { sleeps, timesAsked } = await started(SECOND);
    await settle();
    expect([sleeps, timesAsked]).to.deep.equal([[1_000], [0]]);
  });

  it('masters that do not tell their time are asked again after a second', async () => {
    const { job, time, timesAsked } = await started(SECOND, { knowsTime: false });
    await time.advance(2_500);
    expect(timesAsked).to.deep.equal([0, 1_000, 2_000]);
    await job.stop();
    expect(time.pending).to.equal(0);
  });

  it('after a claim that failed late it claims again: for the tick before now; with overlap queue, for each', async () => {
    for (const [overlap, ran, lost] of [
      ['skip', [3], ['skipped 1 unavailable', 'skipped 2 unavailable']],
      ['queue', [1, 2, 3], []],
    ] as const) {
      const claim = async (nth: number, { time }: FakeCoordination): Promise<void> => {
        if (nth > 1) return;
        await new Promise<void>((resolve) => void time.wait(2_500, resolve));
        throw new RedlockError('NO_QUORUM', 'it failed');
      };
      const one = await started({ ...SECOND, overlap }, { claim });
      await one.time.advance(3_900);
      const scheduled = one.told.filter((what) => what.startsWith('scheduled'));
      expect([one.ran, scheduled], overlap).to.deep.equal([ran, ['scheduled 1', 'scheduled 4']]);
      expect(one.told.filter((what) => what.startsWith('skipped'))).to.deep.equal(lost);
      await one.job.stop();
    }
  });

  it('claims that fail again and again come at distances that double, up to a second', async () => {
    const at: number[] = [];
    const claim = (_nth: number, { time }: FakeCoordination): Promise<void> => {
      at.push(time.now() - 1_000);
      return Promise.reject(new RedlockError('NO_QUORUM', 'it failed'));
    };
    const { job, time, told } = await started({ every: 10_000 }, { claim });
    await time.advance(10_000);
    const [first = 0] = at;
    await time.advance(5_000);
    const after = at.map((ms) => ms - first);
    expect(after.slice(0, 10)).to.deep.equal([0, 20, 60, 140, 300, 620, 1_260, 2_260, 3_260, 4_260]);
    await job.stop();
    expect([told, time.pending]).to.deep.equal([['scheduled 9'], 0]); // as in an outage, nobody knows yet
  });

  it('what time does not mend is given up at once; what an operator may mend, when the next tick comes or after ten minutes', async () => {
    for (const [code, every, ms] of [
      ['WRONG_KIND', 3_600_000, 0],
      ['MISCONFIGURED', 3_600_000, 600_000],
      ['MISCONFIGURED', 60_000, 60_000],
    ] as const) {
      const claim = (): Promise<void> => Promise.reject(new RedlockError(code, 'it failed'));
      const one = await started({ every }, { claim });
      const at: number[] = [];
      one.job.on('skipped', () => at.push(one.time.now()));
      let dueMs = 0;
      one.job.on('scheduled', ({ scheduledAt }) => (dueMs ||= scheduledAt.getTime() - START_MS + 1_000));
      await one.time.advance(3_600_000 + 700_000);
      expect(one.errors[0]).to.include({ code });
      expect((at[0] ?? 0) - dueMs, code).to.be.within(ms, ms + 1_500);
      await one.job.stop();
    }
  });

  it('masters that an operator may mend: a tick is given up as soon as the next one is due', async () => {
    const claim = async (nth: number, { time }: FakeCoordination): Promise<void> => {
      if (nth > 1) return;
      await new Promise<void>((resolve) => void time.wait(1_000, resolve));
      throw new RedlockError('MISCONFIGURED', 'it failed');
    };
    const { job, ran, time, told } = await started(SECOND, { claim });
    await time.advance(2_999);
    const skipped = [1, 2].map((tick) => `skipped ${tick} unavailable`);
    expect([ran, told]).to.deep.equal([[], ['scheduled 1', ...skipped, 'scheduled 3']]);
    await job.stop();
  });

  it('a claim that is given up late: those that came meanwhile are lost with it; with overlap queue, they are claimed for', async () => {
    for (const [overlap, lost, scheduled] of [
      ['skip', [1, 2, 3], [1, 4]],
      ['queue', [1], [1, 2, 4]], // 3 was run with 2
    ] as const) {
      for (const error of [new RedlockError('WRONG_KIND', 'it failed'), new TypeError('a bug')]) {
        const claim = async (nth: number, { time }: FakeCoordination): Promise<void> => {
          if (nth > 1) return;
          await new Promise<void>((resolve) => void time.wait(2_500, resolve));
          throw error;
        };
        const one = await started({ ...SECOND, overlap }, { claim });
        await one.time.advance(3_900);
        const told = (event: string): string[] => one.told.filter((what) => what.startsWith(event));
        expect(told('skipped'), overlap).to.deep.equal(lost.map((tick) => `skipped ${tick} unavailable`));
        expect(told('scheduled'), overlap).to.deep.equal(scheduled.map((tick) => `scheduled ${tick}`));
        expect(one.errors).to.deep.equal(lost.map(() => error));
        await one.job.stop();
      }
    }
  });

  it('after a run, a claim that fails is soon followed by another, however many had failed before', async () => {
    const at: number[] = [];
    const claim = (nth: number, { time }: FakeCoordination): Promise<void> => {
      at.push(time.now());
      const isLost = nth <= 5 || nth === 7;
      return isLost ? Promise.reject(new RedlockError('NO_QUORUM', 'it failed')) : Promise.resolve();
    };
    const { job, time } = await started({ every: 100, overlap: 'queue' }, { claim });
    await time.advance(1_000);
    expect([5, 7].map((nth) => (at[nth] ?? 0) - (at[nth - 1] ?? 0))).to.deep.equal([320, 20]);
    await job.stop();
  });

  it('overlap queue: what was run under the leases that followed, or by others, is not scheduled', async () => {
    const one = await started({ ...SECOND, overlap: 'queue' }, {}, taking(2_500));
    await one.time.advance(3_900);
    expect([one.ran, one.told.filter((what) => what.startsWith('scheduled'))]).to.deep.equal([
      [1, 2, 3],
      ['scheduled 1', 'scheduled 2', 'scheduled 4'], // 3 was run with 2
    ]);
    await one.job.stop();
    for (const [reads, options] of [
      [[{ record: '3 d' }], {}],
      [[{ record: '0 d 9000' }], { atLeastForMs: 1 }],
    ] as const) {
      const claim = (nth: number, { time }: FakeCoordination): Promise<void> =>
        nth > 1 ? Promise.resolve() : new Promise((resolve) => void time.wait(2_500, resolve));
      const other = await started({ ...SECOND, overlap: 'queue', ...options }, { reads, claim });
      await other.time.advance(3_600);
      expect(other.told.filter((what) => what.startsWith('scheduled'))).to.deep.equal([
        ...['scheduled 1', 'scheduled 4'],
      ]);
      await other.job.stop();
    }
  });

  it('a schedule that has ended: nothing is scheduled, and nothing is left', async () => {
    const { begun, job, time, told } = await started({ cron: '0 0 0 1 1 * 2020' });
    await time.advance(1_000);
    expect([told, time.pending, begun.size]).to.deep.equal([[], 0, 0]);
    await job.stop();
  });

  it('stop: ends a wait in the queue, and tells nothing of it; no further tick is run, and no wait is left', async () => {
    const claim = (): Promise<void> => new Promise(() => undefined);
    const waiting = await started(SECOND, { claim });
    await waiting.time.advance(1_500);
    await waiting.job.stop();
    expect([waiting.told, waiting.begun.size]).to.deep.equal([['scheduled 1'], 0]);
    const given = { reads: [{ record: '-3 d' }] };
    const one = await started({ ...SECOND, missed: 'all' }, given, taking(2_500));
    await one.time.advance(500);
    const stopping = one.job.stop();
    await one.time.advance(5_000);
    await stopping;
    expect(one.ran).to.deep.equal([-2]);
  });

  it('a first claim that fails, for missed ticks, is made again, and nothing is told of it', async () => {
    const claim = (nth: number): Promise<void> =>
      nth > 1 ? Promise.resolve() : Promise.reject(new RedlockError('NO_QUORUM', 'it failed'));
    const given = { reads: [{ record: '-2 d' }], claim };
    const { job, ran, time, told } = await started({ ...SECOND, missed: 'once' }, given);
    await settle();
    expect(told).to.deep.equal([]);
    await time.advance(20);
    expect([ran, told.filter((one) => one.startsWith('skipped'))]).to.deep.equal([[0], []]);
    await job.stop();
  });

  it('one that cannot be made by the next tick is left: that tick finds what was missed', async () => {
    const claim = (nth: number): Promise<void> =>
      nth > 8 ? Promise.resolve() : Promise.reject(new RedlockError('MISCONFIGURED', 'it failed'));
    const given = { reads: [{ record: '-2 d' }], claim };
    const { job, ran, time, told } = await started({ ...SECOND, missed: 'all' }, given);
    await time.advance(2_500);
    expect(ran).to.deep.equal([-1, 0, 1, 2]);
    expect(told.filter((one) => one.startsWith('skipped'))).to.deep.equal([]);
    await job.stop();
  });
});

describe('job: what it makes of its record', () => {
  it('ticks that are over without a run are noted', async () => {
    const terms = { ...SECOND, missed: 'once', missedWithinMs: 0 } as const;
    const { job, told, written } = await started(terms, { reads: [{ record: '-5 d' }], afterMs: 300 });
    await settle();
    expect(written).to.deep.equal(['0 d 0']);
    expect(told.filter((one) => one.startsWith('missed'))).to.have.lengthOf(5);
    await job.stop();
  });

  it('a record that some masters have forgotten is written again, as it is; any other is not', async () => {
    for (const [read, expected, missed = 'skip', afterMs = 1_000] of [
      [{ record: '1 d 7', sinceMs: START_MS }, ['1 d 7']],
      [{ record: '1 d 7' }, []],
      [{ sinceMs: START_MS + 60_000, isForgottenByAll: true }, []],
      [{ record: '0 d 7' }, [], 'all', 0], // at the first look for missed ticks
    ] as const) {
      const given = { reads: [read], isTogether: true };
      const { errors, job, time, written } = await started({ ...SECOND, missed }, given);
      await time.advance(afterMs);
      expect([written, errors]).to.deep.equal([expected, []]);
      await job.stop();
    }
  });

  it('no record, and a tick of so long ago that one may have ended its life: it is not run, and what is fresh is', async () => {
    const claim = (nth: number, { time }: FakeCoordination): Promise<void> =>
      nth > 1 ? Promise.resolve() : new Promise((resolve) => void time.wait(12_600_000, resolve));
    const given = { reads: [{ sinceMs: START_MS - 9_000 }], isTogether: true, claim };
    const { errors, job, ran, time, told } = await started({ every: 3_600_000 }, given);
    let first = '';
    job.on('scheduled', ({ scheduledAt }) => (first ||= String(tickOf(scheduledAt.getTime()))));
    await time.advance(7_200_000 + 12_600_000);
    expect([(ran[0] ?? 0) > Number(first), errors]).to.deep.equal([true, []]);
    expect(told.find((one) => one.startsWith('missed'))).to.equal(`missed ${first} unknown`);
    await job.stop();
  });

  it('a tick whose beginning the masters did not note, and that another has run meanwhile, is not run again', async () => {
    const one = await started({ every: 10_000 }, { reads: [{}, { record: '9 d' }] });
    const { answers, reads } = one;
    one.answers = (request) => {
      const isWrite = scriptOf(request.command)?.name === NOTE_WRITE.name;
      return isWrite && reads.length > 0 ? [] : answers(request); // until the second claim
    };
    await one.time.advance(15_000);
    expect([one.ran, one.told]).to.deep.equal([[], ['scheduled 9', 'skipped 9 done', 'scheduled 19']]);
    await one.job.stop();
  });

  it('ticks that were missed are told once, under whatever lease; one that was interrupted is told as that, too', async () => {
    const reads = [{ record: '-3 d' }, { record: '-2 s' }, { record: '-2 d' }];
    const { job, ran, told } = await started({ ...SECOND, missed: 'all' }, { reads });
    await settle();
    expect(told.filter((one) => one.startsWith('missed'))).to.deep.equal([
      ...['missed -2 not started', 'missed -1 not started', 'missed 0 not started'],
      'missed -2 interrupted',
    ]);
    expect(ran).to.deep.equal([-2, -2, -1, 0]);
    await job.stop();
  });

  it('what an outage has cost is unavailable, and what others have done is done', async () => {
    const claim = (nth: number): Promise<unknown> => Promise.resolve(nth === 1 ? 'outage' : undefined);
    const { job, time, told } = await started(SECOND, { claim, reads: [{ record: '1 d' }] });
    await time.advance(1_000);
    expect(told).to.include('skipped 1 done');
    await job.stop();
  });
});

describe('job: what it remembers when masters have lost its record', () => {
  it('until when no run may begin, by the record of another or by an older one that is left, whichever is later', async () => {
    for (const [before, after] of [
      [{ record: '1 d 2500' }, {}],
      [{ record: '1 d 2500' }, { record: '0 d 500' }],
      [{ record: '1 d 500' }, { record: '0 d 2500' }],
    ]) {
      const one = await started({ ...SECOND, atLeastForMs: 500 }, { reads: [before, after] as Known[] });
      await one.time.advance(3_500);
      expect([one.ran, one.told.filter((what) => what.startsWith('skipped'))]).to.deep.equal([
        [3],
        ['skipped 1 done', 'skipped 2 too soon'],
      ]);
      await one.job.stop();
    }
  });

  it('which ticks a run has dropped: they are not told again as missed', async () => {
    const one = await started(SECOND, { reads: [{}, {}] }, taking(2_500));
    await one.time.advance(4_500);
    expect([one.ran, one.told.filter((what) => /skipped|missed/.test(what))]).to.deep.equal([
      [1, 4],
      ['skipped 2 overlap', 'skipped 3 overlap'],
    ]);
    await one.job.stop();
  });
});

describe('job: a run', () => {
  it('is noted before and after it, told with the fencing token of its lease, and how long it took', async () => {
    const one = await started(SECOND, {}, taking(3_500));
    const told: unknown[] = [];
    one.job.on('started', ({ fence }) => told.push(fence));
    one.job.on('done', ({ fence, tookMs }) => told.push([fence, tookMs]));
    await one.time.advance(4_600);
    expect(told).to.deep.equal([7, [7, 3_500]]);
    expect(one.written).to.deep.equal(['1 s 0', '4 d 0']); // those that came meanwhile are over
    expect(one.told.filter((what) => what.startsWith('scheduled'))).to.deep.equal([
      'scheduled 1',
      'scheduled 5',
    ]);
    await one.job.stop();
  });

  it('that throws and loses its lease has failed with what it threw', async () => {
    const bug = new Error('a bug');
    const { errors, job, time, told } = await started(SECOND, {}, ({ lease }) => {
      lease.lose();
      throw bug;
    });
    await time.advance(1_000);
    expect([told, errors]).to.deep.equal([['scheduled 1', 'started 1', 'failed 1', 'scheduled 2'], [bug]]);
    await job.stop();
  });

  it('does not begin where the lease is lost while it is noted', async () => {
    const { job, ran, time, told } = await started(SECOND, { onWrite: ({ lease }) => lease.lose() });
    await time.advance(1_500);
    expect([ran, told]).to.deep.equal([[], ['scheduled 1']]); // it claims again
    await job.stop();
  });
});

describe('job: run()', () => {
  const LONG = { every: 60_000_000, atLeastForMs: 500 } as const;

  it('notes when the next one may begin, and keeps the tick of the record; without one, no tick counts as run', async () => {
    for (const [read, expected] of [
      [{ record: '-9 d' }, '-9 d 500'],
      [{}, '-1800.5 d 500'], // a record of what came later would still be there
      [{ record: '-9 s', sinceMs: START_MS - 5_000, isForgottenByAll: true }, '-4 d 500'], // nor what may be forgotten
    ] as const) {
      const { job, ran, written } = await started(LONG, { reads: [read] });
      await job.run();
      expect([written, ran]).to.deep.equal([[expected], [0]]);
      await job.stop();
    }
  });

  it('runs at the very instant before which nothing may begin', async () => {
    for (const [notBefore, executed] of [
      ['1', false],
      ['-0', true],
    ] as const) {
      const { job } = await started(LONG, { reads: [{ record: `-9 d ${notBefore}` }] });
      expect((await job.run()).executed).to.equal(executed);
      await job.stop();
    }
  });

  it('rejects where the lease is lost: before it, and nothing is run, or in it', async () => {
    const lost = await started(LONG, { onWrite: ({ lease }) => lease.lose() });
    expect(await rejection(lost.job.run())).to.include({ code: 'LOCK_LOST' });
    expect(lost.ran).to.deep.equal([]);
    await lost.job.stop();
    const one = await started(LONG, {}, ({ lease }) => lease.lose());
    expect(await rejection(one.job.run())).to.include({ code: 'LOCK_LOST' });
    expect(one.ran).to.deep.equal([0]);
    await one.job.stop();
  });
});

describe('job: what it takes', () => {
  it('functions to listen and to run, and nothing else', async () => {
    const { job } = await started(SECOND);
    expect(thrown(() => job.on('done', 5 as never))).to.include({ code: 'INVALID_ARGUMENT' });
    await job.stop();
    const none = jobOf(new FakeCoordination(1), 'j', SECOND, undefined as never);
    expect(await rejection(none)).to.include({ code: 'INVALID_ARGUMENT' });
  });

  it('a cron expression, of which an error shows no more than its beginning', async () => {
    const error = await rejection(
      jobOf(new FakeCoordination(1), 'j', { cron: 'x'.repeat(200) }, () => undefined),
    );
    expect(error.message).to.match(/got "x{80}", which has 1 field [^"]*\.$/);
  });
});
