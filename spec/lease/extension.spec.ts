/**
 * The traces by which extensions and releases go wrong (protocol E), one by one, each as the production code takes it.
 * Those that the specs of the rules have already are there: T-E1 in rule 1, T-E6 and T-E9 in rule 6, T-E10 and T-E11 in
 * rule 8.
 */
import { expect } from 'chai';
import { SystemClock } from '../../lib/runtime/clock.js';
import type { Lease } from '../../lib/lease/public.js';
import type { RedlockOptions } from '../../lib/input/options.js';
import { Redlock } from '../../lib/redlock.js';
import { holdBack, kindsSentTo } from '../support/commands.js';
import { countedFor } from '../support/fence-blocks.js';
import { type Bench, fakeCluster, FakeRandom } from '../support/fake-cluster.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';
import { wide } from '../support/breadth.js';

const SIZES = wide([1, 2, 3, 4, 5], [1, 3]);
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;
const COUNTER = 'quorate:fence:{r}';
const TTL = { ttlMs: 1_000 } as const;
const VALID_MS = 988; // 1000 − (10 + 2)
/** ttl and drift: the shortest guard that a ttl of 1000 ms may have. */
const SHORTEST_GUARD_MS = 1_012;

/** Masters whose clocks run fast against that of the clients. */
function fastMasters(nodes: number, rate: number): { time: FakeTime; masters: FakeMaster[] } {
  const time = new FakeTime();
  const fast = new (class extends FakeTime {
    override now(): number {
      return time.now() * rate;
    }
  })();
  return { time, masters: Array.from({ length: nodes }, (_, i) => new FakeMaster(`m${i + 1}`, fast)) };
}

function client(
  masters: readonly FakeMaster[],
  time: FakeTime,
  name: string,
  options?: RedlockOptions,
): Redlock {
  const environment = { transports: masters, clock: time, timers: time, disconnect: () => undefined };
  return new Redlock({ ...environment, random: new FakeRandom(name) }, options);
}

function values(masters: readonly FakeMaster[]): (string | undefined)[] {
  return masters.map((master) => master.value('r'));
}

/** The clock of a master jumps past the end of its keys: one that it should still have has run out. */
function jumpPast(master: FakeMaster): void {
  master.delete('r');
}

describe("T-E2: a master's clock jumps, and its keys run out early", () => {
  for (const nodes of SIZES) {
    const spare = nodes - quorumOf(nodes);

    it(`N=${nodes}, ${spare} jump: nobody else gets it, and an extension makes it whole`, async () => {
      const { redlock, masters, other } = fakeCluster(nodes, TTL);
      const lease = await redlock.acquire('r');
      for (const master of masters.slice(0, spare)) jumpPast(master);
      expect(await other().redlock.tryAcquire('r')).to.equal(null);
      await settle();
      await lease.extend();
      expect(values(masters)).to.deep.equal(masters.map(() => lease.token));
    });

    it(`N=${nodes}, a quorum's clocks jump ahead: the second holder has the higher fencing token, the first fails with LOCK_LOST and takes nothing back`, async () => {
      const { redlock, masters, other } = fakeCluster(nodes, TTL);
      const lease = await redlock.acquire('r');
      for (const master of masters.slice(0, quorumOf(nodes))) jumpPast(master);
      const theirs = await other().redlock.acquire('r', { waitMs: 0 });
      expect(theirs.fence).to.be.above(lease.fence ?? Infinity);
      const error = await rejection(lease.extend());
      await settle();
      const refusals = error.tally.filter(({ outcome }) => outcome === 'refused').length;
      expect([error.code, lease.status, refusals > spare]).to.deep.equal(['LOCK_LOST', 'lost', true]);
      expect(theirs.status).to.equal('held');
      for (const value of values(masters).slice(0, quorumOf(nodes))) expect(value).to.equal(theirs.token);
    });
  }
});

