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
  hasClocks: true,
};

describe('chaos run: the plan', () => {
  it('is the same for a seed, and another for another one', () => {
    expect(describePlan(drawPlan(TERMS))).to.equal(describePlan(drawPlan(TERMS)));
    expect(describePlan(drawPlan(TERMS))).to.not.equal(describePlan(drawPlan({ ...TERMS, seed: 4 })));
  });

  it('has every kind of fault within ten minutes, majorities seldom, and ends in time', () => {
    const { masters, timestamps, clients } = drawPlan(TERMS);
    const hits = masters.flatMap((blow) => blow.hits);
    expect(new Set(hits.map(({ kind }) => kind)).size).to.equal(14);
    expect(new Set(timestamps.flatMap((blow) => blow.hits).map(({ kind }) => kind)).size).to.equal(8);
    expect(new Set(clients.map(({ kind }) => kind)).size).to.equal(3);
    expect(new Set(hits.map(({ data }) => data)).size).to.equal(3);
    const majorities = masters.filter((blow) => blow.hits.length > 2).length;
    expect(majorities).to.be.within(1, masters.length / 2);
    for (const { atMs, forMs } of [...masters, ...timestamps, ...clients])
      expect(atMs + forMs).to.be.at.most(TERMS.lengthMs);
  });

  it('has most kinds of fault within half a minute, over a few seeds', () => {
    const seen = new Map<string, number>();
    for (let seed = 1; seed <= 20; seed++) {
      const { masters } = drawPlan({ ...TERMS, seed, lengthMs: 27_000 });
      const kinds = new Set(masters.flatMap(({ hits }) => hits.map(({ kind }) => kind)));
      for (const kind of kinds) seen.set(kind, (seen.get(kind) ?? 0) + 1);
    }
    expect(seen.size).to.equal(14);
    expect(Math.min(...seen.values()), JSON.stringify([...seen])).to.be.at.least(3);
  });

  it('strikes masters one blow after another, each master once, and waits for the guard in between', () => {
    const { masters } = drawPlan(TERMS);
    for (const [i, { atMs, hits }] of masters.entries()) {
      expect(new Set(hits.map(({ server }) => server)).size).to.equal(hits.length);
      const before = masters[i - 1];
      if (before === undefined) continue;
      const guardMs = before.hits.some(({ kind }) => isDown(kind)) ? TERMS.guardMs : 0;
      expect(atMs).to.be.at.least(before.atMs + before.forMs + guardMs);
    }
    expect(masters.some(({ hits }) => new Set(hits.map(({ kind }) => kind)).size > 1)).to.equal(true);
  });

  it('loses no data without a guard or of timestamp locks, and touches no master of somebody else', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const { masters } = drawPlan({ ...TERMS, seed, guardMs: 0 });
      const { timestamps } = drawPlan({ ...TERMS, seed });
      const hits = [...masters, ...timestamps].flatMap((blow) => blow.hits);
      expect(
        hits.every(({ data }) => data === 'kept'),
        `seed ${seed}`,
      ).to.equal(true);
    }
    const { masters, timestamps } = drawPlan({ ...TERMS, strikesMasters: false });
    expect([...masters, ...timestamps]).to.deep.equal([]);
  });

  it('sets clocks back and never forward, slews them within the drift of a lease, and leaves them alone without libfaketime', () => {
    const { masters } = drawPlan(TERMS);
    const hitsOf = (kind: string) =>
      masters.flatMap(({ hits, forMs }) =>
        hits.filter((hit) => hit.kind === kind).map(({ byMs }) => ({ byMs, forMs })),
      );
    expect(hitsOf('clock-back')).to.have.length.above(2);
    for (const { byMs } of hitsOf('clock-back')) expect(byMs).to.be.within(-250, -50);
    for (const { byMs, forMs } of hitsOf('clock-slew'))
      expect(Math.abs(byMs))
        .to.be.below(forMs * 0.01)
        .and.above(0);
    const without = drawPlan({ ...TERMS, hasClocks: false }).masters.flatMap(({ hits }) => hits);
    expect(without.filter(({ kind }) => kind.startsWith('clock'))).to.deep.equal([]);
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
