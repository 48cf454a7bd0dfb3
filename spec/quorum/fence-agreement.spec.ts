import { expect } from 'chai';
import { counterKey } from '../../lib/protocol/keys.js';
import { FENCE_BLOCK } from '../../lib/protocol/lua/stored.js';
import { quorumOf } from '../../lib/protocol/quorum.js';
import { blockEnd } from '../support/fence-blocks.js';
import { entriesOf } from '../support/entries.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { acceptsOf, gate, type OnItsWay, sentTo } from '../support/commands.js';
import { COUNTED_US, type FakeMaster, serverError } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const COUNTER = counterKey('r');
const ONE_ATTEMPT = { waitMs: 0, nodeTimeoutMs: 50 } as const;

// counts and fences here are numbers of blocks behind COUNTED_US, which is ahead of what claims propose: a counter of 5 is at the
// end of the fifth block, and a claim there gets the first fencing token of the sixth
function countAt(master: FakeMaster | undefined, blocks: number): void {
  master?.set(COUNTER, String(COUNTED_US + blocks * FENCE_BLOCK), 60_000);
}

function seed(masters: readonly FakeMaster[], counts: readonly number[]): void {
  masters.forEach((master, i) => countAt(master, counts[i] ?? 0));
}

/** What a counter is once its master has accepted that fencing token. */
const counted = (fence: number | undefined): string => String(blockEnd(fence ?? NaN));
const countOf = (counter: string | undefined): number => (Number(counter) - COUNTED_US) / FENCE_BLOCK;
const countsOf = (masters: readonly FakeMaster[]): number[] =>
  masters.map((master) => countOf(master.value(COUNTER)));
/** Which block begins with it. */
const above = (fence: number | undefined): number => countOf(counted(fence));

/** Runs the first command of that kind that is still on its way, and lets what follows from it happen. */
async function arrive(onTheirWay: OnItsWay[], kind: string): Promise<void> {
  const at = onTheirWay.findIndex((one) => one.kind === kind);
  const [one] = onTheirWay.splice(at, at < 0 ? 0 : 1);
  if (one === undefined) throw new Error(`no ${kind} is on its way`);
  one.run();
  await settle();
}

/** Four masters, of which the last is away: three counters that differ, and what comes from each is let through by hand. */
function threeOfFour(counts: readonly number[]): Pick<Bench, 'redlock' | 'time'> & {
  readonly m1: FakeMaster;
  readonly m2: FakeMaster;
  readonly ways: ReturnType<typeof gate>[];
} {
  const { redlock, masters, time } = fakeCluster(4);
  seed(masters, counts);
  const [m1, m2, , away] = masters as readonly [FakeMaster, FakeMaster, FakeMaster, FakeMaster];
  away.state = 'lost';
  return { redlock, time, m1, m2, ways: masters.map(gate) };
}

