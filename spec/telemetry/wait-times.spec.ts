/** How long calls took, in few numbers. */
import { expect } from 'chai';
import { WAIT_LENGTHS, waitPercentile, WaitTimes } from '../../lib/telemetry/wait-times.js';

const of = (...all: readonly number[]): readonly number[] => {
  const waits = new WaitTimes();
  for (const ms of all) waits.add(ms);
  return waits.counts;
};

describe('how long calls took', () => {
  it('a percentile is rounded up, by less than a fifth', () => {
    for (let ms = 1; ms < 1_000_000; ms *= 1.07)
      expect(waitPercentile(of(ms), 0.5)).to.be.within(ms * (1 - 1e-9), ms * 1.19);
  });

  it('half of them, and 99 of 100', () => {
    const counts = of(...Array.from({ length: 99 }, () => 8), 5_000);
    expect([0.5, 0.99].map((share) => waitPercentile(counts, share))).to.deep.equal([8, 8]);
    expect(waitPercentile(counts, 1)).to.be.within(5_000, 5_000 * 1.19);
  });

  it('none, the shortest and the longest: at most 81 numbers', () => {
    expect([of(), waitPercentile([], 0.5), waitPercentile([0, 0], 0.5)]).to.deep.equal([
      [],
      undefined,
      undefined,
    ]);
    expect([of(-1, 0, 1), of(1.01)]).to.deep.equal([[3], [0, 1]]);
    const long = of(2 ** 20, 1e12, Infinity);
    expect([long.length, long.at(-1), waitPercentile(long, 0.5)]).to.deep.equal([WAIT_LENGTHS, 3, 2 ** 20]);
  });
});
