/** What a record says of calls that wait, and what is read of it. */
import { expect } from 'chai';
import { readRecord, recordText } from '../../../lib/lease/instance-record.js';
import { excludes, type Waiting } from '../../../lib/lease/deadlock/waiting.js';
import { type Kind, MUTEX, READ, WRITE } from '../../../lib/protocol/scope.js';

const INFO = { id: 'me', label: '"'.repeat(128), host: '"'.repeat(128), version: '1'.repeat(128) };
const HOLDER = 'abcdef0123';

function permits(wanted: number, all = 3): Kind {
  return { name: 'semaphore', permits: all, wanted, slots: '' };
}

function wait(call: number, given: Partial<Waiting> = {}): Waiting {
  return {
    id: 'me',
    call,
    holds: [{ holder: HOLDER, resources: ['a'] }],
    resources: ['b'],
    kind: MUTEX,
    ...given,
  };
}

function written(
  waits: readonly Waiting[],
  info = INFO,
): { readonly length: number; readonly read: unknown } {
  const held = Array.from({ length: 32 }, (_, i) => ({
    holder: i.toString(16).padStart(10, '0'),
    fence: 1_790_000_000_000_000 + i,
  }));
  const text = recordText(info, {
    held,
    beat: 1,
    waits,
    counts: { ageMs: 1, acquired: 1, lost: 0, waits: [] },
  });
  return { length: text.length, read: readRecord('me', text)?.waits };
}

describe('calls that wait, in a record', () => {
  for (const kind of [MUTEX, READ, WRITE, permits(2)])
    it(`is read as it was written: ${kind.name}`, () => {
      const waits = [wait(1, { kind }), wait(2, { kind, resources: ['c', 'd'] })];
      expect(written(waits).read).to.deep.equal(waits);
    });

  it('however many wait and however much they hold, the record is short enough, and has the oldest', () => {
    const name = 'x'.repeat(256);
    const many = Array.from({ length: 100 }, (_, i) => wait(i));
    expect(written(many, { ...INFO, label: 'l', host: 'h' }).read).to.deep.equal(many.slice(0, 16));
    const large = Array.from({ length: 100 }, (_, i) => wait(i, { resources: [name, name, name, name] }));
    const { length, read } = written([...large, wait(7)]);
    expect(length).to.be.at.most(4_096);
    expect(read, 'a short one is not kept out').to.deep.equal([large[0], large[1], wait(7)]);
  });

  it('names that are too long, or cannot be shown, and too many: not written', () => {
    for (const resources of [['x'.repeat(257)], ['a\nb'], ['a', 'b', 'c', 'd', 'e']]) {
      expect(written([wait(1, { resources })]).read).to.deep.equal([]);
      expect(written([wait(1, { holds: [{ holder: HOLDER, resources }] })]).read).to.deep.equal([]);
    }
  });

  it('whatever else is there: what is odd is left out', () => {
    const one = { call: 1, holds: { [HOLDER]: ['a'] }, for: ['b'], kind: 'mutex' };
    const odd: readonly unknown[] = [
      ...[null, 5, 'x', []],
      ...[-1, '1', 0.5].map((call) => ({ ...one, call })),
      ...[undefined, [], 'b', [5], [''], ['\u001B[2J'], ['\uD800']].map((list) => ({ ...one, for: list })),
      ...[undefined, {}, [], { token: ['a'] }, { [HOLDER]: 'a' }].map((holds) => ({ ...one, holds })),
      ...['x', undefined, 'semaphore'].map((kind) => ({ ...one, kind })),
      ...[[3], [0, 1], [3, 4], 'x'].map((all) => ({ ...one, kind: 'semaphore', permits: all })),
    ];
    for (const given of odd)
      expect(
        readRecord('me', JSON.stringify({ waits: [given] }))?.waits,
        JSON.stringify(given),
      ).to.deep.equal([]);
    expect(readRecord('me', JSON.stringify({ waits: [null, one] }))?.waits.length).to.equal(1);
    expect(readRecord('me', '{"waits":5}')?.waits).to.deep.equal([]);
    expect(readRecord('me', '{"beat":-1}')?.beat).to.equal(0);
  });
});

describe('a lease that keeps a call out', () => {
  const cases: readonly (readonly [Kind, Kind, boolean])[] = [
    [MUTEX, MUTEX, true],
    [READ, READ, false],
    [READ, WRITE, true],
    [WRITE, READ, true],
    [WRITE, WRITE, true],
    [permits(1), permits(2), false],
    [permits(2), permits(1), false],
    [permits(2), permits(2), true],
    [permits(1), permits(3), true],
    [permits(1), permits(1, 1), false],
    [MUTEX, WRITE, false],
    [permits(3), READ, false],
  ];
  for (const [wanted, held, isKeptOut] of cases)
    it(`${JSON.stringify(wanted)} beside ${JSON.stringify(held)}: ${isKeptOut ? 'never' : 'it may'}`, () => {
      expect(excludes(wanted, held)).to.equal(isKeptOut);
    });
});
