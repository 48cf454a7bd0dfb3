/** What is known of the masters' clocks: how it is learned, what is proposed by it, and tickets. */
import { expect } from 'chai';
import fc from 'fast-check';
import { AHEAD_US, BACK_US } from '../../lib/protocol/lua/stored.js';
import { quorumOf } from '../../lib/protocol/quorum.js';
import { MasterClocks } from '../../lib/quorum/master-clocks.js';
import type { WallClock } from '../../lib/runtime/clock.js';
import { FakeTime } from '../support/fake-time.js';

/** What masters' clocks show where ours shows 0, in µs. */
const START_US = 1_790_000_000_000_000;

interface Bench {
  readonly time: FakeTime;
  readonly clocks: MasterClocks;
  /** What a clock that is ahead by so much shows now, in µs. */
  shown(aheadUs: number): number;
  /** A reply that took no time. */
  tell(index: number, aheadUs: number): void;
}

function bench(masters = 1, wall?: WallClock): Bench {
  const time = new FakeTime();
  const clocks = new MasterClocks(masters, time, wall);
  const shown = (aheadUs: number): number => START_US + aheadUs + time.now() * 1_000;
  const tell = (index: number, aheadUs: number): void => clocks.learn(index, shown(aheadUs), time.now());
  return { time, clocks, shown, tell };
}

/** One that was told these clocks just now. */
function told(aheadsUs: readonly number[]): Bench {
  const one = bench(aheadsUs.length);
  for (const [i, ahead] of aheadsUs.entries()) one.tell(i, ahead);
  return one;
}

describe("masters' clocks: proposals before the first reading", () => {
  it('none without a wall clock', () => {
    const { clocks, time } = bench(3);
    time.stall(5_000);
    expect([clocks.propose(), clocks.propose()]).to.deep.equal([0, 0]);
  });

  it('the wall clock, each above the one before; it is not asked any more once a clock is known', () => {
    let calls = 0;
    const { clocks, shown, tell } = bench(3, () => (calls++, 1_790_000_000_000.4));
    const first = 1_790_000_000_000_400;
    expect([clocks.propose(), clocks.propose(), calls]).to.deep.equal([first, first + 1, 2]);
    tell(1, 7);
    expect([clocks.propose(), calls]).to.deep.equal([shown(7), 2]);
  });

  it('a reply without a clock is no reading', () => {
    const { clocks, time } = bench(1);
    clocks.learn(0, 0, time.now());
    expect([clocks.propose(), clocks.isKnown(0)]).to.deep.equal([0, false]);
  });
});

