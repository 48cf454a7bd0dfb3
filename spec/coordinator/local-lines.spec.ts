/** Local hand-over (protocol C4): the calls of one instance for one exclusive lock wait for each other, without messages. */
import { expect } from 'chai';
import { STAY_MS } from '../../lib/coordinator/local-lines.js';
import type { AcquireOptions, RedlockOptions } from '../../lib/input/options.js';
import type { Lease } from '../../lib/lease/public.js';
import { holdBack, kindsSentTo, sentTo } from '../support/commands.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { hear } from '../support/heard.js';
import { rejection } from '../support/rejection.js';

const TERMS = { ttlMs: 10_000, waitMs: 60_000, nodeTimeoutMs: 50 } as const;
const ISOLATED = { ...TERMS, localTurns: 0 } as const;
/** The default of `localTurns`. */
const TURNS = 8;

/** Two calls: one that holds, and one that waits for it. */
async function pair(
  options: RedlockOptions = TERMS,
  next: AcquireOptions = {},
): Promise<Bench & { readonly holder: Lease; readonly waiter: Promise<Lease> }> {
  const bench = fakeCluster(3, options);
  const holder = await bench.redlock.acquire('r');
  const waiter = bench.redlock.acquire('r', next);
  waiter.catch(() => undefined);
  await settle();
  return { ...bench, holder, waiter };
}

/** How many calls a master is sent from here on. */
function countCalls(master: FakeMaster): { calls: number } {
  const count = { calls: 0 };
  const call = master.call.bind(master);
  master.call = (command) => {
    count.calls++;
    return call(command);
  };
  return count;
}

describe('local lines: what is sent', () => {
  it('one claim and one release for eight leases, in the order of the calls', async () => {
    const bench = fakeCluster(3, TERMS);
    const order: number[] = [];
    const calls = Array.from({ length: TURNS }, async (_, i) => {
      const lease = await bench.redlock.acquire('r');
      order.push(i);
      await bench.time.advance(1);
      await lease.release();
    });
    await Promise.all(calls);
    await settle();
    expect(order).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7]);
    for (const master of bench.masters) expect(sentTo(master)).to.deep.equal(['claim 1', 'release 1']);
    expect(bench.redlock.stats().counts).to.include({ acquired: TURNS, localHandOvers: TURNS - 1 });
  });

  it('then the next call claims, in one call with the release, which goes first', async () => {
    const bench = fakeCluster(3, TERMS);
    const counts = bench.masters.map(countCalls);
    const calls = Array.from({ length: TURNS + 1 }, async () => (await bench.redlock.acquire('r')).release());
    await Promise.all(calls);
    await settle();
    for (const master of bench.masters)
      expect(sentTo(master)).to.deep.equal(['claim 1', 'release 1', 'claim 2', 'release 2']);
    expect(counts.map((one) => one.calls)).to.deep.equal([3, 3, 3]);
  });

  it('nothing by one that waits, nor by one that goes', async () => {
    const { masters, redlock, waiter, holder } = await pair();
    const controller = new AbortController();
    const gone = rejection(redlock.acquire('r', { signal: controller.signal }));
    controller.abort();
    expect((await gone).code).to.equal('ABORTED');
    for (const master of masters) expect(sentTo(master)).to.deep.equal(['claim 1']);
    await holder.release();
    await (await waiter).release();
  });

  for (const [name, options] of [
    ['localTurns: 0', { localTurns: 0 }],
    ['without fencing, beside one with it', { fencing: false }],
    ['fair: false', { fair: false }],
  ] as const)
    it(`as a stranger: ${name}`, async () => {
      const { masters, holder, waiter, time } = await pair(TERMS, options);
      for (const master of masters) expect(sentTo(master)).to.include('claim 2');
      await holder.release();
      await time.advance(1_000);
      await (await waiter).release();
    });

  it('as a stranger: without fencing, also where others with it wait already', async () => {
    const { masters, redlock, holder, waiter, time } = await pair();
    const stranger = redlock.acquire('r', { fencing: false });
    await settle();
    for (const master of masters) expect(sentTo(master)).to.include('claim 2');
    await holder.release();
    await (await waiter).release();
    await time.advance(1_000);
    await (await stranger).release();
  });

  it('behind a stranger that has the lock: others ask the masters', async () => {
    const bench = fakeCluster(3, TERMS);
    const stranger = await bench.redlock.acquire('r', { localTurns: 0 });
    const next = bench.redlock.acquire('r');
    await settle();
    for (const master of bench.masters) expect(sentTo(master)).to.include('claim 2');
    await stranger.release();
    await bench.time.advance(1_000);
    await (await next).release();
  });

  it('behind one that only tried, it is handed on all the same, also where a lease had run out before', async () => {
    for (const hadRunOut of [false, true]) {
      const bench = fakeCluster(3, { ...TERMS, ttlMs: 1_000 });
      if (hadRunOut) await bench.redlock.acquire('r');
      await bench.time.advance(1_100);
      const lease = await bench.redlock.tryAcquire('r');
      const next = bench.redlock.acquire('r');
      await settle();
      await lease?.release();
      await (await next).release();
      expect(bench.redlock.stats().counts.localHandOvers).to.equal(1);
    }
  });

  it('as a stranger: one that wants several resources', async () => {
    const bench = fakeCluster(3, TERMS);
    const lease = await bench.redlock.acquire('r');
    const both = bench.redlock.acquire(['r', 's']);
    await settle();
    for (const master of bench.masters) expect(sentTo(master)).to.include('claim 2');
    await lease.release();
    await bench.time.advance(1_000);
    await (await both).release();
  });
});

