/** The compiler of Lua for the masters in memory: what it makes does what a server does, and the rest it refuses. */
import { runInThisContext } from 'node:vm';
import { expect } from 'chai';
import { moduleOf } from '../../../scripts/lua/module.js';
import * as lua from '../../../lib/testing/master/lua.js';
import * as library from '../../../lib/testing/master/lua-library.js';
import * as calls from '../../../lib/testing/master/redis-calls.js';
import { oneServer } from '../../support/server.js';

const { redis } = calls;

/** The module, without what it imports. */
function load(source: string): () => lua.Value {
  const module = moduleOf([{ name: 'one', source }], Object.keys(redis));
  const body = module.replaceAll(/^import .*$/gm, '').replace('export function', 'function');
  const make = runInThisContext(`(function (lua, library, calls, redis) {${body}\nreturn run;\n})`) as (
    ...given: readonly unknown[]
  ) => (name: string, keys: lua.Table, args: lua.Table) => lua.Values;
  const run = make(lua, library, calls, redis);
  return () => lua.one(run('one', new lua.Table([]), new lua.Table([])));
}

/** All that it returns is text, so that nothing is lost in the reply. */
const PROGRAMS = [
  ...['1e15', '1e14', '123456789012345678', '0.1', '1 / 3', '2.5', '-7', '1e300', '-1 / 0', '1e-7'].map(
    (number) => `return tostring(${number})`,
  ),
  ...['0x10', ' 7 ', '5.', '.5', '', ' ', '1e3', '7a', '-3', '+4', '1,5'].map(
    (text) => `return tostring(tonumber('${text}'))`,
  ),
  ...['0.5', '1.5', '2.5', '1e15 + 1', '-0.4 - 1', '9007199254740993', "'12'"].map(
    (number) => `return string.format('%.0f', ${number})`,
  ),
  "return tostring(#'größe') .. string.byte('é', 2) .. string.sub('größe', 3, 4) .. string.sub('größe', -1)",
  "return redis.sha1hex('é')",
  "return '10' + 5 .. ''",
  "return tostring('10' == 10) .. tostring(nil == false) .. tostring(not nil)",
  "local a, b, c = string.match('r|12|x|y', '^([^|]*)|(%d+)|(.*)$') return a .. b .. c",
  "return tostring(string.match('abc', '%d')) .. string.match('a-b_c', '[%w_-]+') .. string.match('a.b', '^%w%.')",
  "local n = '' for word in string.gmatch('a,bb,,c', '[^,]+') do n = n .. word .. ';' end return n",
  "local text, n = string.gsub('a+b+', '%+', '') return text .. n",
  "return tostring(string.find('a+b', '+', 1, true)) .. tostring(string.find('a', 'b', 1, true))",
  "local t = {} t[3] = 'c' t[1] = 'a' t[2] = 'b' return #t .. table.concat(t, ',') .. table.concat(t, ',', 2)",
  'local t = {1, 2, 3} t[3] = nil t[2] = nil return tostring(#t)',
  "local n, t = 0, {a = 1, b = 2, 5} for _, v in pairs(t) do n = n + v end return n .. ''",
  "local s = '' for i, v in ipairs({'a', 'b', nil, 'd'}) do s = s .. i .. v end return s",
  "local s = '' for i = 1, 7, 3 do s = s .. i end return s",
  "local i, s = 0, '' while true do i = i + 1 if i > 3 then break end s = s .. i end return s",
  "local a, b = 1, 2 a, b = b, a return a .. ':' .. b",
  "local a = 1 do local a = a + 1 end local a = a + 10 return a .. ''",
  "local function f(...) return ..., #{...} end local a, b = f('x', 'y') return a .. tostring(b)",
  'local function f() return 1, 2 end local t = {f(), f()} return #t .. tostring((f()))',
  'local fs = {} for i = 1, 3 do fs[i] = function() return i end end return fs[1]() .. fs[3]()',
  'return tostring(pcall(function() return nil + 1 end)) .. tostring(pcall(function() return {} < 1 end))',
  "local ok, why = pcall(function() error('E') end) return tostring(ok) .. type(why)",
  "return (nil and 1 or 'no') .. (false or 'b') .. tostring(nil and 1) .. (0 and 'true')",
  'return math.max(1, 3, 2) .. math.min(2, 1) .. math.floor(-1.5) .. math.ceil(-1.5) .. math.abs(-2)',
  "local t = {3, 1, 2} table.sort(t, function(one, other) return one > other end) return table.concat(t, ',')",
  "return table.concat({unpack({'a', 'b', 'c'}, 2)}, ',') .. tostring(next({})) .. type({})",
  "local new, this = 'a', 'b' local function delete(class) return class end return delete(new) .. this",
];

describe('the compiler of Lua', () => {
  const server = oneServer();

  for (const source of PROGRAMS)
    it(`as a server: ${source}`, async () => {
      expect(load(source)()).to.equal(lua.toBytes(String(await server.redis.eval(source, 0))));
    });

  for (const [source, why] of [
    ['goto out\n::out::', /goto|expected|unexpected/],
    ['local t = setmetatable({}, {})', /setmetatable is not supported/],
    ['local a = 1\nb = 2', /line 2: b is no local variable/],
    ['return missing', /missing is no local variable/],
    ['local function f(n) return f(n - 1) end', /f is not supported/],
    ["return string.match('a', KEYS[1])", /a pattern that is worked out/],
    ["return string.match('a', '%b()')", /%b/],
    ["return string.match('a', '(a)?')", /cannot be repeated/],
    ["return redis.call('FLUSHALL')", /do not have the command FLUSHALL/],
    ["local s = 'a'\nreturn s:len()", /line 2: methods are not supported/],
    ['repeat until true', /RepeatStatement is not supported/],
    ['return 5 % 2', /% is not supported/],
    ['for i = 3, 1, -1 do end', /a step that is worked out|counts down/],
    ["return string.format('%d', 1)", /string.format takes/],
    ['local function f() end\nf = nil', /line 2: f cannot be set/],
  ] as const)
    it(`refuses: ${source}`, () => expect(() => load(source)).to.throw(why));

  it('what two scripts have in common stands there once, also within another function', () => {
    const own = "local function own(a) return a .. 'own' end\n";
    const module = moduleOf(
      [
        { name: 'one', source: `${own}return own('1')` },
        { name: 'two', source: `local function two(b)\n${own}return own(b) end\nreturn two('2')` },
      ],
      [],
    );
    expect(module.split("'own'").length + module.split('"own"').length - 2).to.equal(1);
  });
});
