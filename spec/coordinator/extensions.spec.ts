/** Extensions by one instance: alone and together, what is noted of each, and how many go at a time. */
import { expect } from 'chai';
import { FIRST_LIMIT } from '../../lib/coordinator/admission.js';
import { Extensions } from '../../lib/coordinator/extensions.js';
import { Node } from '../../lib/node/node.js';
import { READ, type Scope } from '../../lib/protocol/scope.js';
import { Grant } from '../../lib/quorum/grant.js';
import { Extension } from '../../lib/quorum/renewal-batch.js';
import type { Repairs } from '../../lib/quorum/repairs.js';
import { kindsSentTo, plainScope } from '../support/commands.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { quorumParts } from '../support/quorum-parts.js';

const TTL_MS = 1_000;
const VALID_MS = 988; // of that
const KEPT_MS = 1_012;
const LONG_MS = 100_000;

interface Bench {
  readonly time: FakeTime;
  readonly masters: readonly FakeMaster[];
  readonly nodes: readonly Node[];
  readonly repairs: Repairs;
  readonly extensions: Extensions;
  /** How each ended, by its key. */
  readonly ends: Record<string, string>;
  /** A lease on each of these keys, which all masters hold. */
  hold(names: readonly string[], validMs?: number, scope?: (name: string) => Scope): Grant[];
  extend(grants: readonly Grant[], nodeTimeoutMs?: number, ttlMs?: number): void;
  renew(grants: readonly Grant[], nodeTimeoutMs?: number, ttlMs?: number): void;
}

function bench(): Bench {
  const time = new FakeTime();
  const masters = [1, 2, 3].map((i) => new FakeMaster(`m${i}`, time));
  const nodes = masters.map((master, i) => new Node(master, i, time));
  const parts = quorumParts(nodes, time);
  const { repairs } = parts;
  const extensions = new Extensions(parts);
  const ends: Record<string, string> = {};
  const extensionOf = (grant: Grant, nodeTimeoutMs: number, ttlMs: number): Extension =>
    new Extension(grant, {
      ttlMs,
      nodeTimeoutMs,
      isPatient: false,
      onLate: () => {
        ends[grant.keys[0] ?? ''] += ', then extended';
      },
      onEnd: (end: { readonly kind: string; readonly isLate?: boolean }) => {
        ends[grant.keys[0] ?? ''] = end.isLate === true ? 'late' : end.kind;
      },
    });
  return {
    ...{ time, masters, nodes, repairs, extensions, ends },
    hold: (names, validMs = VALID_MS, scope = plainScope) =>
      names.map((name) => {
        for (const master of masters) master.set(name, `t-${name}`, 10_000_000);
        const grant = new Grant(scope(name), `t-${name}`, scope(name).isFenced ? 5 : 0, nodes);
        grant.prolong(time.now() + validMs);
        return grant;
      }),
    extend: (grants, nodeTimeoutMs = 50, ttlMs = TTL_MS) => {
      for (const grant of grants) extensions.extend(extensionOf(grant, nodeTimeoutMs, ttlMs));
    },
    renew: (grants, nodeTimeoutMs = 50, ttlMs = TTL_MS) => {
      const due = grants.map((grant) => extensionOf(grant, nodeTimeoutMs, ttlMs));
      extensions.renew(due, () => undefined);
    },
  };
}

const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `many${i}`);

