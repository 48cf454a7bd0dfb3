/** What the error of a failed call says of the masters' answers. */
import { expect } from 'chai';
import { GRANTED, type Outcome, unknown } from '../../lib/protocol/quorum.js';
import { SPENT_COUNTER } from '../../lib/protocol/replies.js';
import {
  cancelledError,
  expiryError,
  extensionError,
  type ExtensionRound,
  failureOf,
  isHopeless,
  localError,
  lossError,
  nameResources,
  roundError,
  type RoundFailure,
  stolenError,
} from '../../lib/quorum/failure.js';
import { NOT_AWAITED, Silence } from '../../lib/redis/server-errors.js';
import type { RedlockError } from '../../lib/runtime/errors.js';
import { Node } from '../../lib/node/node.js';
import { scriptedClaim } from '../../lib/protocol/request.js';
import { Round } from '../../lib/quorum/round.js';
import { plainScope } from '../support/commands.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime } from '../support/fake-time.js';

type Refusal = Partial<Outcome & { readonly kind: 'refused' }>;

const CONTEXT = { resources: ['r'], attempts: 2, elapsedMs: 30 };
const SILENT = unknown(new Silence(50));
const LOST = unknown(new Error('not connected'));

function refused(more: Refusal = {}): Outcome {
  return { kind: 'refused', remainingMs: undefined, isWrongType: false, isForeignClient: false, ...more };
}

function quarantined(remainingMs: number): Outcome {
  return { kind: 'quarantined', remainingMs };
}

function nodesFor(outcomes: readonly unknown[]): { readonly name: string; readonly index: number }[] {
  return outcomes.map((_, index) => ({ name: `m${index + 1}`, index }));
}

function errorFor(
  failure: RoundFailure,
  outcomes: readonly (Outcome | undefined)[],
  context = CONTEXT,
): RedlockError {
  return roundError(failure, { outcomes }, nodesFor(outcomes), context);
}

