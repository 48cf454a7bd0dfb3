/** The masters' time as jobs know it. */
import { expect } from 'chai';
import { medianOf } from '../../lib/jobs/masters-time.js';

describe('the median', () => {
  it('is that in the middle; of two, the lower; of none, 0', () => {
    const cases = [
      [[], 0],
      [[7], 7],
      [[9, 2], 2],
      [[30, 200, 1], 30],
      [[4, 1, 3, 2], 2],
      [[5, 1, 4, 2, 3], 3],
    ] as const;
    for (const [numbers, median] of cases) expect(medianOf(numbers)).to.equal(median);
  });
});
