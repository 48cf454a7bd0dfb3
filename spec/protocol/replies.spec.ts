/** Reading masters' replies: pure. A reply of unknown shape is no answer: its reader returns undefined. */
import { expect } from 'chai';
import { HOLDS, TAKEN_AWAY } from '../../lib/protocol/lua/stored.js';
import { GRANTED, type Outcome } from '../../lib/protocol/quorum.js';
import {
  clockOf,
  integers,
  isToRepeat,
  leastAccepted,
  orTaken,
  readAcceptance,
  readClock,
  readCount,
  readFenced,
  readNo,
  readPermits,
  readQueued,
  readQueueReply,
  readSet,
  readUndo,
  readVote,
  SPENT_COUNTER,
  toInteger,
  YES,
} from '../../lib/protocol/replies.js';

const UNGUARDED = { marker: undefined, guardMs: -1 } as const;
const US = 1_790_000_000_000_001;
const ODD: readonly unknown[] = [
  undefined,
  true,
  'OK?',
  1.5,
  {},
  [],
  ['1'],
  ['x', 0, 0],
  [0.5, 0, 0],
  [[1], 0, 0],
];

/** An outcome in brief: its kind and what it says. */
function brief(outcome: Outcome | undefined): string {
  if (outcome === undefined) return 'odd';
  switch (outcome.kind) {
    case 'granted':
      return [
        ...['granted', outcome.fence > 0 && `fence ${outcome.fence}`, outcome.clockUs > 0 && 'us'],
        ...[outcome.slots !== undefined && outcome.slots !== '' && `slots ${outcome.slots}`],
      ]
        .filter(Boolean)
        .join(' ');
    case 'refused': {
      const { holds, isForeignClient, isWrongType, remainingMs } = outcome;
      const more = [isWrongType ? `wrong type ${holds ?? ''}` : '', isForeignClient ? 'foreign' : ''];
      return ['refused', String(remainingMs), ...more].join(' ').replaceAll(/ +/g, ' ').trim();
    }
    case 'quarantined':
      return `quarantined ${outcome.remainingMs}`;
    case 'unknown':
      return `unknown: ${outcome.cause.message}`;
  }
}

type Reader = (reply: unknown) => Outcome | undefined;
type Row = readonly [reply: unknown, outcome: string];

/** Replies that all scripts of votes share. */
const SHARED: readonly Row[] = [
  [[-1, 70, 0], 'quarantined 70'],
  [
    [-2, 70, 0],
    "unknown: its restart guard is 70 ms, and this client's none: restartGuardMs must be the same in all clients",
  ],
  [[-2, 0, 0], 'unknown: its restart guard cannot be read: the key undefined holds something else'],
  [[2, 0, 0], 'refused undefined wrong type'],
  [[2, HOLDS.mutex, 0], 'refused undefined wrong type an exclusive lock'],
  [[2, HOLDS.readWrite, 0], 'refused undefined wrong type a read-write lock'],
  [[2, HOLDS.semaphore, 0], 'refused undefined wrong type a semaphore'],
  [[2, HOLDS.counter, 0], `refused undefined wrong type ${SPENT_COUNTER}`],
];
const REFUSED: readonly Row[] = [
  [[0, 70, 0], 'refused 70'],
  [['0', '70', '0'], 'refused 70'],
  [[0, -1, 0], 'refused Infinity'],
  [[0, -2, 0], 'refused undefined'],
];
const FOREIGN: readonly Row[] = [
  [[0, 70, 1], 'refused 70 foreign'],
  [[0, 70, 2], 'refused 70'],
];

