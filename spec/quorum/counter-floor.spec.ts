import { expect } from 'chai';
import fc from 'fast-check';
import { CounterFloor } from '../../lib/quorum/counter-floor.js';
import { FLOOR_LEAD_US } from '../../lib/protocol/lua/mutex.js';
import { type Outcome, quorumOf } from '../../lib/protocol/quorum.js';

/** A master's clock, in µs, when a claim that was sent at that instant of ours arrives. */
const START_US = 1_790_000_000_000_000;
const clockOf = (aheadUs: number, sentAtMs: number): number => START_US + aheadUs + sentAtMs * 1_000;

/** A floor that has heard these clocks, told by claims that were sent at 0. */
function taught(aheadsUs: readonly number[]): CounterFloor {
  const floor = new CounterFloor();
  aheadsUs.forEach((ahead, i) => floor.learn(i, clockOf(ahead, 0), 0));
  return floor;
}

describe('floor: where new counters begin', () => {
  it('is 0, which lifts nothing, while no clock is known', () => {
    expect(new CounterFloor().at(5_000)).to.equal(0);
  });

  it('goes on by the local clock, half of the lead beyond the clock of the master', () => {
    const floor = taught([7]);
    for (const ms of [0, 1, 0.5, 60_000, 86_400_000]) {
      expect(floor.at(ms)).to.equal(clockOf(7, ms) + FLOOR_LEAD_US / 2);
    }
  });

  it('is a whole number, whatever the instant', () => {
    expect(Number.isSafeInteger(taught([0]).at(1.000_4))).to.equal(true);
  });

  for (const [aheads, best] of [
    [[0, 4_000, 9_000], 9_000],
    [[9_000, 0, 4_000], 9_000],
    [[0, 4_000, 30_000], 4_000], // two that are close outweigh one that is ahead
    [[0, 1_000, 50_000, 51_000], 51_000], // of two pairs, the later one
    [[51_000, 50_000, 1_000, 0], 51_000],
    [[30_000, 0, 4_000], 4_000],
    [[50_000, 0, 0], 0], // two that are equal
    [[0, 10_000], 10_000], // just close enough
    [[0, 10_000, 50_000], 10_000],
    [[0, 10_001, 50_000], 50_000],
    [[0, 10_001], 10_001],
    [[-5_000_000, 0, 1_000, 2_000, 9_000_000], 2_000],
  ] as const) {
    it(`clocks at ${aheads.join(', ')} µs: goes by the one at ${best}, with most others close behind`, () => {
      expect(taught(aheads).at(0)).to.equal(START_US + best + FLOOR_LEAD_US / 2);
    });
  }

  it('is 0 without fencing: such a claim has no counters', () => {
    const floor = taught([7]);
    expect(floor.of({ isFenced: true }, 100))
      .to.equal(floor.at(100))
      .and.above(0);
    expect(floor.of({ isFenced: false }, 100)).to.equal(0);
  });

  it('learns from those that granted and created a counter, if nothing waited before it was sent', () => {
    const refused: Outcome = {
      kind: 'refused',
      remainingMs: 1,
      isWrongType: false,
      isForeignClient: false,
    };
    const granted = (clockUs: number): Outcome => ({ kind: 'granted', fence: 1, clockUs });
    const known = granted(0); // its counter was there already
    const learned = (isPrompt: boolean, outcomes: readonly (Outcome | undefined)[]): number => {
      const floor = new CounterFloor();
      floor.learnFrom({ isPrompt, sentAtMs: 100, outcomes });
      return floor.at(100);
    };
    const created = granted(clockOf(5, 100));
    const expected = clockOf(5, 100) + FLOOR_LEAD_US / 2;
    expect(learned(true, [undefined, refused, known, created])).to.equal(expected);
    expect(learned(true, [created])).to.equal(expected);
    expect(learned(false, [created])).to.equal(0);
    expect(learned(true, [undefined, refused, known])).to.equal(0);
  });

  it("a master's later clock reading counts, its earlier one does not", () => {
    const floor = taught([0, 1_000]);
    floor.learn(0, clockOf(1_500, 100), 100);
    expect(floor.at(0)).to.equal(START_US + 1_500 + FLOOR_LEAD_US / 2);
    floor.learn(0, clockOf(-500, 200), 200);
    expect(floor.at(0)).to.equal(START_US + 1_000 + FLOOR_LEAD_US / 2);
  });

  it('N=1…7: a quorum takes it as it is whenever a quorum of clocks is within half of the lead', () => {
    const clocks = fc.integer({ min: 1, max: 7 }).chain((nodes) =>
      fc.tuple(
        fc.array(fc.integer({ min: 0, max: FLOOR_LEAD_US / 2 }), {
          minLength: quorumOf(nodes),
          maxLength: quorumOf(nodes),
        }),
        fc.array(fc.integer({ min: -1e7, max: 1e7 }), {
          minLength: nodes - quorumOf(nodes),
          maxLength: nodes - quorumOf(nodes),
        }),
      ),
    );
    fc.assert(
      fc.property(clocks, fc.nat(10_000), ([close, others], ms) => {
        const aheads = [...close, ...others];
        const at = taught(aheads).at(ms);
        const takers = aheads.filter((ahead) => {
          const clock = clockOf(ahead, ms);
          return clock <= at && at <= clock + FLOOR_LEAD_US;
        });
        expect(takers.length).to.be.at.least(quorumOf(aheads.length));
      }),
      { numRuns: 2_000 },
    );
  });
});