describe("masters' clocks: the estimate of one clock", () => {
  it('is the clock that was told, as of the receipt of the reply, and goes on by our own clock', () => {
    const { clocks, shown, time } = bench();
    const toldUs = shown(0);
    time.stall(10);
    clocks.learn(0, toldUs, time.now() - 10);
    expect(clocks.propose()).to.equal(toldUs);
    time.stall(1_000);
    expect(clocks.propose()).to.equal(toldUs + 1_000_000 - 100); // less 100 ppm
  });

  it('the best reading counts, less 100 ppm of its age', () => {
    for (const [lateMs, ageMs, lostUs] of [
      [5, 10_000, 1_000], // the later one is worse by 5 ms, and 10 s cost one
      [0.9, 10_000, 900],
      [0, 10_000, 0],
      [5, 60_000, 5_000],
    ] as const) {
      const { clocks, shown, tell, time } = bench();
      tell(0, 0);
      time.stall(ageMs);
      const later = shown(0);
      time.stall(lateMs);
      clocks.learn(0, later, time.now() - lateMs);
      expect(clocks.propose(), `${lateMs} ms late`).to.be.within(shown(-lostUs) - 2, shown(-lostUs));
    }
  });

  it('a clock that was set back is followed as soon as a whole round trip lies before the earlier estimate', () => {
    for (const [backUs, isNoticed] of [
      [9_000, false], // it may have been a slow request and a fast reply
      [10_001, false], // all of it the request: the earlier estimate is less by 1 µs by now
      [10_002, true],
      [11_000, true],
      [3_600_000_000, true],
    ] as const) {
      const { clocks, shown, tell, time } = bench();
      tell(0, 0);
      time.stall(10);
      clocks.learn(0, shown(-backUs), time.now() - 10);
      expect(clocks.propose(), `${backUs} µs`).to.equal(shown(isNoticed ? -backUs : -1));
    }
  });

  it('one that was set forward is followed at once, and then a step back to before as well', () => {
    const { clocks, shown, tell, time } = bench();
    for (const aheadUs of [0, 1_000_000, 0]) {
      time.stall(1_000);
      tell(0, aheadUs);
      expect(clocks.propose()).to.be.within(shown(aheadUs), shown(aheadUs) + 1); // above the one before
    }
  });

  const reading = fc.record({
    waitMs: fc.double({ min: 0, max: 20_000, noNaN: true }),
    thereMs: fc.double({ min: 0.01, max: 50, noNaN: true }), // more than a clock is rounded by
    backMs: fc.double({ min: 0, max: 50, noNaN: true }),
  });

  it('it is never ahead of the clock, and not behind it by more than the last reply took and 200 ppm of its age', () => {
    fc.assert(
      fc.property(
        fc.array(reading, { minLength: 1, maxLength: 20 }),
        fc.double({ min: -100e-6, max: 100e-6, noNaN: true }),
        fc.integer({ min: -1e9, max: 1e9 }),
        fc.double({ min: 0, max: 30_000, noNaN: true }),
        (readings, drift, aheadUs, restMs) => {
          const { clocks, time } = bench();
          const shows = (): number => START_US + aheadUs + time.now() * 1_000 * (1 + drift);
          let mostBehindUs = Infinity;
          for (const { waitMs, thereMs, backMs } of readings) {
            time.stall(waitMs);
            mostBehindUs += waitMs * 0.2;
            const sentAtMs = time.now();
            time.stall(thereMs);
            const clockUs = Math.floor(shows());
            time.stall(backMs);
            clocks.learn(0, clockUs, sentAtMs);
            mostBehindUs = Math.min(mostBehindUs + (thereMs + backMs) * 0.2, backMs * 1_000 * (1 + 1e-4) + 1);
          }
          time.stall(restMs);
          const behindUs = shows() - clocks.propose();
          expect(behindUs).to.be.within(-2, mostBehindUs + restMs * 0.2 + 3); // rounded
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('a clock is stale that was not told for 10 s, or never', () => {
    const { clocks, tell, time } = bench(2);
    tell(0, 0);
    const look = (): boolean[] => [
      clocks.isKnown(0),
      clocks.isStale(0),
      clocks.isKnown(1),
      clocks.isStale(1),
    ];
    expect(look()).to.deep.equal([true, false, false, true]);
    time.stall(9_999);
    expect(clocks.isStale(0)).to.equal(false);
    time.stall(1);
    expect(clocks.isStale(0)).to.equal(true);
    clocks.learn(0, START_US, time.now() - 5_000); // a poor reading is one, too
    expect(look()).to.deep.equal([true, false, false, true]);
  });

  it('a master that is none of ours changes nothing', () => {
    const { clocks } = bench(1);
    clocks.learn(1, START_US, 0);
    expect([clocks.propose(), clocks.isKnown(1)]).to.deep.equal([0, false]);
  });
});

describe("masters' clocks: what is proposed by several", () => {
  const half = BACK_US / 2;
  for (const [aheads, best] of [
    [[0, 4_000, 9_000], 0],
    [[9_000, 0, 4_000], 0],
    [[0, half, 2 * half + 1], 0],
    [[-half - 1, 0, half], 0],
    [[0, half + 1, 2 * half], half + 1], // two that are close outweigh one that is behind
    [[0, 1_000, 2_000_000, 2_001_000], 0], // of two pairs, the earlier one
    [[2_001_000, 2_000_000, 1_000, 0], 0],
    [[0, 600_000], 0],
    [[-3_600_000_000, 0, 1_000], 0],
    [[-3_600_000_000, 0, 3_600_000_000], -3_600_000_000],
    [[-5_000_000, 5, 1_000, 2_000, 9_000_000], 5],
  ] as const) {
    it(`clocks at ${aheads.join(', ')} µs: goes by the one at ${best}, the lowest of most`, () => {
      const { clocks, shown } = told(aheads);
      expect(clocks.propose()).to.equal(shown(best));
    });
  }

  it('masters whose clock is not known are left out', () => {
    const { clocks, shown, tell } = bench(5);
    tell(3, 70);
    tell(1, 90);
    expect(clocks.propose()).to.equal(shown(70));
  });

  it('N=1…7, a quorum of clocks within half of what a proposal may be behind: a quorum takes it, also half of that later', () => {
    const clocks = fc.integer({ min: 1, max: 7 }).chain((nodes) => {
      const some = (count: number, min: number, max: number): fc.Arbitrary<number[]> =>
        fc.array(fc.integer({ min, max }), { minLength: count, maxLength: count });
      const close = quorumOf(nodes);
      return fc.tuple(
        some(close, 0, half),
        some(nodes - close, -1e7, 1e7),
        fc.integer({ min: 0, max: half }),
      );
    });
    fc.assert(
      fc.property(clocks, ([close, others, latencyUs]) => {
        const aheads = [...close, ...others];
        const { clocks: known, shown } = told(aheads);
        const proposal = known.propose();
        const takers = aheads.filter((ahead) => {
          const clockUs = shown(ahead) + latencyUs;
          return clockUs - BACK_US <= proposal && proposal <= clockUs + AHEAD_US;
        });
        expect(takers.length).to.be.at.least(quorumOf(aheads.length));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("masters' clocks: each proposal is above the one before", () => {
  it('in one instant: by 1 µs; with the clock when that has caught up', () => {
    const { clocks, shown, time } = told([0]);
    const from = shown(0);
    expect([clocks.propose(), clocks.propose(), clocks.propose()]).to.deep.equal([from, from + 1, from + 2]);
    time.stall(1);
    expect(clocks.propose()).to.equal(shown(0));
  });

  it('by 10 ms at most: what is beyond that is proposed again', () => {
    const { clocks, shown } = told([0]);
    const drawn = Array.from({ length: 10_003 }, () => clocks.propose());
    expect(drawn.slice(-3)).to.deep.equal([10_000, 10_000, 10_000].map((aheadUs) => shown(aheadUs)));
  });

  it('a clock that was set back is followed, but for these 10 ms', () => {
    const { clocks, shown, tell, time } = told([0]);
    clocks.propose();
    time.stall(1);
    tell(0, -5_000_000);
    expect(clocks.propose()).to.equal(shown(-5_000_000) + 10_000);
    time.stall(11);
    expect(clocks.propose()).to.be.within(shown(-5_000_000) - 2, shown(-5_000_000));
  });

  it('it is a whole number, whatever the instants', () => {
    const { clocks, time } = bench();
    clocks.learn(0, START_US + 1, 1_000.000_3);
    time.stall(0.123_456_7);
    expect(Number.isSafeInteger(clocks.propose())).to.equal(true);
  });
});

describe("masters' clocks: tickets", () => {
  /** The masters' clocks against ours, in s, as told by replies that took no time; undefined: not told. */
  function ahead(...aheadS: readonly (number | undefined)[]): { time: FakeTime; clocks: MasterClocks } {
    const time = new FakeTime();
    const clocks = new MasterClocks(aheadS.length, time);
    for (const [i, by] of aheadS.entries())
      if (by !== undefined) clocks.learn(i, (time.now() + by * 1_000) * 1_000, time.now());
    return { time, clocks };
  }

  const seconds = ({ clocks, time }: { time: FakeTime; clocks: MasterClocks }): number =>
    (clocks.ticket() / 1_000 - time.now()) / 1_000;

  it("are the median of the masters' clocks, the lower one of two", () => {
    expect(seconds(ahead(7))).to.equal(7);
    expect(seconds(ahead(900, 20))).to.equal(20);
    expect(seconds(ahead(30, 1_000_000, 20))).to.equal(30);
    expect(seconds(ahead(undefined, 40, 10, 20, undefined, 30))).to.equal(20);
  });

  it('go on with our own clock', () => {
    const all = ahead(30);
    all.time.stall(12_345);
    expect(seconds(all)).to.equal(30);
  });

  it('readings older than the latest by more than a second do not count', () => {
    for (const [passMs, ticketS] of [
      [1_000, 10],
      [1_001, 50],
    ] as const) {
      const all = ahead(10, 10, 50);
      all.time.stall(passMs);
      const nowMs = all.time.now();
      all.clocks.learn(2, (nowMs + 50_000) * 1_000, nowMs);
      expect(seconds(all)).to.equal(ticketS);
    }
  });

  it("are whole, and never below 1, whatever the masters' clocks show, and without any", () => {
    expect(ahead(undefined).clocks.ticket()).to.equal(1_000_000);
    expect(ahead(-1_000_000).clocks.ticket()).to.equal(1);
    expect(Number.isInteger(ahead(0.000_000_5).clocks.ticket())).to.equal(true);
  });

  it('an earlier instant, in ms since 1970: by the median; by the wall clock while no reading is there, if there is one', () => {
    const { clocks, time } = ahead(30, 1_000_000, 20);
    expect(clocks.at(time.now() - 400.4)).to.equal(Math.round(time.now() - 400.4) + 30_000);
    expect(ahead(undefined).clocks.at(5)).to.equal(undefined);
    const unread = new MasterClocks(1, time, () => 1_790_000_000_000);
    expect(unread.at(time.now() - 400)).to.equal(1_790_000_000_000 - 400);
    unread.learn(0, (time.now() + 7_000) * 1_000, time.now());
    expect(unread.at(time.now())).to.equal(time.now() + 7_000);
  });

  it('a reading is taken as of the middle of its round trip', () => {
    const { clocks, time } = ahead(undefined);
    time.stall(100);
    clocks.learn(0, 8_000_000, 1_000);
    expect(clocks.ticket()).to.equal(8_050_000);
  });

  it('a reading that is less exact replaces one only when that has become as inexact by its age', () => {
    for (const [waitMs, isReplaced] of [
      [4_900, false], // 10 µs a ms: 49 ms are less than half of the round trip
      [5_100, true],
    ] as const) {
      const all = ahead(30);
      all.time.stall(waitMs);
      const nowMs = all.time.now();
      all.clocks.learn(0, nowMs * 1_000, nowMs - 100);
      expect(seconds(all)).to.equal(isReplaced ? 0.05 : 30);
    }
  });

  it('one that is as exact replaces at once, and one without a clock never', () => {
    const all = ahead(30);
    const nowMs = all.time.now();
    all.clocks.learn(0, (nowMs + 9_000) * 1_000, nowMs);
    all.clocks.learn(0, 0, nowMs);
    expect(seconds(all)).to.equal(9);
  });
});