describe('the error of an attempt that failed: its text', () => {
  const texts: [RoundFailure, (Outcome | undefined)[], string][] = [
    [
      'held',
      [GRANTED, refused({ remainingMs: 40 }), refused()],
      '"r" is taken: 1 of 3 masters granted, 2 needed; m2 refused (40 ms left); m3 refused.',
    ],
    [
      'held',
      [refused({ remainingMs: Infinity })],
      '"r" is taken: 0 of 1 masters granted, 1 needed; m1 refused (no expiry).',
    ],
    [
      'held',
      [undefined, unknown(NOT_AWAITED), refused({ remainingMs: 1 })],
      '"r" is taken: 0 of 3 masters granted, 2 needed; m1 not waited for; m2 not waited for; m3 refused (1 ms left).',
    ],
    [
      'held',
      [GRANTED, refused({ permits: { theirs: 3, ours: 5 }, remainingMs: 9 })],
      '"r" is held as a semaphore of 3 permits, and asked for as one of 5: 1 of 2 masters granted, 2 needed; m2 refused (9 ms left).',
    ],
    [
      'wrongType',
      [GRANTED, refused({ isWrongType: true, holds: 'a semaphore' })],
      '"r" is in use as a lock of another kind, a semaphore: 1 of 2 masters granted, 2 needed; m2 refused (the key is a semaphore).',
    ],
    [
      'wrongType',
      [undefined, refused(), refused({ isWrongType: true, holds: SPENT_COUNTER })],
      `"r" has ${SPENT_COUNTER}: 0 of 3 masters granted, 2 needed; m1 not waited for; m2 refused; m3 refused (it has ${SPENT_COUNTER}).`,
    ],
    [
      'wrongType',
      [GRANTED, refused({ isWrongType: true })],
      '"r" holds something else than this kind of lock: 1 of 2 masters granted, 2 needed; m2 refused (the key is of another type).',
    ],
    [
      'quarantined',
      [quarantined(70)],
      'masters that may have forgotten votes abstain for "r": 0 of 1 masters granted, 1 needed; m1 quarantined (for 70 ms).',
    ],
    [
      'misconfigured',
      [unknown(new Error('NOPERM'), true)],
      'the masters cannot lock "r" as they are set up: 0 of 1 masters granted, 1 needed; m1 unknown (NOPERM).',
    ],
    ['unknown', [LOST], 'no quorum for "r": 0 of 1 masters granted, 1 needed; m1 unknown (not connected).'],
    [
      'late',
      [GRANTED, GRANTED, undefined],
      'a quorum for "r" came too late for the ttl: 2 of 3 masters granted, 2 needed; m3 not waited for.',
    ],
  ];
  for (const [failure, outcomes, text] of texts) {
    it(text, () => {
      expect(errorFor(failure, outcomes).message).to.equal(text);
    });
  }

  for (const [title, failure, outcomes, isNamed] of [
    ['silent masters could have made a quorum', 'unknown', [GRANTED, SILENT, LOST], true],
    ['they would have been too few', 'unknown', [SILENT, LOST, LOST], false],
    ['none is silent', 'unknown', [GRANTED, LOST, LOST], false],
    ['the others refuse', 'unknown', [GRANTED, SILENT, refused(), refused()], false],
    ['there is a quorum, and it is late', 'late', [GRANTED, GRANTED, SILENT], false],
  ] as const) {
    it(`names nodeTimeoutMs or not: ${title}`, () => {
      expect(errorFor(failure, outcomes).message.includes('nodeTimeoutMs')).to.equal(isNamed);
    });
  }

  it('names the resources: three of them, and how many more; none if there are none', () => {
    expect(nameResources(['a', 'b', 'c'])).to.equal('"a", "b", "c"');
    expect(nameResources(['a', 'b', 'c', 'd', 'e'])).to.equal('"a", "b", "c" and 2 more');
    const nameless = errorFor('unknown', [LOST], { ...CONTEXT, resources: [] });
    expect(nameless.message).to.match(/^no quorum for locks: /);
  });
});

describe('the error of an attempt that failed: its fields', () => {
  it('a code for each reason', () => {
    const codes = (['held', 'wrongType', 'quarantined', 'misconfigured', 'unknown', 'late'] as const).map(
      (failure) => errorFor(failure, [LOST]).code,
    );
    expect(codes).to.deep.equal([
      'LOCK_TAKEN',
      'WRONG_KIND',
      'QUARANTINED',
      'MISCONFIGURED',
      'NO_QUORUM',
      'VALIDITY_EXPIRED',
    ]);
  });

  it('a semaphore of another number of permits is another kind, if that is what is in the way', () => {
    const outcomes = [refused({ permits: { theirs: 3, ours: 5 } })];
    expect(errorFor('held', outcomes).code).to.equal('WRONG_KIND');
    expect(errorFor('held', [...outcomes, ...outcomes, refused()]).code).to.equal('WRONG_KIND');
    expect(errorFor('held', [...outcomes, refused(), refused()]).code).to.equal('LOCK_TAKEN');
    for (const others of [
      [LOST, LOST],
      [...outcomes, LOST],
    ]) {
      const { code, message } = errorFor('unknown', [...outcomes, ...others]);
      expect([code, /permits/.test(message)]).to.deep.equal(['NO_QUORUM', false]);
    }
  });

  it('the answers by master, and what the call was about', () => {
    const cause = new Error('not connected');
    const { resources, attempts, elapsedMs, tally } = errorFor('unknown', [
      GRANTED,
      refused(),
      refused({ remainingMs: 40, isWrongType: true, holds: 'a semaphore' }),
      refused({ permits: { theirs: 3, ours: 5 } }),
      quarantined(70),
      unknown(cause),
      unknown(NOT_AWAITED),
      undefined,
    ]);
    expect({ resources, attempts, elapsedMs }).to.deep.equal(CONTEXT);
    expect(tally).to.deep.equal([
      { node: 'm1', outcome: 'granted' },
      { node: 'm2', outcome: 'refused' },
      { node: 'm3', outcome: 'refused', remainingMs: 40, wrongKind: true, holds: 'a semaphore' },
      { node: 'm4', outcome: 'refused', wrongKind: true },
      { node: 'm5', outcome: 'quarantined', remainingMs: 70 },
      { node: 'm6', outcome: 'unknown', cause },
      { node: 'm7', outcome: 'pending' },
      { node: 'm8', outcome: 'pending' },
    ]);
  });

  for (const [title, outcomes, backInMs] of [
    ['all are', [quarantined(300), quarantined(100), quarantined(200)], 200],
    ['one votes', [quarantined(300), quarantined(100), GRANTED], 100],
    ['one refuses, and so votes', [quarantined(300), quarantined(100), refused({ remainingMs: 5 })], 100],
    ['one is of another kind', [quarantined(300), quarantined(100), refused({ isWrongType: true })], 300],
    ['one was not waited for', [quarantined(300), quarantined(100), undefined], 300],
    ['one is silent', [quarantined(300), quarantined(100), SILENT], 300],
  ] as const) {
    it(`N=3, quarantined, ${title}: a quorum may vote again in ${backInMs} ms`, () => {
      expect(errorFor('quarantined', outcomes).remainingMs).to.equal(backInMs);
      expect(errorFor('unknown', outcomes).remainingMs).to.equal(undefined);
    });
  }
});

