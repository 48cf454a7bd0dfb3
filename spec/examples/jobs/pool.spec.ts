import { expect } from 'chai';
import { seeded, workMs } from '../../../examples/jobs/order.js';
import { Pool } from '../../../examples/jobs/pool.js';

describe('examples/jobs: the order of the jobs', () => {
  it('is the same for the same seed, and another one for another', () => {
    const draw = (seed: number): number[] => Array.from({ length: 5 }, seeded(seed));
    expect(draw(1)).to.deep.equal(draw(1));
    expect(draw(1)).not.to.deep.equal(draw(2));
    expect(draw(1).every((number) => number >= 0 && number < 1)).to.equal(true);
  });

  it('mixes short work with work long enough to be struck in the middle, and some beyond the ttl', () => {
    const lengths = Array.from({ length: 200 }, (_, job) => workMs(job, { seed: 1, ttlMs: 1_500 }));
    expect(lengths.filter((ms) => ms < 100).length).to.be.greaterThan(100);
    expect(lengths.filter((ms) => ms >= 160).length).to.be.greaterThan(60);
    expect(lengths.filter((ms) => ms > 1_500)).to.have.length(5);
  });

  it('tries every job once it is due, and none after it was done', () => {
    const pool = new Pool(seeded(1));
    pool.add([1, 2, 3]);
    const tried: number[] = [];
    for (let pick = pool.pick(0); pick !== undefined; pick = pool.pick(0)) {
      tried.push(pick.job);
      pool.drop(pick.job);
    }
    expect(tried.sort((a, b) => a - b)).to.deep.equal([1, 2, 3]);
  });

  it('leaves a job that is held alone for a moment, then asks for it first', () => {
    const pool = new Pool(() => 0.5);
    pool.add([1]);
    pool.rest(1, 1_000);
    pool.add([2, 3]);
    expect(pool.pick(1_000)?.job).not.to.equal(1);
    expect(pool.pick(pool.nextMs())?.job).not.to.equal(1);
    expect(pool.pick(1_080)?.job).to.equal(1);
  });

  it('waits for the last job, when it was refused often', () => {
    const pool = new Pool(() => 0.5);
    pool.add([1]);
    for (let i = 0; i < 3; i++) {
      expect(pool.pick(10_000)?.manner).to.equal('try');
      pool.rest(1, 0);
    }
    expect(pool.pick(10_000)).to.deep.equal({ job: 1, manner: 'wait' });
  });
});
