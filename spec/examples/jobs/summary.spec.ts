import { expect } from 'chai';
import type { Run } from '../../../examples/jobs/conductor.js';
import type { Fault } from '../../../examples/jobs/faults.js';
import { type Claim, History } from '../../../examples/jobs/history.js';
import type { LedgerEntry } from '../../../examples/jobs/ledger.js';
import type { JobsOptions } from '../../../examples/jobs/options.js';
import { page, PICTURE_WIDTHS } from '../../../examples/jobs/page.js';
import { picture } from '../../../examples/jobs/picture.js';
import { report } from '../../../examples/jobs/report.js';
import { elementsOf } from '../../bench/xml.js';
import { isGood, percentile, risesIn, summarize, type Summary } from '../../../examples/jobs/summary.js';

const OPTIONS: JobsOptions = { jobs: 2, workers: 4, seed: 1, ttlMs: 1_000, output: 'output', nodes: [] };

const HIT: Claim = {
  worker: 'w1',
  job: 0,
  manner: 'try',
  startedAtMs: 99,
  endedAtMs: 102,
  granted: true,
  code: null,
};
const HANDED = { job: 0, takenBy: 'w2', takeoverMs: 900 };
const FAULTS: readonly Fault[] = [
  { kind: 'master-killed', target: 'redis-2', fromMs: 100, toMs: 1_200, hit: HIT },
  { kind: 'master-frozen', target: 'redis-1', fromMs: 1_300, toMs: 2_300 },
  { kind: 'worker-killed', target: 'w1', fromMs: 2_400, toMs: 3_300, ...HANDED },
  {
    kind: 'worker-paused',
    target: 'w3',
    fromMs: 3_400,
    toMs: 4_500,
    resumedMs: 4_490,
    leaseSaid: 'LOCK_LOST',
    ...HANDED,
  },
];

/** A good run: job 0 was left by w1 (killed), job 1 by w3 (paused), and w2 did both. */
function goodRun(): { run: Run; entries: LedgerEntry[] } {
  const history = new History();
  const entries: LedgerEntry[] = [];
  for (const [job, from, at] of [
    [0, 'w1', 2_350],
    [1, 'w3', 3_350],
  ] as const) {
    const lost = `${from}#1`;
    const done = `w2#${job}`;
    const granted = { kind: 'granted', manner: 'try', job } as const;
    const times = { startedAtMs: at - 2, atMs: at, validUntilMs: at + 900 };
    history.take(from, { ...granted, claim: lost, fence: 1, ...times });
    const taken = at + 950;
    history.take('w2', {
      ...granted,
      claim: done,
      fence: 2,
      startedAtMs: taken - 2,
      atMs: taken,
      validUntilMs: taken + 900,
    });
    history.take('w2', { kind: 'ended', claim: done, job, atMs: taken + 50, outcome: 'done' });
    const effect = { job, worker: 'w2', claim: done, fence: 2, leaseSaid: 'held' };
    entries.push({ kind: 'effect', ...effect, checkedAtMs: taken + 40, atMs: taken + 41 });
    if (job === 0) continue;
    history.take(from, { kind: 'ended', claim: lost, job, atMs: taken + 60, outcome: 'lost' });
    const late = { job, worker: from, claim: lost, fence: 1, leaseSaid: 'LOCK_LOST' };
    entries.push({ kind: 'stale', ...late, checkedAtMs: taken + 59, atMs: taken + 60 });
  }
  const run = { history, faults: FAULTS, workers: ['w1', 'w2', 'w3', 'w4'], endMs: 5_000, troubles: [] };
  return { run, entries };
}

function summaryOf(change: Partial<Run> = {}, more: readonly LedgerEntry[] = [], options = OPTIONS): Summary {
  const { run, entries } = goodRun();
  return summarize(options, { ...run, ...change }, [...entries, ...more]);
}

