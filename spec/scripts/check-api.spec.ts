import { expect } from 'chai';
import ts from 'typescript5';
import { undocumented } from '../../scripts/api/comments.js';
import { compileExamples, readExamples } from '../../scripts/api/examples.js';

/** Names without a comment, of the first declaration in a text. */
function missingIn(text: string): readonly string[] {
  const lines = text.replaceAll(' /**', '\n/**'); // a comment on the line of a bracket would be the bracket's
  const source = ts.createSourceFile('x.d.ts', lines, ts.ScriptTarget.ES2022, true);
  const [statement] = source.statements;
  if (statement === undefined) throw new Error('no statement');
  const node = ts.isVariableStatement(statement) ? statement.declarationList.declarations[0] : statement;
  const declaration = node as unknown as ts.Declaration; // the texts below begin with one
  return undocumented({ name: 'X', isExported: true, file: 'lib/x.ts', nodes: [declaration] });
}

describe('check-api: what has no comment', () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['/** An X. */ export interface X { /** A. */ a: string; }', []],
    ['export interface X { a: string; b(): void }', ['X', 'X.a', 'X.b']],
    ['/** An X. */ export interface X { /** A. */ a: { b: string } }', ['X.a.b']],
    ["/** An X. */ export type X = { a: 'one' } | { /** A. */ a: 'two' };", ['X.a']],
    ['/** An X. */ export type X = (options: { a: string }) => void;', ['X.a']],
    ['/** An X. */ export interface X { /** A. */ a(b: string): void; a(b: number): void }', []],
    ['/** An X. */ export declare class X { #private; private a; constructor(); }', ['X.a', 'X.constructor']],
    ['/** An X. */ export declare const X: { a: 1 };', ['X.a']],
    ['export declare const X: 1;', ['X']],
    ['/***/ export type X = 1;', ['X']],
  ];
  for (const [text, missing] of cases) {
    it(text, () => {
      expect(missingIn(text)).to.deep.equal(missing);
    });
  }
});

describe('check-api: examples in comments', () => {
  it('those of lib are found, `acquire` and `using` among them', () => {
    const codes = readExamples().map(({ code }) => code);
    for (const call of ['redlock.acquire(', 'redlock.using(', 'new MemoryMasters('])
      expect(codes.filter((code) => code.includes(call)).length, call).to.be.greaterThan(0);
  });

  it('a fault is reported at its line; what an entry exports needs no import', () => {
    const code = [
      'const own = new Redlock([redisA]);',
      "await own.acquire('a', { ttl: 5 });",
      'if (RedlockError.is(own)) return;',
      'nobody();',
    ];
    const faults = compileExamples([{ file: 'lib/x.ts', line: 10, code: code.join('\n') }]);
    expect(faults.map(({ file, line }) => `${file}:${line}`)).to.deep.equal(['lib/x.ts:12', 'lib/x.ts:14']);
    expect(faults[0]?.message).to.contain("'ttl' does not exist");
  });
});
