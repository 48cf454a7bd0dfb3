/** Who leads, by what the masters say, and which leaders an instance may announce: never an earlier one. Pure. */
import { expect } from 'chai';
import { readLeader, isAtLeast, SeenLeaders } from '../../lib/election/leaders.js';
import type { NoteReading } from '../../lib/protocol/lone-requests.js';
import type { Leader } from '../../lib/election/public.js';

/** A master that names the leader of that fence. */
function naming(fence: number, more: Partial<NoteReading> = {}): NoteReading {
  return {
    vote: 'another',
    ...{ remainingMs: 9_000, clockUs: 1, sinceMs: 0, isHolders: true, fence, seq: 1, text: 'a', ...more },
  };
}

const NOBODYS = naming(0, { vote: 'none', remainingMs: -2, isHolders: false, seq: 0, text: '' });

function read(readings: readonly (NoteReading | undefined)[], isComplete = true): object {
  return readLeader({ readings, isComplete }, Math.floor(readings.length / 2) + 1);
}

describe('who leads, from what the masters say', () => {
  it('whom a quorum names, by the latest of its values', () => {
    const readings = [naming(7, { seq: 2, text: 'old' }), naming(7, { seq: 3, text: 'new' }), NOBODYS];
    expect(read(readings)).to.deep.equal({
      kind: 'leader',
      leader: { value: 'new', fence: 7, seq: 3 },
      remainingMs: 9_000,
    });
    expect(read(readings.toReversed())).to.have.nested.property('leader.value', 'new');
  });

  it('equal numbers are one value: that of the first master', () => {
    expect(read([naming(7, { text: 'x' }), naming(7, { text: 'y' })])).to.have.nested.property(
      'leader.value',
      'x',
    );
  });

  it('nobody: a minority names one, or masters name different ones', () => {
    expect(read([naming(7), NOBODYS, NOBODYS])).to.deep.equal({ kind: 'nobody' });
    expect(read([naming(7), naming(8), NOBODYS])).to.deep.equal({ kind: 'nobody' });
    expect(read([naming(7), naming(8)])).to.deep.equal({ kind: 'nobody' });
    expect(read([NOBODYS])).to.deep.equal({ kind: 'nobody' });
  });

  it('a value that is not of whoever has the vote names nobody', () => {
    const late = naming(7, { isHolders: false });
    expect(read([naming(7), late, late])).to.deep.equal({ kind: 'nobody' });
  });

  it('unknown: too few could be read, and no quorum names one', () => {
    expect(read([naming(7), undefined, undefined], false)).to.deep.equal({ kind: 'unknown' });
  });

  it('a quorum names one though the others are silent, and though a minority names another', () => {
    expect(read([naming(7), undefined, naming(7)])).to.have.nested.property('leader.fence', 7);
    expect(read([naming(8), naming(7), naming(7)])).to.have.nested.property('leader.fence', 7);
  });

  it('its quorum lasts until so many votes are over that fewer than a quorum are left', () => {
    const left = (...times: readonly number[]): object =>
      read(times.map((remainingMs) => naming(7, { remainingMs })));
    expect(left(300, 10_000, 2_000)).to.have.property('remainingMs', 2_000);
    expect(left(10_000)).to.have.property('remainingMs', 10_000);
    expect(left(10_000, 9_000)).to.have.property('remainingMs', 9_000);
    expect(left(1, 5, 2, 4, 3)).to.have.property('remainingMs', 3);
  });
});

const leader = (fence: number, seq: number): Leader => ({ value: `${fence}.${seq}`, fence, seq });

describe('seen leaders', () => {
  it('the fence decides, and then the seq', () => {
    const pairs = [
      [leader(2, 1), leader(1, 9), true],
      [leader(1, 9), leader(2, 1), false],
      [leader(1, 2), leader(1, 1), true],
      [leader(1, 1), leader(1, 1), true],
      [leader(1, 1), leader(1, 2), false],
    ] as const;
    for (const [one, other, isLater] of pairs) expect(isAtLeast(one, other)).to.equal(isLater);
  });

  it('tells of the latest value of a leader, of a later leader, and never of an earlier one', () => {
    const seen = new SeenLeaders();
    const told = [leader(2, 2), leader(2, 1), leader(2, 3), leader(1, 9), leader(3, 1), leader(2, 9)].map(
      (one) => seen.see('x', one)?.value,
    );
    expect(told).to.deep.equal(['2.2', '2.2', '2.3', undefined, '3.1', undefined]);
  });

  it('elections have nothing to do with each other', () => {
    const seen = new SeenLeaders();
    seen.see('x', leader(2, 1));
    expect(seen.see('y', leader(1, 1))?.value).to.equal('1.1');
  });

  it('remembers a thousand elections: those that were looked at last', () => {
    const seen = new SeenLeaders();
    for (let i = 1; i <= 1_000; i++) seen.see(`e${i}`, leader(2, 1));
    expect(seen.see('e1', leader(2, 2))?.value).to.equal('2.2'); // looked at again
    expect(seen.see('another', leader(2, 1))?.value).to.equal('2.1'); // takes the place of e2
    expect(seen.see('e1', leader(1, 1))).to.equal(null);
    expect(seen.see('e3', leader(1, 1))).to.equal(null);
    expect(seen.see('e2', leader(1, 1))?.value).to.equal('1.1');
  });
});