describe('local lines: a stay after a wait in the queue', () => {
  it('begins with the grant, however long ago the look was that it came of', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const strangers = bench.other('other', ISOLATED).redlock;
    const [first, second] = [await strangers.acquire('r'), strangers.acquire('r')];
    await bench.time.advance(100);
    void first.release();
    const stranger = await second; // it waited, and hands over directly
    const calls = [bench.redlock.acquire('r'), bench.redlock.acquire('r')] as const;
    await bench.time.advance(1_000);
    void stranger.release();
    const head = await calls[0];
    await bench.time.advance(STAY_MS - 1);
    await head.release();
    await (await calls[1]).release();
    expect(bench.redlock.stats().counts).to.include({ acquired: 2, localHandOvers: 1 });
    await bench.redlock.close();
  });
});

describe('local lines: what a turn has', () => {
  it('a fencing token of its own, which the masters count as one block', async () => {
    const { holder, waiter, redlock, masters, time } = await pair();
    const fence = holder.fence ?? 0;
    await holder.release();
    const second = await waiter;
    expect([holder.fence, second.fence]).to.deep.equal([fence, fence + 1]);
    await second.release();
    const third = await redlock.acquire('r', { localTurns: 0 });
    expect(third.fence).to.be.at.least(fence + 64);
    expect(masters.length).to.equal(3);
    expect(time.now()).to.be.at.least(0);
  });

  it("the validity of the masters' grant, and a hold of its own", async () => {
    const { holder, waiter, time } = await pair(TERMS, { ttlMs: 5_000, renew: true, maxHoldMs: 1_000 });
    await time.advance(10);
    const leftMs = holder.remainingMs();
    await holder.release();
    const next = await waiter;
    expect([next.ttlMs, next.remainingMs(), holder.remainingMs()]).to.deep.equal([5_000, leftMs, 0]);
    expect(next.status).to.equal('held');
    await next.release();
  });

  it('the extension that is under way, whose end is no matter of the next one', async () => {
    const bench = await pair();
    const [first] = bench.masters;
    const letGo = bench.masters.map((master) => holdBack(master, 'extend'));
    const extended = rejection(bench.holder.extend(20_000));
    await settle();
    await bench.holder.release();
    const next = await bench.waiter;
    const leftMs = next.remainingMs();
    for (const go of letGo) go();
    expect((await extended).code).to.equal('NOT_HELD');
    expect(next.remainingMs()).to.be.above(leftMs);
    expect(first?.value('r')).to.not.equal(undefined);
    await next.release();
  });

  it('no part in a failure of an extension of the lease before', async () => {
    const bench = await pair();
    const letGo = bench.masters.map((master) => holdBack(master, 'extend'));
    const extended = rejection(bench.holder.extend(20_000));
    await settle();
    await bench.holder.release();
    const next = await bench.waiter;
    for (const master of bench.masters) master.set('r', 'them:token', 500);
    for (const go of letGo) go();
    await extended;
    expect([next.status, next.signal.aborted]).to.deep.equal(['held', false]);
    for (const master of bench.masters) expect(sentTo(master)).to.deep.equal(['claim 1', 'extend 1']);
  });

  it('its own release: a second one of the lease before gives nothing back', async () => {
    const { holder, masters, waiter } = await pair();
    await holder.release();
    const next = await waiter;
    await holder.release();
    expect([next.status, ...masters.map(sentTo)]).to.deep.equal(['held', ...masters.map(() => ['claim 1'])]);
    await next.release();
    await settle();
    for (const master of masters) expect(sentTo(master)).to.deep.equal(['claim 1', 'release 1']);
  });
});