describe('an extension', () => {
  it('by a quorum takes the mark of a hand-over from the votes; one that failed does not', async () => {
    for (const [isAnswered, origin] of [
      [true, 'queue'],
      [false, 'marked'],
    ] as const) {
      const { extend, hold, masters, time } = bench();
      const grants = hold(['a']);
      for (const grant of grants) grant.cameFrom('marked');
      if (!isAnswered) for (const master of masters) master.manner = 'freeze';
      extend(grants);
      await time.advance(50);
      expect(grants.map((grant) => grant.origin)).to.deep.equal([origin]);
    }
  });

  it('that is answered after its lease was given up is undone there', async () => {
    for (const kind of ['extend', 'renew'] as const) {
      const { hold, masters, repairs, time, ...bound } = bench();
      const grants = hold(['a', 'b'].slice(0, kind === 'renew' ? 2 : 1));
      for (const master of masters) master.latencyMs = 10;
      bound[kind](grants, 50);
      await settle();
      if (kind === 'extend') grants[0]?.setAside();
      for (const grant of grants) grant.end();
      await time.advance(10);
      expect(repairs.size, kind).to.equal(kind === 'renew' ? 6 : 3);
    }
  });

  it('is followed by nothing any more when the last master has answered', async () => {
    const { ends, extend, hold, masters, nodes, time } = bench();
    const [grant] = hold(['a']);
    const [slow] = masters;
    if (grant === undefined || slow === undefined) return;
    slow.latencyMs = 40;
    extend([grant]);
    await settle();
    expect(ends).to.deep.equal({ a: 'extended' });
    expect(grant.open.map((round) => nodes.map((node) => round.owes(node)))).to.deep.equal([
      [true, false, false],
    ]);
    await time.advance(40);
    expect(grant.open).to.deep.equal([]);
  });

  it('is urgent with less than half of its ttl left: it does not wait for the call before', async () => {
    for (const [leftMs, isUrgent] of [
      [TTL_MS / 2 - 1, true],
      [TTL_MS / 2, false],
      [TTL_MS - 1, false],
    ] as const) {
      const { extend, hold, nodes } = bench();
      const told: unknown[] = [];
      for (const node of nodes) node.send = (ask) => void told.push(ask.isUrgent);
      extend(hold(['a'], leftMs));
      expect(told, `${leftMs} ms`).to.deep.equal([isUrgent, isUrgent, isUrgent]);
    }
  });

  it('masters that do not answer it in time count as silent', async () => {
    const { ends, extend, hold, masters, nodes, time } = bench();
    for (const master of masters.slice(0, 2)) master.manner = 'freeze';
    extend(hold(['a']));
    await time.advance(50);
    expect(ends).to.deep.equal({ a: 'failed' });
    expect(nodes.map(({ isHealthy }) => isHealthy)).to.deep.equal([false, false, true]);
  });

  it('goes to masters also that did not hold the lease before, which it notes', async () => {
    const { extend, nodes } = bench();
    const grant = new Grant(plainScope('a'), 't-a', 0, nodes.slice(0, 2));
    grant.prolong(5_000);
    extend([grant]);
    await settle();
    expect(grant.sentTo).to.have.members(nodes);
  });

  for (const [leftMs, ttlMs, tookMs, end] of [
    [500, 10_000, 499, 'extended'],
    [500, 10_000, 500, 'late'],
    [5_000, TTL_MS, VALID_MS - 1, 'extended'],
    [5_000, TTL_MS, VALID_MS, 'late'],
    [5_000, TTL_MS, VALID_MS + 1_000, 'late'],
  ] as const) {
    it(`by ${ttlMs} ms, ${leftMs} ms before the validity ends, answered after ${tookMs} ms: ${end}`, async () => {
      const { ends, extend, hold, masters, time } = bench();
      const [grant] = hold(['a'], leftMs);
      if (grant === undefined) return;
      const { validUntilMs } = grant;
      for (const master of masters) master.manner = 'freeze';
      extend([grant], 9_000, ttlMs);
      await settle();
      time.stall(tookMs);
      for (const master of masters) master.thaw();
      await settle();
      expect(ends).to.deep.equal({ a: end });
      expect(grant.validUntilMs > validUntilMs).to.equal(end === 'extended' && ttlMs > TTL_MS);
    });
  }
});

