/** Whom masters watch for while an acquisition waits for a lock that several may hold, outside the queue. */
import { expect } from 'chai';
import type { Lease } from '../../lib/lease/public.js';
import { gateKey } from '../../lib/protocol/keys.js';
import { WRONG_TYPE } from '../../lib/testing/master/keyspace.js';
import { SharedQueue } from '../../lib/queue/shared-queue.js';
import { Repairs } from '../../lib/quorum/repairs.js';
import { WRITE } from '../../lib/protocol/scope.js';
import { plainScope } from '../support/commands.js';
import { hold, queueBench, OTHER } from '../support/queue-bench.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';

const FAR_MS = 3_000_000;
const OFTEN = { ttlMs: 60_000, waitMs: 60_000, retry: { minDelayMs: 50, maxDelayMs: 50 } } as const;
const UNFAIR = { fair: false, ttlMs: 60_000 } as const;

/** Which masters are asked for anything within the next 300 ms. */
async function asked({ masters, time }: Bench): Promise<boolean[]> {
  for (const master of masters) master.sent.length = 0;
  await time.advance(300);
  return masters.map(({ sent }) => sent.length > 0);
}

/** Whether somebody is watched for there. */
function isWatching(master: FakeMaster): boolean {
  const fields = master.fields('r');
  return fields !== WRONG_TYPE && fields.has('watch');
}

/** What is sent there stays on its way until the returned function is called. */
function delayed(master: FakeMaster): () => void {
  const late: (() => void)[] = [];
  const send = master.call.bind(master);
  master.call = (command) => new Promise((resolve) => late.push(() => resolve(send(command))));
  return () => {
    master.call = send;
    for (const run of late) run();
  };
}

/** Its push connections are refused, for a while. */
function refusePushes({ masters }: Bench): void {
  for (const master of masters) {
    master.opensLines = false;
    master.connection.lose('NOPERM no channels', true);
  }
}

describe('shared queue: without a place at the gate', () => {
  for (const nodes of [1, 3, 5]) {
    it(`N=${nodes}: a wait for several permits at once keeps new holders out, and is the next to be let in`, async () => {
      const { redlock, other, time } = fakeCluster(nodes, UNFAIR);
      const theirs = other().redlock.semaphore('r', 2);
      const [first, second] = [await theirs.acquire(), await theirs.acquire()];
      const wait = redlock.semaphore('r', 2).acquire({ permits: 2 });
      await time.advance(20);
      await first.release();
      expect(await theirs.tryAcquire()).to.equal(null);
      await second.release();
      await time.advance(500);
      expect((await wait).status).to.equal('held');
    });

    it(`N=${nodes}: a wait for one permit, or to read, keeps nobody out`, async () => {
      const { redlock, other, time } = fakeCluster(nodes, UNFAIR);
      const theirs = other().redlock;
      for (const [waiting, held] of [
        [redlock.semaphore('s', 1), theirs.semaphore('s', 1)],
        [redlock.readWriteLock('r').read, theirs.readWriteLock('r').write],
      ] as const) {
        const lease = await held.acquire();
        const wait = waiting.acquire();
        await time.advance(20);
        await lease.release();
        const next = await held.tryAcquire();
        expect(next?.status).to.equal('held');
        await next?.release();
        await time.advance(500);
        await (await wait).release();
      }
    });

    it(`N=${nodes}: a single try keeps nobody out, and takes one call a master`, async () => {
      const { redlock, masters, other, random } = fakeCluster(nodes, UNFAIR);
      const reader = await other().redlock.readWriteLock('r').read.acquire();
      for (const master of masters) master.sent.length = 0;
      expect(await redlock.readWriteLock('r').write.tryAcquire()).to.equal(null);
      expect((await other('third').redlock.readWriteLock('r').read.tryAcquire())?.status).to.equal('held');
      const theirs = masters[0]?.sent.filter(({ token = '' }) => random.tokens.includes(token));
      expect(theirs?.length).to.equal(1);
      await reader.release();
    });
  }

  it('N=3: a writer that was let in is watched for no more, also on a master that is slow to refuse it', async () => {
    const { redlock, masters, other, time } = fakeCluster(3, UNFAIR);
    const [gone, , slow] = masters;
    if (gone === undefined || slow === undefined) throw new Error('there are three');
    const ends = Math.floor(slow.micros() / 1_000) + FAR_MS;
    slow.setFields('r', { kind: 'rw1', [tokenFrom('killed', '1')]: `r|${ends}|` });
    slow.expire('r', FAR_MS);
    const reader = await other().redlock.readWriteLock('r').read.acquire();
    for (const master of masters) master.latencyMs = master === slow ? 50 : 1;
    const wait = redlock.readWriteLock('r').write.acquire();
    await time.advance(5);
    const released = reader.release();
    await time.advance(200);
    await released;
    for (const master of masters) master.latencyMs = 0;
    await (await wait).release();
    gone.become('lost');
    // it takes the slow one's vote, which nobody else is kept out of by now
    expect((await other('third').redlock.readWriteLock('r').read.tryAcquire())?.status).to.equal('held');
  });

  it('N=3: claims that are watched for go to all masters, and others to the home master alone', async () => {
    for (const [permits, expected] of [
      [1, [true, false, false]],
      [2, [true, true, true]],
    ] as const) {
      const bench = fakeCluster(3, { ...OFTEN, fair: false });
      const theirs = await bench.other().redlock.semaphore('r', 2).acquire({ permits: 2 });
      const wait = bench.redlock.semaphore('r', 2).acquire({ permits });
      await bench.time.advance(60);
      expect(await asked(bench)).to.have.members(expected);
      await theirs.release();
      await bench.time.advance(60);
      expect((await wait).status).to.equal('held');
    }
  });

  it('N=3: a writer that is let in at once is watched for no more where it was refused', async () => {
    const { redlock, masters } = fakeCluster(3, UNFAIR);
    const [m1, m2, m3] = masters as readonly [FakeMaster, FakeMaster, FakeMaster];
    const ends = Math.floor(m3.micros() / 1_000) + FAR_MS;
    m3.setFields('r', { kind: 'rw1', [tokenFrom('killed', '1')]: `r|${ends}|` });
    m3.expire('r', FAR_MS);
    const late = [m1, m2].map((master) => delayed(master));
    const wait = redlock.readWriteLock('r').write.acquire();
    await settle();
    expect(isWatching(m3)).to.equal(true);
    for (const arrive of late) arrive();
    const lease = await wait;
    await settle();
    expect(isWatching(m3)).to.equal(false);
    await lease.release();
  });
});

