import { expect } from 'chai';
import { createHistogram } from 'node:perf_hooks';
import {
  type Figures,
  interval,
  jain,
  latencyOf,
  median,
  medianFigures,
  percentile,
  ratios,
  spread,
} from '../../bench/statistics.js';

const LATENCY = { p50Us: 1, p95Us: 2, p99Us: 3, meanUs: 1 };

function figures(over: Partial<Figures>): Figures {
  return {
    pairs: 10,
    failures: 0,
    failure: undefined,
    pairsPerSecond: 100,
    cpuPerPairUs: 50,
    acquire: LATENCY,
    release: LATENCY,
    pair: LATENCY,
    ...over,
  };
}

describe('bench: medians and ratios', () => {
  it('the median is the middle value, or the mean of the two in the middle, in whatever order', () => {
    expect(median([5])).to.equal(5);
    expect(median([9, 1, 5])).to.equal(5);
    expect(median([10, 2, 4, 8])).to.equal(6);
    expect(median([10, 9, 100, 1])).to.equal(9.5); // as numbers, not as texts
  });

  it('leaves the list as it was, and refuses an empty one', () => {
    const values = [3, 1, 2];
    median(values);
    expect(values).to.deep.equal([3, 1, 2]);
    expect(() => median([])).to.throw(RangeError);
  });

  it('a spread is the median and the range', () => {
    expect(spread([4, 1, 3])).to.deep.equal({ median: 3, min: 1, max: 4 });
  });

  it('ratios are taken within each round, then the median of them', () => {
    // the ratio of the medians would be 2; round by round it is 1, 1 and 4
    expect(ratios([1, 10, 4], [1, 10, 1])).to.deep.equal({ median: 1, min: 1, max: 4 });
  });

  it('refuses ratios of lists of different lengths: a round is missing', () => {
    expect(() => ratios([1, 2], [1])).to.throw(RangeError);
  });
});

describe('bench: percentiles and fairness', () => {
  it('a percentile is a value of the list, in whatever order', () => {
    const values = [50, 10, 40, 20, 30, 100, 60, 90, 70, 80];
    expect(percentile(values, 0.5)).to.equal(50);
    expect(percentile(values, 0.99)).to.equal(100);
    expect(percentile(values, 0.01)).to.equal(10);
    expect(percentile([7], 0.5)).to.equal(7);
    expect(percentile([], 0.5)).to.be.NaN;
  });

  it('the interval of a median is from the 8th to the 18th of 25 values, the 2nd to the 8th of 9, all of 5', () => {
    const values = (count: number): number[] =>
      Array.from({ length: count }, (_, i) => ((i * 7) % count) + 1);
    expect(interval(values(25))).to.deep.equal({ low: 8, high: 18 });
    expect(interval(values(9))).to.deep.equal({ low: 2, high: 8 });
    expect(interval(values(5))).to.deep.equal({ low: 1, high: 5 });
    expect(interval([3])).to.deep.equal({ low: 3, high: 3 });
  });

  it("Jain's index: 1 when all have the same, 1/n when one has all, and in between", () => {
    expect(jain([3, 3, 3, 3])).to.equal(1);
    expect(jain([8, 0, 0, 0])).to.equal(0.25);
    expect(jain([1, 3])).to.equal(16 / 20);
    expect(jain([0, 0])).to.be.NaN;
  });
});

describe('bench: figures', () => {
  it('reads a histogram of nanoseconds in microseconds', () => {
    const histogram = createHistogram();
    for (let i = 1; i <= 100; i++) histogram.record(i * 1_000);
    const latency = latencyOf(histogram);
    expect(latency.p50Us).to.be.closeTo(50, 0.1);
    expect(latency.p95Us).to.be.closeTo(95, 0.1);
    expect(latency.p99Us).to.be.closeTo(99, 0.1);
    expect(latency.meanUs).to.be.closeTo(50.5, 0.1);
  });

  it('over rounds: the median of each field, the sum of what is counted, and the first failure', () => {
    const rounds = [
      figures({ pairsPerSecond: 100, pair: { ...LATENCY, p99Us: 30 } }),
      figures({ pairsPerSecond: 300, pair: { ...LATENCY, p99Us: 10 }, failures: 2, failure: 'first' }),
      figures({ pairsPerSecond: 200, pair: { ...LATENCY, p99Us: 20 }, failures: 1, failure: 'second' }),
    ];
    const { pairs, pairsPerSecond, pair, failures, failure } = medianFigures(rounds);
    expect({ pairs, pairsPerSecond, p99Us: pair.p99Us, failures, failure }).to.deep.equal({
      pairs: 30,
      pairsPerSecond: 200,
      p99Us: 20,
      failures: 3,
      failure: 'first',
    });
  });
});
