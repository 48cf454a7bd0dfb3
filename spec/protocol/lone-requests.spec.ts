/** Requests about notes, and what is made of the replies: pure. */
import { expect } from 'chai';
import {
  noteDropping,
  type NoteKeys,
  noteReading,
  noteWriting,
  readNote,
} from '../../lib/protocol/lone-requests.js';
import type { Outcome } from '../../lib/protocol/quorum.js';
import type { Request } from '../../lib/protocol/request.js';

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
