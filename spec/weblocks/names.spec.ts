/** Names of web locks: any sequence of 16-bit units is one, and different names are different locks. */
import { expect } from 'chai';
import fc from 'fast-check';
import { MemoryMasters } from '../../lib/testing/index.js';
import { LockManager } from '../../lib/weblocks/index.js';
import { resourceOf } from '../../lib/weblocks/resource.js';

/** What may be confused with each other: halves of pairs, pairs, marks, and what a mark is followed by. */
const UNITS = [
  '',
  'a',
  'd800',
  'ffff',
  '{',
  '}',
  ':',
  '\0',
  '\uD800',
  '\uDC00',
  '\uFFFF',
  '\uFFFD',
  '\u{10000}',
];

describe('web locks: names', () => {
  it('usual names follow the prefix as they are', () => {
    for (const name of ['', 'a', 'invoice:42', 'ü', '\u{1F512}', 'a\0b', '{tag}', ' '])
      expect(resourceOf('weblocks:', name)).to.equal(`weblocks:${name}`);
  });

  it('two names never are one resource, and each is well-formed', () => {
    const name = fc.array(fc.constantFrom(...UNITS), { maxLength: 4 }).map((units) => units.join(''));
    fc.assert(
      fc.property(name, name, (one, other) => {
        const [first, second] = [resourceOf('p', one), resourceOf('p', other)];
        expect(first.isWellFormed()).to.equal(true);
        expect(first === second).to.equal(one === other);
      }),
      { numRuns: 2_000 },
    );
  });

  it('all are held side by side, and a second manager finds each of them taken', async () => {
    await using masters = new MemoryMasters(3);
    const [locks, other] = [new LockManager(masters.redlock()), new LockManager(masters.redlock())];
    const names = [
      '',
      'abc',
      'a\0b',
      '\uD800',
      '\uDC00',
      '\uDC00\uD800',
      '\uFFFF',
      '\uFFFFd800',
      'ABC',
      'x'.repeat(5_000),
    ];
    const nest = async (depth: number): Promise<void> => {
      const name = names[depth];
      if (name !== undefined)
        return locks.request(name, async (lock) => {
          expect(lock.name).to.equal(name);
          await nest(depth + 1);
        });
      for (const one of names)
        expect(await other.request(one, { ifAvailable: true }, (lock) => lock)).to.equal(null);
      const { held } = await locks.query();
      expect(held.map((info) => info.name)).to.have.members(names);
    };
    await nest(0);
  });
});
