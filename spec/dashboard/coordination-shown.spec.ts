/** Leaders and jobs, by the notes beside their locks. */
import { expect } from 'chai';
import { JobsSeen, leaderOf } from '../../lib/dashboard/coordination-shown.js';
import { Ticks } from '../../lib/dashboard/ticks.js';
import { holderRead, lockKnown, NOW_MS, noteRead } from './support.js';

const holders = [holderRead('h')];
const tick = (
  at: number,
  letter: 's' | 'd',
  more: Parameters<typeof noteRead>[1] = {},
): ReturnType<typeof noteRead> => noteRead(`2|${at}|${letter}|0|0|every 60000`, more);

describe('a leader', () => {
  it('by its value, for as long as the vote is that of whoever wrote it', () => {
    const leads = leaderOf(lockKnown('e', { holders, value: noteRead('10.0.0.7:80'), waiting: 2 }));
    expect(leads).to.include({ name: 'e', value: '10.0.0.7:80', since: NOW_MS, candidates: 2 });
    expect(leads?.holder?.holder).to.equal('h');
    const gone = leaderOf(lockKnown('e', { value: noteRead('10.0.0.7:80', { isHolders: false }) }));
    expect(gone).to.not.have.property('holder');
    expect(leaderOf(lockKnown('e', { holders }))).to.equal(undefined);
  });
});

describe('a job', () => {
  it('a run under way, its end with how long it took, and the ticks before', () => {
    const jobs = new JobsSeen();
    const next = (): number => NOW_MS + 60_000;
    const running = jobs.jobOf(lockKnown('j', { holders, record: tick(1_000, 's') }), NOW_MS, next);
    expect(running?.ticks).to.deep.equal([{ at: 1_000, state: 'running', startedAt: NOW_MS }]);
    expect([running?.runner?.holder, running?.next]).to.deep.equal(['h', NOW_MS + 60_000]);
    jobs.jobOf(lockKnown('j', { record: tick(1_000, 'd', { isHolders: false }) }), NOW_MS, next);
    const later = jobs.jobOf(lockKnown('j', { holders, record: tick(61_000, 's') }), NOW_MS, next);
    expect(later?.ticks.map(({ at, state, tookMs }) => [at, state, tookMs])).to.deep.equal([
      [61_000, 'running', undefined],
      [1_000, 'done', 3_000],
    ]);
  });

  it('a tick that was begun and whose runner has no vote any more is interrupted', () => {
    const record = tick(1_000, 's', { isHolders: false });
    const job = new JobsSeen().jobOf(lockKnown('j', { record }), NOW_MS, () => undefined);
    expect(job?.ticks[0]?.state).to.equal('interrupted');
    expect(job).to.not.have.any.keys('runner', 'next');
  });

  it('eight ticks are remembered; runOnce has no schedule and is no job', () => {
    const jobs = new JobsSeen();
    for (let i = 1; i <= 20; i++)
      jobs.jobOf(lockKnown('j', { holders, record: tick(i * 1_000, 's') }), NOW_MS, () => undefined);
    const job = jobs.jobOf(lockKnown('j', { holders, record: tick(20_000, 's') }), NOW_MS, () => undefined);
    expect(job?.ticks.map(({ at }) => at / 1_000)).to.deep.equal([20, 19, 18, 17, 16, 15, 14, 13]);
    const once = lockKnown('o', { record: noteRead('1|1000|d|0') });
    expect(jobs.jobOf(once, NOW_MS, () => undefined)).to.equal(undefined);
  });
});

describe('the next tick of a schedule', () => {
  it('by its text: of a period, and of a cron expression once its package is loaded', async () => {
    const ticks = new Ticks();
    const after = async (text: string): Promise<number | undefined> => {
      ticks.next(text, 0);
      await import('croner');
      await new Promise((resolve) => setImmediate(resolve));
      return ticks.next(text, Date.parse('2026-01-01T00:30:00Z'));
    };
    expect(await after('every 3600000')).to.equal(Date.parse('2026-01-01T01:00:00Z'));
    expect(await after('cron 0 6 * * * Europe/Berlin')).to.equal(Date.parse('2026-01-01T05:00:00Z'));
    expect(await after('nonsense')).to.equal(undefined);
    expect(await after('cron x x x x x UTC')).to.equal(undefined);
  });
});
