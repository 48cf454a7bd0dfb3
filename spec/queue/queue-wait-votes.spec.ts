/** What a wait in the queue makes of votes that are handed over directly (protocol C3): when they are the lease. */
import { expect } from 'chai';
import { validUntilMs } from '../../lib/protocol/validity.js';
import { MUTEX, NO_MARKER, type Scope, SettledScope } from '../../lib/protocol/scope.js';
import { holdReplies, kindOf } from '../support/commands.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import {
  hold,
  MINE,
  PERMITS_OF_R,
  type QueueBench,
  queueBench,
  type Waiter,
  waitIn,
} from '../support/queue-bench.js';

const FENCED = new SettledScope(['r'], {
  isFenced: true,
  marker: undefined,
  guardMs: NO_MARKER,
  kind: MUTEX,
});
const TTL_MS = 30_000;
const SPAN_MS = 31_000;

interface Told {
  readonly serial: number;
  readonly fence: number;
  readonly slots?: string;
  readonly sentMs?: number;
  readonly spanMs?: number;
}

interface Started extends QueueBench, Waiter {
  readonly m1: FakeMaster;
  /** The push of a hand-over. */
  give(master: number, told: Told): void;
  /** The push of a reservation. */
  reserve(master: number, serial: number): void;
}

/** Three masters that others hold, and a wait in their connections. */
async function inQueue(scope: Scope = FENCED): Promise<Started> {
  const environment = queueBench(3);
  const [m1] = environment.masters as [FakeMaster, FakeMaster, FakeMaster];
  for (const master of environment.masters) {
    if (scope === FENCED) hold(master);
    else master.replies.push([[0, 300_000, master.micros(), 0]]);
  }
  const waiter = waitIn(environment, { directTtlMs: TTL_MS, scope });
  await settle();
  const push = (master: number, serial: number, claimed: object | undefined): void => {
    const [node, { stay }] = [environment.nodes[master - 1], waiter];
    const vote = claimed as { sentMs: number; spanMs: number; fence: number; slots: string } | undefined; // as readPush gives it
    if (node !== undefined)
      stay.onPush(node, { kind: 'given', serial, claimed: vote, isShared: false, token: MINE, key: 'r' });
  };
  const sentAtMs = environment.time.now();
  return {
    ...environment,
    ...waiter,
    m1,
    give: (master, { serial, fence, slots = '', sentMs = sentAtMs, spanMs = SPAN_MS }) =>
      push(master, serial, { fence, slots, sentMs, spanMs }),
    reserve: (master, serial) => push(master, serial, undefined),
  };
}

/** Later than any clock of the masters here: a serial of a hand-over after their last answers. */
const LATER = 9_000_000_000_000_000;

