import { expect } from 'chai';
import ts from 'typescript5';
import { instrument } from './instrument.js';
import { nameOf } from './mutant.js';

/** What the function `f` in it says while that mutant is at work. */
function run(text: string, active: number): unknown {
  const { outputText } = ts.transpileModule(text, { compilerOptions: { target: ts.ScriptTarget.ES2022 } });
  // oxlint-disable-next-line typescript/no-implied-eval -- the text is this spec's own
  return new Function('__m', `${outputText}; return f();`)((id: number) => id === active);
}

describe('mutants beside the right code', () => {
  const source =
    'function f() { let said = 0; if (g(1, 2)) said += 2; return said; }\nfunction g(a, b) { return a < b && b > 0; }';

  it('each works alone, and without one the code does as before', () => {
    const { text, mutants } = instrument('one.ts', source, 1);
    expect(run(text, 0)).to.equal(2);
    const said = Object.fromEntries(mutants.map((mutant, i) => [nameOf(mutant), run(text, i + 1)]));
    expect(said).to.deep.equal({
      'f: g(1, 2) → true': 2,
      'f: g(1, 2) → false': 0,
      'f: said += 2; → nothing': 0,
      'f: said += 2 → said -= 2': -2,
      'g: a < b && b > 0 → a < b': 2,
      'g: a < b && b > 0 → b > 0': 2,
      'g: a < b → a <= b': 2,
      'g: b > 0 → b >= 0': 2,
    });
  });

  it('the same change in one function is numbered', () => {
    const { mutants } = instrument('one.ts', 'function f() { a(); a(); }', 1);
    expect(mutants.map(nameOf)).to.deep.equal(['f: a(); → nothing', 'f: a(); → nothing (2)']);
  });
});
