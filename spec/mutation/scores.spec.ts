import { expect } from 'chai';
import type { Fate, Verdict } from './run.js';
import { type Change, compared, readScores, recorded } from './scores.js';
import { TARGETS } from './targets.js';

const MUTANT = { file: 'lib/one.ts', member: 'one', from: 'a', to: 'b', occurrence: 1, line: 1 };

function verdicts(counts: Partial<Record<Fate, number>>): Verdict[] {
  const fates = Object.entries(counts) as [Fate, number][]; // what `counts` has
  return fates.flatMap(([fate, count]) =>
    Array.from({ length: count }, () => ({ mutant: MUTANT, fate, by: undefined, tookMs: 1 })),
  );
}

describe('mutation scores', () => {
  const SCORE = { killed: 18, mutants: 20 };
  const cases: [string, Partial<Record<Fate, number>>, Change][] = [
    ['as many', { killed: 18, survived: 2 }, 'same'],
    ['more live', { killed: 17, survived: 3 }, 'below'],
    ['more are come by by no spec', { killed: 17, survived: 2, 'not covered': 1 }, 'below'],
    ['more are killed', { killed: 19, survived: 1 }, 'above'],
    ['a timeout in place of a failure lowers nothing', { killed: 17, 'timed out': 1, survived: 2 }, 'same'],
    ['a timeout of one that lived raises nothing', { killed: 18, 'timed out': 1, survived: 1 }, 'same'],
    ['more mutants, a smaller part of which live', { killed: 36, survived: 3 }, 'above'],
    ['more mutants, more of which live', { killed: 18, survived: 3 }, 'below'],
    ['fewer mutants, as many of which live', { killed: 8, survived: 2 }, 'same'],
  ];
  for (const [title, counts, change] of cases)
    it(title, () => {
      expect(compared(verdicts(counts), SCORE)).to.equal(change);
    });

  it('a file without one is new', () => {
    expect(compared(verdicts({ killed: 1 }), undefined)).to.equal('new');
  });

  it('what has risen is recorded, what has fallen only if that is wanted', () => {
    const scores = { 'lib/a.ts': SCORE, 'lib/b.ts': SCORE, 'lib/c.ts': SCORE };
    const files = new Map([
      ['lib/a.ts', verdicts({ killed: 19, survived: 1 })],
      ['lib/b.ts', verdicts({ killed: 17, survived: 3 })],
    ]);
    const risen = { ...scores, 'lib/a.ts': { killed: 19, mutants: 20 } };
    expect(recorded(scores, files, { lowers: false })).to.deep.equal(risen);
    expect(recorded(scores, files, { lowers: true })).to.deep.equal({
      ...risen,
      'lib/b.ts': { killed: 17, mutants: 20 },
    });
  });

  it('only files that are mutated have scores, and all of TypeScript has them', () => {
    const [scored, mutated] = [Object.keys(readScores()), TARGETS.map(({ file }) => file)];
    expect(mutated).to.include.members(scored);
    expect(scored).to.include.members(mutated.filter((file) => file.endsWith('.ts')));
  });
});