describe('queue wait: votes that are handed over directly', () => {
  it('N=3, two votes of one fencing token: the lease, to the end of the second longest, from its look', async () => {
    const { give, stay, time, ends } = await inQueue();
    const sentMs = time.now();
    give(1, { serial: LATER, fence: 7, spanMs: SPAN_MS - 500 });
    give(3, { serial: LATER, fence: 7 });
    await settle();
    expect(ends).to.deep.equal(['granted']);
    const longest = validUntilMs(time.now(), TTL_MS, 0.01);
    const untilMs = Math.min(validUntilMs(sentMs, SPAN_MS - 500, 0.01), longest);
    expect(stay.vote).to.deep.equal({ validUntilMs: untilMs, fence: 7, slots: '' });
  });

  it('a push that comes late: the vote counts from its look, and not from its arrival', async () => {
    const { give, stay, time } = await inQueue();
    const sentMs = time.now() - 4_000;
    for (const master of [1, 2]) give(master, { serial: LATER, fence: 7, sentMs });
    expect(stay.vote?.validUntilMs).to.equal(validUntilMs(sentMs, SPAN_MS, 0.01));
  });

  it('votes of different fencing tokens are claimed', async () => {
    const { give, stay, ends } = await inQueue();
    give(1, { serial: LATER, fence: 7 });
    give(2, { serial: LATER, fence: 8 });
    await settle();
    expect([ends, stay.vote]).to.deep.equal([['reserved'], undefined]);
  });

  it('a reservation is no vote: it is claimed', async () => {
    const { give, reserve, stay, ends } = await inQueue();
    give(1, { serial: LATER, fence: 7 });
    reserve(2, LATER);
    await settle();
    expect([ends, stay.vote]).to.deep.equal([['reserved'], undefined]);
  });

  it('votes with less than half of the ttl left are claimed', async () => {
    const { give, stay, time, ends } = await inQueue();
    const sentMs = time.now() - SPAN_MS + TTL_MS / 2;
    for (const master of [1, 2]) give(master, { serial: LATER, fence: 7, sentMs });
    await settle();
    expect([ends, stay.vote]).to.deep.equal([['reserved'], undefined]);
  });

  it('a later hand-over replaces validity and fencing token; an earlier one is ignored', async () => {
    const { give, stay, time } = await inQueue();
    const sentMs = time.now() - 6_000;
    give(1, { serial: LATER, fence: 5 });
    give(1, { serial: LATER + 2, fence: 7, sentMs });
    give(1, { serial: LATER + 1, fence: 6 });
    give(2, { serial: LATER, fence: 7 });
    expect(stay.vote).to.deep.equal({
      validUntilMs: validUntilMs(sentMs, SPAN_MS, 0.01),
      fence: 7,
      slots: '',
    });
  });

  it('a vote of a master whose pushes cannot be heard takes no part any more when it is due', async () => {
    const { clock, give, masters, nodes, stay, time } = await inQueue();
    const [m3, node] = [masters[2], nodes[2]];
    if (m3 === undefined || node === undefined) throw new Error('there are three');
    m3.opensLines = false;
    m3.connection.lose('gone');
    stay.onReply(node, [6, LATER, LATER, 7, clock.now()]); // the answer to its look
    expect(stay.outcomes[2]?.kind).to.equal('granted');
    await time.advance(2_500);
    expect(stay.outcomes[2]?.kind).to.equal('unknown');
    const sentMs = clock.now() - 3_000;
    give(1, { serial: LATER, fence: 7, sentMs, spanMs: SPAN_MS });
    give(2, { serial: LATER, fence: 7, sentMs, spanMs: SPAN_MS - 3_000 });
    expect(stay.vote?.validUntilMs).to.equal(validUntilMs(sentMs, SPAN_MS - 3_000, 0.01));
  });

  it('N=3, a vote at one master whose push connection has died in silence: a look that renews it verifies that, too', async () => {
    const { clock, give, m1, nodes, stay, time } = await inQueue();
    const [node] = nodes;
    if (node === undefined) throw new Error('there are three');
    m1.delete('r');
    m1.deliversPushes = false;
    give(1, { serial: LATER, fence: 7 });
    await time.advance(2_500);
    stay.onReply(node, [6, LATER, LATER, 7, clock.now()]);
    expect([stay.outcomes[0]?.kind, m1.connection.renewals]).to.deep.equal(['granted', 0]);
    await time.advance(1_000);
    expect(m1.connection.renewals).to.equal(1);
    stay.end();
  });

  it('permits: a vote for others than a quorum gave, which a look brings later, is changed to these', async () => {
    const { clock, ends, give, masters, nodes, stay } = await inQueue(PERMITS_OF_R);
    for (const master of [1, 2]) give(master, { serial: LATER, fence: 0, slots: '0,3' });
    await settle();
    expect([ends, stay.vote?.slots]).to.deep.equal([['granted'], '0,3']);
    const [, m2, m3] = nodes;
    if (m2 === undefined || m3 === undefined) throw new Error('there are three');
    stay.onReply(m2, [6, LATER + 1, LATER + 1, 'p0,3', clock.now()]);
    stay.onReply(m3, [6, LATER + 1, LATER + 1, 'p1,2', clock.now()]);
    const changes = masters.map(({ sent }) => sent.filter(({ kind }) => kind === 'permit-align').length);
    expect(changes).to.deep.equal([0, 0, 1]);
  });

  it('a vote that was yielded never counts, neither told again by a push nor found by a look', async () => {
    const { clock, give, nodes, stay, ends } = await inQueue();
    const [node] = nodes;
    if (node === undefined) throw new Error('there are three');
    give(1, { serial: LATER, fence: 7 });
    stay.onPush(node, { kind: 'inquiry', serial: LATER, token: MINE, key: 'r' });
    give(2, { serial: LATER, fence: 7 });
    give(1, { serial: LATER, fence: 7 });
    stay.onReply(node, [6, LATER, LATER, 7, clock.now()]);
    await settle();
    expect([ends, stay.vote]).to.deep.equal([[], undefined]);
    give(1, { serial: LATER + 1, fence: 7 });
    await settle();
    expect(ends).to.deep.equal(['granted']);
  });
});