describe('T-E3: the machine of the holder is suspended', () => {
  /** A client on a machine whose monotonic clock stands still in suspension, and masters that go on. */
  function laptop(nodes: number): Bench & { holder: Redlock; suspend(ms: number): void } {
    const bench = fakeCluster(nodes, TTL);
    let suspendedMs = 0;
    const clock = new SystemClock(
      () => Math.floor(bench.time.now() / 10) * 10,
      () => bench.time.now() - suspendedMs,
    );
    const environment = {
      transports: bench.masters,
      clock,
      timers: bench.time,
      random: new FakeRandom('laptop'),
    };
    return {
      ...bench,
      holder: new Redlock({ ...environment, disconnect: () => undefined }, TTL),
      suspend(ms) {
        suspendedMs += ms;
        bench.time.stall(ms);
      },
    };
  }

  for (const nodes of SIZES) {
    it(`N=${nodes}, past its ttl: another holds it, and the first knows as it wakes; its extension is not even sent`, async () => {
      const { holder, masters, redlock, suspend } = laptop(nodes);
      const lease = await holder.acquire('r');
      suspend(1_100);
      const theirs = await redlock.acquire('r', { waitMs: 0 });
      expect([lease.remainingMs(), lease.status, theirs.status]).to.deep.equal([0, 'lost', 'held']);
      expect((await rejection(lease.extend())).code).to.equal('LOCK_LOST');
      await settle();
      for (const master of masters) expect(kindsSentTo(master)).to.not.include('extend');
      expect(values(masters)).to.deep.equal(masters.map(() => theirs.token));
    });

    it(`N=${nodes}, during an extension, past its end: the masters' yes comes too late`, async () => {
      const { holder, masters, time, suspend } = laptop(nodes);
      const lease = await holder.acquire('r');
      for (const master of masters) master.latencyMs = 20;
      const failed = rejection(lease.extend(10_000));
      await settle();
      suspend(1_500); // the requests are out; what they ask for would still be valid
      await time.advance(20);
      expect((await failed).code).to.be.oneOf(['VALIDITY_EXPIRED', 'LOCK_LOST']);
      expect(lease.status).to.equal('lost');
    });

    it(`N=${nodes}, for a part of its ttl: the validity shrinks by at least as much`, async () => {
      const { holder, suspend } = laptop(nodes);
      const lease = await holder.acquire('r');
      suspend(600);
      expect(lease.remainingMs()).to.be.within(1, VALID_MS - 600);
      await lease.extend();
      expect(lease.status).to.equal('held');
    });
  }
});

describe('T-E4: the clocks of all masters are fast by the drift factor', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: extended again and again, no master drops a key while the lease is held`, async () => {
      const { time, masters } = fastMasters(nodes, 1.01);
      const lease = await client(masters, time, 'holder').acquire('r', { ttlMs: 10_000, waitMs: 0 });
      const watch = (): void =>
        expect(values(masters)).to.deep.equal(masters.map(() => lease.token)) as never;
      for (const extendAfterMs of [9_890, 1, 5_000, 9_897]) {
        for (let ms = 0; ms < extendAfterMs; ms++) {
          time.stall(1);
          if (lease.status === 'held') watch();
        }
        await lease.extend();
      }
      let heldMs = 0;
      for (; lease.status === 'held'; heldMs++) {
        watch();
        time.stall(1);
      }
      expect(heldMs).to.equal(9_898);
    });
  }
});

describe('T-E5: an extension that would shorten', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}, the shorter one overtaken by the longer one on its way: nothing is shortened as it arrives`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes, { ttlMs: 20_000, nodeTimeoutMs: 50 });
      const lease = await redlock.acquire('r');
      const arrive = masters.map((master) => holdBack(master, 'extend'));
      const short = rejection(lease.extend(500));
      await time.advance(50);
      expect((await short).code).to.equal('NO_QUORUM');
      for (const master of masters) Reflect.deleteProperty(master, 'call'); // what comes now is not held back
      await lease.extend(60_000);
      const untilMs = time.now() + lease.remainingMs();
      for (const run of arrive) run();
      await settle();
      expect(time.now() + lease.remainingMs()).to.equal(untilMs);
      for (const master of masters) expect(master.ttlMs('r')).to.equal(60_000);
    });

    it(`N=${nodes}, several in any order: the validity is never longer than what a quorum of masters keeps`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes, { ttlMs: 5_000 });
      const lease = await redlock.acquire('r');
      for (const ttlMs of [8_000, 500, 3_000, 9_000, 100, 9_000, 1_000]) {
        await lease.extend(ttlMs);
        const kept = masters.map((master) => master.ttlMs('r')).sort((a, b) => b - a);
        expect(lease.remainingMs()).to.be.at.most(kept[quorumOf(nodes) - 1] ?? 0);
        await time.advance(700);
      }
    });
  }
});

