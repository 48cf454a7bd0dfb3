import { expect } from 'chai';
import { markdownTable, type Results, textTable, toChart, toMarkdown, toText } from '../../bench/report.js';
import type { Figures } from '../../bench/statistics.js';

const LATENCY = { p50Us: 111.4, p95Us: 222.5, p99Us: 333, meanUs: 120 };
const FIGURES: Figures = {
  pairs: 1_000,
  failures: 0,
  failure: undefined,
  pairsPerSecond: 4_321.4,
  cpuPerPairUs: 99.6,
  acquire: LATENCY,
  release: LATENCY,
  pair: LATENCY,
};
const RATIO = { median: 0.976, min: 0.91, max: 1.04 };

function results(over: Partial<Results> = {}): Results {
  return {
    command: 'npm run bench -- --quick',
    isSmoke: false,
    surroundings: { Node: 'v20.0.0', CPU: '2 × x' },
    rounds: 5,
    healthy: [1, 3].map((nodes) => ({
      nodes,
      floor: FIGURES,
      quorate: { figures: FIGURES, ratio: RATIO, cpuRatio: RATIO },
      plain: { figures: FIGURES, ratio: RATIO, cpuRatio: RATIO },
    })),
    faults: [{ nodes: 5, fault: 'one frozen', figures: { ...FIGURES, failures: 7 }, ratio: RATIO }],
    refusals: [{ fault: '3 of 5 dead', code: 'NO_QUORUM', elapsedMs: { median: 501, min: 500, max: 502 } }],
    memory: [{ contender: 'quorate', kind: 'plain', bytesPerLease: 447 }],
    ...over,
  };
}

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

  it('as Markdown: numbers to the right', () => {
    expect(markdownTable(['name', 'n'], [['a', '1']]).split('\n')).to.deep.equal([
      '| name | n |',
      '| --- | ---: |',
      '| a | 1 |',
    ]);
  });

  it('as text and as Markdown: rates, ratios with their range, errors with their code, and where it was measured', () => {
    for (const text of [toText(results()), toMarkdown(results())]) {
      for (const part of [
        '4,321',
        '0.98',
        '0.91–1.04',
        '111 / 223 / 333',
        'NO_QUORUM',
        '501',
        '447',
        'v20.0.0',
      ]) {
        expect(text).to.include(part);
      }
      expect(text).to.match(/one frozen.*\b7\b/); // steps that failed are shown
      expect(text).to.not.match(/NaN|undefined|Infinity/);
    }
  });

  it('the Markdown ends with the command that makes it', () => {
    expect(toMarkdown(results()).endsWith('`npm run bench -- --quick`')).to.equal(true);
  });

  it('a smoke run says that its figures mean nothing', () => {
    expect(toText(results({ isSmoke: true }))).to.include('figures mean nothing');
    expect(toText(results())).to.not.include('mean nothing');
  });
});

describe('bench: the chart', () => {
  it('is an SVG with both contenders and the faults, and nothing in it moves', () => {
    const svg = toChart(results());
    expect(svg.startsWith('<svg')).to.equal(true);
    for (const text of ['plain ioredis', 'quorate', 'one frozen', '0.98']) expect(svg).to.include(text);
    expect(svg).to.not.match(/<animate|@keyframes/);
  });
});