describe('whether it is of use to try again', () => {
  const NO_RIGHT = unknown(new Error('NOPERM no rights'), true);
  const NO_MEMORY = unknown(new Error('OOM command not allowed'), true);
  /** The text is of a fault that lasts, and the master is not known to be set up wrong. */
  const NO_RIGHT_BUT_UP = unknown(new Error('NOPERM no rights'));
  const OTHER_KIND = refused({ isWrongType: true });
  const cases: [string, RoundFailure, (Outcome | undefined)[], boolean][] = [
    ['the key is of another kind', 'wrongType', [refused({ isWrongType: true })], true],
    ['masters are set up wrong', 'misconfigured', [NO_RIGHT, LOST, NO_RIGHT, undefined], true],
    ['masters are full, which passes', 'misconfigured', [GRANTED, NO_RIGHT, NO_MEMORY], false],
    ['one is full, and the others are enough', 'misconfigured', [NO_RIGHT, NO_RIGHT, NO_MEMORY], true],
    ['N=3: one is set up wrong', 'held', [NO_RIGHT, refused(), GRANTED], false],
    [
      'N=3: one is set up wrong, one in quarantine',
      'quarantined',
      [NO_RIGHT, quarantined(5), GRANTED],
      false,
    ],
    ['N=3: one is set up wrong, one silent', 'unknown', [NO_RIGHT, LOST, GRANTED], false],
    [
      'N=3: one is set up wrong, two refuse, and no quorum was late',
      'late',
      [NO_RIGHT, refused(), refused()],
      false,
    ],
    [
      'N=3: one is set up wrong, one has a lasting error of its own',
      'unknown',
      [NO_RIGHT, NO_RIGHT_BUT_UP, GRANTED],
      false,
    ],
    ['N=3: one is set up wrong, one of another kind', 'misconfigured', [NO_RIGHT, OTHER_KIND, GRANTED], true],
    ['N=4: one is set up wrong', 'held', [NO_RIGHT, refused(), GRANTED, GRANTED], false],
    [
      'N=4: one of another kind, and not waited for the last',
      'held',
      [OTHER_KIND, refused(), refused(), undefined],
      false,
    ],
    ['N=5: two of another kind', 'held', [OTHER_KIND, OTHER_KIND, refused(), GRANTED, GRANTED], false],
    [
      'N=5: three of another kind',
      'wrongType',
      [OTHER_KIND, OTHER_KIND, OTHER_KIND, undefined, undefined],
      true,
    ],
    ['N=2: one is set up wrong', 'misconfigured', [NO_RIGHT, GRANTED], true],
    ['N=2: one is set up wrong, and the other held', 'held', [NO_RIGHT, refused()], false],
    ['held', 'held', [refused()], false],
    ['masters do not answer, and one is set up wrong', 'unknown', [NO_RIGHT, LOST, LOST], false],
  ];
  for (const [title, failure, outcomes, isOfNoUse] of cases) {
    it(`${title}: ${isOfNoUse ? 'no' : 'yes'}`, () => {
      expect(isHopeless(failure, { outcomes })).to.equal(isOfNoUse);
    });
  }

  it('a quorum that was not enough came late; any other decision is the reason itself', () => {
    expect(failureOf('granted')).to.equal('late');
    for (const decision of ['held', 'unknown'] as const) expect(failureOf(decision)).to.equal(decision);
  });
});

