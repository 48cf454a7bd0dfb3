import { expect } from 'chai';
import { MISTAKES } from './known/index.js';
import type { Patch } from './mistake.js';
import { Sources, sources } from './source/patches.js';

const LEASE = `
import { later } from './later.js';
export const ATTEMPTS = 3;
/** Waits. */
export function wait(ms: number): Promise<void> {
  return later(ms, 'a wait');
}
export class Lease {
  readonly #ends = { end: 1, };
  get left(): number { return this.#ends.end - 1; }
  set left(ms: number) { this.#ends.end = ms + 1; }
  constructor(key: string) {
    super(key, \`\${key}: \${'x'}\`, /'/.test(key)); // 'quoted'
  }
  extend(ms: number): void {
    if (ms > 0) this.#tell(ms, /* why */ 'more');
    this.#tell(0, 'nothing');
  }
}
`;
const QUEUE = `
local function extend(token, ttl)
  -- a comment
  if redis.call('GET', KEYS[1]) ~= token then return 0 end
  return redis.call("PEXPIRE", KEYS[1], ttl)
end
own.head = function() return KEYS[2] end
return extend(ARGV[1], ARGV[2])
`;
const small = new Sources(
  new Map([
    ['lib/lease/lease.ts', LEASE],
    ['lib/timestamp/lease.ts', 'export class Lease { extend(): void { this.renew(); } }'],
    ['lib/lua/queue.lua', QUEUE],
  ]),
);

/** What stands in the changed file, from the given text on. */
function patched(patch: Patch, from: string): string {
  const [text = ''] = small.patched([patch]).values();
  return text.slice(text.indexOf(from)).split('\n', 1)[0] ?? '';
}

describe('patches: where they belong', () => {
  const cases: [string, Patch, string][] = [
    ['a constant', { in: 'ATTEMPTS', find: '3', replace: '0' }, 'export const ATTEMPTS = 0;'],
    ['a function', { in: 'wait', find: 'later(ms', replace: 'later(0' }, "return later(0, 'a wait');"],
    ['a method', { in: 'lease/Lease.extend', find: 'ms > 0', replace: 'true' }, 'if (true) this.#tell(ms'],
    ['a field', { in: 'Lease.#ends', find: 'end: 1', replace: 'end: 2' }, 'readonly #ends = { end: 2, };'],
    ['a setter', { in: 'Lease.left', find: 'ms + 1', replace: 'ms' }, 'this.#ends.end = ms;'],
    ['a constructor', { in: 'Lease.constructor', find: "/'/.test(key)", replace: 'true' }, "'x'}`, true);"],
    ['a folder', { in: 'timestamp/Lease.extend', find: 'this.renew();', replace: '' }, 'extend(): void {  }'],
    ['a file', { in: 'timestamp/lease/Lease.extend', find: 'renew', replace: 'end' }, 'this.end();'],
    [
      'Lua: a function',
      { in: 'lua:extend', find: '~= token', replace: '== token' },
      '== token then return 0',
    ],
    ['Lua: a field', { in: 'lua:own.head', find: 'KEYS[2]', replace: 'nil' }, 'return nil end'],
    [
      'Lua: a main chunk',
      { in: 'lua:queue.lua', find: 'ARGV[1]', replace: "''" },
      "return extend('', ARGV[2])",
    ],
    ['Lua: a file', { in: 'lua:queue/extend', find: 'return 0', replace: 'return 1' }, 'return 1 end'],
  ];
  for (const [title, patch, expected] of cases)
    it(title, () => {
      expect(patched(patch, expected)).to.equal(expected + patched(patch, expected).slice(expected.length));
      expect([...small.patched([patch]).values()].join('')).to.contain(expected);
    });

  it('white space, comments, trailing commas and quotes do not matter', () => {
    const finds = [
      "this.#tell(\n  ms,\n  'more',\n)",
      'this . #tell(ms, "more")',
      "this.#tell(ms, 'more') // so",
    ];
    for (const find of finds)
      expect(patched({ in: 'lease/Lease.extend', find, replace: 'f()' }, 'if (ms')).to.equal(
        'if (ms > 0) f();',
      );
    const inLua = { in: 'lua:extend', find: 'redis.call("GET",KEYS[ 1 ])', replace: 'nil' };
    expect(patched(inLua, 'if')).to.equal('if nil ~= token then return 0 end');
    expect(patched({ in: 'Lease.#ends', find: '{ end: 1 }', replace: '{}' }, 'readonly #ends')).to.equal(
      'readonly #ends = {};',
    );
  });

  it('several patches of one file', () => {
    const [text] = small
      .patched([
        { in: 'ATTEMPTS', find: '3', replace: '33' },
        { in: 'wait', find: "'a wait'", replace: "''" },
      ])
      .values();
    expect(text).to.contain('ATTEMPTS = 33;').and.to.contain("later(ms, '')");
  });

  const refused: [string, Patch, string][] = [
    [
      'a name that nothing has',
      { in: 'Lease.extnd', find: 'x', replace: '' },
      'there is no Lease.extnd; is it Lease.extend?',
    ],
    ['a function of Lua that there is not', { in: 'lua:exten', find: 'x', replace: '' }, 'is it lua:extend?'],
    [
      'a name that nothing is like',
      { in: 'Subscriptions', find: 'x', replace: '' },
      'there is no Subscriptions',
    ],
    [
      'a name that two have',
      { in: 'Lease.extend', find: 'x', replace: '' },
      'Lease.extend is in lib/lease/lease.ts and lib/timestamp/lease.ts: which one?',
    ],
    [
      'what is not there',
      { in: 'wait', find: 'sooner(ms)', replace: '' },
      'wait (lib/lease/lease.ts) has 0 times, and not once: sooner(ms)',
    ],
    [
      'what is there twice',
      { in: 'lease/Lease.extend', find: 'this.#tell', replace: '' },
      'has 2 times, and not once',
    ],
  ];
  for (const [title, patch, expected] of refused)
    it(`refused: ${title}`, () => {
      expect(() => small.patched([patch])).to.throw(Error, expected);
    });

  it('refused: two patches of the same text', () => {
    const patch = { in: 'ATTEMPTS', find: '3', replace: '' };
    expect(() => small.patched([patch, patch])).to.throw(Error, 'two patches change the same: 3');
  });
});

describe('known mistakes', () => {
  it('each patch finds its place', () => {
    const lost = MISTAKES.flatMap(({ name, patches }) => {
      try {
        sources().patched(patches);
        return [];
      } catch (error) {
        return [`${name}: ${String(error)}`];
      }
    });
    expect(lost).to.deep.equal([]);
  });

  it('each has a name of its own', () => {
    const names = MISTAKES.map(({ name }) => name);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).to.deep.equal([]);
  });

  it('each says what notices it, and by which violation', () => {
    for (const { name, noticedBy } of MISTAKES) {
      const { breaks = [], seeds, specs = [], world } = noticedBy;
      const isSimulated = seeds !== undefined || world !== undefined;
      expect(isSimulated || specs.length > 0, name).to.equal(true);
      expect(breaks.length > 0, name).to.equal(isSimulated);
    }
  });
});