describe('examples/jobs: the summary', () => {
  it('is good when every job ran once and every fault struck', () => {
    const summary = summaryOf();
    expect(summary.problems).to.deep.equal([]);
    expect(isGood(summary)).to.equal(true);
    expect(summary).to.include({ jobsDone: 2, stale: 1, late: 0, gapMs: 1 });
    expect(summary.takeovers).to.have.length(2);
  });

  it('is bad when a job has two effects', () => {
    const [first] = goodRun().entries;
    const again = first === undefined ? [] : [first];
    const summary = summaryOf({}, again);
    expect(isGood(summary)).to.equal(false);
    expect(summary.problems.join()).to.contain('two accepted effects: job:0');
  });

  it('is bad when a job is lost', () => {
    const summary = summaryOf({}, [], { ...OPTIONS, jobs: 3 });
    expect(isGood(summary)).to.equal(false);
    expect(summary.problems.join()).to.contain('lost (no effect): job:2');
  });

  it('is bad when a fault did not strike, or something went wrong beside', () => {
    for (const [i, fault] of FAULTS.entries()) {
      const summary = summaryOf({ faults: FAULTS.filter((_, index) => index !== i) });
      expect(isGood(summary), fault.kind).to.equal(false);
    }
    const missed = FAULTS.map((fault) =>
      fault.kind === 'master-killed' ? { ...fault, hit: undefined } : fault,
    );
    expect(isGood(summaryOf({ faults: missed }))).to.equal(false);
    expect(isGood(summaryOf({ troubles: ['w4 ended with exit code 1'] }))).to.equal(false);
  });

  it('is bad when no stale effect was refused: a paused worker that nobody refuses shows nothing', () => {
    const { run, entries } = goodRun();
    const summary = summarize(
      OPTIONS,
      run,
      entries.filter(({ kind }) => kind === 'effect'),
    );
    expect(summary.problems).to.deep.equal(['no stale effect was refused']);
    expect(isGood(summary)).to.equal(false);
  });

  it('is bad when a fence did not rise, and names both grants', () => {
    const { run, entries } = goodRun();
    const granted = { kind: 'granted', manner: 'try', job: 0, claim: 'w4#9', fence: 2 } as const;
    run.history.take('w4', { ...granted, startedAtMs: 4_400, atMs: 4_401, validUntilMs: 5_300 });
    const summary = summarize(OPTIONS, run, entries);
    expect(summary.problems).to.deep.equal(['job:0 was granted with fence 2 (w4#9) after fence 2 (w2#0)']);
    expect(isGood(summary)).to.equal(false);
    expect(risesIn(summary)).to.equal('NO: 1 of 5 grants');
    for (const text of [report(summary, 'x'), page(summary, [])])
      expect(text).to.contain('NO: 1 of 5 grants');
  });

  it('counts a late effect that was accepted apart, and leaves it out of the gap after “held”', () => {
    const { run, entries } = goodRun();
    const late = { leaseSaid: 'LOCK_LOST', checkedAtMs: 0 }; // of one that was held it would be a gap of seconds
    const summary = summarize(
      OPTIONS,
      run,
      entries.map((entry) => (entry.claim === 'w2#0' ? { ...entry, ...late } : entry)),
    );
    expect(summary).to.include({ stale: 1, late: 1, gapMs: 1 });
    expect(summary.problems).to.deep.equal([]);
  });

  it('asks for no faults of masters that are somebody else’s', () => {
    const ofWorkers = FAULTS.filter(({ kind }) => kind.startsWith('worker'));
    expect(isGood(summaryOf({ faults: ofWorkers }, [], { ...OPTIONS, nodes: ['redis://a:1'] }))).to.equal(
      true,
    );
    expect(isGood(summaryOf({ faults: ofWorkers }))).to.equal(false);
  });

  it('tells how long an acquire took, healthy and during each fault', () => {
    const { latencies } = summaryOf();
    expect(latencies.map(({ count }) => count)).to.deep.equal([2, 0, 0, 1, 1]);
    expect(latencies[0]?.p50Ms).to.equal(2);
    expect(latencies[1]?.p50Ms).to.be.NaN;
  });

  it('takes percentiles by nearest rank', () => {
    const hundred = Array.from({ length: 100 }, (_, i) => i + 1);
    expect([50, 99, 100].map((percent) => percentile(hundred, percent))).to.deep.equal([50, 99, 100]);
    expect(percentile([7], 50)).to.equal(7);
    expect(percentile([], 50)).to.be.NaN;
  });
});

