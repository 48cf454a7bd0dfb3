import { expect } from 'chai';
import { parseOptions } from './options.js';
import { describePlan, drawPlan, isDown, type PlanTerms } from './plan.js';

const TERMS: PlanTerms = {
  seed: 3,
  lengthMs: 600_000,
  masters: 5,
  clients: 8,
  guardMs: 2_500,
  longestTtlMs: 2_000,
  strikesMasters: true,
};

describe('chaos run: the plan', () => {
  it('is the same for a seed, and another for another one', () => {
    expect(describePlan(drawPlan(TERMS))).to.equal(describePlan(drawPlan(TERMS)));
    expect(describePlan(drawPlan(TERMS))).to.not.equal(describePlan(drawPlan({ ...TERMS, seed: 4 })));
  });

  it('has every kind of fault within ten minutes, majorities seldom, and ends in time', () => {
    const { masters, clients } = drawPlan(TERMS);
    expect(new Set(masters.map(({ kind }) => kind)).size).to.equal(8);
    expect(new Set(clients.map(({ kind }) => kind)).size).to.equal(2);
    expect(new Set(masters.map(({ data }) => data)).size).to.equal(3);
    const majorities = masters.filter(({ masters }) => masters.length > 2).length;
    expect(majorities).to.be.within(1, masters.length / 2);
    for (const { atMs, forMs } of [...masters, ...clients])
      expect(atMs + forMs).to.be.at.most(TERMS.lengthMs);
  });

  it('strikes masters one blow after another, and waits for the guard in between', () => {
    const { masters } = drawPlan(TERMS);
    for (const [i, { atMs }] of masters.entries()) {
      const before = masters[i - 1];
      if (before === undefined) continue;
      expect(atMs).to.be.at.least(before.atMs + before.forMs + (isDown(before.kind) ? TERMS.guardMs : 0));
    }
  });

  it('loses no data without a guard, and touches no master of somebody else', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const { masters } = drawPlan({ ...TERMS, seed, guardMs: 0 });
      expect(
        masters.every(({ data }) => data === 'kept'),
        `seed ${seed}`,
      ).to.equal(true);
    }
    expect(drawPlan({ ...TERMS, strikesMasters: false }).masters).to.deep.equal([]);
  });
});

describe('chaos run: the options', () => {
  const refused: readonly [string[], RegExp][] = [
    [['--minutes', '0'], /--minutes .*got 0/],
    [['--minutes', '1', '--seconds', '30'], /not both/],
    [['--seconds', 'ten'], /--seconds .*got ten/],
    [['--seed', '1.5'], /--seed .*got 1.5/],
    [['--masters', '0'], /--masters .*got 0/],
    [['--clients', ''], /--clients/],
    [['--backend', 'vm'], /--backend .*got vm/],
    [['--guard', '100'], /--guard .*got 100/],
    [['--nodes', 'http://x:u@h'], /--nodes .*got http:\/\/…@h/],
    [['--nodes', 'redis://h', '--masters', '3'], /--masters/],
    [['--beside', ''], /--beside/],
    [['--beside', 'HEAD', '--clients', '1'], /--beside .*got --clients 1/],
    [['--colour'], /--colour/],
  ];
  for (const [args, text] of refused) {
    it(`refuses ${args.join(' ')} by name and value`, () => {
      expect(() => parseOptions(args)).to.throw(text);
    });
  }

  it("has no guard over one's own masters unless asked for", () => {
    expect(parseOptions([])).to.include({
      guardMs: 2_500,
      masters: 5,
      clients: 8,
      keys: 3,
      lengthMs: 30_000,
    });
    expect(parseOptions(['--nodes', 'redis://a,redis://b,redis://c'])).to.include({ guardMs: 0, masters: 3 });
    expect(parseOptions(['--guard', 'off'])).to.include({ guardMs: 0 });
  });
});