describe('queue wait: a vote that the holder of the lock asks for (protocol C3a)', () => {
  const ask = ({ nodes, stay }: Started, master = 1, key = 'r'): void => {
    const node = nodes[master - 1];
    if (node !== undefined) stay.onPush(node, { kind: 'asked', token: MINE, key });
  };
  /** The places of the yields that a master was sent. */
  const yields = ({ sent }: FakeMaster): string[] =>
    sent
      .filter((command) => kindOf(command) === 'yield')
      .map(({ args }) => String(args.place).replace(/\|\d+\|\d+/, '|…'));

  it('rests at once, counts never again, and the place looks again after the rest', async () => {
    const started = await inQueue();
    const { give, m1, time } = started;
    give(1, { serial: LATER, fence: 7 });
    ask(started);
    await settle();
    expect([started.stay.outcomes[0]?.kind, yields(m1)]).to.deep.equal(['refused', [`${LATER}|…|1`]]);
    const looks = (): number => m1.sent.filter((command) => kindOf(command) === 'queue').length;
    const before = looks();
    await time.advance(985);
    expect(looks()).to.equal(before);
    await time.advance(15);
    expect(looks()).to.equal(before + 1);
    give(1, { serial: LATER, fence: 7 });
    give(2, { serial: LATER, fence: 7 });
    await settle();
    expect(started.ends).to.deep.equal([]);
  });

  it('is asked for before the wait knows of it: rests as soon as a push or a reply tells of it', async () => {
    for (const how of ['push', 'reply'] as const) {
      const started = await inQueue();
      const { clock, give, m1, nodes, stay } = started;
      ask(started);
      expect(yields(m1)).to.deep.equal([]);
      if (how === 'push') give(1, { serial: LATER, fence: 7 });
      else if (nodes[0] !== undefined) stay.onReply(nodes[0], [6, LATER, LATER, 7, clock.now()]);
      await settle();
      expect(yields(m1), how).to.deep.equal([`${LATER}|…|1`]);
    }
  });

  it('that completes a quorum stays: the lock is its own', async () => {
    const started = await inQueue();
    ask(started, 2);
    started.give(1, { serial: LATER, fence: 7 });
    started.give(2, { serial: LATER, fence: 7 });
    await settle();
    expect([started.ends, started.masters.flatMap(yields)]).to.deep.equal([['granted'], []]);
  });

  it('is not remembered for longer than the holder asks again, nor after a look that came later was refused', async () => {
    const late = await inQueue();
    ask(late);
    await late.time.advance(990);
    late.give(1, { serial: LATER, fence: 7 });
    const refused = await inQueue();
    await refused.time.advance(1);
    ask(refused);
    await refused.time.advance(1);
    const [node] = refused.nodes;
    if (node !== undefined) refused.stay.onOpen(node); // looks again
    await settle();
    refused.give(1, { serial: LATER, fence: 7 });
    await settle();
    expect([late, refused].map(({ m1 }) => yields(m1))).to.deep.equal([[], []]);
  });

  it('is still remembered after the refusal of a look that was sent before the question', async () => {
    const started = await inQueue();
    const { give, m1, nodes, stay, time } = started;
    const arrive = holdReplies(m1, 'queue');
    await time.advance(1);
    if (nodes[0] !== undefined) stay.onOpen(nodes[0]); // looks again
    await time.advance(1);
    ask(started);
    arrive();
    await settle();
    give(1, { serial: LATER, fence: 7 });
    await settle();
    expect(yields(m1)).to.deep.equal([`${LATER}|…|1`]);
  });

  it('rests once for each question: a later vote stays', async () => {
    const started = await inQueue();
    ask(started);
    for (const serial of [LATER, LATER + 1]) started.give(1, { serial, fence: 7 });
    await settle();
    expect([started.stay.outcomes[0]?.kind, yields(started.m1)]).to.deep.equal(['granted', [`${LATER}|…|1`]]);
  });

  it('of another lock of the same wait: is none of this one', async () => {
    const started = await inQueue();
    started.give(1, { serial: LATER, fence: 7 });
    ask(started, 1, 'other');
    await settle();
    expect(yields(started.m1)).to.deep.equal([]);
  });

  it('whose yield was lost is given back again, with its rest, when a look tells of it', async () => {
    const started = await inQueue();
    const { clock, give, m1, nodes, stay } = started;
    give(1, { serial: LATER, fence: 7 });
    ask(started);
    await settle(); // the yield is answered: it changed nothing there
    if (nodes[0] !== undefined) stay.onReply(nodes[0], [6, LATER, LATER, 7, clock.now()]);
    await settle();
    expect(yields(m1)).to.deep.equal([`${LATER}|…|1`, `${LATER}|…|1`]);
  });
});
