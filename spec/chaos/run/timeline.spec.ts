import { expect } from 'chai';
import { judge } from './checker.js';
import { page } from './page.js';
import { plotOf } from './page/geometry.js';
import { summarize } from './summary.js';
import { type Drawn, open } from './browser.js';
import { fault, lease, life, modelOf } from './histories.js';

/** A lease each second for a minute, so that every window has some, and one fault of a master and one of a client. */
function html(): string {
  const events = Array.from({ length: 56 }, (_, i) => {
    const t = 1_000 * (i + 1);
    return lease('c1.1', { op: i, askT: t - 20, t, until: t + 500, fence: 10 + i });
  });
  const faults = [
    ...fault('m1', 'freeze', [5_000, 5_001, 9_000, 9_001]),
    ...fault('c2', 'pause', [20_000, 20_001, 30_000, 30_001]),
  ];
  const run = modelOf({ 'c1.1': life(events.flat()), 'c2.1': life([]) }, faults);
  return page(run, summarize(run, judge(run)));
}

/** The marks for the time to each grant: squares of three pixels. */
function dotsOf({ rects }: Drawn): readonly number[] {
  return rects.filter(([, , width, height]) => width === 3 && height === 3).map(([x]) => x);
}

describe('chaos run: the timeline', () => {
  const whole = html();

  for (const width of [0, 1, 40, 68, 150, 310, 390, 1_280]) {
    it(`${width} px wide: draws, with nothing that is no number and no negative width`, () => {
      const { lines, map } = open(whole, width);
      for (const { drawn } of [lines, map]) {
        expect(drawn.rects).to.have.length.greaterThan(0);
        for (const [x, y, w, h] of drawn.rects) {
          for (const number of [x, y, w, h]) expect(number).to.satisfy(Number.isFinite);
          expect(w).to.be.at.least(0);
        }
      }
    });

    it(`${width} px wide: the scale of the dots is left of them`, () => {
      const { drawn } = open(whole, width).lines;
      const { left } = plotOf(width);
      const scale = drawn.texts.filter(({ text }) => ['1 ms', '10 ms', '100 ms', '1 s'].includes(text));
      expect(scale.filter(({ align, x }) => align === 'right' && x <= left)).to.have.length(4);
      for (const x of dotsOf(drawn)) expect(x).to.be.at.least(left - 1.5);
    });
  }

  it('two fingers zoom in: fewer grants, and their dots are still there', () => {
    const { lines } = open(whole, 390);
    const before = dotsOf(lines.drawn).length;
    expect(before).to.equal(56);
    const touch = (type: string, pointerId: number, clientX: number): void =>
      lines.send(type, { pointerId, clientX, clientY: 100, pointerType: 'touch' });
    touch('pointerdown', 1, 200);
    touch('pointerdown', 2, 240);
    touch('pointermove', 1, 100);
    touch('pointermove', 2, 340);
    expect(dotsOf(lines.drawn)).to.have.length.within(5, 25);
    touch('pointerup', 2, 340);
    touch('pointermove', 1, 40); // the other finger goes on as a drag
    touch('pointercancel', 1, 40);
    expect(dotsOf(lines.drawn)).to.have.length.within(5, 25);
  });

  it('a finger that goes nowhere asks what is there; one that drags does not', () => {
    const { lines, tip } = open(whole, 390);
    const plot = plotOf(390);
    const x = plot.left + (1_200 / 60_000) * plot.width;
    const at = { pointerId: 1, clientX: x, clientY: 30, pointerType: 'touch' };
    lines.send('pointerdown', at);
    lines.send('pointerup', at);
    expect(tip.textContent).to.match(/^c1 held k1/);
    lines.send('pointerdown', at);
    lines.send('pointermove', { ...at, clientX: x + 50 });
    lines.send('pointerup', { ...at, clientX: x + 50 });
    expect(tip.textContent).to.equal('');
  });

  it('wheel and keys zoom and move, and stay within the run', () => {
    const { lines } = open(whole, 1_280);
    lines.send('wheel', { clientX: 600, deltaX: 0, deltaY: -800 });
    const zoomed = dotsOf(lines.drawn).length;
    expect(zoomed).to.be.within(1, 20);
    for (let i = 0; i < 100; i++) lines.send('keydown', { key: 'ArrowRight' });
    for (let i = 0; i < 10; i++) lines.send('keydown', { key: '-' });
    expect(dotsOf(lines.drawn)).to.have.length(56);
  });
});
