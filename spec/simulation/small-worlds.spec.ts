import { expect } from 'chai';
import { parseOptions } from './command/options.js';
import { parseSchedule, type Schedule, scheduleText } from './small/deviations.js';
import { explore } from './small/explorer.js';
import { runSmall } from './small/run.js';
import { search } from './small/search.js';
import { SMALL_WORLDS, smallWorld } from './small/worlds.js';
import { further } from '../support/breadth.js';

describe('small worlds: the usual order', () => {
  for (const small of SMALL_WORLDS) {
    it(`${small.name}: ${small.about}; no promise broken`, async () => {
      const { steps, violations } = await runSmall(small, []);
      expect(violations).to.deep.equal([]);
      expect(steps.length).to.be.above(10);
    });
  }
});

describe('small worlds: all schedules within a bound', function () {
  this.timeout(120_000); // hundreds of runs

  further('k=1: each step with each deviation that it offers, once; no promise broken', async () => {
    const small = smallWorld('undo-2');
    const { steps } = await runSmall(small, []);
    const expected = steps.flatMap((menu, step) => menu.map((kind) => scheduleText([{ step, kind }])));
    const seen: string[] = [];
    for await (const { schedule, report } of explore(small, { k: 1, faults: 1 })) {
      seen.push(scheduleText(schedule));
      expect(report.violations, scheduleText(schedule)).to.deep.equal([]);
    }
    expect(seen).to.deep.equal(['usual', ...expected]);
    expect(expected.length).to.be.above(100);
  });

  it('k=2: later deviations are at later steps, and only so many are faults', async () => {
    const sizes = [0, 0, 0];
    let last: Schedule = [];
    for await (const { schedule } of explore(smallWorld('acquire-1'), { k: 2, faults: 0 })) {
      last = schedule;
      sizes[schedule.length] = (sizes[schedule.length] ?? 0) + 1;
      expect(schedule.every(({ kind }) => ['next', 'late', 'long'].includes(kind))).to.equal(true);
      const [one, two] = schedule;
      if (one !== undefined && two !== undefined) expect(two.step).to.be.above(one.step);
      if ((sizes[2] ?? 0) >= 50) break;
    }
    expect(last.length).to.equal(2);
    expect(sizes[0]).to.equal(1);
  });

  it('a schedule gives one history, kept or not; another schedule another', async () => {
    const small = smallWorld('queue-2');
    const schedule = parseSchedule('4:next,9:cut');
    const [once, twice] = [await runSmall(small, schedule), await runSmall(small, schedule, true)];
    expect([twice.digest, twice.events, twice.steps]).to.deep.equal([once.digest, once.events, once.steps]);
    expect(once.lines).to.deep.equal([]);
    expect(twice.lines.map(({ what }) => what).join('\n'))
      .to.contain('step 4: ')
      .and.contain('fault 9: ');
    expect((await runSmall(small, [])).digest).not.to.equal(once.digest);
  });

  it('a reply that comes just as a paused client goes on waits behind those that it holds', async () => {
    const { lines, violations } = await runSmall(
      smallWorld('semaphore-2'),
      parseSchedule('6:pause,8:long'),
      true,
    );
    expect(violations).to.deep.equal([]);
    const plan = lines.filter(({ who }) => who === 'PLAN').slice(0, 3);
    expect(plan.map(({ what }) => what)).to.deep.equal([
      'fault 6: client paused: c1, 360 ms',
      "step 8: m1's reply to c1 is put off, long",
      'fault 6 ends',
    ]);
    const [paused, putOff] = plan.map(({ atMs }) => atMs);
    expect(putOff, 'both end at the same instant').to.equal(paused);
  });

  it('a schedule on the command line is run alone', async () => {
    const found = await search({ world: 'acquire-2', schedule: '3:late', k: 0, faults: 0 });
    expect([found.schedules, found.isWhole, found.violation]).to.deep.equal([1, true, undefined]);
  });
});

describe('small worlds: the command line', () => {
  it('takes a world, a schedule and bounds', () => {
    const { mode, small } = parseOptions(['--small', '--world', 'queue-3', '--k', '3', '--faults', '1']);
    expect(mode).to.equal('small');
    expect(small).to.deep.equal({ isFull: false, k: 3, faults: 1, world: 'queue-3', schedule: undefined });
  });

  for (const text of ['12', '12:slowly', 'late:12', '1:late;2:cut']) {
    it(`the schedule ${text} is refused, by its text`, () => {
      expect(() => parseSchedule(text)).to.throw(Error, `got ${text}`);
    });
  }

  it('a schedule without a world is refused', () => {
    expect(() => parseOptions(['--small', '--schedule', '3:late'])).to.throw(Error, 'needs a --world');
  });

  it('a world that there is not is refused, with the names of all', () => {
    expect(() => smallWorld('large')).to.throw(Error, /must be one of .*acquire-2.*; got large/);
  });
});