const READERS: readonly (readonly [name: string, read: Reader, rows: readonly Row[]])[] = [
  [
    'a SET',
    (reply) => readSet(reply, UNGUARDED),
    [
      ['OK', 'granted'],
      [null, 'refused undefined'],
      [[1, 0, 0], 'granted'],
      ...REFUSED,
      ...FOREIGN,
      ...SHARED,
    ],
  ],
  [
    'a vote',
    (reply) => readVote(reply, UNGUARDED),
    [[YES, 'granted'], [[1, 0, 0], 'granted'], [[1, 5, 0], 'granted'], ...REFUSED, ...FOREIGN, ...SHARED],
  ],
  [
    'a fenced vote',
    (reply) => readFenced(reply, UNGUARDED),
    [
      [US, `granted fence ${US}`],
      [String(US), `granted fence ${US}`],
      [2, 'granted fence 2'],
      [1, 'odd'],
      [0, 'odd'],
      [[1, US, 0], `granted fence ${US}`],
      [[1, US, 7], `granted fence ${US} us`],
      [[1, 1, 0], 'granted fence 1'],
      [[1, 0, 0], 'odd'],
      ...REFUSED,
      ...FOREIGN,
      ...SHARED,
    ],
  ],
  [
    'a look',
    (reply) => readQueued(reply, UNGUARDED),
    [
      [[1, 5, US], 'granted'],
      [[6, 5, US, 7, 8], 'granted'],
      [[4, 70, US], 'refused 70 foreign'],
      [[0, 70, US, 1], 'refused 70'],
      ...SHARED,
    ],
  ],
  [
    'an acceptance',
    (reply) => readAcceptance(reply, UNGUARDED),
    [[[1, US, 0], `granted fence ${US}`], [[3, US, 0], 'odd'], ...REFUSED, ...SHARED],
  ],
  [
    'permits',
    (reply) =>
      readPermits(reply, { ...UNGUARDED, kind: { name: 'semaphore', permits: 3, wanted: 1, slots: '' } }),
    [
      [[1, 0, 0], 'granted'],
      [[1, 0, 0, 2], 'granted slots 2'],
      [[1, 0, 0, 0, '3'], 'granted slots 0,3'],
      [[1, 0, 0, 0, 'x'], 'odd'],
      [[5, 70, 4], 'refused 70'],
      ...REFUSED,
      ...SHARED,
    ],
  ],
  [
    'an undo',
    readUndo,
    [
      [[1, -2, 0], 'granted'],
      [[0, -2, 2], 'granted'],
      [[0, 70, 0], 'refused 70'],
      [[1, -1, 0], 'refused Infinity'],
      [[0, -2, 1], 'refused undefined wrong type'],
      [[0, 70, 3], 'refused undefined wrong type'],
    ],
  ],
  [
    'a release',
    readCount,
    [
      [0, 'granted'],
      [2, 'granted'],
      [-1, 'granted'],
      ['3', 'granted'],
      ['x', 'odd'],
    ],
  ],
  [
    "a master's clock",
    readClock,
    [
      [['1790000000', '1'], 'granted us'],
      [[1_790_000_000, 1, 7], 'granted us'],
      [[0, 0], 'odd'],
      [['x', '1'], 'odd'],
    ],
  ],
];

