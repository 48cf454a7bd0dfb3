import { expect } from 'chai';
import { axisOf, tickText } from '../../bench/report/axis.js';
import type { Chart, Panel } from '../../bench/report/chart.js';
import { charts } from '../../bench/report/charts.js';
import { COLOURS } from '../../bench/report/colours.js';
import { drawChart } from '../../bench/report/draw.js';
import { FIGURES, results } from './report-results.js';
import { elementsOf } from './xml.js';

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

/** Where a text begins, by its transform. */
function xOf(svg: string, text: string): number {
  const found = new RegExp(`translate\\(([\\d.]+) [\\d.]+\\)"[^>]*>${text}</text>`).exec(svg)?.[1];
  expect(found, `the text "${text}"`).to.be.a('string');
  return Number(found);
}

/** Relative luminance and contrast as WCAG 2 has them. */
function contrast(one: string, two: string): number {
  const [light = 1, dark = 0] = [one, two].map(luminance).sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

describe('bench: charts', () => {
  for (const theme of ['light', 'dark'] as const) {
    it(`${theme}: an SVG with every label, value and trouble, in which nothing moves`, () => {
      const svg = drawChart(CHART, theme);
      expect(svg.startsWith('<svg')).to.equal(true);
      const words = ['ours', 'theirs', 'ten', 'hundred', '✕ hangs', 'two', 'zero', 'µs', 'other libraries'];
      for (const text of words) expect(svg).to.include(`>${text}</text>`);
      expect(svg).to.not.match(/NaN|undefined|Infinity|<animate|<script|<style|:hover/);
    });

    it(`${theme}: words and marks stand out from the paper`, () => {
      const { paper, ink, faint, own, floor, peer } = COLOURS[theme];
      for (const text of [ink, faint]) expect(contrast(text, paper)).to.be.at.least(4.5);
      for (const mark of [own, floor, peer]) expect(contrast(mark, paper)).to.be.at.least(3);
    });
  }

  it('every picture of a run is well-formed XML, and the same results give the same bytes', () => {
    for (const chart of [CHART, ...charts(results())]) {
      for (const theme of ['light', 'dark'] as const) {
        const svg = drawChart(chart, theme);
        expect(elementsOf(svg)[0], chart.name).to.equal('svg');
        expect(drawChart(chart, theme), chart.name).to.equal(svg);
      }
    }
  });

  it('readers that do not see it get title and figures; characters that are special in XML are escaped', () => {
    const svg = drawChart(CHART, 'light');
    expect(svg).to.match(/^<svg role="img" aria-labelledby="x-title x-desc"/);
    expect(svg).to.include('<title id="x-title">A &lt;title&gt; &amp; more. sub</title>');
    expect(svg).to.include('log (µs). ours: ten; floor: hundred; theirs: hangs.');
  });

  it('a larger value lies further right; equal factors are equal ways on a log axis', () => {
    const cells = [1, 10, 100].map((value) => ({ value, text: `v${value}` }));
    const panel = { title: '', unit: '', scale: 'log' as const, cells };
    const svg = drawChart({ ...CHART, panels: [panel] }, 'light');
    const [one, ten, hundred] = [xOf(svg, 'v1'), xOf(svg, 'v10'), xOf(svg, 'v100')];
    expect(ten).to.be.greaterThan(one);
    expect(hundred - ten).to.be.closeTo(ten - one, 0.3);
  });

  it('panels of one group have one axis, and linear ones begin at zero', () => {
    const panel = (value: number): Panel => {
      return { title: '', unit: '', scale: 'linear', group: 'g', cells: [{ value, text: '' }] };
    };
    const panels = [panel(1), panel(100)];
    const [one, other] = panels.map((each) => axisOf(each, panels, 300));
    expect(one).to.deep.equal(other);
    expect(one?.min).to.equal(0);
    expect(one?.max).to.equal(100);
  });

  it('numbers below an axis do not run into each other, whatever its width and range', () => {
    for (const scale of ['linear', 'log'] as const) {
      for (const width of [60, 100, 300, 700]) {
        for (const most of [0.5, 3, 40, 935, 200_000]) {
          const cells = [most / 50, most].map((value) => ({ value, text: '' }));
          const panel: Panel = { title: '', unit: '', scale, cells };
          const { min, max, ticks } = axisOf(panel, [panel], width);
          const place = (value: number): number =>
            scale === 'linear'
              ? ((value - min) / (max - min)) * width
              : (Math.log(value / min) / Math.log(max / min)) * width;
          expect(ticks, `${scale} to ${most}`).to.have.length.greaterThan(0);
          ticks.slice(1).forEach((tick, i) => {
            const room = 6 * tickText(tick).length;
            expect(place(tick) - place(ticks[i] ?? 0), `${scale} to ${most}`).to.be.greaterThan(room);
          });
        }
      }
    }
  });

  it('kinds differ in shape, not in colour alone', () => {
    const cells = CHART.rows.map(({ label }) => ({ value: 3, text: label }));
    const svg = drawChart({ ...CHART, panels: [{ title: '', unit: '', scale: 'log', cells }] }, 'light');
    const shapes = (['own', 'floor', 'peer'] as const).map(
      (kind) => new RegExp(`<path d="([^"]*)"[^>]*fill="${COLOURS.light[kind]}"`).exec(svg)?.[1],
    );
    expect(new Set(shapes).size).to.equal(3);
    expect(shapes).to.not.include(undefined);
  });

  it('what was not measured leaves its place empty, and the foot says so', () => {
    const note = 'An empty place: not measured.';
    expect(drawChart(CHART, 'light')).to.include(note);
    const whole = { ...CHART, panels: CHART.panels.slice(0, 1) };
    expect(drawChart(whole, 'light')).to.not.include(note);
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

  it('a run gives eight pictures; what was not measured gives none', () => {
    const eight = [
      'services',
      'sequential',
      'parallel',
      'faults',
      'contention',
      'turns',
      'footprint',
      'package',
    ];
    expect(charts(results()).map(({ name }) => name)).to.deep.equal(eight);
    const few = charts(results({ loads: [], contention: [] }));
    expect(few.map(({ name }) => name)).to.deep.equal(['faults', 'footprint', 'package']);
    for (const chart of charts(results()))
      expect(drawChart(chart, 'dark')).to.not.match(/NaN|undefined|Infinity/);
  });

  it('sizes have no log axis: bytes and kilobytes are bars from zero', () => {
    const panels = charts(results()).flatMap((chart) => chart.panels);
    const sizes = panels.filter(({ unit }) => /^(bytes|kB)\b/.test(unit));
    expect(sizes).to.have.length(2);
    for (const { scale } of sizes) expect(scale).to.equal('linear');
  });
});
