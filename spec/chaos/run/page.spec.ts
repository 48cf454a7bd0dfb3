import { expect } from 'chai';
import type { ClientEvent } from './history.js';
import { judge } from './checker.js';
import { page } from './page.js';
import { isGood, summarize, textReport } from './summary.js';
import { fault, lease, life, modelOf } from './histories.js';

describe('chaos run: the report', () => {
  it('names a violation with its lines in the text and on the page, and needs no network', () => {
    const one = lease('c1.1', { op: 1, askT: 90, t: 100, until: 1_100, fence: 10 });
    const two = lease('c2.1', { op: 1, askT: 500, t: 600, until: 2_000, fence: 11 });
    const run = modelOf({ 'c1.1': life(one), 'c2.1': life(two) });
    const summary = summarize(run, judge(run));
    expect(isGood(summary)).to.equal(false);
    for (const text of [textReport(run, summary, 'x.html'), page(run, summary)]) {
      expect(text).to.include('c2.1.jsonl:3').and.include('overlap');
    }
    expect(page(run, summary)).to.not.match(/(src|href)=|https?:|\bimport\b/);
  });

  it('prints no table and no row of zeros, and no mark for what did not happen', () => {
    const one = lease('c1.1', { op: 1, askT: 90, t: 100, until: 1_100, fence: 10 });
    const run = modelOf({ 'c1.1': life(one) }, fault('m1', 'freeze', [2_000, 2_001, 3_000, 3_001]));
    const summary = summarize(run, judge(run));
    const html = page(run, summary);
    const tables = [...html.matchAll(/<table>.*?<\/table>/gs)].map(([table]) => table);
    expect(tables).to.have.length.greaterThan(0);
    for (const table of tables) {
      const rows = table.split('<tr><td>').slice(1);
      expect(rows, table).to.have.length.greaterThan(0);
      for (const row of rows) expect(row).to.not.match(/^[^<]*(<td>(0|–))+$/);
    }
    expect(html).to.include('All grants').and.not.include('Grants in one attempt');
    expect(html).to.not.include('NaN').and.not.include('– ms');
    expect(html).to.include('>freeze</li>').and.not.include('>unplug</li>');
    expect(html).to.include('a minority faulty').and.not.include('a majority faulty');
    const text = textReport(run, summary, 'x.html');
    expect(text).to.include('all grants');
    expect(text).to.not.match(/one attempt|majority faulty/);
  });

  it('leases of a shared lock lie on tracks of their own, and a track that is free is used again', () => {
    const read = (op: number, t: number, until: number) =>
      lease('c1.1', { op, askT: 90, t, until, fence: 0, mode: 'read' });
    const alone = lease('c2.1', { op: 1, askT: 90, t: 100, until: 300, fence: 1, keys: ['k2'] });
    const readers = [...read(1, 100, 300), ...read(2, 200, 500), ...read(3, 300, 400)];
    const run = modelOf({ 'c1.1': life(readers), 'c2.1': life(alone) });
    const html = page(run, summarize(run, judge(run)));
    const [, text = ''] = /id="data">(.*?)<\/script>/.exec(html) ?? [];
    const data = JSON.parse(text) as { leases: number[][][]; tracks: number[] }; // the cast: what the page gets
    expect(data.leases.map((rows) => rows.map((row) => row[4]))).to.deep.equal([[0, 1, 0], [0]]);
    expect(data.tracks).to.deep.equal([2, 1]);
  });

  it("judges and draws an hour's worth of leases: 72,000", function () {
    const files: Record<string, ClientEvent[]> = { 'c1.1': [], 'c2.1': [] };
    for (let i = 0; i < 72_000; i++) {
      const process = i % 2 === 0 ? 'c1.1' : 'c2.1';
      const t = 100 + i * 50;
      files[process]?.push(...lease(process, { op: i, askT: t - 5, t, until: t + 45, fence: 10 + i }));
    }
    const faults = Array.from({ length: 500 }, (_, i) =>
      fault('m1', 'freeze', [i * 7_000 + 10, i * 7_000 + 11, i * 7_000 + 900, i * 7_000 + 901]),
    );
    const endT = 3_700_000;
    const run = modelOf(
      { 'c1.1': life(files['c1.1'] ?? [], endT - 1), 'c2.1': life(files['c2.1'] ?? [], endT - 1) },
      faults.flat(),
      endT,
    );
    const summary = summarize(run, judge(run));
    expect(summary.verdict.violations).to.deep.equal([]);
    expect(summary.verdict.judged.pairs).to.equal(72_000);
    expect(page(run, summary).length).to.be.below(12_000_000);
  });
});
