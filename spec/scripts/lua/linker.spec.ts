/** The linker: what a script becomes of its file and of the parts that it asks for. */
import { expect } from 'chai';
import { runInThisContext } from 'node:vm';
import type { LuaFile } from '../../../scripts/lua/link/library.js';
import { linkAll } from '../../../scripts/lua/link/linker.js';
import { tokensOf } from '../../../scripts/lua/link/tokens.js';
import { moduleOf } from '../../../scripts/lua/module.js';
import * as calls from '../../../lib/testing/master/redis-calls.js';
import * as library from '../../../lib/testing/master/lua-library.js';
import * as lua from '../../../lib/testing/master/lua.js';

const CONSTANTS = new Map<string, string | number>([
  ['MARK', '+'],
  ['MOST', 5],
]);

function linked(script: string, parts: Readonly<Record<string, string>> = {}): string {
  const file = (name: string, text: string, isScript: boolean): LuaFile => ({
    path: `${name}.lua`,
    name,
    isScript,
    text,
    tokens: tokensOf(text),
  });
  const files = {
    scripts: new Map([['one', file('one', script, true)]]),
    parts: new Map(Object.entries(parts).map(([name, text]) => [name, file(name, text, false)])),
  };
  return linkAll(files, CONSTANTS)[0]?.source ?? '';
}

/** What it returns, as a master in memory runs it. */
function result(source: string): lua.Value {
  const module = moduleOf([{ name: 'one', source }], []);
  const body = module.replaceAll(/^import .*$/gm, '').replace('export function', 'function');
  const make = runInThisContext(`(function (lua, library, calls, redis) {${body}\nreturn run;\n})`) as (
    ...given: readonly unknown[]
  ) => (name: string, keys: lua.Table, args: lua.Table) => lua.Values;
  return lua.one(make(lua, library, calls, {})('one', new lua.Table([]), new lua.Table([])));
}

describe('the linker of Lua', () => {
  const parts = {
    a: '-- A.\nlocal function a()\n  return 1\nend\n',
    b: '-- B.\n--@needs a\nlocal function b()\n  return a() + 1\nend\n',
    c: '-- C.\n--@needs a\nlocal function c()\n  return a() + 2\nend\n',
    text: '-- Text.\n--@uses x\nx = x .. MARK\n',
    marked: '-- Marked.\n--@inline\nlocal function marked(token)\n  return token .. MARK\nend\n',
    state: '-- State.\nlocal n = 1\nlocal function next()\n  return n\nend\n',
    odd: '-- Odd.\n--@inline\nlocal function isOdd(n)\n  return (n == 1 or n == 3)\nend\n',
  };

  it('sends no comment, no blank line and no space that Lua does not need', () => {
    expect(linked("-- One.\n\nlocal a = 1 -- why\n  return { a , 'x  y' , a - -1 }\n")).to.equal(
      "local a=1\nreturn{a,'x  y',a- -1}",
    );
  });

  it('places each part once, after what it needs', () => {
    const source = linked('--@needs c, b\nreturn b() + c()', parts);
    expect(source.match(/function \w+/g)).to.deep.equal(['function a', 'function c', 'function b']);
    expect(result(source)).to.equal(5);
  });

  it('pastes a text as often as it is asked for', () => {
    const source = linked("local x = 'x'\n--@paste text\n--@paste text\nreturn x", parts);
    expect(result(source)).to.equal('x++');
  });

  it('puts constants in place of their names', () => {
    expect(linked('return {MARK, MOST, KEYS[1], ARGV[1]}')).to.equal("return{'+',5,KEYS[1],ARGV[1]}");
  });

  it('puts the expression of an inline function in place of its calls', () => {
    expect(linked('--@needs marked\nreturn KEYS[1] == marked(ARGV[1])', parts)).to.equal(
      "return KEYS[1]==ARGV[1]..'+'",
    );
    expect(linked('--@needs odd\nreturn not isOdd(x)', parts)).to.equal('return not(x==1 or x==3)');
    expect(linked('--@needs marked\nreturn #marked(x)', parts)).to.equal("return#(x..'+')");
  });

  it('makes late parts on their first use, and once', () => {
    const source = linked('--@late b\nb()\nlocal _, n = pcall(b)\nreturn n', parts);
    expect(source).to.include("lately('b')").and.to.include("pcall(lately,'b')");
    expect(result(source)).to.equal(2);
    expect(source.match(/function b/g)).to.have.lengthOf(1);
  });

  const refused: readonly (readonly [script: string, why: RegExp])[] = [
    ['return NOTHING', /line 1: the constant NOTHING is not defined/],
    ['--@needs nothing', /there is no part nothing/],
    ['--@needs x', /x needs y needs x: a circle/],
    ['--@wants a', /line 1: --@wants is not known/],
    ['--@needs', /has no such names/],
    ['--@needs marked\nreturn marked(x + 1)', /line 2: marked is inline: it takes variables only/],
    ['--@needs marked\nreturn marked(x, y)', /marked takes other arguments/],
    ['--@late a\nlocal f = a', /line 2: a is made late: it can only be called/],
    ['--@late a\n--@late b', /--@late stands in a script, once/],
    ['--@late state', /what is made late is functions only/],
    ['return [[x]]', /is not supported|unexpected/],
  ];
  for (const [script, why] of refused)
    it(`refuses ${script.split('\n').at(-1)}`, () => {
      const circle = { x: '-- X.\n--@needs y\n', y: '-- Y.\n--@needs x\n' };
      expect(() => linked(script, { ...parts, ...circle })).to.throw(why);
    });
});