describe('an extension that votes of waiters refuse, who were asked to let the key rest', () => {
  const ASKED = [0, 500, 2];
  const asks = (masters: readonly FakeMaster[]): number[] => masters.map(({ sent }) => sent.length);

  /** One refuses it so, another has an error: no quorum extends it, and none refuses it. */
  function withoutQuorum([one, other]: readonly FakeMaster[], times: number): void {
    for (let i = 0; i < times; i++) {
      one?.replies.push(ASKED);
      other?.replies.push(new Error('LOADING'));
    }
  }

  it('so that it has no quorum, again and again: all masters are asked three times more, then it has failed, and nothing is left', async () => {
    const { ends, extend, hold, masters, time } = bench();
    const [grant] = hold(['a'], 5_000);
    withoutQuorum(masters, 4);
    extend([grant].filter((one) => one !== undefined));
    for (const [pauseMs, sent] of [
      [50, 1],
      [200, 2],
      [550, 3],
    ] as const) {
      await time.advance(pauseMs - 1);
      expect([asks(masters), ends]).to.deep.equal([[sent, sent, sent], {}]);
      await time.advance(1);
    }
    expect([asks(masters), ends]).to.deep.equal([[4, 4, 4], { a: 'failed' }]);
    expect([grant?.open, time.pending]).to.deep.equal([[], 0]);
  });

  for (const [leftMs, end] of [
    [50, 'failed'],
    [51, undefined],
  ] as const)
    it(`so that it has no quorum, ${leftMs} ms before the validity ends: ${end === undefined ? 'they are asked again' : 'it has failed at once'}`, async () => {
      const { ends, extend, hold, masters } = bench();
      withoutQuorum(masters, 1);
      extend(hold(['a'], leftMs));
      await settle();
      expect(ends['a']).to.equal(end);
    });

  it('at one master, and a quorum extends it too late for the new ttl: it has failed, and is not tried again', async () => {
    const { ends, extend, hold, masters, time } = bench();
    masters[0]?.replies.push(ASKED);
    for (const master of masters) master.manner = 'freeze';
    extend(hold(['a'], 5_000), 4_000);
    await settle();
    time.stall(VALID_MS);
    for (const master of masters) master.thaw();
    await settle();
    expect(ends).to.deep.equal({ a: 'late' });
  });

  it('at one master: it is asked alone for that vote, which it may keep from then on, and nothing is left', async () => {
    const { ends, extend, hold, masters, time } = bench();
    const [grant] = hold(['a']);
    masters[0]?.replies.push(ASKED);
    extend([grant].filter((one) => one !== undefined));
    await time.advance(50);
    expect([ends, asks(masters)]).to.deep.equal([{ a: 'extended' }, [2, 1, 1]]);
    expect(grant?.expiredByMs).to.equal(time.now() + KEPT_MS);
    expect([grant?.open, time.pending]).to.deep.equal([[], 0]);
  });

  it('at one master, which is silent then: it counts as silent, and is not asked again', async () => {
    const { extend, hold, masters, nodes, time } = bench();
    const [first] = masters;
    first?.replies.push(ASKED);
    extend(hold(['a']));
    await settle();
    if (first !== undefined) first.manner = 'lose-request';
    await time.advance(1_000);
    expect(nodes.map(({ isHealthy }) => isHealthy)).to.deep.equal([false, true, true]);
    expect([asks(masters), time.pending]).to.deep.equal([[2, 1, 1], 0]);
  });

  it('at one master, and the instance is closed: it is not asked again', async () => {
    const { extend, extensions, hold, masters, time } = bench();
    masters[0]?.replies.push(ASKED);
    extend(hold(['a']));
    await settle();
    extensions.close();
    await time.advance(1_000);
    expect(asks(masters)).to.deep.equal([1, 1, 1]);
  });
});

