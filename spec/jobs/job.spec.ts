/** Jobs over masters in memory, under virtual time. Ticks are numbered from the beginning. */
import { expect } from 'chai';
import type { JobOptions } from '../../lib/jobs/public.js';
import { recordKey } from '../../lib/protocol/keys.js';
import { jobBench } from '../support/job-bench.js';
import { settle } from '../support/fake-time.js';
import { OTHER } from '../support/queue-bench.js';
import { rejection, thrown } from '../support/rejection.js';

const SECOND = { every: 1_000 } as const;

describe('job', () => {
  for (const nodes of [1, 3, 5]) {
    it(`N=${nodes}, three clients: each tick is run once, and others find it done`, async () => {
      const bench = jobBench(nodes, 1_000);
      for (const name of ['a', 'b', 'c']) await bench.client(name, SECOND);
      await bench.time.advance(10_500);
      expect(bench.ran).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      expect(bench.told.filter((one) => one.endsWith('skipped 5 done'))).to.have.lengthOf(2);
      expect(bench.told.filter((one) => /failed|missed|unavailable| has /.test(one))).to.deep.equal([]);
    });
  }

  it('ticks are multiples of the period by the masters’ time, whatever the clients’ clocks show', async () => {
    const bench = jobBench(3, 1_000);
    for (const master of bench.masters) master.clockAheadUs = 400_000;
    const at: number[] = [];
    await bench.client('a', SECOND, () => at.push(bench.time.now()));
    await bench.time.advance(3_000);
    expect(at).to.deep.equal([1_600, 2_600, 3_600]);
  });

  it('gives its routine a rising fence, the tick, a signal, and how long its lease is still valid', async () => {
    const bench = jobBench(3, 1_000);
    const [fences, validMs, aborted]: [number[], number[], boolean[]] = [[], [], []];
    await bench.client('a', SECOND, ({ fence, remainingMs, signal }) => {
      fences.push(fence);
      validMs.push(remainingMs());
      aborted.push(signal.aborted);
    });
    await bench.time.advance(2_500);
    expect(aborted).to.deep.equal([false, false]);
    expect(fences[1]).to.be.above(fences[0] ?? Infinity);
    for (const ms of validMs) expect(ms).to.be.within(2_900, 3_000);
  });

  it('a routine that throws has failed, and its tick is over', async () => {
    const bench = jobBench(3, 1_000);
    const fail = (): never => {
      throw new Error('a bug');
    };
    await bench.client('a', SECOND, fail);
    await bench.client('b', SECOND, fail);
    await bench.time.advance(2_500);
    expect(bench.ran).to.deep.equal([1, 2]);
    expect(bench.told.filter((one) => one.includes('failed'))).to.have.lengthOf(2);
  });

  describe('a run that lasts longer than a period', () => {
    const overlap = (value: JobOptions['overlap']): JobOptions => ({ ...SECOND, overlap: value });

    it('overlap skip: what comes meanwhile is dropped, and told', async () => {
      const bench = jobBench(3, 1_000);
      const routine = (): Promise<void> => bench.pass(bench.ran.length === 1 ? 2_500 : 10);
      for (const name of ['a', 'b']) await bench.client(name, overlap('skip'), routine);
      await bench.time.advance(5_500);
      expect(bench.ran).to.deep.equal([1, 4, 5]);
      expect(bench.told.filter((one) => one.endsWith('overlap')).map((one) => one.slice(2))).to.deep.equal([
        'skipped 2 overlap',
        'skipped 3 overlap',
      ]);
    });

    it('overlap queue: what comes meanwhile is run after it, each once', async () => {
      const bench = jobBench(3, 1_000);
      const routine = (): Promise<void> => bench.pass(bench.ran.length === 1 ? 2_500 : 10);
      for (const name of ['a', 'b']) await bench.client(name, overlap('queue'), routine);
      await bench.time.advance(6_500);
      expect(bench.ran).to.deep.equal([1, 2, 3, 4, 5, 6]);
    });

    it('overlap queue, alone: the same', async () => {
      const bench = jobBench(1, 1_000);
      const routine = (): Promise<void> => bench.pass(bench.ran.length === 1 ? 3_500 : 10);
      await bench.client('a', overlap('queue'), routine);
      await bench.time.advance(6_500);
      expect(bench.ran).to.deep.equal([1, 2, 3, 4, 5, 6]);
    });
  });

  describe('ticks that nobody was there for', () => {
    const gone = async (
      missed: JobOptions['missed'],
      more: Partial<JobOptions> = {},
    ): Promise<ReturnType<typeof jobBench>> => {
      const bench = jobBench(3, 1_000);
      const { job } = await bench.client('a', SECOND);
      await bench.time.advance(2_500);
      await job.stop();
      await bench.time.advance(3_000); // 3, 4 and 5
      await bench.client('b', { ...SECOND, missed, ...more });
      await bench.time.advance(2_000); // 6, 7
      return bench;
    };

    it('skip: they are listed', async () => {
      const bench = await gone('skip');
      expect(bench.ran).to.deep.equal([1, 2, 6, 7]);
      expect(bench.told.filter((one) => one.includes('missed'))).to.deep.equal(
        [3, 4, 5].map((tick) => `b missed ${tick} not started`),
      );
    });

    it('once: one run makes up for them, at once', async () => {
      expect((await gone('once')).ran).to.deep.equal([1, 2, 5, 6, 7]);
    });

    it('all: each is run, the earliest first', async () => {
      expect((await gone('all')).ran).to.deep.equal([1, 2, 3, 4, 5, 6, 7]);
    });

    it('all, within a span: older ones are not', async () => {
      expect((await gone('all', { missedWithinMs: 2_000 })).ran).to.deep.equal([1, 2, 4, 5, 6, 7]);
    });

    it('all, at most so many: the latest', async () => {
      expect((await gone('all', { missedMost: 2 })).ran).to.deep.equal([1, 2, 4, 5, 6, 7]);
    });

    it('a first start has missed nothing', async () => {
      const bench = jobBench(3, 1_000);
      await bench.time.advance(5_500);
      await bench.client('a', { ...SECOND, missed: 'all' });
      await bench.time.advance(1_000);
      expect(bench.ran).to.deep.equal([6]);
      expect(bench.told.filter((one) => one.includes('missed'))).to.deep.equal([]);
    });
  });

  describe('a runner that dies', () => {
    const killed = async (missed: JobOptions['missed']): Promise<ReturnType<typeof jobBench>> => {
      const bench = jobBench(3, 10_000);
      let first: string | undefined;
      const routine = (name: string) => (): Promise<void> => {
        first ??= name;
        return first === name ? new Promise(() => undefined) : Promise.resolve();
      };
      for (const name of ['a', 'b'])
        await bench.client(name, { every: 10_000, missed, atMostForMs: 3_000 }, routine(name));
      await bench.time.advance(16_000);
      return bench;
    };

    it('missed skip: its tick is listed once, as soon as the next in the queue is handed the lock', async () => {
      const bench = await killed('skip');
      expect(bench.ran).to.have.lengthOf(1);
      expect(bench.told.filter((one) => one.includes('missed'))).to.have.lengthOf(1);
      expect(bench.told.find((one) => one.includes('missed'))).to.match(/interrupted$/);
    });

    it('missed once: its tick is run again, by the next in the queue', async () => {
      const bench = await killed('once');
      expect(bench.ran).to.have.lengthOf(2);
      expect(bench.ran[1]).to.equal(bench.ran[0]);
    });
  });

  it('atMostForMs: the signal aborts by then, and the next tick is run by another', async () => {
    const bench = jobBench(3, 1_000);
    const abortedAt: number[] = [];
    let beganMs = 0;
    const slow = async ({ signal }: { readonly signal: AbortSignal }): Promise<void> => {
      if (beganMs > 0) return;
      beganMs = bench.time.now();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      abortedAt.push(bench.time.now() - beganMs);
      await bench.pass(5_000); // it does not listen
    };
    for (const name of ['a', 'b'])
      await bench.client(name, { ...SECOND, ttlMs: 600, atMostForMs: 2_000 }, slow);
    await bench.time.advance(6_500);
    expect(abortedAt[0]).to.be.within(1_300, 2_000);
    expect(bench.ran.slice(1, 3)).to.deep.equal([2, 3]);
    await bench.time.advance(5_000); // the late runner neither deletes nor overwrites what its successors have
    expect(bench.told.filter((one) => one.includes('failed 1'))).to.have.lengthOf(1);
    expect(new Set(bench.ran).size).to.equal(bench.ran.length);
  });

  it('atLeastForMs: ticks that come sooner are skipped, by the masters’ time', async () => {
    const bench = jobBench(3, 1_000);
    for (const name of ['a', 'b']) await bench.client(name, { ...SECOND, atLeastForMs: 2_500 });
    await bench.time.advance(9_500);
    expect(bench.ran).to.deep.equal([1, 4, 7]);
    expect(bench.told).to.include('a skipped 2 too soon');
  });

  it('masters whose clocks are apart do not make a tick too soon, without atLeastForMs', async () => {
    const bench = jobBench(3, 500);
    for (const [i, master] of bench.masters.entries()) master.clockAheadUs = i * 200_000;
    await bench.client('a', { every: 500 });
    await bench.client('b', { every: 500 });
    await bench.time.advance(5_000);
    expect(bench.ran.slice(0, 8)).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(bench.told.filter((one) => one.endsWith('too soon'))).to.deep.equal([]);
  });

  it('atLeastForMs holds for a quorum that has lost a minority of its data', async () => {
    const bench = jobBench(3, 1_000);
    await bench.client('a', { ...SECOND, atLeastForMs: 5_000 });
    await bench.time.advance(1_500);
    bench.masters[0]?.forget();
    await bench.time.advance(3_000);
    expect(bench.ran).to.deep.equal([1]);
  });

  it('jitter: claims come later than their ticks, which stay what they are', async () => {
    const bench = jobBench(1, 1_000);
    const at: number[] = [];
    bench.random.fractionValue = 0.5;
    await bench.client('a', { ...SECOND, jitterMs: 400 }, () => at.push(bench.time.now()));
    await bench.time.advance(2_500);
    expect([bench.ran, at]).to.deep.equal([
      [1, 2],
      [2_200, 3_200],
    ]);
  });

  it('a tick is not run where a quorum does not take the note that it is begun', async () => {
    const bench = jobBench(3, 1_000);
    await bench.client('a', { ...SECOND, ttlMs: 1_000 });
    for (const master of bench.masters.slice(1))
      master.set(recordKey('j'), '1|ab|8999999999999999|1|1|x', 60_000);
    await bench.time.advance(1_900);
    expect(bench.ran).to.deep.equal([]);
    expect(bench.told).to.include('a skipped 1 unavailable');
  });

  it('a lease that ends as the masters note that the tick is begun: it is not, and is run under the next one', async () => {
    const bench = jobBench(3, 1_000);
    const [, , master] = bench.masters; // the last that is sent it
    const call = master?.call.bind(master);
    if (master === undefined || call === undefined) throw new Error('there are three');
    master.call = (command) => {
      const answer = call(command);
      if (master.get(recordKey('j')) !== undefined) {
        master.call = call;
        bench.time.stall(3_000); // the ttl
      }
      return answer;
    };
    await bench.client('a', { ...SECOND, overlap: 'queue' });
    await bench.time.advance(6_500);
    expect(bench.ran.slice(0, 2)).to.deep.equal([1, 2]);
    expect(bench.told.filter((one) => /missed|skipped/.test(one))).to.deep.equal([]);
  });

  it('a run whose end the masters do not note is interrupted, by the same process too', async () => {
    const bench = jobBench(3, 1_000);
    await bench.client('a', SECOND, async () => {
      if (bench.ran.length > 1) return;
      for (const master of bench.masters) master.become('lost');
      await bench.pass(4_000);
      for (const master of bench.masters) master.become('ready');
    });
    await bench.time.advance(7_500);
    expect(bench.told.slice(1, 3)).to.deep.equal(['a failed 1', 'a missed 1 interrupted']);
  });

  it('overlap queue: masters whose keys are deleted during a run: it is not run again with those that follow', async () => {
    const bench = jobBench(3, 1_000);
    const before = await bench.other('before').redlock.acquire('j', { ttlMs: 60_000 });
    await bench.client('a', { ...SECOND, overlap: 'queue' }, () => {
      if (bench.ran.length > 1) return;
      for (const master of bench.masters) {
        master.delete(recordKey('j'));
        master.set('j', OTHER, 500);
      }
    });
    await bench.time.advance(3_500);
    await before.release();
    await bench.time.advance(2_000);
    expect(bench.ran.slice(0, 3)).to.deep.equal([1, 2, 3]);
  });

  it('goes on while masters are away, and runs the latest tick when a quorum is back', async () => {
    const bench = jobBench(3, 1_000);
    await bench.client('a', SECOND);
    await bench.time.advance(1_500);
    for (const master of bench.masters.slice(1)) master.become('lost');
    await bench.time.advance(3_000);
    expect(bench.ran).to.deep.equal([1]);
    for (const master of bench.masters) master.become('ready');
    await bench.time.advance(2_000);
    expect(bench.ran.slice(1)).to.deep.equal([4, 5, 6].filter((tick) => bench.ran.includes(tick)));
    expect(bench.ran).to.include(6);
  });

  describe('ticks that pass while no quorum of masters is there', () => {
    it('are unavailable with the masters’ answers, and no overlap', async () => {
      const bench = jobBench(3, 1_000);
      const errors: (Error | undefined)[] = [];
      const { job } = await bench.client('a', SECOND);
      job.on('skipped', ({ error }) => errors.push(error));
      await bench.time.advance(1_500);
      for (const master of bench.masters.slice(1)) master.become('lost');
      await bench.time.advance(9_000); // ticks 2 to 9
      for (const master of bench.masters) master.become('ready');
      await bench.time.advance(400);
      const skipped = bench.told.filter((one) => one.includes('skipped'));
      expect(skipped).to.deep.equal([2, 3, 4, 5, 6, 7, 8, 9].map((tick) => `a skipped ${tick} unavailable`));
      expect(bench.ran).to.deep.equal([1, 10]);
      for (const error of errors) {
        expect(error).to.include({ code: 'NO_QUORUM' });
        expect(error?.message).to.match(/^no quorum for "j": 0 of 3 masters granted.*m2 unknown/);
      }
    });

    it('a run of run() in the meantime is an overlap', async () => {
      const bench = jobBench(3, 1_000);
      const { job } = await bench.client('a', SECOND, () => bench.pass(bench.ran.length === 1 ? 3_500 : 10));
      await bench.time.advance(300);
      void job.run();
      await bench.time.advance(4_200);
      expect(bench.told.filter((one) => one.includes('skipped'))).to.deep.equal([
        'a skipped 1 overlap',
        'a skipped 2 overlap',
      ]);
    });
  });

  describe('run()', () => {
    it('runs now, beside the schedule, and no tick counts as run', async () => {
      const bench = jobBench(3, 1_000);
      const { job } = await bench.client('a', SECOND, () => 'value');
      await bench.time.advance(300);
      expect(await job.run()).to.deep.equal({ executed: true, value: 'value' });
      await bench.time.advance(1_000);
      expect(bench.ran).to.deep.equal([0.3, 1]);
    });

    it('waits for a run that is under way; running after waitMs', async () => {
      const bench = jobBench(3, 1_000);
      const { job } = await bench.client('a', SECOND, () => bench.pass(500));
      await bench.time.advance(1_100);
      const result = job.run({ waitMs: 100 });
      await bench.time.advance(200);
      expect(await result).to.deep.equal({ executed: false, reason: 'running' });
    });

    it('too soon within atLeastForMs', async () => {
      const bench = jobBench(3, 1_000);
      const { job } = await bench.client('a', { ...SECOND, atLeastForMs: 500 });
      await bench.time.advance(1_100);
      expect(await job.run()).to.deep.equal({ executed: false, reason: 'too soon' });
    });

    it('throws what the routine throws', async () => {
      const bench = jobBench(3, 60_000);
      const failure = new Error('a bug');
      const { job } = await bench.client('a', { every: 60_000 }, () => {
        throw failure;
      });
      expect(await job.run().catch((error: unknown) => error)).to.equal(failure);
    });
  });

  it('stop() waits for the run that is under way, leaves nothing, and nothing follows', async () => {
    const bench = jobBench(3, 1_000);
    const { job, redlock } = await bench.client('a', SECOND, () => bench.pass(700));
    await bench.time.advance(1_100);
    let isStopped = false;
    const stopping = job.stop().then(() => (isStopped = true));
    await settle();
    expect(isStopped).to.equal(false);
    await bench.time.advance(700);
    await stopping;
    await bench.time.advance(3_000);
    expect([bench.ran, bench.told.at(-1)]).to.deep.equal([[1], 'a done 1']);
    await redlock.close();
    for (const master of bench.masters) expect(master.size).to.equal(0);
  });

  it('the end of a run is noted for as long as its lease lives, while masters are away', async () => {
    const bench = jobBench(3, 60_000, { ttlMs: 60_000, nodeTimeoutMs: 200 });
    const { job } = await bench.client('a', { every: 60_000 }, () => {
      for (const master of bench.masters) master.become('lost');
    });
    while (bench.ran.length === 0) await bench.time.advance(1_000);
    await bench.time.advance(10_000);
    for (const master of bench.masters) master.become('ready');
    await bench.time.advance(2_000);
    expect(bench.told.at(-1)).to.match(/^a done/);
    await job.stop();
  });

  it('stop() waits no longer than some seconds for masters that do not note the end of a run, however long its lease lives', async () => {
    const bench = jobBench(3, 1_000, { ttlMs: 60_000, nodeTimeoutMs: 200 });
    const { job } = await bench.client('a', SECOND, () => {
      for (const master of bench.masters) master.become('lost');
    });
    await bench.time.advance(1_100);
    let isStopped = false;
    void job.stop().then(() => (isStopped = true));
    await bench.time.advance(10_000);
    expect([isStopped, bench.told.at(-1)]).to.deep.equal([true, 'a failed 1']);
  });

  it('close() aborts the signal with CLOSED, and waits for the run', async () => {
    const bench = jobBench(3, 1_000);
    let reason: unknown;
    const { redlock } = await bench.client('a', SECOND, async ({ signal }) => {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      reason = signal.reason;
    });
    await bench.time.advance(1_100);
    await redlock.close();
    expect(reason).to.include({ code: 'CLOSED' });
    expect(bench.told.at(-1)).to.equal('a done 1');
    expect(await rejection(redlock.job('k', SECOND, () => undefined))).to.include({ code: 'CLOSED' });
  });

  it('a listener is called until it is removed', async () => {
    const bench = jobBench(1, 1_000);
    const { job } = await bench.client('a', SECOND);
    let count = 0;
    const listener = (): void => void count++;
    job.on('started', listener);
    await bench.time.advance(1_500);
    job.off('started', listener);
    await bench.time.advance(1_000);
    expect(count).to.equal(1);
    expect(thrown(() => job.on('finished' as 'done', () => undefined)).message).to.match(
      /^event must be one of/,
    );
  });

  describe('bad input: refused before anything is sent', () => {
    const given = (options: object): JobOptions => options as JobOptions;
    const cases: readonly (readonly [string, object, RegExp])[] = [
      ['neither every nor cron', {}, /^options must have either every or cron/],
      ['both', { every: 1_000, cron: '* * * * *' }, /^options must have either every or cron/],
      ['every', { every: 0 }, /^every must be .* got 0/],
      ['a cron expression', { cron: '61 * * * *' }, /^cron must be a cron expression; got "61/],
      ['a time zone', { cron: '* * * * *', timeZone: 'Mars/Olympus' }, /^timeZone must be/],
      ['a time zone without cron', { every: 1_000, timeZone: 'UTC' }, /^timeZone must be omitted/],
      ['missed', { ...SECOND, missed: 'some' }, /^missed must be/],
      ['missedMost', { ...SECOND, missedMost: 1_001 }, /^missedMost must be/],
      ['overlap', { ...SECOND, overlap: 'both' }, /^overlap must be/],
      ['jitterMs', { ...SECOND, jitterMs: -1 }, /^jitterMs must be/],
      ['atLeastForMs', { ...SECOND, atLeastForMs: 1.5 }, /^atLeastForMs must be/],
      ['atMostForMs', { ...SECOND, atMostForMs: 0 }, /^atMostForMs must be/],
      ['a ttl beyond it', { ...SECOND, atMostForMs: 100, ttlMs: 200 }, /^ttlMs must be at most atMostForMs/],
      ['an unknown name', { ...SECOND, timeout: 1 }, /^timeout \(1\) is not an option here/],
    ];
    for (const [title, options, text] of cases) {
      it(title, async () => {
        const bench = jobBench(1, 1_000);
        const error = await rejection(bench.redlock.job('j', given(options), () => undefined));
        expect([error.code, error.message]).to.satisfy(
          ([code, message]: [string, string]) => code === 'INVALID_ARGUMENT' && text.test(message),
          error.message,
        );
        expect(bench.masters[0]?.sent).to.deep.equal([]);
      });
    }
  });
});

describe('job by a cron expression', () => {
  it('runs by its time zone', async () => {
    const bench = jobBench(1, 60_000);
    const at: string[] = [];
    const options = { cron: '*/15 30 8 * * *', timeZone: 'Europe/Berlin' };
    await bench.client('a', options, ({ scheduledAt }) => at.push(scheduledAt.toISOString()));
    await bench.time.advance(86_400_000);
    expect(at.map((one) => one.slice(11, 19))).to.deep.equal([
      '06:30:00',
      '06:30:15',
      '06:30:30',
      '06:30:45',
    ]);
  });
});
