/** What is sent to wait for a lock, and how its replies are read. */
import { expect } from 'chai';
import { counterKey, queueKey, looksKey, turnKey } from '../../lib/protocol/keys.js';
import { namedKeys } from '../../lib/protocol/operation.js';
import { LEAN } from '../../lib/protocol/lua/entries.js';
import { readQueueReply } from '../../lib/protocol/replies.js';
import { declining, queueing, yielding } from '../../lib/protocol/queue-request.js';
import {
  aligning,
  claimQueued,
  extension,
  inspection,
  mutePlace,
  plainClaim,
  release,
  releaseQueued,
  scriptedClaim,
  undo,
  undoQueued,
} from '../../lib/protocol/request.js';
import { DOWNGRADED, type Kind, MUTEX, READ, SettledScope, WRITE } from '../../lib/protocol/scope.js';
import { BATCH, CLAIM, PERMIT_CLAIM, RW_CLAIM, SHARED_BATCH } from '../../lib/protocol/lua/scripts.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { scriptDigest } from '../../lib/redis/script.js';
import { plainScope } from '../support/commands.js';
import { entriesOf } from '../support/entries.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime } from '../support/fake-time.js';
import { reserving } from '../support/looks.js';
import { permits } from '../support/scopes.js';

const MARKER = 'quorate:guard';
const TICKET = 1_790_000_000_000_001;
const [ANN, BEN] = [tokenFrom('ann', '1'), tokenFrom('ben', '1')];
const BESIDE = [queueKey('r'), turnKey('r')];
const guarded = new SettledScope(['r'], { isFenced: true, marker: MARKER, guardMs: 5_000, kind: MUTEX });
const QUEUED = [...BESIDE, looksKey('r'), counterKey('r')];
const LOOK = { ticket: TICKET, lifeMs: 30_000, sentAtMs: 12_345.9, ttlMs: 10_000, proposal: 77 };
const place = queueing(guarded, ANN, LOOK);
const PLACE = `${TICKET}|30000|12345`;

const refused = (remainingMs: number | undefined, more: object = {}): object => ({
  kind: 'refused',
  remainingMs,
  isWrongType: false,
  isForeignClient: false,
  ...more,
});