describe('acceptance: masters that granted with different fences agree on one', () => {
  for (const nodes of [1, 2, 3, 4, 5]) {
    it(`N=${nodes}, counters that differ: a quorum has the fence that is handed out; one round trip again when the clocks have passed it`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      seed(
        masters,
        masters.map((_, i) => 10 * (i + 1)),
      );
      const lease = await redlock.acquire('r', ONE_ATTEMPT);
      expect(above(lease.fence)).to.equal(10 * quorumOf(nodes) + 1); // the highest of the first quorum that answered
      const agreed = countsOf(masters).filter((one) => one === above(lease.fence));
      expect(agreed.length).to.be.at.least(quorumOf(nodes));
      await lease.release();
      const next = await redlock.acquire('r', ONE_ATTEMPT);
      expect(above(next.fence)).to.be.above(above(lease.fence));
      await next.release();
      await time.advance(30_000);
      const before = masters.map(acceptsOf);
      const last = await redlock.acquire('r', ONE_ATTEMPT);
      expect(masters.map(acceptsOf)).to.deep.equal(before);
      expect(new Set(countsOf(masters))).to.deep.equal(new Set([above(last.fence)]));
      expect(above(last.fence)).to.be.above(above(next.fence));
    });
  }

  it('N=1: never a second round trip', async () => {
    const { redlock, masters } = fakeCluster(1);
    for (let turn = 0; turn < 5; turn++) {
      await (await redlock.acquire('r', ONE_ATTEMPT)).release();
      masters[0]?.forget();
    }
    for (const master of masters) expect(acceptsOf(master)).to.equal(0);
  });

  it('five masters: the fence is put to the masters below it only, once to each', async () => {
    const { redlock, masters, time } = fakeCluster(5);
    seed(masters, [1, 2, 3, 9, 9]);
    const ways = masters.map(gate);
    const acquired = redlock.acquire('r', ONE_ATTEMPT);
    await settle();
    for (const way of ways.slice(2)) await arrive(way, 'claim'); // 4, 10, 10: one is below the highest
    expect(ways.map((way) => way.filter(({ kind }) => kind === 'accept').length)).to.deep.equal([
      0, 0, 1, 0, 0,
    ]);
    await arrive(ways[0] ?? [], 'claim'); // another one below it
    expect(ways.map((way) => way.filter(({ kind }) => kind === 'accept').length)).to.deep.equal([
      1, 0, 1, 0, 0,
    ]);
    await arrive(ways[0] ?? [], 'accept');
    expect(above((await acquired).fence)).to.equal(10);
    await time.advance(1);
  });

  it('N=3: a vote that comes in during the acceptance counts: q equal fences settle it', async () => {
    const { redlock, masters } = fakeCluster(3);
    seed(masters, [1, 5, 5]);
    const ways = masters.map(gate);
    const acquired = redlock.acquire('r', ONE_ATTEMPT);
    await settle();
    await arrive(ways[0] ?? [], 'claim');
    await arrive(ways[1] ?? [], 'claim');
    expect(ways[0]?.map(({ kind }) => kind)).to.deep.equal(['accept']); // and stays on its way
    await arrive(ways[2] ?? [], 'claim');
    expect(above((await acquired).fence)).to.equal(6);
  });

  it('N=3: a higher grant during the acceptance does not disturb it', async () => {
    const { redlock, masters } = fakeCluster(3);
    seed(masters, [1, 5, 90]);
    const ways = masters.map(gate);
    const acquired = redlock.acquire('r', ONE_ATTEMPT);
    await settle();
    await arrive(ways[0] ?? [], 'claim');
    await arrive(ways[1] ?? [], 'claim');
    await arrive(ways[2] ?? [], 'claim');
    await arrive(ways[0] ?? [], 'accept');
    expect(above((await acquired).fence)).to.equal(6);
  });

  it('N=3: the one that was asked is lost, and the others can agree on the higher one: they do, before time is up', async () => {
    const { redlock, masters } = fakeCluster(3);
    seed(masters, [1, 5, 90]);
    const ways = masters.map(gate);
    const acquired = redlock.acquire('r', ONE_ATTEMPT);
    await settle();
    for (const way of ways) await arrive(way, 'claim');
    masters[0]?.delete('r'); // its vote ran out
    await arrive(ways[0] ?? [], 'accept');
    expect(ways[1]?.map(({ kind }) => kind)).to.deep.equal(['accept']);
    await arrive(ways[1] ?? [], 'accept');
    expect(above((await acquired).fence)).to.equal(91);
  });

  for (const [beyond, wanted] of [
    [0, 7], // it stands at the fence already
    [3, 10],
  ] as const) {
    it(`N=3, one away, conflict: the counter is ${beyond} above the fencing token: max + 1 is proposed to all that granted (T-A10)`, async () => {
      const { redlock, masters } = fakeCluster(3);
      seed(masters, [1, 5]);
      if (masters[2] !== undefined) masters[2].state = 'lost';
      const ways = masters.map(gate);
      const acquired = redlock.acquire('r', ONE_ATTEMPT);
      await settle();
      await arrive(ways[0] ?? [], 'claim');
      await arrive(ways[1] ?? [], 'claim');
      countAt(masters[0], 6 + beyond);
      await arrive(ways[0] ?? [], 'accept');
      await arrive(ways[0] ?? [], 'accept');
      await arrive(ways[1] ?? [], 'accept');
      expect(above((await acquired).fence)).to.equal(wanted);
      expect(countsOf(masters.slice(0, 2))).to.deep.equal([wanted, wanted]);
    });
  }

  it('N=3, one away, blocks that overlap: none that shares a token with one that a master counted; what is above both is proposed', async () => {
    const { redlock, masters } = fakeCluster(3);
    const [m1, m2, away] = masters as readonly [FakeMaster, FakeMaster, FakeMaster];
    m1.set(COUNTER, String(COUNTED_US), 60_000);
    m2.set(COUNTER, String(COUNTED_US + 4), 60_000);
    away.state = 'lost';
    const ways = masters.map(gate);
    const acquired = redlock.acquire('r', ONE_ATTEMPT);
    await settle();
    await arrive(ways[0] ?? [], 'claim'); // from 1 on
    await arrive(ways[1] ?? [], 'claim'); // from 5 on
    await arrive(ways[0] ?? [], 'accept'); // not of 5, which is in the first one's block
    await arrive(ways[1] ?? [], 'accept');
    const { fence } = await acquired;
    expect(fence).to.equal(COUNTED_US + 5 + FENCE_BLOCK);
    expect([m1, m2].map((master) => master.value(COUNTER))).to.deep.equal([counted(fence), counted(fence)]);
    expect([m1, m2].map(acceptsOf)).to.deep.equal([1, 1]);
  });

  it('five masters: a higher one from a master that is not needed is not put to the others', async () => {
    const { redlock, masters } = fakeCluster(5);
    seed(masters, [1, 5, 5, 90]);
    const ways = masters.map(gate);
    const acquired = redlock.acquire('r', ONE_ATTEMPT);
    await settle();
    for (const way of ways.slice(0, 4)) await arrive(way, 'claim'); // 2, 6, 6, 91
    expect(ways.map((way) => way.filter(({ kind }) => kind === 'accept').length)).to.deep.equal([
      1, 0, 0, 0, 0,
    ]);
    await arrive(ways[0] ?? [], 'accept');
    expect(above((await acquired).fence)).to.equal(6);
  });

  it('N=4: a master says no to a fence that was given up: the one that is put by now stays', async () => {
    const { redlock, m1, m2, ways } = threeOfFour([1, 4, 5]);
    const acquired = redlock.acquire('r', ONE_ATTEMPT);
    await settle();
    for (const way of ways.slice(0, 3)) await arrive(way, 'claim'); // 2, 5, 6
    countAt(m1, 10);
    countAt(m2, 50);
    await arrive(ways[1] ?? [], 'accept');
    await arrive(ways[0] ?? [], 'accept');
    expect(ways.slice(0, 3).map((way) => way.length)).to.deep.equal([1, 1, 1]);
    for (const way of ways.slice(0, 3)) await arrive(way, 'accept');
    expect(above((await acquired).fence)).to.equal(51);
  });

  it('N=4: the attempt fails while a fence is put to the masters: no other one is asked', async () => {
    const { redlock, m1, m2, ways, time } = threeOfFour([1, 5, 7]);
    const failed = rejection(redlock.acquire('r', ONE_ATTEMPT));
    await settle();
    for (const way of ways.slice(0, 2)) await arrive(way, 'claim');
    m1.become('lost');
    await arrive(ways[2] ?? [], 'claim');
    await time.advance(50);
    expect((await failed).code).to.equal('NO_QUORUM');
    expect([ways[1]?.map(({ kind }) => kind), acceptsOf(m2)]).to.deep.equal([['undo'], 0]);
  });

  it('N=4: a fence that was given up is not put any more to a master that was sent nothing yet', async () => {
    const { redlock, m1, m2, ways } = threeOfFour([1, 4, 5]);
    const acquired = redlock.acquire('r', ONE_ATTEMPT);
    await settle();
    await arrive(ways[0] ?? [], 'claim');
    await arrive(ways[1] ?? [], 'claim');
    m1.become('opening');
    await arrive(ways[2] ?? [], 'claim'); // 2, 5, 6
    countAt(m2, 50);
    await arrive(ways[1] ?? [], 'accept');
    m1.become('ready');
    await settle();
    for (const way of ways.slice(0, 3)) await arrive(way, 'accept');
    expect(above((await acquired).fence)).to.equal(51);
    expect(acceptsOf(m1)).to.equal(1);
  });

  it('N=3: what was put to a master that is connecting again waits no longer than the attempt', async () => {
    const { redlock, masters } = fakeCluster(3);
    seed(masters, [1, 5, 5]);
    const [m1] = masters as readonly [FakeMaster, FakeMaster, FakeMaster];
    const ways = masters.map(gate);
    const acquired = redlock.acquire('r', ONE_ATTEMPT);
    await settle();
    await arrive(ways[0] ?? [], 'claim');
    m1.become('opening');
    await arrive(ways[1] ?? [], 'claim');
    expect(m1.listeners).to.equal(1);
    await arrive(ways[2] ?? [], 'claim');
    expect(above((await acquired).fence)).to.equal(6);
    expect(m1.listeners).to.equal(0);
  });

  it('N=3, one away, conflicts without end: a bounded number of them, then NO_QUORUM, and all is undone', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    seed(masters, [1, 5]);
    if (masters[2] !== undefined) masters[2].state = 'lost';
    for (const master of masters) {
      const send = master.call.bind(master);
      master.call = (command) => {
        for (const { args, kind } of entriesOf(command))
          // another one was there first
          if (kind === 'accept') countAt(master, above(Number(args.fence)) + 1);
        return send(command);
      };
    }
    const failed = rejection(redlock.acquire('r', ONE_ATTEMPT));
    await time.advance(50);
    const { code, tally } = await failed;
    expect(code).to.equal('NO_QUORUM');
    expect(
      tally.some((one) => one.outcome === 'unknown' && /counter moved on/.test(one.cause.message)),
    ).to.equal(true);
    expect(masters.map(acceptsOf)[0]).to.equal(5); // the first, and four that were higher
    await time.advance(1_000);
    expect(masters.map(({ size }) => size)).to.deep.equal([0, 0, 0]);
  });

  const losses: [string, (master: FakeMaster) => void, string][] = [
    ['its lock ran out', (master) => void master.delete('r'), 'NO_QUORUM'],
    ['another holds it', (master) => master.set('r', 'another', 60_000), 'LOCK_TAKEN'],
    ['its lock holds something else', (master) => master.setForeign('r'), 'WRONG_KIND'],
    ['its counter holds something else', (master) => master.set(COUNTER, 'text'), 'WRONG_KIND'],
    ['it answers with an error', (master) => master.replies.push(serverError('ERR busy')), 'NO_QUORUM'],
    [
      'it has no memory left',
      (master) => master.replies.push(serverError('OOM command not allowed')),
      'MISCONFIGURED',
    ],
    ['its restart guard is another', (master) => master.replies.push([-2, 700, 0]), 'MISCONFIGURED'],
    ['it answers oddly', (master) => master.replies.push([9, 9, 9]), 'NO_QUORUM'],
    ['it answers with another shape', (master) => master.replies.push('OK'), 'NO_QUORUM'],
  ];
  for (const [title, lose, wanted] of losses) {
    it(`two masters, one of which does not accept, since ${title}: no lease, ${wanted} in the same attempt, both are given back`, async () => {
      const { redlock, masters, time } = fakeCluster(2);
      seed(masters, [1, 5]);
      const [m1, m2] = masters;
      if (m1 === undefined || m2 === undefined) throw new Error('there are two');
      const way = gate(m1);
      const failed = rejection(redlock.acquire('r', ONE_ATTEMPT));
      await settle();
      await arrive(way, 'claim');
      lose(m1);
      await arrive(way, 'accept');
      for (const { run } of way.splice(0)) run(); // the undo
      const { code, elapsedMs } = await failed;
      expect([code, elapsedMs]).to.deep.equal([wanted, 0]);
      await time.advance(1_000);
      for (const { run } of way.splice(0)) run();
      await settle();
      expect(m1.value('r')).to.not.match(/^client/);
      expect(m2.value('r')).to.equal(undefined);
    });
  }

  for (const [behindMs, isNear] of [
    [60_000, true],
    [60_001, false],
  ] as const) {
    it(`a master whose clock is ${behindMs} ms behind a fence that is put to it ${isNear ? 'accepts it' : 'does not: no quorum of two, at once'}`, async () => {
      const { redlock, masters, time } = fakeCluster(2);
      const [m1, m2] = masters as readonly [FakeMaster, FakeMaster];
      await time.advance(0); // the clocks were read
      m2.set(COUNTER, String(m1.micros() + behindMs * 1_000 - 1), 200_000);
      const acquired = redlock.acquire('r', ONE_ATTEMPT);
      if (isNear) expect((await acquired).fence).to.equal(COUNTED_US + behindMs * 1_000 - 29_000_000);
      else {
        const { code, elapsedMs, tally } = await rejection(acquired);
        expect([code, elapsedMs]).to.deep.equal(['NO_QUORUM', 0]);
        expect(
          tally.map((one) => (one.outcome === 'unknown' ? one.cause.message : one.outcome)),
        ).to.deep.equal(['its clock is far behind the fencing token', 'granted']);
      }
      await time.advance(1_000);
      expect(masters.map(({ size }) => size)).to.deep.equal(isNear ? [1, 1] : [0, 0]);
    });
  }

  for (const nodes of [3, 4, 5]) {
    it(`N=${nodes}, a clock two minutes behind: its vote does not count, and the others go on without it`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      await time.advance(0); // the clocks were read
      const [late, ...others] = masters as readonly [FakeMaster, ...FakeMaster[]];
      late.clockAheadUs = -120_000_000;
      const ways = masters.map(gate);
      const acquired = redlock.acquire('r', ONE_ATTEMPT);
      await settle();
      for (const way of ways.slice(0, -1)) await arrive(way, 'claim'); // its own clock, and the proposal of the others
      await arrive(ways[0] ?? [], 'accept');
      await arrive(ways.at(-1) ?? [], 'claim');
      const { fence } = await acquired;
      expect(others.map((master) => master.value(COUNTER))).to.deep.equal(others.map(() => counted(fence)));
      expect(Number(late.value(COUNTER))).to.be.below(fence ?? 0);
    });
  }

  for (const nodes of [3, 4, 5]) {
    it(`N=${nodes}, a clock two minutes ahead, and a master that is slower than an acceptance: the others agree without it`, async () => {
      const { redlock, masters } = fakeCluster(nodes);
      await settle(); // the clocks were read
      const [early, slow, ...near] = masters as readonly [FakeMaster, FakeMaster, ...FakeMaster[]];
      early.clockAheadUs = 120_000_000;
      const ways = masters.map(gate);
      const acquired = redlock.acquire('r', ONE_ATTEMPT);
      await settle();
      const first = [0, ...near.slice(0, quorumOf(nodes) - 1).map((_, i) => i + 2)];
      for (const i of first) await arrive(ways[i] ?? [], 'claim');
      for (const i of first.slice(1)) await arrive(ways[i] ?? [], 'accept'); // they say no
      await arrive(ways[1] ?? [], 'claim');
      const { fence } = await acquired;
      expect(slow.value(COUNTER)).to.equal(counted(fence));
      expect(Number(early.value(COUNTER))).to.be.above(Number(counted(fence)));
    });
  }

  it('five masters, a clock two minutes ahead, and another one is lost: votes of those that said no count until the last answer is there', async () => {
    const { redlock, masters } = fakeCluster(5);
    await settle();
    const [early, , , lost] = masters as readonly [
      FakeMaster,
      FakeMaster,
      FakeMaster,
      FakeMaster,
      FakeMaster,
    ];
    early.clockAheadUs = 120_000_000;
    const ways = masters.map(gate);
    lost.manner = 'freeze';
    const acquired = redlock.acquire('r', ONE_ATTEMPT);
    await settle();
    await arrive(ways[3] ?? [], 'claim');
    for (const i of [0, 1, 2]) await arrive(ways[i] ?? [], 'claim');
    for (const i of [1, 2]) await arrive(ways[i] ?? [], 'accept'); // they say no
    lost.cut();
    await settle();
    await arrive(ways[4] ?? [], 'claim');
    const { fence } = await acquired;
    for (const i of [1, 2, 4]) expect(masters[i]?.value(COUNTER)).to.equal(counted(fence));
  });

  it('N=4, a clock two minutes ahead, and another master is lost: NO_QUORUM as soon as that is known', async () => {
    const { redlock, masters, time } = fakeCluster(4);
    await settle();
    const [early, lost] = masters as readonly [FakeMaster, FakeMaster, FakeMaster, FakeMaster];
    early.clockAheadUs = 120_000_000;
    const ways = masters.map(gate);
    lost.manner = 'freeze';
    const failed = rejection(redlock.acquire('r', ONE_ATTEMPT));
    await settle();
    await arrive(ways[1] ?? [], 'claim');
    for (const i of [0, 2, 3]) await arrive(ways[i] ?? [], 'claim');
    for (const i of [2, 3]) await arrive(ways[i] ?? [], 'accept');
    lost.cut();
    await settle();
    for (const way of ways) for (const { run } of way.splice(0)) run(); // the undos
    const { code, elapsedMs, tally } = await failed;
    expect([code, elapsedMs]).to.deep.equal(['NO_QUORUM', 0]);
    expect(tally.map((one) => (one.outcome === 'unknown' ? one.cause.message : one.outcome))).to.deep.equal([
      'granted',
      'Connection is closed.',
      'its clock is far behind the fencing token',
      'granted', // it was decided by then
    ]);
    await time.advance(50);
  });

  it("two masters, two resources, one of its two locks is another's as it shall accept: the other one is given back", async () => {
    const { redlock, masters, time } = fakeCluster(2);
    const [m1, m2] = masters;
    if (m1 === undefined || m2 === undefined) throw new Error('there are two');
    m2.set(counterKey('a'), String(m2.micros() + 5_000), 3_600_000);
    const way = gate(m1);
    const failed = rejection(redlock.acquire(['a', 'b'], { ...ONE_ATTEMPT, ttlMs: 60_000 }));
    await settle();
    await arrive(way, 'claim');
    m1.set('b', 'another', 60_000);
    await arrive(way, 'accept');
    for (const { run } of way.splice(0)) run();
    expect((await failed).code).to.equal('LOCK_TAKEN');
    await time.advance(1_000);
    for (const { run } of way.splice(0)) run();
    await settle();
    expect([m1.value('a'), m1.value('b'), m2.value('a'), m2.value('b')]).to.deep.equal([
      undefined,
      'another',
      undefined,
      undefined,
    ]);
  });

  it('N=3, one away, the other silent during the acceptance: NO_QUORUM as the node timeout ends, and undone', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    seed(masters, [1, 5]);
    if (masters[2] !== undefined) masters[2].state = 'lost';
    const [slow] = masters;
    const send = slow?.call.bind(slow);
    if (slow === undefined || send === undefined) throw new Error('there are three');
    slow.call = (command) => {
      if (slow.sent.length === 1) slow.manner = 'freeze'; // the claim was answered, nothing after it
      return send(command);
    };
    const failed = rejection(redlock.acquire('r', ONE_ATTEMPT));
    let isSettled = false;
    void failed.then(() => (isSettled = true));
    await time.advance(49);
    expect(isSettled).to.equal(false);
    await time.advance(1);
    expect(isSettled).to.equal(true);
    const { code, elapsedMs } = await failed;
    expect([code, elapsedMs]).to.deep.equal(['NO_QUORUM', 50]);
    expect(sentTo(slow)).to.deep.equal(['claim 1', 'accept 1', 'undo 1']);
    slow.thaw();
    await time.advance(1_000);
    expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([0, 0, 0, 0]);
  });
});