describe('T-E7: masters forget their votes while a lease is held', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}, no guard, ${quorumOf(nodes)} forget: there are two holders, and the fencing token distinguishes them`, async () => {
      const { redlock, masters, time, other } = fakeCluster(nodes, TTL);
      const lease = await redlock.acquire('r');
      await time.advance(1); // tokens are in order, since what is proposed later is higher
      for (const master of masters.slice(0, quorumOf(nodes))) master.restart('lost');
      const theirs = await other().redlock.acquire('r', { waitMs: 0 });
      expect([lease.status, theirs.status]).to.deep.equal(['held', 'held']);
      expect(theirs.fence).to.be.above(lease.fence ?? Infinity);
    });

    for (const afterMs of [0, 1, 500, 987]) {
      it(`N=${nodes}, a guard, all forget ${afterMs} ms after the last extension: the next holder comes when the first has ended`, async () => {
        const { redlock, masters, time, other } = fakeCluster(nodes, {
          ...TTL,
          restartGuardMs: SHORTEST_GUARD_MS,
        });
        await redlock.bootstrap();
        const lease = await redlock.acquire('r');
        await time.advance(700);
        await lease.extend();
        await time.advance(afterMs);
        for (const master of masters) master.restart('lost');
        await nextHolder(other().redlock, time, lease);
      });
    }
  }
});

describe('T-E8: the shortest guard that is accepted', () => {
  for (const nodes of SIZES) {
    for (const data of ['lost', 'kept'] as const) {
      it(`N=${nodes}, masters fast by the drift factor restart right after the vote, data ${data}: long enough`, async () => {
        const { time, masters } = fastMasters(nodes, 1.01);
        const options = { ...TTL, restartGuardMs: SHORTEST_GUARD_MS };
        const holder = client(masters, time, 'holder', options);
        await holder.bootstrap();
        const lease = await holder.acquire('r');
        for (const master of masters) master.restart(data);
        await nextHolder(client(masters, time, 'next', options), time, lease);
      });
    }

    it(`N=${nodes}: one ms less is refused`, () => {
      expect(() => fakeCluster(nodes, { ...TTL, restartGuardMs: SHORTEST_GUARD_MS - 1 }))
        .to.throw()
        .with.property('code', 'INVALID_ARGUMENT');
    });
  }
});

/** Another one that asks every few ms gets it, and not before the lease has ended. */
async function nextHolder(redlock: Redlock, time: FakeTime, lease: Lease): Promise<void> {
  let statusThen = '';
  const acquired = redlock
    .acquire('r', { waitMs: 60_000, retry: { minDelayMs: 1, maxDelayMs: 1 } })
    .finally(() => (statusThen = lease.status));
  await time.advance(3_000);
  const next = await acquired;
  expect([statusThen, next.status]).to.deep.equal(['lost', 'lost']); // both had their time
  expect(next.fence).to.be.above(lease.fence ?? Infinity);
}

describe('T-E12: an extension on masters that were flushed', () => {
  const counts = (masters: readonly FakeMaster[]): (string | undefined)[] =>
    masters.map((master) => master.value(COUNTER));

  for (const nodes of SIZES) {
    for (const flushed of new Set([1, nodes - quorumOf(nodes), nodes])) {
      if (flushed === 0) continue;
      it(`N=${nodes}, ${flushed} flushed: votes are back, counters are as they were, the next fencing token is higher`, async () => {
        const { redlock, masters, time, other } = fakeCluster(nodes, TTL);
        const lease = await redlock.acquire('r');
        await time.advance(100);
        for (const master of masters.slice(0, flushed)) master.forget();
        await lease.extend();
        expect(lease.remainingMs()).to.equal(VALID_MS);
        expect(values(masters)).to.deep.equal(masters.map(() => lease.token));
        for (const master of masters) expect(master.ttlMs('r')).to.equal(1_000);
        expect(counts(masters)).to.deep.equal(
          masters.map((_, i) => (i < flushed ? undefined : countedFor(lease.fence))),
        );
        await lease.release();
        const next = await other().redlock.acquire('r', { waitMs: 0 });
        expect(next.fence).to.be.above(lease.fence ?? Infinity);
      });
    }
  }

  it('N=3, several resources: each gets its vote back, and no counter', async () => {
    const { redlock, masters } = fakeCluster(3, TTL);
    const lease = await redlock.acquire(['a', 'b', '{c}']);
    for (const master of masters) master.forget();
    await lease.extend();
    await settle();
    for (const master of masters) {
      for (const key of lease.resources) expect(master.value(key)).to.equal(lease.token);
      for (const key of ['quorate:fence:{a}', 'quorate:fence:{b}', 'quorate:tagged:fence:{c}'])
        expect(master.value(key)).to.equal(undefined);
    }
  });

  it('N=3, a counter that holds something else: the extension holds, and the key stays unchanged', async () => {
    const { redlock, masters } = fakeCluster(3, TTL);
    const lease = await redlock.acquire('r');
    for (const master of masters) master.setForeign(COUNTER);
    await lease.extend();
    expect(masters.map((master) => master.value(COUNTER))).to.deep.equal(Array(3).fill('(something else)'));
  });

  it('N=3, flushed under a guard: no vote is set again before the quarantine is over', async () => {
    const { redlock, masters, time } = fakeCluster(3, { ...TTL, restartGuardMs: 5_000 });
    await redlock.bootstrap();
    const lease = await redlock.acquire('r', { renew: true });
    masters[0]?.forget();
    await lease.extend();
    await time.advance(4_900);
    expect([lease.status, ...values(masters)]).to.deep.equal(['held', undefined, lease.token, lease.token]);
    await time.advance(500);
    expect(values(masters)).to.deep.equal([lease.token, lease.token, lease.token]);
  });
});

describe('an extension that pauses because a waiter holds a vote', () => {
  for (const how of ['assertHeld', 'remainingMs'] as const)
    it(`${how} after a stall past the pause and the validity: the lease is lost, once, and extend says so`, async () => {
      const { masters, redlock, time } = fakeCluster(3, { ttlMs: 1_000 });
      const lease = await redlock.acquire('r');
      const [, asked, broken] = masters;
      asked?.replies.push([0, 500, 2]); // a waiter has that vote, and was asked to let the key rest
      broken?.replies.push(new Error('LOADING'));
      const extended = rejection(lease.extend());
      await settle();
      time.stall(2_000);
      if (how === 'assertHeld')
        expect(() => lease.assertHeld())
          .to.throw()
          .with.property('code', 'LOCK_LOST');
      else expect(lease.remainingMs()).to.equal(0);
      await time.advance(1_000);
      expect(await extended).to.have.property('code', 'LOCK_LOST');
      expect(lease.status).to.equal('lost');
    });
});
