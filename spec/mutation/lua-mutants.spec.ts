import { expect } from 'chai';
import { editsOf, luaMutantsOf } from './lua-mutants.js';

/** The text with each change. */
function changed(lua: string): string[] {
  return editsOf(lua).map(({ start, end, text }) => lua.slice(0, start) + text + lua.slice(end));
}

describe('mutants of Lua', () => {
  const cases: [string, string[]][] = [
    ['if a then f() end', ['if true then f() end', 'if false then f() end']],
    ['if a == b then', ['if true then', 'if false then']],
    ['if a and b then', ['if false then', 'if a or b then']],
    ['if a or b then', ['if true then', 'if a and b then']],
    ['local x = a < b', ['local x = a <= b']],
    ['local x = a == b', ['local x = a ~= b']],
    ['local x = not a', ['local x = a']],
    ['local x = 1', ['local x = 2']],
    ['local x = KEYS[1]', []],
    ['local x = a - 1', ['local x = a + 1', 'local x = a - 2']],
    ['return -2', ['return -3']],
    ['x = a', ['']],
    ["local x = redis.pcall('GET')", ["local x = redis.call('GET')"]],
    ['local ok = pcall(f)', []],
    ["local x = 'a < b and 1'", []],
  ];
  for (const [lua, expected] of cases)
    it(lua, () => {
      expect(changed(lua)).to.deep.equal(expected);
    });

  it('a line that is a call is left out', () => {
    expect(changed("  redis.call('SET', KEYS[l], AT_REST)")).to.deep.equal(['  ']);
  });

  it('comments stay, and what they tell the linker', () => {
    expect(changed('--@needs a, b\n-- a < b\nlocal x = a -- 1 < 2')).to.deep.equal([]);
  });

  it('each is named by its function', () => {
    const lua = 'local function f()\n  return 1\nend\nlocal function g()\n  return 2\nend\nreturn 3\n';
    const mutants = luaMutantsOf('one.lua', lua).map(({ mutant }) => mutant);
    expect(mutants.map(({ from, line, member }) => [member, from, line])).to.deep.equal([
      ['f', 'return 1', 2],
      ['g', 'return 2', 5],
      ['(chunk)', 'return 3', 7],
    ]);
  });
});