describe('examples/jobs: the picture', () => {
  const { run, entries } = goodRun();
  const summary = summarize(OPTIONS, run, entries);
  const svg = picture({ run, summary, masters: ['redis-1', 'redis-2'] });

  it('has every lease, every fault and a number only where it can be one', () => {
    expect(svg.match(/class="lease /g)).to.have.length(4);
    expect(svg.match(/class="badge"/g)).to.have.length(4);
    expect(svg).not.to.match(/NaN|undefined|Infinity/);
  });

  for (const width of PICTURE_WIDTHS) {
    it(`${width} px wide: well-formed, the same each time, with every fault, and nothing beyond its edges`, () => {
      const drawn = picture({ run, summary, masters: ['redis-1', 'redis-2'], width });
      expect(elementsOf(drawn)[0]).to.equal('svg');
      expect(picture({ run, summary, masters: ['redis-1', 'redis-2'], width })).to.equal(drawn);
      expect(drawn).to.contain(`viewBox="0 0 ${width} `);
      expect(drawn.match(/class="badge"/g)).to.have.length(FAULTS.length);
      for (const [, x = ''] of drawn.matchAll(/ c?x[12]?="([\d.-]+)"/g))
        expect(Number(x)).to.be.within(0, width);
      for (const [, x = '', own = ''] of drawn.matchAll(/<rect [^>]*?x="([\d.]+)"[^>]* width="([\d.]+)"/g))
        expect(Number(x) + Number(own), `of ${width}`).to.be.at.most(width);
    });
  }

  it('a fault’s name is written where it ends before the next fault; its number always is', () => {
    const [first, second] = FAULTS;
    if (first === undefined || second === undefined) throw new Error('there are faults');
    const soon = [first, { ...second, fromMs: first.fromMs + 60 }];
    const drawn = picture({ run: { ...run, faults: soon }, summary, masters: [] });
    expect(drawn.match(/class="badge"/g)).to.have.length(2);
    expect(drawn).to.not.contain(`>${first.target} killed −9<`);
    expect(drawn).to.contain(`>${second.target} frozen<`);
  });

  it('a page for a phone lists every fault by its number', () => {
    const html = page(summary, [svg]);
    const list = /<ol class="faults">(.*?)<\/ol>/s.exec(html)?.[1] ?? '';
    expect(list.match(/<li>/g)).to.have.length(FAULTS.length);
    for (const { target } of FAULTS) expect(list).to.contain(target);
  });

  it('fetches nothing, on its own and in its page', () => {
    const html = page(summary, [svg]);
    expect(html).to.contain(svg);
    expect(html).not.to.match(/<script|<link|src=|url\(|@import/);
    expect(html.replaceAll('http://www.w3.org/2000/svg', '')).not.to.match(/https?:/);
  });

  it('is announced by the report, which says what is wrong', () => {
    expect(report(summary, 'output/jobs.html'))
      .to.contain('Every job ran once.')
      .and.contain('output/jobs.html')
      .and.match(/fences rise with every grant +yes, in all 4 grants/)
      .and.match(/stale effects refused +1, by the ledger/);
    const bad = summarize(OPTIONS, { ...run, troubles: ['w4 ended with exit code 1'] }, entries);
    expect(report(bad, 'x')).to.contain('NOT GOOD').and.contain('w4 ended with exit code 1');
    expect(page(bad, [svg])).to.contain('w4 ended with exit code 1');
  });
});