describe('local lines: when the grant is not handed on', () => {
  const asks = async ({ masters, waiter, time }: Awaited<ReturnType<typeof pair>>): Promise<void> => {
    await settle();
    for (const master of masters) expect(sentTo(master).filter((one) => one === 'claim 2')).to.have.length(1);
    await time.advance(100);
    await (await waiter).release();
  };

  it(`the stay has lasted for ${STAY_MS} ms, whoever has waited since when`, async () => {
    const bench = await pair();
    await bench.time.advance(STAY_MS);
    await bench.holder.release();
    await asks(bench);
    const late = fakeCluster(3, TERMS);
    const holder = await late.redlock.acquire('r');
    await late.time.advance(STAY_MS);
    const waiter = late.redlock.acquire('r');
    await settle();
    await holder.release();
    await asks({ ...late, holder, waiter });
  });

  it('less than three quarters are left of the ttl that the next one asks for', async () => {
    const bench = await pair(TERMS, { ttlMs: 14_000 });
    await bench.holder.release();
    await asks(bench);
  });

  it('the next one wants fewer turns', async () => {
    const bench = await pair(TERMS, { localTurns: 1 });
    await bench.holder.release();
    await asks(bench);
  });

  it('the lease was given away: the next one waits for whoever has it', async () => {
    const bench = await pair();
    const handle = bench.holder.giveAway();
    await settle();
    for (const master of bench.masters) expect(sentTo(master)).to.include('claim 2');
    const adopted = await bench.other().redlock.adopt(handle);
    expect(adopted.fence).to.equal(bench.holder.fence);
    await adopted.release();
    await bench.time.advance(1_000);
    await (await bench.waiter).release();
  });

  it('the lease was lost: its holder is told, and the next one asks the masters', async () => {
    const bench = await pair({ ...TERMS, ttlMs: 1_000 });
    void bench.holder.signal;
    await bench.time.advance(1_100);
    expect([bench.holder.status, bench.holder.signal.aborted]).to.deep.equal(['lost', true]);
    await asks(bench);
  });

  it('the lease has run out, and nothing watches it', async () => {
    const bench = await pair({ ...TERMS, ttlMs: 1_000 });
    await bench.time.advance(1_100);
    await asks(bench);
    expect(bench.holder.status).to.equal('lost');
  });

  it('it has run out in a later stay, and nothing watches it', async () => {
    const bench = await pair({ ...TERMS, ttlMs: 1_000 });
    const third = bench.redlock.acquire('r');
    await bench.time.advance(STAY_MS);
    await bench.holder.release();
    expect((await bench.waiter).status).to.equal('held');
    await bench.time.advance(1_100);
    await (await third).release();
    expect(bench.redlock.stats().counts.localHandOvers).to.equal(0);
  });

  it('the lease was extended, and runs out after that: the next one asks then, and no sooner', async () => {
    const bench = await pair({ ...TERMS, ttlMs: 1_000 });
    await bench.time.advance(500);
    await bench.holder.extend();
    await bench.time.advance(900);
    for (const master of bench.masters) expect(sentTo(master)).to.not.include('claim 2');
    await bench.time.advance(200);
    await asks(bench);
  });

  it('the lease has run out, and nobody waits any more: whoever comes next asks', async () => {
    const bench = await pair({ ...TERMS, ttlMs: 1_000 }, { waitMs: 500 });
    const gone = rejection(bench.waiter);
    await bench.time.advance(1_100);
    expect((await gone).code).to.equal('LOCK_TAKEN');
    await asks({ ...bench, waiter: bench.redlock.acquire('r') });
  });

  it('the lease has run out as it is released, before any timer has fired', async () => {
    const bench = await pair({ ...TERMS, ttlMs: 1_000 }, { ttlMs: 10_000 });
    bench.time.stall(1_100);
    await bench.holder.release();
    expect(bench.holder.status).to.equal('lost');
    await asks(bench);
  });

  it('the next one has gone: the one behind it has the turn', async () => {
    const { holder, waiter, redlock } = await pair(TERMS, { waitMs: 5 });
    const third = redlock.acquire('r');
    const error = rejection(waiter);
    expect(holder.status).to.equal('held');
    const bench = await pair(TERMS);
    const controller = new AbortController();
    const aborted = rejection(bench.redlock.acquire('r', { signal: controller.signal }));
    const behind = bench.redlock.acquire('r');
    controller.abort();
    await bench.holder.release();
    await (await bench.waiter).release();
    await (await behind).release();
    expect((await aborted).code).to.equal('ABORTED');
    void third;
    void error;
  });
});

