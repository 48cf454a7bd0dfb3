/** Requests about notes, and what is made of the replies: pure. */
import { expect } from 'chai';
import {
  graceOf,
  noteDropping,
  type NoteKeys,
  noteReading,
  noteWriting,
  type Ousting,
  ousting,
  readNote,
  taking,
} from '../../lib/protocol/lone-requests.js';
import { OUST, RW_OUST, TAKE } from '../../lib/protocol/lua/scripts.js';
import type { Outcome } from '../../lib/protocol/quorum.js';
import type { Request } from '../../lib/protocol/request.js';
import { MUTEX, READ, WRITE } from '../../lib/protocol/scope.js';

const PLACE: NoteKeys = { key: 'r', noteKey: 'n', channel: 'c', marker: undefined, guardMs: 0 };
const GUARDED: NoteKeys = { ...PLACE, marker: 'm', guardMs: 50 };
const FENCE = 7;

/** The keys and arguments behind the script. */
function args({ command }: Request): readonly string[] {
  return command.args.slice(1).map(String);
}

function brief(outcome: Outcome | undefined): string {
  if (outcome === undefined) return 'odd';
  return outcome.kind === 'unknown' ? `unknown: ${outcome.cause.message}` : outcome.kind;
}

describe('requests about notes', () => {
  it('a write: vote and note, the numbers of the note, how long it outlives the vote, its text, who is told', () => {
    const request = noteWriting(PLACE, 'token', { fence: FENCE, seq: 2, text: 'x|y', lifeMs: 60_000 });
    expect(args(request)).to.deep.equal(['2', 'r', 'n', 'token', '7', '2', '60000', 'x|y', 'c']);
  });

  it('a removal', () => {
    expect(args(noteDropping(PLACE, 'token'))).to.deep.equal(['2', 'r', 'n', 'token', 'c']);
  });

  it('a reading: under a vote or by an onlooker, and with the marker where there is a guard', () => {
    expect(args(noteReading(PLACE))).to.deep.equal(['2', 'r', 'n', '-', '0']);
    expect(args(noteReading(PLACE, 'token'))).to.deep.equal(['2', 'r', 'n', 'token', '0']);
    expect(args(noteReading(GUARDED, 'token'))).to.deep.equal(['3', 'r', 'n', 'm', 'token', '50']);
  });

  it('written: it, or a later one of the same holder, is there; anything else is no yes', () => {
    const request = noteWriting(PLACE, 'token', { fence: FENCE, seq: 2, text: 'x', lifeMs: 60_000 });
    const cases = [
      [[1, 99, 0], 'granted'],
      [[3, FENCE, 5], 'granted'],
      [[3, FENCE + 1, 1], 'unknown: a note with a higher fencing token is there'],
      [[0, -2, 0], 'unknown: the vote is not there'],
      [[0, 70, 0], 'refused'],
      [[0, FENCE, 0], 'refused'],
      [[2, -2, 0], 'refused'],
      [[2, 0, 0], 'refused'],
      [[9, 0, 0], 'odd'],
      ['x', 'odd'],
    ] as const;
    for (const [reply, outcome] of cases)
      expect(brief(request.read(reply)), JSON.stringify(reply)).to.equal(outcome);
  });

  it('removed: only without the vote', () => {
    const request = noteDropping(PLACE, 'token');
    const read = (reply: unknown): string => brief(request.read(reply));
    expect([1, '1', 0, 2, 'x', [1]].map(read)).to.deep.equal([
      ...['granted', 'granted', 'unknown: the vote is still there', 'odd', 'odd', 'odd'],
    ]);
  });

  it('read: whose the vote is, how long it lives, and the note', () => {
    const read = (reply: unknown): unknown => readNote(reply, noteReading(GUARDED).scope);
    const told = { remainingMs: 70, clockUs: 99, sinceMs: 3, fence: FENCE, seq: 2, text: 'x' };
    expect(read([1, 70, 99, 3, 1, FENCE, 2, 'x'])).to.deep.equal({ ...told, vote: 'own', isHolders: true });
    expect(read(['2', '70', '99', '3', '0', '7', '2', 'x'])).to.deep.equal({
      ...{ ...told, vote: 'another', isHolders: false },
    });
    expect(read([0, -2, 99, 0, 0, 0, 0, ''])).to.deep.equal({
      ...{
        vote: 'none',
        remainingMs: -2,
        clockUs: 99,
        sinceMs: 0,
        isHolders: false,
        fence: 0,
        seq: 0,
        text: '',
      },
    });
    expect(read([-1, 70, 0])).to.include({ kind: 'quarantined', remainingMs: 70 });
    expect(read([2, 0, 0])).to.include({ kind: 'refused', isWrongType: true });
    for (const odd of [
      undefined,
      'x',
      [],
      [1, 70],
      [9, 0, 0],
      [1, 70, 99, 3, 1, FENCE, 2],
      [1, 70, 99, 3, 1, 'x', 2, 'x'],
    ])
      expect(read(odd), JSON.stringify(odd)).to.equal(undefined);
    expect(read([1, 70, 99, 3, 1, FENCE, 2, 5])).to.equal(undefined);
  });
});

describe('a lock that is taken away', () => {
  const HOW: Ousting = { tokens: ['a', 'b'], graceMs: 70, stayMs: 5, isClaimed: false, label: 'my host:1' };
  const request = ousting({ keys: ['r'], kind: MUTEX }, 'token', HOW);

  it('the request: grace, stay and whether that is added in any case, for whom, and the holders', () => {
    const rest = [':my%20host%3A1', 'a', 'b'];
    expect(args(request)).to.deep.equal(['1', 'r', 'token', '70', '5', '0', ...rest]);
    const claimed = ousting({ keys: ['r'], kind: MUTEX }, 'token', { ...HOW, isClaimed: true });
    expect(args(claimed)).to.deep.equal(['1', 'r', 'token', '70', '5', '1', ...rest]);
  });

  it('a read-write lock is taken by a script of its own, whoever holds it', () => {
    const scripts = [MUTEX, READ, WRITE].map(
      (kind) => ousting({ keys: ['r'], kind }, 'token', HOW).operation.script,
    );
    expect(scripts).to.deep.equal([OUST, RW_OUST, RW_OUST]);
  });

  it('taken, with the time that the holder still has; any other reply is no yes, and gives nobody time', () => {
    const cases = [
      [[1, 70, 0], 'granted', 70],
      [[1, 0, 0], 'granted', 0],
      [[0, 70, 0], 'refused', 0],
      [[2, 70, 0], 'refused', 0],
      [[9, 70, 0], 'odd', 0],
      ['x', 'odd', 0],
    ] as const;
    for (const [reply, outcome, graceMs] of cases)
      expect([brief(request.read(reply)), graceOf(reply)], JSON.stringify(reply)).to.deep.equal([
        ...[outcome, graceMs],
      ]);
  });

  it('tokens are listed as taken in one step, with the source; it names whose releases follow', () => {
    const list = taking('taken', ['a', 'b'], 99.5, ['r', 's']);
    expect(list.command).to.deep.equal({
      ...{ name: 'eval', args: [TAKE.source, '3', 'taken', 'r', 's', '100', 'a', 'b'] },
    });
    expect(taking('taken', ['a'], 5).command.args.slice(1)).to.deep.equal(['1', 'taken', '5', 'a']);
    expect([2, '2', 'x'].map((reply) => brief(list.read(reply)))).to.deep.equal([
      'granted',
      'granted',
      'odd',
    ]);
  });
});
