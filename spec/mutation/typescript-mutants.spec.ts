import { expect } from 'chai';
import ts from 'typescript5';
import { changesTo } from './typescript-mutants.js';

/** What takes the place of what, in order. */
function changes(text: string): string[] {
  const source = ts.createSourceFile('one.ts', text, ts.ScriptTarget.ES2022, true);
  return changesTo(source).map(({ node, text }) => `${node.getText(source)} → ${text}`);
}

describe('mutants of TypeScript', () => {
  const cases: [string, string[]][] = [
    ['const x = a < b;', ['a < b → a <= b']],
    ['const x = a === b;', ['a === b → a !== b']],
    ['const x = a && b;', ['a && b → a', 'a && b → b']],
    ['const x = a ?? b;', ['a ?? b → a', 'a ?? b → b']],
    ['const x = a + b * c;', ['a + b * c → a - b * c', 'b * c → b / c']],
    ["const x = a + 'b';", []],
    ['const x = !a;', ['!a → a']],
    ['const x = Math.min(a, b);', ['Math.min(a, b) → Math.max(a, b)']],
    ['const x = list.filter(f);', ['list.filter(f) → list']],
    ['const x = a?.b.c;', ['a?.b.c → a.b.c']],
    ['f(a);', ['f(a); → ']],
    ['isOver = true;', ['isOver = true; → ']],
    ['const x = { isOver: true };', ['true → false']],
    ['if (a) f(b);', ['a → true', 'a → false', 'f(b); → ']],
    ['const x = a ? b : c;', ['a → true', 'a → false']],
    ['const f = (): boolean => g();', ['g() → true', 'g() → false']],
    ['each((one) => f(one));', ['each((one) => f(one)); → ', 'f(one) → undefined']],
  ];
  for (const [text, expected] of cases)
    it(text, () => {
      expect(changes(text)).to.deep.equal(expected);
    });

  it('a loop may end too soon, or one step too late, and not never', () => {
    expect(changes('for (let i = 0; i < n; i++) f(i);')).to.deep.equal([
      'i < n → false',
      'i < n → i <= n',
      'f(i); → ',
    ]);
  });

  it('a condition of several parts is replaced by each, and by what is farther away than all of them', () => {
    expect(changes('if (a && b) f();').slice(0, 3)).to.deep.equal([
      'a && b → a',
      'a && b → b',
      'a && b → false',
    ]);
    expect(changes('if (a || b) f();').slice(0, 3)).to.deep.equal([
      'a || b → a',
      'a || b → b',
      'a || b → true',
    ]);
  });

  it('types, imports and what errors say are left alone', () => {
    const text = "import x from 'y'; type A = true; const e = new RangeError(a + b); throw e;";
    expect(changes(text)).to.deep.equal(['throw e; → ']);
  });
});
