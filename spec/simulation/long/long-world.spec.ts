import { expect } from 'chai';
import { simulateLong } from './long-world.js';
import { DAY, drawSetting } from './setting.js';
import { Seeded } from '../world/seeded.js';
import { wide } from '../../support/breadth.js';

describe('long worlds of jobs', () => {
  for (const seed of wide([3, 16, 24], [3])) {
    it(`seed ${seed}: each tick is begun once, or told with the reason that is true; the same twice`, async () => {
      const once = await simulateLong(seed);
      const twice = await simulateLong(seed, { history: true });
      expect([twice.digest, twice.events]).to.deep.equal([once.digest, once.events]);
      expect(once.violations).to.deep.equal([]);
      expect(once.starts).to.be.above(once.ticks / 3);
    });
  }

  it('two months of a daily job in Berlin, over the end of summer time, in three processes: each tick once', async () => {
    const job = { cron: '30 2 * * *', timeZone: 'Europe/Berlin', missed: 'skip' } as const;
    const { starts, ticks, violations } = await simulateLong(1, {
      days: 60,
      processes: 3,
      isCalm: true,
      job,
    });
    expect([starts, ticks, violations]).to.deep.equal([60, 60, []]);
  });

  it('a cron expression over a change of the clocks: a day of 25 hours lies between two ticks', async () => {
    const job = { cron: '30 6 * * *', timeZone: 'Europe/Berlin' } as const;
    const { ticks } = await drawSetting(new Seeded('x'), { days: 60, job });
    const gaps = ticks.slice(1).map((tick, i) => (tick - (ticks[i] ?? 0)) / (DAY / 24));
    expect([gaps.filter((gap) => gap === 24).length, gaps.filter((gap) => gap === 25).length]).to.deep.equal([
      58, 1,
    ]);
  });
});
