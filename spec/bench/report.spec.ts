import { expect } from 'chai';
import { readFile } from 'node:fs/promises';
import { markdownTable, pruned, textTable } from '../../bench/report/table.js';
import { toMarkdown, toText } from '../../bench/report/text.js';
import { DATA, dataOf, PAGE, pageOf, picturesOf } from '../../bench/report/publish.js';
import type { Results } from '../../bench/results.js';
import { FIGURES, results } from './report-results.js';

describe('bench: tables', () => {
  it('as text: columns are as wide as their widest cell, numbers to the right', () => {
    expect(
      textTable(
        ['name', 'n'],
        [
          ['a', '1'],
          ['long name', '1,000'],
        ],
      ).split('\n'),
    ).to.deep.equal(['name           n', '---------  -----', 'a              1', 'long name  1,000']);
  });

  it('as Markdown: numbers to the right, and a bar in a cell does not end it', () => {
    expect(markdownTable(['name', 'n'], [['a|b', '1']]).split('\n')).to.deep.equal([
      '| name | n |',
      '| --- | ---: |',
      '| a\\|b | 1 |',
    ]);
  });

  it('a row or a column without a figure or a word is not printed; trouble is a word', () => {
    const table = {
      title: 't',
      head: ['', 'a', 'b', 'c'],
      rows: [
        ['one', '1', '–', ''],
        ['two', '–', '–', '–'],
        ['three', 'hangs', '', ''],
        ['four', '–', '–', '4'],
      ],
    };
    expect(pruned(table)).to.deep.equal({
      title: 't',
      head: ['', 'a', 'c'],
      rows: [
        ['one', '1', ''],
        ['three', 'hangs', ''],
        ['four', '–', '4'],
      ],
    });
  });

  it('with one master, or without hand-overs, no column and no cell is of dashes', () => {
    const [quorum] = results().contention;
    const figures = quorum?.figures;
    if (quorum === undefined || figures === undefined) throw new Error('the results have contention');
    const none = { median: 0, min: 0, max: 0 };
    const alone = { contender: 'timestamp-script', clients: 10, nodes: 1, isFrozen: false } as const;
    const text = toText(
      results({
        contention: [
          {
            ...alone,
            figures: { ...figures, handOversPerSecond: none, handOverP50Ms: NaN, handOverP99Ms: NaN },
          },
        ],
      }),
    );
    expect(text).to.include('One key, the same with one master');
    expect(text).to.include('no hand-over');
    expect(text).to.not.match(/to the healthy rate|to the best peer|– \/ –|that stands still/);
  });

  it('as text and as Markdown: every figure of every scenario, with its range, and where it was measured', () => {
    const figures = ['4,321', '0.98 (0.91–1.04)', '111 / 223 / 333', '99.6'];
    const held = ['1.87', '15.2', '905', '447', '21.0 (20.0–22.0)', '1,740'];
    const contended = ['346 (300–400)', '2.34 (1.87–2.99)', '1.23 / 45.6', '0.31', '3.21', '0.57', '1.17']
      .concat(['617', '0.56', '11.5', '0.88', '51 (1,234)', '333', '4.56', '2.71 + 1.82'])
      .concat(['3.50 (3.00–99.5)', '1,004 (1,003–1,005)', '41.5 (40.0–43.0)', '13.5 (13.0–14.0)']);
    const cost = ['10.0', '4.00', '62.1', '742'];
    for (const text of [toText(results()), toMarkdown(results())]) {
      for (const part of [...figures, ...held, ...contended, ...cost, '501 (500–502) NO_QUORUM', 'v20.0.0']) {
        expect(text).to.include(part);
      }
      expect(text).to.not.match(/NaN|undefined|Infinity|\[object/);
    }
  });

  it('a peer that hangs is a row with its cap; failed steps and unhandled errors are reported', () => {
    for (const text of [toText(results()), toMarkdown(results())]) {
      expect(text).to.match(/redlock 4 .*hangs \(> 5 s\)/);
      expect(text).to.match(/redis-semaphore .*4,321.*hangs \(> 5 s\)/);
      expect(text).to.match(/quorate .*0\.98 \(0\.91–1\.04\), 7 failed: no answer within 0\.4 s/);
      expect(text).to.match(/redlock 5 beta, faults: 3 × .*unhandled rejection: Error: x/);
    }
  });

  it('a contender that was left out is reported, with the reason', () => {
    expect(toText(results({ leftOut: ['redlock5: no registry'] }))).to.include(
      'Left out: redlock5: no registry',
    );
  });

  it('the Markdown says what was set for each contender that took part, and ends with the command', () => {
    const text = toMarkdown(results());
    expect(text).to.match(/\| redlock 4 \| defaults: 10 retries/);
    expect(text).to.not.include('| @sesamecare-oss/redlock |');
    expect(text.endsWith('`npm run bench`')).to.equal(true);
  });

  it('a smoke run says that its figures mean nothing, a quick one that it is a look', () => {
    expect(toText(results({ mode: 'smoke' }))).to.include('figures mean nothing');
    expect(toText(results({ mode: 'quick' }))).to.include('a look');
    expect(toText(results())).to.not.match(/mean nothing|a look/);
  });

  it('a run on node-redis says so of the floors, too', () => {
    const [load] = results().loads;
    if (load === undefined) throw new Error('a run has loads');
    const loads = [{ ...load, contender: 'floor-quorum' as const }];
    const settings = { 'floor-quorum': 'the floor' };
    const whole = results({ loads, settings });
    for (const write of [toText, toMarkdown]) {
      expect(write(whole)).to.include('plain ioredis, quorum');
      expect(write({ ...whole, client: 'redis' }))
        .to.include('plain node-redis, quorum')
        .and.not.match(/ioredis/i);
    }
  });

  it('scenarios that were not run leave no empty table', () => {
    const text = toText(results({ loads: [], contention: [], crashes: [], steps: [], memory: [] }));
    expect(text).to.not.match(
      /In sequence|One key|Hand-overs|Waiting in the queue|is killed|for one step|Heap per held/,
    );
    expect(text).to.include('The package');
  });
});

describe('bench: the published page', () => {
  it('is what its data gives, without a run: nobody edits it by hand', async () => {
    const data = await readFile(DATA, 'utf8');
    const kept = JSON.parse(data) as Results;
    expect(await readFile(PAGE, 'utf8')).to.equal(pageOf(kept));
    expect(dataOf(kept)).to.equal(data);
  });

  it('the data has all of a run, rounded to six digits, one row a line', () => {
    const run = results({ tookMs: 1_234_567.8, leftOut: ['a', 'b'], uncaught: [] });
    const data = dataOf(run);
    const kept = JSON.parse(data) as Results;
    expect(kept).to.have.all.keys(Object.keys(run));
    expect(kept.tookMs).to.equal(1_234_570);
    expect(kept.packages).to.deep.equal(run.packages);
    expect(data).to.include('"leftOut": [\n"a",\n"b"\n],\n"uncaught": [],\n');
  });

  it('each picture stands once, before the first table of its subject, for light and dark pages', () => {
    const seven = { nodes: 7, inFlight: 1, contender: 'quorate', figures: FIGURES } as const;
    const run = results({ loads: [...results().loads, seven] }); // two tables of one subject
    const text = toMarkdown(run, picturesOf(run, 'figures'));
    for (const name of ['sequential', 'parallel', 'faults', 'contention', 'turns', 'footprint', 'package']) {
      expect(text.split(`figures/bench-${name}-light.svg`), name).to.have.length(2);
      expect(text.split(`figures/bench-${name}-dark.svg`), name).to.have.length(2);
    }
    expect(text.indexOf('bench-faults-light.svg')).to.be.lessThan(text.indexOf('## N = 5 under faults'));
    expect(text.indexOf('bench-faults-light.svg')).to.be.greaterThan(text.indexOf('## Different keys'));
  });
});