describe('shared queue: a gate that cannot be waited at', () => {
  it('N=3: the wait goes on where the gate holds something else', async () => {
    const bench = fakeCluster(3, OFTEN, { hasPushes: true });
    for (const master of bench.masters) master.setForeign(gateKey('r'));
    const theirs = await bench.other().redlock.readWriteLock('r').write.acquire();
    let lease: Lease | undefined;
    void bench.redlock
      .readWriteLock('r')
      .write.acquire()
      .then((own) => (lease = own));
    await bench.time.advance(1_000);
    await theirs.release();
    await bench.time.advance(100);
    expect(lease?.status).to.equal('held');
  });

  it('N=3: a reader at the door that is refused pushes asks the home master alone from then on', async () => {
    const bench = fakeCluster(3, OFTEN, { hasPushes: true });
    const theirs = await bench.other().redlock.readWriteLock('r').write.acquire();
    const wait = bench.redlock.readWriteLock('r').read.acquire();
    await settle();
    expect(bench.masters.map(isWatching)).to.deep.equal([true, true, true]);
    refusePushes(bench);
    await bench.time.advance(700); // it looks again by its time, and then tries by itself
    expect(await asked(bench)).to.have.members([true, false, false]);
    expect(bench.masters.map(isWatching)).to.deep.equal([false, false, false]);
    await theirs.release();
    await bench.time.advance(60);
    expect((await wait).status).to.equal('held');
  });

  it('N=3: a writer that has tried by itself, and is let in from the gate, is watched for no more', async () => {
    const bench = fakeCluster(3, { ...OFTEN, nodeTimeoutMs: 200 }, { hasPushes: true });
    const reading = bench.other().redlock.readWriteLock('r').read;
    const theirs = await reading.acquire();
    const wait = bench.redlock.readWriteLock('r').write.acquire();
    await settle();
    refusePushes(bench);
    await bench.time.advance(4_990);
    expect(bench.masters.map(isWatching)).to.deep.equal([true, true, true]);
    await bench.time.advance(60); // pushes are asked for again, and it wants to queue
    await theirs.release();
    for (const { connection } of bench.masters) connection.open();
    await settle();
    await (await wait).release();
    expect((await reading.tryAcquire())?.status).to.equal('held');
  });
});

describe('shared queue: after a wait at the gate', () => {
  it('it was free if every master gave the place at the gate at once', async () => {
    for (const isHeld of [true, false]) {
      const bench = queueBench(3);
      if (isHeld) for (const master of bench.masters) hold(master, OTHER, gateKey('r'));
      const repairs = new Repairs(bench.nodes, bench.time, bench.time);
      const scope = { ...plainScope('r'), kind: WRITE };
      const terms = { scope, ttlMs: 1_000, nodeTimeoutMs: 50, onlyReserves: true };
      const queue = new SharedQueue({ ...bench, repairs }, terms);
      void queue.wait(() => 1, bench.time.now() + 1_000);
      await settle();
      expect(queue.wasFree).to.equal(!isHeld);
      queue.leave();
    }
  });

  it('N=3: what they meet first decides whether the next one queues at once', async () => {
    const bench = fakeCluster(3, OFTEN, { hasPushes: true });
    const holder = bench.other('holder').redlock.semaphore('r', 1);
    const own = bench.redlock.semaphore('r', 1);
    const first = async (isHeld: boolean): Promise<string | undefined> => {
      const held = isHeld ? await holder.acquire() : undefined;
      const sent = bench.masters[0]?.sent ?? [];
      const before = sent.length;
      const wait = own.acquire();
      await bench.time.advance(100);
      const name = sent[before]?.kind;
      await held?.release();
      await bench.time.advance(100);
      await (await wait).release();
      await bench.time.advance(100);
      return name;
    };
    const names: (string | undefined)[] = [];
    const [tried, queued] = ['permit-claim', 'queue'];
    const before = Array<string>(7).fill(tried);
    for (const isHeld of [...before.map(() => true), true, false, false, false])
      names.push(await first(isHeld));
    expect(names).to.deep.equal([...before, queued, queued, tried, tried]);
  });
});
