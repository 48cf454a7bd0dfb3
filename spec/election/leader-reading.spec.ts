/** Who leads, from what the masters say: pure. */
import { expect } from 'chai';
import { readLeader } from '../../lib/election/leader-reading.js';
import type { NoteReading } from '../../lib/protocol/note-requests.js';

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