describe('local lines: the head', () => {
  it('one that goes makes room for the next one', async () => {
    const bench = fakeCluster(3, ISOLATED, { hasPushes: true });
    const theirs = await bench.other().redlock.acquire('r');
    const own = { ...TERMS, localTurns: TURNS };
    const controller = new AbortController();
    const head = rejection(bench.redlock.acquire('r', { ...own, signal: controller.signal }));
    const next = bench.redlock.acquire('r', own);
    await bench.time.advance(100);
    controller.abort();
    expect((await head).code).to.equal('ABORTED');
    await bench.time.advance(100);
    await theirs.release();
    await bench.time.advance(100);
    await (await next).release();
  });

  it('one that gives up, and behind which nobody waits, is not waited for', async () => {
    const bench = fakeCluster(3, TERMS);
    const theirs = await bench.other().redlock.acquire('r');
    const gaveUp = rejection(bench.redlock.acquire('r', { waitMs: 20 }));
    await bench.time.advance(200);
    expect((await gaveUp).code).to.equal('LOCK_TAKEN');
    await theirs.release();
    const next = bench.redlock.acquire('r', { waitMs: 1_000 });
    await bench.time.advance(2_000);
    expect((await next).status).to.equal('held');
    expect(bench.redlock.stats().counts.localHandOvers).to.equal(0);
  });

  it('keeps tryAcquire from nothing: that asks the masters', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const theirs = await bench.other().redlock.acquire('r');
    const head = bench.redlock.acquire('r');
    await bench.time.advance(100);
    const calls = bench.masters.map(countCalls);
    const tried = bench.redlock.tryAcquire('r');
    await bench.time.advance(100);
    expect(await tried).to.equal(null);
    for (const one of calls) expect(one.calls).to.be.at.least(1);
    await theirs.release();
    await bench.time.advance(100);
    await (await head).release();
  });

  it('keeps tryAcquire from nothing after a stay, either', async () => {
    const bench = await pair();
    await bench.time.advance(STAY_MS);
    for (const master of bench.masters) master.manner = 'freeze';
    void bench.holder.release();
    await settle();
    const calls = bench.masters.map(countCalls);
    const tried = bench.redlock.tryAcquire('r').catch(() => null);
    await bench.time.advance(10);
    for (const one of calls) expect(one.calls).to.equal(1);
    for (const master of bench.masters) master.thaw();
    await bench.time.advance(2_000);
    await tried;
    await (await bench.waiter).release();
  });

  it('is one at a time, also as a lease that ran out before is released', async () => {
    const bench = await pair({ ...TERMS, ttlMs: 1_000 });
    const third = bench.redlock.acquire('r');
    for (const master of bench.masters) master.manner = 'freeze';
    await bench.time.advance(1_010);
    for (const master of bench.masters)
      expect(sentTo(master).filter((one) => one.includes('claim'))).to.have.length(2);
    await bench.holder.release();
    await bench.time.advance(10);
    for (const master of bench.masters)
      expect(sentTo(master).filter((one) => one.includes('claim'))).to.have.length(2);
    for (const master of bench.masters) master.thaw();
    await bench.time.advance(2_000);
    await (await bench.waiter).release();
    await (await third).release();
  });

  it('is found by others, also once a lease that ran out before is released', async () => {
    const bench = fakeCluster(3, { ...TERMS, ttlMs: 1_000 });
    const before = await bench.redlock.acquire('r');
    await bench.time.advance(1_100);
    const now = await bench.redlock.acquire('r');
    await before.release();
    expect(await bench.redlock.tryAcquire('r')).to.equal(null);
    const next = bench.redlock.acquire('r');
    await settle();
    await now.release();
    await (await next).release();
    expect(bench.redlock.stats().counts.localHandOvers).to.equal(1);
  });

  it('looks in front of the release, where pushes are open', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const theirs = await bench.other().redlock.acquire('r');
    const first = bench.redlock.acquire('r');
    await bench.time.advance(100);
    await theirs.release();
    const lease = await first;
    const next = bench.redlock.acquire('r');
    await bench.time.advance(STAY_MS);
    for (const master of bench.masters) master.sent.length = 0;
    const counts = bench.masters.map(countCalls);
    for (const master of bench.masters) master.latencyMs = 1;
    void lease.release();
    await bench.time.advance(100);
    const held = await next;
    for (const master of bench.masters) expect(kindsSentTo(master)).to.deep.equal(['queue', 'release']);
    expect(counts.map((one) => one.calls)).to.deep.equal([1, 1, 1]);
    for (const master of bench.masters) master.latencyMs = 0;
    await held.release();
  });

  it('that claims has a lease from its claim on, however long it has waited, and waits no longer', async () => {
    const bench = await pair({ ...TERMS, localTurns: 1 });
    await bench.time.advance(5_000);
    await bench.holder.release();
    const lease = await bench.waiter;
    expect(lease.remainingMs()).to.be.above(TERMS.ttlMs * 0.98);
    expect(bench.redlock.stats().waiting).to.equal(0);
    await lease.release();
  });

  it('comes before one of another instance that began to wait after it', async () => {
    const bench = fakeCluster(3, { ...TERMS, localTurns: 1 }, { hasPushes: true });
    const others = bench.other().redlock;
    const theirs = await others.acquire('r');
    const wait = bench.redlock.acquire('r'); // opens push connections
    await bench.time.advance(100);
    await theirs.release();
    const holder = await wait;
    const order: string[] = [];
    const take = async (who: string, redlock: typeof others): Promise<void> => {
      const lease = await redlock.acquire('r');
      order.push(who);
      await lease.release();
    };
    const early = take('early', bench.redlock);
    await bench.time.advance(100);
    const late = take('late', others);
    await bench.time.advance(100);
    await holder.release();
    await bench.time.advance(1_000);
    await Promise.all([early, late]);
    expect(order).to.deep.equal(['early', 'late']);
  });

  it('of another instance comes in by its ticket, after eight turns at most', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const others = bench.other().redlock;
    const order: string[] = [];
    const work = async (who: string, redlock: typeof others): Promise<void> => {
      const lease = await redlock.acquire('r');
      order.push(who);
      await bench.time.advance(1);
      await lease.release();
    };
    const mine = Array.from({ length: 20 }, () => work('mine', bench.redlock));
    await settle();
    const theirs = work('theirs', others);
    const more = Array.from({ length: 20 }, () => work('mine', bench.redlock));
    await Promise.all([...mine, theirs, ...more]);
    expect(order.indexOf('theirs')).to.be.at.most(20 + TURNS);
  });
});

