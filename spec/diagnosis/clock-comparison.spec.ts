import { expect } from 'chai';
import { aheadMs, apartMs, bestOf, driftOf, type Reading } from '../../lib/diagnosis/clock-comparison.js';

/** A clock that is so far ahead of ours, asked at that instant, over a round trip of that length. */
function reading(sentMs: number, tripMs: number, ahead: number): Reading {
  return { sentMs, receivedMs: sentMs + tripMs, shownMs: sentMs + tripMs / 2 + ahead };
}

describe('clock comparison', () => {
  it('reports no more than what is beyond doubt: the difference less half of both round trips', () => {
    expect(apartMs(reading(0, 10, 300), reading(5, 20, 100))).to.equal(185);
    expect(apartMs(reading(5, 20, 100), reading(0, 10, 300))).to.equal(-185);
  });

  it('reports nothing for clocks that may be the same', () => {
    expect(apartMs(reading(0, 200, 60), reading(0, 200, -60))).to.equal(0);
  });

  it('takes the reading with the shortest round trip', () => {
    const quick = reading(10, 1, 0);
    expect(bestOf([reading(0, 5, 0), quick, reading(20, 1.5, 0)])).to.equal(quick);
    expect(bestOf([])).to.equal(undefined);
  });

  it('takes the middle of a round trip for the instant at which the clock was read', () => {
    expect(aheadMs(reading(100, 10, 42))).to.equal(42);
  });

  it('finds the rate of a clock, less what both readings leave in doubt', () => {
    const first = reading(0, 2, 0);
    expect(driftOf(first, reading(2_002, 2, 100))).to.be.closeTo(0.049, 1e-12);
    expect(driftOf(first, reading(2_002, 2, -100))).to.be.closeTo(-0.049, 1e-12);
    expect(driftOf(first, reading(2_002, 2, 2))).to.equal(0);
  });

  it('says nothing about the rate where no time has passed', () => {
    expect(driftOf(reading(0, 10, 0), reading(5, 10, 500))).to.equal(0);
  });
});