describe('the error of an extension that failed', () => {
  /** One master said that. */
  function failed(reply: unknown, isLate = false): RedlockError {
    const time = new FakeTime();
    const node = new Node(new FakeMaster('m1', time), 0, time);
    const request = scriptedClaim(plainScope('r'), 'token', 1_000, 0);
    const round = new Round([node], request, time.now(), { onLateVote: () => undefined });
    round.onReply(node, reply);
    return extensionError({ round, isLate }, [node], CONTEXT);
  }

  for (const [title, reply, code, cause] of [
    ['another holds the lock: it is lost', [0, 500, 0], 'LOCK_LOST', 'LOCK_TAKEN'],
    ['the key holds something else: it is lost', [2, 0, 0], 'LOCK_LOST', 'WRONG_KIND'],
    ['the master may have forgotten votes: it changes nothing', [-1, 500, 0], 'QUARANTINED', undefined],
    ['nobody knows: it changes nothing', 'odd', 'NO_QUORUM', undefined],
  ] as const) {
    it(title, () => {
      const error = failed(reply);
      expect([error.code, (error.cause as RedlockError | undefined)?.code]).to.deep.equal([code, cause]);
    });
  }

  it('a quorum extended it too late: it changes nothing', () => {
    expect(failed([1, 0, 0], true).code).to.equal('VALIDITY_EXPIRED');
  });

  describe('of three masters', () => {
    const TAKEN = refused({ isTaken: true });
    const ASKED = refused({ remainingMs: 40, isAsked: true });
    const cases: [string, ExtensionRound, boolean, code: string, cause: string | undefined, text: RegExp][] =
      [
        [
          'two refuse',
          { decision: 'held', held: 2, outcomes: [refused(), refused(), GRANTED] },
          false,
          'LOCK_LOST',
          'LOCK_TAKEN',
          /masters refuse to extend it\.$/,
        ],
        [
          'one of those that refuse has it listed as taken away',
          { decision: 'held', held: 2, outcomes: [refused(), TAKEN, GRANTED] },
          false,
          'LOCK_LOST',
          'LOCK_TAKEN',
          /it was taken away\.$/,
        ],
        [
          'two refuse, and were asked; a quorum holds it',
          { decision: 'held', held: 2, outcomes: [ASKED, ASKED, GRANTED] },
          false,
          'LOCK_LOST',
          'LOCK_TAKEN',
          /refuse/,
        ],
        [
          'two refuse, one of them was asked, and no quorum holds it',
          { decision: 'held', held: 1, outcomes: [refused(), ASKED, GRANTED] },
          false,
          'NO_QUORUM',
          undefined,
          /^no quorum/,
        ],
        [
          'two refuse, none was asked, and no quorum holds it',
          { decision: 'held', held: 1, outcomes: [refused(), refused(), GRANTED] },
          false,
          'LOCK_LOST',
          'LOCK_TAKEN',
          /refuse/,
        ],
        [
          'a quorum extended it, too late',
          { decision: 'granted', held: 0, outcomes: [GRANTED, GRANTED, ASKED] },
          true,
          'VALIDITY_EXPIRED',
          undefined,
          /too late/,
        ],
      ];
    for (const [title, round, isLate, code, cause, text] of cases) {
      it(`${title}: ${code}`, () => {
        const error = extensionError({ round, isLate }, nodesFor(round.outcomes), CONTEXT);
        expect([error.code, (error.cause as RedlockError | undefined)?.code]).to.deep.equal([code, cause]);
        expect(error.message).to.match(text);
      });
    }
  });

  it('if its validity ends then, that is the reason that the lease is lost for', () => {
    const before = failed('odd');
    const error = expiryError(['r'], before);
    expect([error.code, error.cause]).to.deep.equal(['LOCK_LOST', before]);
    expect(error.message).to.contain(before.message);
    const bare = expiryError(['r'], undefined);
    expect([bare.code, bare.cause, bare.message]).to.deep.equal([
      'LOCK_LOST',
      undefined,
      'the lease on "r" was lost: its validity ended.',
    ]);
  });
});

