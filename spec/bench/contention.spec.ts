import { expect } from 'chai';
import type { Contention, Turn } from '../../bench/orders.js';
import { figuresOf } from '../../bench/scenarios/contention.js';

const WINDOW = { fromMs: 1_000, untilMs: 2_000 };

function part(
  turns: readonly (readonly [number, number, number])[],
  over: Partial<Contention> = {},
): Contention {
  return {
    turns: turns.map(([client, grantedMs, releasedMs]): Turn => ({ client, grantedMs, releasedMs })),
    requests: 0,
    failures: 0,
    failure: undefined,
    ...over,
  };
}

describe('bench: what a contended second comes to', () => {
  it('turns of two processes are put in order: a hand-off is from a release to the next grant, whoever has it', () => {
    const parts = [part([[0, 1_025, 1_030]]), part([[0, 1_000, 1_010]]), part([[0, 1_012, 1_020]])];
    const figures = figuresOf(parts, [1, 1, 1], WINDOW);
    expect(figures.handOffsMs).to.deep.equal([2, 5]);
    expect(figures).to.include({ grantsPerSecond: 3, jain: 1, overlaps: 0 });
  });

  it('a client that follows itself hands nothing off', () => {
    const turns = [
      [0, 1_000, 1_010],
      [0, 1_011, 1_020],
    ] as const;
    expect(figuresOf([part(turns)], [1], WINDOW).handOffsMs).to.deep.equal([]);
  });

  it('what lies outside of the window is not counted, but the first hand-off into it is', () => {
    const parts = [part([[0, 500, 990]]), part([[0, 1_004, 1_010]]), part([[0, 2_000, 2_010]])];
    const figures = figuresOf(parts, [1, 1, 1], WINDOW);
    expect(figures.grantsPerSecond).to.equal(1);
    expect(figures.handOffsMs).to.deep.equal([14]);
  });

  it('a grant before the release of the one before is an overlap, and no hand-off', () => {
    const figures = figuresOf([part([[0, 1_000, 1_010]]), part([[0, 1_005, 1_020]])], [1, 1], WINDOW);
    expect(figures).to.include({ overlaps: 1 });
    expect(figures.handOffsMs).to.deep.equal([]);
  });

  it("clients without a turn count: in Jain's index, and as the longest gap", () => {
    const figures = figuresOf([part([[0, 1_100, 1_110]])], [2, 2], WINDOW);
    expect(figures.jain).to.equal(0.25);
    expect(figures.longestGapMs).to.equal(1_000);
  });

  it('the longest gap is taken over clients, with the edges of the window', () => {
    const parts = [
      part([
        [0, 1_100, 1_110],
        [0, 1_500, 1_510],
      ]),
      part([[0, 1_300, 1_310]]),
    ];
    expect(figuresOf(parts, [1, 1], WINDOW).longestGapMs).to.equal(700);
  });

  it('requests are per grant, failures are summed', () => {
    const parts = [
      part([[0, 1_000, 1_001]], { requests: 30, failures: 2 }),
      part([], { requests: 12, failures: 1 }),
    ];
    expect(figuresOf(parts, [1, 1], WINDOW)).to.include({ requestsPerGrant: 42, gaveUp: 3 });
  });
});