describe('an extension that is answered after its node timeout', () => {
  it('by a quorum: the lease is prolonged from the instant of its sending, once', async () => {
    const { ends, extend, hold, masters, time } = bench();
    const [grant] = hold(['a']);
    for (const master of masters) master.latencyMs = 80;
    const sentAtMs = time.now();
    await time.advance(100);
    extend([grant].filter((one) => one !== undefined));
    await time.advance(79);
    expect([ends['a'], grant?.validUntilMs]).to.deep.equal(['failed', sentAtMs + VALID_MS]);
    await time.advance(1);
    expect([ends['a'], grant?.validUntilMs]).to.deep.equal([
      'failed, then extended',
      sentAtMs + 100 + VALID_MS,
    ]);
    expect(grant?.expiredByMs).to.equal(time.now() + KEPT_MS);
  });

  it('by less than a quorum: nothing is prolonged, nor with the votes for the next one', async () => {
    const { ends, extend, hold, masters, time } = bench();
    const grants = hold(['a']);
    const validUntilMs = grants[0]?.validUntilMs;
    const [one, other, last] = masters;
    if (one === undefined || other === undefined || last === undefined) return;
    for (const master of masters) master.manner = 'lose-request';
    one.manner = 'freeze';
    extend(grants);
    await time.advance(50);
    one.thaw();
    one.manner = 'lose-request';
    other.manner = 'freeze';
    extend(grants);
    await time.advance(50);
    other.thaw();
    await settle();
    expect(ends).to.deep.equal({ a: 'failed' });
    expect(grants[0]?.validUntilMs).to.equal(validUntilMs);
  });

  it('of a lease that is over, or not here any more: it stays so', async () => {
    const finishes: readonly ((grant: Grant) => void)[] = [
      (grant) => grant.end(),
      (grant) => grant.giveAway(),
    ];
    for (const finish of finishes) {
      const { ends, extend, hold, masters, time } = bench();
      const grants = hold(['a']);
      const validUntilMs = grants[0]?.validUntilMs;
      for (const master of masters) master.latencyMs = 80;
      extend(grants);
      await time.advance(50);
      for (const grant of grants) finish(grant);
      await time.advance(30);
      expect([ends, grants[0]?.validUntilMs]).to.deep.equal([{ a: 'failed' }, validUntilMs]);
    }
  });

  it('when the validity is over: it stays over', async () => {
    const { ends, extend, hold, masters, time } = bench();
    const grants = hold(['a'], 60);
    const validUntilMs = grants[0]?.validUntilMs;
    for (const master of masters) master.latencyMs = 60;
    extend(grants);
    await time.advance(60);
    expect([ends, grants[0]?.validUntilMs]).to.deep.equal([{ a: 'failed' }, validUntilMs]);
  });

  it('of many that are due together: each is prolonged by that call, also while it is extended alone', async () => {
    const { ends, hold, masters, renew, time } = bench();
    const grants = hold(['a', 'b'], 500);
    const endsAtMs = (): number[] => grants.map(({ validUntilMs }) => validUntilMs);
    for (const master of masters) master.latencyMs = 70;
    const sentAtMs = time.now();
    renew(grants);
    await time.advance(69);
    expect(endsAtMs()).to.deep.equal([sentAtMs + 500, sentAtMs + 500]);
    await time.advance(1);
    expect(endsAtMs()).to.deep.equal([sentAtMs + VALID_MS, sentAtMs + VALID_MS]);
    expect(ends).to.deep.equal({ a: 'undefined, then extended', b: 'undefined, then extended' });
  });
});

describe('renewals that are due together', () => {
  it('one call to each master; validity from its sending, and masters keep the votes from its answer on', async () => {
    const { ends, hold, masters, renew, time } = bench();
    const grants = hold(['a', 'b', 'c', 'd']);
    for (const master of masters) master.latencyMs = 10;
    renew(grants);
    const sentAtMs = time.now();
    await time.advance(10);
    expect(ends).to.deep.equal({ a: 'extended', b: 'extended', c: 'extended', d: 'extended' });
    expect(masters.map(({ calls, sent }) => [calls, sent.length])).to.deep.equal([
      [1, 4],
      [1, 4],
      [1, 4],
    ]);
    for (const grant of grants) {
      expect(grant.validUntilMs).to.equal(sentAtMs + VALID_MS);
      expect(grant.expiredByMs).to.equal(time.now() + KEPT_MS);
    }
  });

  it('answered too late: each is extended alone, which tells how it ends', async () => {
    const { ends, hold, masters, renew, time } = bench();
    for (const master of masters) master.manner = 'freeze';
    renew(hold(['a', 'b']), 5_000);
    await settle();
    time.stall(VALID_MS);
    for (const master of masters) master.thaw();
    await settle();
    expect(ends).to.deep.equal({ a: 'late', b: 'late' });
    for (const master of masters.slice(0, 2)) expect(kindsSentTo(master).length).to.equal(4); // a quorum is enough
  });

  it('not answered: each is extended alone, and masters may keep the votes from then on', async () => {
    const { ends, hold, masters, renew, time } = bench();
    const grants = hold(['a', 'b']);
    for (const master of masters) master.manner = 'freeze';
    renew(grants);
    await time.advance(50);
    expect(ends).to.deep.equal({});
    for (const grant of grants) expect(grant.expiredByMs).to.equal(time.now() + KEPT_MS);
  });

  it('a lease that ends meanwhile: masters may keep its vote from then on', async () => {
    const { hold, masters, renew, time } = bench();
    const grants = hold(['a', 'b']);
    for (const master of masters) master.manner = 'freeze';
    renew(grants);
    await time.advance(20);
    grants[0]?.setAside();
    expect(grants.map(({ expiredByMs }) => expiredByMs)).to.deep.equal([time.now() + KEPT_MS, 0]);
  });

  it('a lease that was given away meanwhile says so, however many extensions are under way', async () => {
    const { ends, extend, hold, masters, renew, time } = bench();
    const grants = hold(['a', 'b', 'c']);
    for (const master of masters) master.manner = 'freeze';
    extend(hold(many(FIRST_LIMIT), LONG_MS), LONG_MS);
    renew(grants);
    await settle();
    grants[1]?.giveAway();
    await time.advance(50);
    expect(ends).to.deep.equal({ b: 'ended' });
  });

  it('read locks are renewed one by one; the others stay in one call', async () => {
    const { ends, hold, masters, renew } = bench();
    const [a, ...others] = hold(['a', 'b', 'c']);
    const [read] = hold(['r'], VALID_MS, (name) => ({ ...plainScope(name), kind: READ }));
    if (a === undefined || read === undefined) return;
    for (const master of masters) master.delete('r'); // it was held as a mutex
    renew([a, read, ...others]);
    await settle();
    expect(ends).to.deep.equal({ a: 'extended', b: 'extended', c: 'extended', r: 'extended' });
    expect(masters.map(({ calls }) => calls)).to.deep.equal([2, 2, 2]);
  });
});