describe('the errors of calls and leases that ended otherwise', () => {
  const nodes = nodesFor([1, 2]);

  it('the caller gave up: its reason is the cause, and what was known by then is told', () => {
    const cause = new Error('enough');
    const round = { outcomes: [refused(), unknown(NOT_AWAITED)] };
    const error = cancelledError({ code: 'ABORTED', cause }, CONTEXT, round, nodes);
    expect([error.code, error.cause, error.attempts]).to.deep.equal(['ABORTED', cause, 2]);
    expect(error.tally.map(({ outcome }) => outcome)).to.deep.equal(['refused', 'pending']);
    const early = cancelledError({ code: 'ABORTED', cause }, CONTEXT, undefined, nodes);
    expect(early.tally).to.deep.equal([]);
  });

  it('calls of the same instance are before it: it has the lock, or they failed for a reason that is this one’s, too', () => {
    const seen = (['held', 'unknown'] as const).map((failure) => localError(failure, CONTEXT));
    expect(seen.map(({ code, message }) => [code, message])).to.deep.equal([
      [
        'LOCK_TAKEN',
        '"r" is taken: other calls of this instance have it, or are before this one; no master was asked.',
      ],
      [
        'NO_QUORUM',
        'no quorum for "r", as far as the calls of this instance know that are before this one; no master was asked.',
      ],
    ]);
    expect(seen[0]).to.include({ attempts: 2, elapsedMs: 30 });
  });

  it('another instance took it away: it is named, if it has a name', () => {
    const texts = ['host:1', ''].map((label) => stolenError(label, ['r']).message);
    expect(texts).to.deep.equal([
      'the lease on "r" was lost: host:1 took it away.',
      'the lease on "r" was lost: another instance took it away.',
    ]);
  });

  it('the instance was closed', () => {
    const error = cancelledError({ code: 'CLOSED' }, CONTEXT, undefined, nodes);
    expect([error.code, error.cause, error.attempts, error.resources]).to.deep.equal([
      'CLOSED',
      undefined,
      2,
      ['r'],
    ]);
  });

  it('a lost lease: what made it known, with what the masters said', () => {
    const cause = errorFor('held', [refused(), refused()]);
    const error = lossError('masters refuse to extend it', ['r'], cause);
    expect([error.code, error.cause, error.attempts, error.elapsedMs, error.tally]).to.deep.equal([
      'LOCK_LOST',
      cause,
      2,
      30,
      cause.tally,
    ]);
    const bare = lossError('its validity ended', ['r']);
    expect([bare.code, bare.resources, bare.tally]).to.deep.equal(['LOCK_LOST', ['r'], []]);
    expect(Object.hasOwn(bare, 'cause')).to.equal(false);
  });
});
