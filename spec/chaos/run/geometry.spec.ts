import { expect } from 'chai';
import { columnsOf, dragged, pinched, plotOf, timeAt, within, xOf, zoomed } from './page/geometry.js';

const RUN = { from: 0, to: 30_000 };

describe('chaos run: where things lie in the timeline', () => {
  it('however narrow the page, the plot has a width, and columns for all grants', () => {
    const grants = [[0], [15_000], [30_000]];
    for (let width = 0; width <= 1_400; width++) {
      const plot = plotOf(width);
      expect(plot.width, `at ${width}`).to.be.at.least(1);
      expect(plot.left, `at ${width}`).to.be.at.least(0);
      if (width >= 30) expect(plot.left + plot.width, `at ${width}`).to.be.at.most(width);
      const columns = columnsOf(grants, RUN, plot);
      expect(
        columns.reduce((sum, count) => sum + count, 0),
        `at ${width}`,
      ).to.equal(3);
    }
  });

  it('a time and its place are each other’s inverse', () => {
    const plot = plotOf(390);
    const view = { from: 1_000, to: 4_000 };
    for (const t of [1_000, 2_345, 4_000])
      expect(timeAt(xOf(t, view, plot), view, plot)).to.be.closeTo(t, 1e-6);
  });

  it('a view stays within the run, and does not become too short to see', () => {
    expect(within({ from: -500, to: 500 }, 30_000)).to.deep.equal({ from: 0, to: 1_000 });
    expect(within({ from: 29_500, to: 30_500 }, 30_000)).to.deep.equal({ from: 29_000, to: 30_000 });
    expect(within({ from: -1e9, to: 1e9 }, 30_000)).to.deep.equal(RUN);
    const { from, to } = within({ from: 5_000, to: 5_000 }, 30_000);
    expect(to - from).to.equal(50);
    expect(within({ from: 3, to: 9 }, 20)).to.deep.equal({ from: 0, to: 20 });
  });

  it('zooming keeps the time under the mouse where it is', () => {
    const plot = plotOf(800);
    const view = zoomed(RUN, 0.3, 12_000);
    expect(xOf(12_000, view, plot)).to.be.closeTo(xOf(12_000, RUN, plot), 1e-6);
    expect(view.to - view.from).to.be.closeTo(9_000, 1e-6);
  });

  it('dragging moves what is under the finger along with it', () => {
    const plot = plotOf(390);
    const t = timeAt(200, RUN, plot);
    expect(timeAt(140, dragged(RUN, -60, plot), plot)).to.be.closeTo(t, 1e-6);
  });

  it('pinching keeps what is under two fingers under them', () => {
    const plot = plotOf(390);
    const before = [150, 200] as const;
    const now = [120, 260] as const;
    const view = pinched(RUN, before, now, plot);
    for (const i of [0, 1] as const)
      expect(timeAt(now[i], view, plot)).to.be.closeTo(timeAt(before[i], RUN, plot), 1e-6);
  });

  it('fingers that cross, or lie on each other, give a view with an end after its beginning', () => {
    const plot = plotOf(390);
    for (const now of [
      [200, 200],
      [260, 120],
    ] as const) {
      const { from, to } = pinched(RUN, [150, 200], now, plot);
      expect(to).to.be.greaterThan(from);
    }
  });
});