describe('extensions that go alone', () => {
  /** As many as there is room for, unanswered. The masters count as silent 200 ms later. */
  async function full(): Promise<Bench & { readonly asked: () => number }> {
    const own = bench();
    for (const master of own.masters) master.manner = 'freeze';
    own.extend(own.hold(many(FIRST_LIMIT), LONG_MS), LONG_MS);
    await settle();
    return { ...own, asked: () => own.masters[0]?.sent.length ?? 0 };
  }

  it('one more than there is room for is sent after half of its validity', async () => {
    const { asked, extend, hold, time } = await full();
    extend(hold(['a'], 300));
    await time.advance(149);
    expect(asked()).to.equal(FIRST_LIMIT);
    await time.advance(1);
    expect(asked()).to.equal(FIRST_LIMIT + 1);
  });

  it('one that was sent without room leaves none when it is answered', async () => {
    const { asked, ends, extend, hold, masters, time } = await full();
    extend(hold(['a'], 300));
    for (const master of masters) master.manner = 'answer'; // from now on
    await time.advance(150);
    expect(ends).to.deep.equal({ a: 'extended' });
    extend(hold(['b'], LONG_MS));
    await settle();
    expect(asked()).to.equal(FIRST_LIMIT + 1);
  });

  it('one whose lease ends while it waits is not sent, and leaves no room when its wait is over', async () => {
    const { asked, ends, extend, hold, time } = await full();
    const [grant] = hold(['a'], 300);
    if (grant === undefined) return;
    extend([grant]);
    extend(hold(['b'], LONG_MS));
    grant.end();
    await time.advance(150);
    expect(ends).to.deep.equal({ a: 'ended' });
    expect(asked()).to.equal(FIRST_LIMIT);
    extend(hold(['c'], LONG_MS));
    await settle();
    expect(asked()).to.equal(FIRST_LIMIT);
  });

  it('one whose lease has ended when there is room leaves the room to the next', async () => {
    const { ends, extend, hold, masters, time } = bench();
    for (const master of masters) master.latencyMs = 30; // more than half of the node timeout: no sign of more room
    const [first, ...others] = hold(many(FIRST_LIMIT), LONG_MS);
    if (first === undefined) return;
    extend([first]);
    await settle();
    for (const master of masters) master.manner = 'freeze';
    extend(others, LONG_MS);
    const [ended, next] = hold(['ended', 'next'], LONG_MS);
    if (ended === undefined || next === undefined) return;
    extend([ended, next]);
    ended.end();
    await time.advance(30);
    expect(ends).to.deep.equal({ many0: 'extended', ended: 'ended' });
    expect(masters[0]?.sent.length).to.equal(FIRST_LIMIT + 1);
  });

  it('answered well in time while others wait: there is room for as many as before, and more', async () => {
    const { ends, extend, hold, masters, time } = bench();
    for (const master of masters) master.latencyMs = 10;
    extend(hold(many(FIRST_LIMIT + 4), LONG_MS));
    await time.advance(20);
    expect(Object.keys(ends).length).to.equal(FIRST_LIMIT + 4);
    for (const master of masters) {
      master.manner = 'freeze';
      master.sent.length = 0;
    }
    extend(hold(many(2 * FIRST_LIMIT), LONG_MS));
    await settle();
    expect(masters[0]?.sent.length).to.be.within(FIRST_LIMIT + 1, FIRST_LIMIT + 4);
  });
});
