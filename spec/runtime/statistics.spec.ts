import { expect } from 'chai';
import { medianOf, percentile } from '../../lib/runtime/statistics.js';

describe('statistics', () => {
  it('the median is the one in the middle, the lower of two, whatever the order', () => {
    expect([[3, 1, 2], [4, 1, 3, 2], [30, 200, 1], [7], []].map(medianOf)).to.deep.equal([2, 2, 30, 7, 0]);
  });

  it('a percentile is the smallest value that the share does not exceed', () => {
    const sorted = Array.from({ length: 200 }, (_, i) => i + 1);
    expect([0, 0.5, 0.99, 1].map((share) => percentile(sorted, share))).to.deep.equal([1, 100, 198, 200]);
    expect(percentile([], 0.5)).to.equal(undefined);
  });
});
