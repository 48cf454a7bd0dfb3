import { expect } from 'chai';
import { type Chart, drawChart } from '../../bench/report/chart.js';
import { charts } from '../../bench/report/charts.js';
import { FIGURES, results } from './report-results.js';

const CHART: Chart = {
  name: 'x',
  title: 'A <title> & more',
  subtitle: 'sub',
  rows: [
    { label: 'ours', kind: 'own' },
    { label: 'floor', kind: 'floor' },
    { label: 'theirs', kind: 'peer' },
  ],
  panels: [
    {
      title: 'log',
      unit: 'µs',
      scale: 'log',
      cells: [
        { value: 10, text: 'ten' },
        { value: 100, low: 50, high: 1_000, text: 'hundred' },
        { trouble: 'hangs' },
      ],
    },
    {
      title: 'linear',
      unit: 'ratio',
      scale: 'linear',
      reference: 1,
      cells: [{ value: 2, text: 'two' }, { value: 0, text: 'zero' }, undefined],
    },
  ],
};

const xOf = (svg: string, text: string): number => {
  const found = new RegExp(`<text x="([\\d.]+)"[^>]*>${text}</text>`).exec(svg)?.[1];
  expect(found, `the text "${text}"`).to.be.a('string');
  return Number(found);
};

describe('bench: charts', () => {
  for (const theme of ['light', 'dark'] as const) {
    it(`${theme}: an SVG with every label, value and trouble, in which nothing moves`, () => {
      const svg = drawChart(CHART, theme);
      expect(svg.startsWith('<svg')).to.equal(true);
      for (const text of [
        'ours',
        'theirs',
        'ten',
        'hundred',
        '✕ hangs',
        'two',
        'zero',
        'µs',
        'other libraries',
      ]) {
        expect(svg).to.include(`>${text}</text>`);
      }
      expect(svg).to.not.match(/NaN|undefined|Infinity|<animate|<script/);
    });
  }

  it('what is special in XML is written as text', () => {
    expect(drawChart(CHART, 'light')).to.include('A &lt;title&gt; &amp; more');
  });

  it('a larger value lies further right; equal factors are equal ways on a log axis', () => {
    const cells = [1, 10, 100].map((value) => ({ value, text: `v${value}` }));
    const panel = { title: '', unit: '', scale: 'log' as const, cells };
    const svg = drawChart({ ...CHART, panels: [panel] }, 'light');
    const [one, ten, hundred] = [xOf(svg, 'v1'), xOf(svg, 'v10'), xOf(svg, 'v100')];
    expect(ten).to.be.greaterThan(one);
    expect(hundred - ten).to.be.closeTo(ten - one, 0.3);
  });

  it('linear bars begin at zero', () => {
    const svg = drawChart(CHART, 'light');
    const widths = [...svg.matchAll(/<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="14"/g)].map(
      ([, width]) => Number(width),
    );
    expect(widths).to.have.length(2);
    expect(widths[1]).to.equal(1); // zero is still to be seen
    expect(widths[0]).to.be.greaterThan(50);
  });

  it('panels of one group have one axis', () => {
    const panel = (value: number, text: string): Chart['panels'][number] => {
      return { title: '', unit: '', scale: 'linear', group: 'g', cells: [{ value, text }] };
    };
    const svg = drawChart({ ...CHART, panels: [panel(1, 'a'), panel(100, 'b')] }, 'light');
    const widths = [...svg.matchAll(/width="([\d.]+)" height="14"/g)].map(([, width]) => Number(width));
    expect((widths[1] ?? 0) / (widths[0] ?? 0)).to.be.greaterThan(20);
  });

  it('kinds differ in shape, not in colour alone', () => {
    const svg = drawChart(CHART, 'light');
    expect(svg).to.match(/<circle/);
    expect(svg).to.match(/<path d="M/);
    expect(svg).to.match(/width="9" height="9"/);
  });

  it('a panel in which all have trouble, or nothing, is drawn', () => {
    for (const scale of ['linear', 'log'] as const) {
      for (const cell of [{ trouble: 'hangs' }, { value: 0, text: 'none' }]) {
        const panel = { title: '', unit: '', scale, cells: CHART.rows.map(() => cell) };
        expect(drawChart({ ...CHART, panels: [panel] }, 'light')).to.not.match(/NaN|Infinity/);
      }
    }
  });

  it('a ratio to nothing is no figure, and does not keep the picture from being drawn', () => {
    const fault = { contender: 'quorate', fault: 'one frozen', figures: FIGURES } as const;
    const run = results({ faults: [{ ...fault, ratio: { median: Infinity, min: 1, max: Infinity } }] });
    for (const chart of charts(run)) expect(drawChart(chart, 'light')).to.not.match(/NaN|Infinity/);
  });

  it('a run gives six pictures; what was not measured gives none', () => {
    expect(charts(results()).map(({ name }) => name)).to.deep.equal([
      'sequential',
      'parallel',
      'faults',
      'contention',
      'turns',
      'footprint',
    ]);
    const few = charts(results({ loads: [], contention: [] }));
    expect(few.map(({ name }) => name)).to.deep.equal(['faults', 'footprint']);
    for (const chart of charts(results()))
      expect(drawChart(chart, 'dark')).to.not.match(/NaN|undefined|Infinity/);
  });
});