describe('replies', () => {
  for (const [name, read, rows] of READERS) {
    it(`of ${name}`, () => {
      for (const [reply, outcome] of rows)
        expect(brief(read(reply)), JSON.stringify(reply)).to.equal(outcome);
    });

    it(`of ${name}: anything else is no answer`, () => {
      for (const reply of ODD) expect(brief(read(reply)), JSON.stringify(reply)).to.equal('odd');
    });
  }

  it('permits: a semaphore of another size says which, and only of a semaphore', () => {
    const semaphore = {
      ...UNGUARDED,
      kind: { name: 'semaphore', permits: 3, wanted: 1, slots: '' },
    } as const;
    expect(readPermits([5, 70, 4], semaphore)).to.deep.include({ permits: { theirs: 4, ours: 3 } });
    expect(readPermits([5, 70, 4], { ...UNGUARDED, kind: { name: 'read' } })).to.equal(undefined);
  });

  it('of a look, about the place: serial, clock, rank, and what was claimed', () => {
    const told = { serial: 0, clockUs: US, rank: undefined, claimed: undefined };
    expect(readQueueReply([1, 5, US])).to.deep.equal({ ...told, serial: 5 });
    expect(readQueueReply([4, 70, US])).to.deep.equal(told);
    expect(readQueueReply([0, 70, US, 2])).to.deep.equal({ ...told, rank: 2 });
    expect(readQueueReply([6, 5, US, 7, 8])).to.deep.equal({
      ...{ ...told, serial: 5 },
      claimed: { fence: 7, slots: '', sentMs: 8, spanMs: undefined },
    });
    for (const odd of [...ODD, [9, 5, US], [6, 5, US], [6, 5, US, 7], [0, 70, US], [2, 0, 0, 5], [-1, 70, 0]])
      expect(readQueueReply(odd), JSON.stringify(odd)).to.equal(undefined);
  });

  it('an acceptance that is refused says from where on it would be accepted', () => {
    expect([[3, US, 0], [1, US, 0], 'x'].map(leastAccepted)).to.deep.equal([US, undefined, undefined]);
  });

  it('equal grants are one object', () => {
    const [one, two] = [readFenced(US, UNGUARDED), readFenced([1, US, 0], UNGUARDED)];
    expect(one).to.equal(two);
    expect(readFenced([1, US, 7], UNGUARDED)).to.include({ fence: US, clockUs: 7 });
    expect(readFenced([1, US + 1, 7], UNGUARDED)).to.include({ fence: US + 1, clockUs: 7 });
  });

  it('a guard that differs names both periods', () => {
    const outcome = readNo(-2, 70, { marker: 'm', guardMs: 50 });
    expect(brief(outcome)).to.match(/is 70 ms, and this client's 50 ms/);
    expect(outcome).to.include({ isMisconfigured: true });
    expect(brief(readNo(-2, 70, { marker: 'm', guardMs: 0 }))).to.match(/is 70 ms, and this client's none/);
    expect(brief(readNo(-2, undefined, { marker: 'm', guardMs: 50 }))).to.match(/the key m holds/);
    expect(brief(readNo(-1, undefined, UNGUARDED))).to.equal('quarantined 0');
  });

  it('what has to be sent again: an undo by its third number, a release by a negative count', () => {
    const cases = [
      [[1, -2, 0], false],
      [[1, -2, 1], false],
      [[1, -2, 2], true],
      [[1, -2, 3], true],
      [[1, -2], false],
      [0, false],
      [1, false],
      [-1, true],
      ['-2', true],
      [undefined, false],
    ] as const;
    for (const [reply, isAgain] of cases) expect(isToRepeat(reply), JSON.stringify(reply)).to.equal(isAgain);
  });

  it('a clock is seconds and µs; 0 for anything else', () => {
    expect([['1', '2'], [3, 4], ['x', '2'], 'x'].map(clockOf)).to.deep.equal([1_000_002, 3_000_004, 0, 0]);
  });

  it('integers, also as strings; never less exact than they were', () => {
    const cases = [
      [5, 5],
      ['5', 5],
      ['-5', -5],
      ['5.0', undefined],
      [' 5', undefined],
      ['', undefined],
      [5.5, undefined],
      ['9007199254740993', undefined],
      [true, undefined],
      [null, undefined],
    ] as const;
    for (const [reply, number] of cases) expect(toInteger(reply), String(reply)).to.equal(number);
  });

  it('a waiter that was asked to let its vote rest: told by a refusal alone', () => {
    expect(readVote([0, 5, 2], UNGUARDED)).to.include({ kind: 'refused', remainingMs: 5, isAsked: true });
    expect(readVote([0, 5, 0], UNGUARDED)).to.not.have.property('isAsked');
    expect(readVote([1, 0, 2], UNGUARDED)).to.equal(GRANTED);
  });

  it('only an extension may be refused for its token', () => {
    const read = orTaken(readVote);
    const taken = [TAKEN_AWAY, 0, 0];
    expect(read(taken, UNGUARDED)).to.include({ kind: 'refused', isTaken: true, isWrongType: false });
    expect([readVote(taken, UNGUARDED), readFenced(taken, UNGUARDED)]).to.deep.equal([undefined, undefined]);
    for (const yes of [[1, 0, 0], YES]) expect(read(yes, UNGUARDED)).to.equal(GRANTED);
    expect(read([0, 5, 0], UNGUARDED)).to.include({ kind: 'refused', remainingMs: 5 });
  });

  it('so many integers from the beginning of an array, or none at all', () => {
    const cases = [
      [[1, 2], 2, [1, 2]],
      [['1', 2], 2, [1, 2]],
      [[1, 2, 3], 2, [1, 2]],
      [[1, 2, 'x'], 2, [1, 2]],
      [[1, 'x', 3], 2, []],
      [[1, 'x'], 2, []],
      [[1], 2, []],
      ['12', 2, []],
    ] as const;
    for (const [reply, count, numbers] of cases)
      expect(integers(reply, count), JSON.stringify(reply)).to.deep.equal(numbers);
  });
});
