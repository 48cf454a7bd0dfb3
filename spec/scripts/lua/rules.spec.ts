/** The rules for files of Lua, each with what it is there for; and the format. */
import { expect } from 'chai';
import { formatFaultsIn, formatted } from '../../../scripts/lua/check/format.js';
import { faultsIn } from '../../../scripts/lua/check/rules.js';
import type { Library, LuaFile } from '../../../scripts/lua/link/library.js';
import { tokensOf } from '../../../scripts/lua/link/tokens.js';

const HEADER = '-- KEYS 1 a key → 1\n';

function libraryOf(script: string, parts: Readonly<Record<string, string>> = {}): Library {
  const file = (name: string, text: string, isScript: boolean): LuaFile => ({
    path: `${name}.lua`,
    name,
    isScript,
    text,
    tokens: tokensOf(text),
  });
  return {
    scripts: new Map([['one', file('one', script, true)]]),
    parts: new Map(Object.entries(parts).map(([name, text]) => [name, file(name, text, false)])),
  };
}

const faults = (script: string, parts?: Readonly<Record<string, string>>): readonly string[] =>
  faultsIn(libraryOf(HEADER + script, parts)).map((fault) => fault.replace(/^\S+ /, ''));

const lines = (count: number): string => '  redis.call()\n'.repeat(count);
const ADD = '-- Adds.\nlocal function add(a, b)\n  return a + b\nend\n';

describe('rules for Lua', () => {
  const wrong: readonly (readonly [
    script: string,
    fault: string,
    parts?: Readonly<Record<string, string>>,
  ])[] = [
    ['return unknown', 'unknown is declared nowhere'],
    ['count = 1', 'count is declared nowhere'],
    ['local a = 1', 'the local a is not used'],
    ['local function f()\nend', 'the function f is not used'],
    ['local function f(a)\n  return 1\nend\nreturn f(1)', 'the parameter a is not used'],
    ['for i = 1, 2 do redis.call() end', 'the loop variable i is not used'],
    ['local a = 1\ndo\n  local a = 2\n  redis.call(a)\nend\nreturn a', 'a hides another a of its function'],
    [`local function f()\n${lines(60)}end\nreturn f()`, 'f has 62 lines: at most 60'],
    [lines(101), 'the file has 101 lines: at most 100'],
    ['do do do do do do redis.call() end end end end end end', 'the file is 6 blocks deep: at most 5'],
    ['return add(1, 2)', 'add is in sum, which is not asked for', { sum: ADD }],
    ['--@needs sum\nreturn 1', 'nothing of sum is used', { sum: ADD }],
    ['return 1', 'no script has it', { sum: ADD }],
    ['--@needs sum\nreturn add(1, 2)', 'it has no header', { sum: ADD.replace('-- Adds.\n', '') }],
    ['--@needs sum\nreturn add(1, 2)', 'no file uses spare', { sum: `${ADD}local spare = 1\n` }],
    [
      '--@needs sum\nlocal function add(a)\n  return a\nend\nreturn add(1)',
      'a function of sum.lua has the name add as well',
      { sum: ADD },
    ],
    ['--@paste sum', '--@uses c, and it does not', { sum: '-- Adds.\n--@uses c\nreturn 1\n' }],
  ];
  for (const [script, fault, parts] of wrong)
    it(fault, () => {
      expect(faults(script, parts)).to.include(fault);
    });

  it('a script says its keys, its arguments and its replies', () => {
    expect(faultsIn(libraryOf('-- Something.\nreturn 1\n'))).to.deep.equal([
      'one.lua:1: its header does not say KEYS, ARGV and replies',
    ]);
  });

  it('nothing to say of what keeps them', () => {
    const parts = { sum: ADD, twice: '-- Twice.\n--@needs sum\n--@uses n\nreturn add(n, n)\n' };
    expect(faults('local n = #KEYS\n--@paste twice\n', parts)).to.deep.equal([]);
    expect(faults('for _, key in ipairs(KEYS) do\n  redis.call(key, AT_REST)\nend')).to.deep.equal([]);
  });
});

describe('the format of Lua', () => {
  it('indents blocks, tables and what goes on', () => {
    const text =
      'if a then\nlocal t = {\n  1,\n      2\n}\nf(function()\nreturn a\nor b\nend)\n else\nreturn t   \nend';
    expect(formatted(text)).to.equal(
      'if a then\n  local t = {\n    1,\n    2\n  }\n  f(function()\n    return a\n      or b\n  end)\nelse\n  return t\nend\n',
    );
  });

  it('is its own result', () => {
    const text = "local ok = pcall(function()\n  return 'x'\nend)\n\n-- Why.\nreturn ok\n";
    expect(formatted(text)).to.equal(text);
  });

  it('single quotes, and lines of bounded length', () => {
    const text = `local a = "b"\nlocal c = "it's"\nreturn '${'x'.repeat(110)}'\n`;
    expect(formatFaultsIn(text)).to.deep.equal([
      [1, 'single quotes'],
      [3, '119 columns: at most 110'],
    ]);
  });
});
