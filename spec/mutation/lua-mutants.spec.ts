import { expect } from 'chai';
import { editsOf, placeholder } from './lua-mutants.js';

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

  it('a line that is a call is left out, also with what comes from TypeScript in it', () => {
    const line = `  redis.call('SET', KEYS[l], ${placeholder(0)})`;
    expect(changed(line)).to.deep.equal(['  ']);
  });
});