describe('local lines: what users see', () => {
  it('the error of one whose time is up: taken, no attempts and no tally', async () => {
    const { time, waiter } = await pair(TERMS, { waitMs: 100 });
    const failed = rejection(waiter);
    await time.advance(100);
    const error = await failed;
    expect([error.code, error.attempts, error.tally, error.elapsedMs]).to.deep.equal([
      'LOCK_TAKEN',
      0,
      [],
      100,
    ]);
    expect(error.message).to.include('no master was asked');
  });

  it('the error behind a head that has no quorum says so', async () => {
    const bench = fakeCluster(3, TERMS);
    for (const master of bench.masters) master.become('lost');
    const head = rejection(bench.redlock.acquire('r', { waitMs: 1_000 }));
    const behind = rejection(bench.redlock.acquire('r', { waitMs: 500 }));
    await bench.time.advance(2_000);
    expect([(await head).code, (await behind).code, (await behind).tally]).to.deep.equal([
      'NO_QUORUM',
      'NO_QUORUM',
      [],
    ]);
  });

  it('the error behind one that holds, and had no quorum at first: taken', async () => {
    const bench = fakeCluster(3, TERMS);
    for (const master of bench.masters) master.become('lost');
    const head = bench.redlock.acquire('r');
    const behind = rejection(bench.redlock.acquire('r', { waitMs: 3_000 }));
    await bench.time.advance(1_000);
    for (const master of bench.masters) master.become('ready');
    await bench.time.advance(2_000);
    expect((await behind).code).to.equal('LOCK_TAKEN');
    await (await head).release();
  });

  it('the error behind a head that waits in the queue: taken', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const theirs = await bench.other().redlock.acquire('r');
    const head = bench.redlock.acquire('r');
    const behind = rejection(bench.redlock.acquire('r', { waitMs: 500 }));
    const atOnce = rejection(bench.redlock.acquire('r', { waitMs: 1 }));
    await bench.time.advance(600);
    expect([(await atOnce).code, (await behind).code]).to.deep.equal(['LOCK_TAKEN', 'LOCK_TAKEN']);
    await theirs.release();
    await bench.time.advance(100);
    await (await head).release();
  });

  it('maxWaiters counts those in the line', async () => {
    const { holder, redlock, waiter } = await pair({ ...TERMS, maxWaiters: 1 });
    const error = await rejection(redlock.acquire('r'));
    expect([error.code, redlock.stats().waiting]).to.deep.equal(['LOCK_TAKEN', 1]);
    expect(error.message).to.include('maxWaiters');
    await holder.release();
    await (await waiter).release();
    expect(redlock.stats().waiting).to.equal(0);
  });

  it('close ends the waits with CLOSED', async () => {
    const { redlock, holder, waiter } = await pair();
    const failed = rejection(waiter);
    const closed = redlock.close();
    expect((await failed).code).to.equal('CLOSED');
    await holder.release();
    await closed;
  });

  it('events and inspect show who has it from whom', async () => {
    const bench = fakeCluster(3, TERMS);
    const heard = hear(bench.redlock, ['acquired', 'waiting']);
    const holder = await bench.redlock.acquire('r');
    const waiter = bench.redlock.acquire('r');
    await settle();
    expect((await bench.redlock.inspect('r')).local).to.deep.equal({ waiting: 1, turn: 0 });
    await holder.release();
    const next = await waiter;
    expect((await bench.redlock.inspect('r')).local).to.deep.equal({ waiting: 0, turn: 1 });
    await next.release();
    expect((await bench.redlock.inspect('r')).local).to.deep.equal({ waiting: 0, turn: undefined });
    expect(heard.names).to.deep.equal(['acquired', 'waiting', 'acquired']);
    expect(
      heard.of('acquired').map(({ attempts, local, tally }) => [attempts, local, tally.length]),
    ).to.deep.equal([
      [1, false, 3],
      [0, true, 0],
    ]);
  });

  it('a call that is cancelled in the turn in which it gets the lock has it, and counts once', async () => {
    const bench = fakeCluster(3, TERMS);
    const holder = await bench.redlock.acquire('r');
    const controller = new AbortController();
    const waiter = bench.redlock.acquire('r', { signal: controller.signal });
    await settle();
    void holder.release();
    controller.abort();
    await (await waiter).release();
    expect(bench.redlock.stats()).to.include({ waiting: 0, calls: 0 });
  });

  it('nothing is left behind', async () => {
    const { holder, redlock, time, waiter } = await pair();
    await holder.release();
    await (await waiter).release();
    await (await redlock.acquire('r')).release();
    await settle();
    expect(time.pending).to.equal(0);
    expect(await redlock.tryAcquire('r'), 'the lock is not taken for held').to.not.equal(null);
  });
});