describe('requests for a place in the queue', () => {
  it('requests that give votes back name queues and turns of all their keys, and no counters', () => {
    const keys = ['a', '{x}b'];
    for (const isFenced of [true, false]) {
      const scope = new SettledScope(keys, { isFenced, marker: undefined, guardMs: 0, kind: MUTEX });
      const beside = [...keys.map(queueKey), ...keys.map(turnKey)];
      expect(namedKeys(undo(scope, ANN))).to.deep.equal([...keys, ...beside]);
      expect(namedKeys(undo(scope, ANN), ['before'])).to.deep.equal(['before', ...keys, ...beside]);
    }
  });

  it('queueing: one that asks for a reservation proposes no fencing token, and draws none', () => {
    const proposal = {
      propose: () => {
        throw new Error('drawn');
      },
    };
    const request = queueing(guarded, ANN, { ...LOOK, ttlMs: 0, proposal });
    expect(entriesOf(request.command)[0]?.args).to.include({ ttl: '0', life: '60000', proposal: '0' });
  });

  it('queueing: resource, queue, turn, looks, counter and marker; it may leave a vote', () => {
    expect(place.command).to.deep.equal({
      name: 'evalsha',
      args: [
        ...[scriptDigest(BATCH.source), '6', 'r', ...QUEUED, MARKER],
        ...['5000', 'q', '1', '1', '10000', '60000', '77', ANN, PLACE],
      ],
    });
    expect(place.whole().args.slice(0, 3)).to.deep.equal([BATCH.source, '6', 'r']);
    expect([place.leavesVote, place.sharesCalls]).to.deep.equal([true, true]);
    const unguarded = queueing(plainScope('r'), ANN, LOOK);
    expect(unguarded.command.args.slice(1)).to.deep.equal([
      ...['5', 'r', ...QUEUED, '-1', 'q', '1', '1', '10000', '0', '0', ANN, PLACE], // without fencing, none is proposed
    ]);
    const only = reserving(guarded, ANN, TICKET, 30_000);
    expect(only.command.args.slice(8)).to.deep.equal([
      ...['5000', 'q', '1', '1', '0', '60000', '0', ANN, `${TICKET}|30000|0`],
    ]);
  });

  it('queueing: its lesson does nothing, and a master knows the script from then on', async () => {
    const master = new FakeMaster('m1', new FakeTime());
    master.knowsScripts = false;
    const lesson = place.lesson();
    expect(lesson?.args).to.deep.equal([BATCH.source, '0', '-1']);
    if (lesson !== undefined) await master.call(lesson);
    expect(master.names()).to.deep.equal([]);
    expect(await master.call(place.command)).to.be.an('array');
  });

  describe('of a shared lock', () => {
    const of = (kind: Kind, isFenced = kind === WRITE): SettledScope =>
      new SettledScope(['r'], { isFenced, marker: MARKER, guardMs: 5_000, kind });
    const wants: readonly (readonly [Kind, string, string, string])[] = [
      [READ, 'r', '0', '0'],
      [DOWNGRADED, 'r', '0', '0'],
      [WRITE, 'w', '60000', '77'],
      [permits('', 2, 3), '2/3', '0', '0'],
    ];
    for (const [kind, want, life, proposal] of wants) {
      it(`queueing and yielding ${want}${kind === DOWNGRADED ? ', once a writer' : ''}: the same keys, and what is wanted`, () => {
        const scope = of(kind);
        expect(queueing(scope, ANN, LOOK).command).to.deep.equal({
          name: 'evalsha',
          args: [
            ...[scriptDigest(SHARED_BATCH.source), '6', 'r', ...QUEUED, MARKER],
            ...['5000', 'Q', '1', '1', want, '10000', life, proposal, ANN, PLACE],
          ],
        });
        const terms = { serial: 7, ticket: TICKET, lifeMs: 30_000, proposal: 77 };
        expect(yielding(scope, ANN, terms).command.args).to.deep.equal([
          ...[scriptDigest(SHARED_BATCH.source), '5', 'r', ...QUEUED],
          ...['-1', 'Y', '1', '1', want, '77', ANN, `7|${TICKET}|30000`],
        ]);
        expect(entriesOf(yielding(scope, ANN, { ...terms, rests: true }).command)[0]?.args.place).to.equal(
          `7|${TICKET}|30000|1`,
        );
      });
    }

    it('it may leave a vote, and shares calls; a yield leaves none, and asks no guard', () => {
      const look = queueing(of(READ), ANN, LOOK);
      expect([look.leavesVote, look.sharesCalls, look.isGuarded]).to.deep.equal([true, true, true]);
      expect(look.lesson()?.args).to.deep.equal([SHARED_BATCH.source, '0', '-1']);
      const back = yielding(of(READ), ANN, { serial: 7, ticket: TICKET, lifeMs: 0, proposal: 0 });
      expect([back.leavesVote, back.isGuarded, back.lesson()]).to.deep.equal([false, false, undefined]);
    });

    it('its replies are those of exclusive locks', () => {
      const look = queueing(of(READ), ANN, LOOK);
      for (const reply of [
        [6, 17, TICKET, 0, 12_345],
        [1, 17, TICKET],
        [0, 250, TICKET, 3],
        [-1, 250, 0],
      ])
        expect(look.read(reply)).to.deep.equal(place.read(reply));
    });

    it('claims name what is beside the lock, and the place: none, one to leave, a mute one', () => {
      const short = [scriptDigest(RW_CLAIM.source), '4', 'r', ...BESIDE, looksKey('r')];
      const scope = new SettledScope(['r'], { isFenced: false, marker: undefined, guardMs: -1, kind: READ });
      const mute = mutePlace(`${BEN}!`, TICKET);
      for (const [request, taken] of [
        [scriptedClaim(scope, ANN, 500, 9), ''],
        [claimQueued(scope, ANN, 500, 9), 'q'],
        [scriptedClaim(scope, ANN, 500, 9, mute), `${BEN}!|${TICKET}`],
      ] as const)
        expect(request.command.args).to.deep.equal([...short, ANN, 'r', '500', taken, '0', '0', '-1']);
      const permitted = scriptedClaim(of(permits('', 2, 3)), ANN, 500, 9, mute);
      expect(permitted.command.args).to.deep.equal([
        ...[scriptDigest(PERMIT_CLAIM.source), '5', 'r', ...BESIDE, looksKey('r'), MARKER],
        ...[ANN, '500', '2', '3', mute, '5000'],
      ]);
      expect(scriptedClaim(scope, ANN, 500, 9, mute).secrets).to.deep.equal([ANN, `${BEN}!`]);
      expect([scriptedClaim(scope, ANN, 500, 9).secrets, place.secrets]).to.deep.equal([[ANN], [ANN]]);
    });

    it('release, undo, downgrade and alignment name all that lets others in, and propose a fencing token', () => {
      const terms = { ttlMs: 500, mayCreate: false };
      for (const [request, proposal] of [
        [releaseQueued(of(READ), ANN, 77), '77'],
        [undoQueued(of(READ), ANN, 77), '77'],
        [undo(of(permits('0')), ANN), '0'],
        [extension(of(DOWNGRADED), ANN, terms), '0'],
        [aligning(of(permits('')), ANN, '0'), '0'],
      ] as const) {
        const [entry] = entriesOf(request.command);
        expect(entry?.keys.filter((key) => key !== MARKER)).to.deep.equal(['r', ...QUEUED]);
        expect(entry?.args.proposal).to.equal(proposal);
      }
      const [plain] = entriesOf(extension(of(READ), ANN, terms).command);
      expect(plain?.keys).to.deep.equal(['r', MARKER]);
    });

    it('lean claims and releases name the lock, its queue and what is counted; again means in full, with one fencing token', () => {
      const drawn: number[] = [];
      const proposals = { propose: (): number => drawn.push(0) + 76 };
      for (const kind of [WRITE, READ, permits('')]) {
        const claim = scriptedClaim(of(kind), ANN, 500, 9, LEAN);
        const counters = of(kind).isFenced ? [counterKey('r')] : [];
        expect(namedKeys(claim)).to.deep.equal(['r', queueKey('r'), ...counters]);
        expect([claim.place, claim.takesPermits, claim.again]).to.deep.equal([
          LEAN,
          kind.name === 'semaphore',
          claim,
        ]);
        const lean = release(of(kind), ANN, proposals);
        expect(entriesOf(lean.command).map(({ keys, args }) => [keys, args.proposal])).to.deep.equal([
          [['r', queueKey('r')], LEAN],
        ]);
        expect(drawn.splice(0)).to.deep.equal([]);
        for (const again of [lean.again, lean.again]) {
          const [entry] = entriesOf(again.command);
          expect([entry?.keys, entry?.args.proposal, again.again]).to.deep.equal([
            ['r', ...QUEUED],
            '77',
            again,
          ]);
        }
        expect(drawn.splice(0)).to.deep.equal([0]);
      }
      expect(release(guarded, ANN).again.command).to.deep.equal(release(guarded, ANN).command);
    });

    it('declining: a yield for good, by the script of its kind of lock', () => {
      for (const [isShared, script] of [
        [true, SHARED_BATCH],
        [false, BATCH],
      ] as const) {
        const request = declining({ key: 'r', token: ANN, serial: 7, isShared }, 77);
        const [entry] = entriesOf(request.command);
        expect(request.script).to.equal(script);
        expect([entry?.kind, entry?.args.place]).to.deep.equal(['yield', '7|0|0']);
      }
    });
  });

  it('yielding: resource, queue, turn, looks and counter, under a guard as well; it leaves no vote', () => {
    const request = yielding(guarded, ANN, { serial: 7, ticket: TICKET, lifeMs: 30_000, proposal: 77 });
    expect(request.command).to.deep.equal({
      name: 'evalsha',
      args: [
        ...[scriptDigest(BATCH.source), '5', 'r', ...QUEUED],
        ...['-1', 'y', '1', '1', '77', ANN, `7|${TICKET}|30000`],
      ],
    });
    expect([request.leavesVote, request.isGuarded, request.lesson()]).to.deep.equal([
      false,
      false,
      undefined,
    ]);
    for (const reply of [0, 1, '1']) expect(request.read(reply)).to.have.property('kind', 'granted');
    expect(request.read(null)).to.equal(undefined);
  });

  it('release, undo, inspect and a claim from the queue name the queues; a claim does not', () => {
    const keysIn = (args: readonly string[]): readonly string[] => args.slice(2, 2 + Number(args[1]));
    const scope = plainScope('r');
    for (const request of [release(scope, ANN), undo(scope, ANN)])
      expect(keysIn(request.command.args)).to.deep.equal(['r', ...BESIDE]);
    expect(keysIn(release(guarded, ANN).command.args)).to.deep.equal(['r', ...BESIDE]);
    expect(keysIn(inspection('r').command.args)).to.deep.equal([
      'r',
      queueKey('r'),
      looksKey('r'),
      counterKey('r'),
    ]);
    expect(keysIn(scriptedClaim(scope, ANN, 500, 0).command.args)).to.deep.equal(['r']);
    expect(keysIn(claimQueued(scope, ANN, 500, 0).command.args)).to.deep.equal(['r', ...BESIDE]);
    expect(claimQueued(guarded, ANN, 500, 9).command).to.deep.equal({
      name: 'evalsha',
      args: [
        ...[scriptDigest(CLAIM.source), '5', 'r', ...BESIDE, counterKey('r'), MARKER],
        ...[ANN, '500', '60000', '9', '5000', '1'],
      ],
    });
  });

  const cases: readonly (readonly [reply: unknown, outcome: unknown, place: unknown])[] = [
    [
      [1, 17, TICKET],
      { kind: 'granted', fence: 0, clockUs: 0 },
      { serial: 17, clockUs: TICKET, rank: undefined, claimed: undefined },
    ],
    [
      [6, 17, TICKET, 99, 12_345],
      { kind: 'granted', fence: 0, clockUs: 0 },
      {
        ...{ serial: 17, clockUs: TICKET, rank: undefined },
        claimed: { fence: 99, slots: '', sentMs: 12_345, spanMs: undefined },
      },
    ],
    [
      [6, 17, TICKET, 'p0,3', 12_345],
      { kind: 'granted', fence: 0, clockUs: 0 },
      {
        ...{ serial: 17, clockUs: TICKET, rank: undefined },
        claimed: { fence: 0, slots: '0,3', sentMs: 12_345, spanMs: undefined },
      },
    ],
    [[6, 17, TICKET, '0,3', 12_345], { kind: 'granted', fence: 0, clockUs: 0 }, undefined],
    [[6, 17, TICKET], { kind: 'granted', fence: 0, clockUs: 0 }, undefined],
    [[0, 250, TICKET, 3], refused(250), { serial: 0, clockUs: TICKET, rank: 3, claimed: undefined }],
    [['0', '250', '7', '3'], refused(250), { serial: 0, clockUs: 7, rank: 3, claimed: undefined }],
    [[0, -1, TICKET, 0], refused(Infinity), { serial: 0, clockUs: TICKET, rank: 0, claimed: undefined }],
    [
      [4, 250, TICKET],
      refused(250, { isForeignClient: true }),
      { serial: 0, clockUs: TICKET, rank: undefined, claimed: undefined },
    ],
    [[2, 0, 0], refused(undefined, { isWrongType: true }), undefined],
    [[-1, 250, 0], { kind: 'quarantined', remainingMs: 250 }, undefined],
    [[3, 0, 0], undefined, undefined],
    [[0, 250], undefined, undefined],
    ['OK', undefined, undefined],
    [null, undefined, undefined],
  ];
  for (const [reply, outcome, of] of cases) {
    it(`the reply ${JSON.stringify(reply)}, as an outcome and as a place`, () => {
      expect(place.read(reply)).to.deep.equal(outcome);
      expect(readQueueReply(reply)).to.deep.equal(of);
    });
  }

  it('another guard period is reported as to a claim', () => {
    expect(place.read([-2, 9_000, 0])).to.include({ kind: 'unknown', isMisconfigured: true });
  });

  it('a refused claim reports whether a foreign client holds it', () => {
    for (const claim of [
      plainClaim(plainScope('r'), ANN, 500),
      scriptedClaim(plainScope('r'), ANN, 500, 0),
      scriptedClaim(guarded, ANN, 500, 0),
    ]) {
      expect(claim.read([0, 250, 1])).to.deep.equal(refused(250, { isForeignClient: true }));
      expect(claim.read([0, 250, 0])).to.deep.equal(refused(250));
      expect(claim.read([2, 0, 0])).to.deep.equal(refused(undefined, { isWrongType: true }));
    }
    expect(undo(plainScope('r'), ANN).read([0, 250, 0])).to.deep.equal(refused(250));
  });

  it('masters in memory: a push arrives before the reply, and only at subscribers', async () => {
    const master = new FakeMaster('m1', new FakeTime());
    const events: string[] = [];
    const stop = master.channels.subscribe('quorate:push:ben_____', (text) => events.push(text.slice(0, 1)));
    const ask = (token: string, ticket: number): Promise<unknown> =>
      master.call(reserving(plainScope('r'), token, ticket, 30_000).command);
    const leave = async (token: string): Promise<void> => {
      await master.call(release(plainScope('r'), token).command);
      events.push('released');
    };
    await ask(ANN, 1);
    await ask(BEN, 2);
    await leave(ANN);
    expect([events, master.value('r')]).to.deep.equal([['g', 'released'], `${BEN}+`]);
    await ask(ANN, 3);
    await ask(tokenFrom('ben', '2'), 4);
    stop();
    await leave(BEN);
    const left = master.names().filter((key) => key !== looksKey('r')); // which nobody named
    expect([events, left]).to.deep.equal([['g', 'released', 'released'], []]);
  });
});
