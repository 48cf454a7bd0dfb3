import { expect } from 'chai';
import type { Lease as OwnLease } from '../../lib/lease/lease.js';
import type { Lease } from '../../lib/lease/public.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { kindsSentTo } from '../support/commands.js';
import { type FakeMaster, serverError } from '../support/fake-master.js';
import { type FakeTime, settle } from '../support/fake-time.js';
import { rejection, thrown } from '../support/rejection.js';

const SIZES = [1, 2, 3, 4, 5];
const VALID_MS = 2_968; // of a ttl of 3000
const extensions = (master: FakeMaster | undefined): number =>
  master === undefined ? NaN : kindsSentTo(master).filter((kind) => kind === 'extend').length;

/** From here on, timers fire after half of their time. */
function fireEarly(time: FakeTime): void {
  const background = time.background.bind(time);
  time.background = (delayMs, callback) => background(delayMs / 2, callback);
}

describe('Lease', () => {
  it('reports what it locks, for how long, and that it is held', async () => {
    const { redlock, random } = fakeCluster(3);
    const lease = await redlock.acquire(['b', 'a'], { ttlMs: 3_000 });
    expect(lease.resources).to.deep.equal(['a', 'b']);
    expect([lease.ttlMs, lease.status, lease.remainingMs()]).to.deep.equal([3_000, 'held', VALID_MS]);
    expect(lease.token).to.equal(random.tokens[0]);
    lease.assertHeld();
  });

  for (const nodes of SIZES) {
    it(`N=${nodes}: status, remainingMs and assertHeld agree at every millisecond, no timer having fired`, async () => {
      const { redlock, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', { ttlMs: 300 });
      for (let elapsed = 0; elapsed <= 310; elapsed++) {
        const leftMs = Math.max(0, 295 - elapsed);
        expect(lease.remainingMs()).to.equal(leftMs);
        expect(lease.status).to.equal(leftMs > 0 ? 'held' : 'lost');
        if (leftMs > 0) lease.assertHeld();
        else expect(thrown(() => lease.assertHeld()).code).to.equal('LOCK_LOST');
        time.stall(1);
      }
      expect(time.pending).to.equal(0);
    });
  }

  it('assertHeld throws the same loss each time, naming the resources', async () => {
    const { redlock, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: 3_000 });
    time.stall(VALID_MS);
    const error = thrown(() => lease.assertHeld());
    expect(thrown(() => lease.assertHeld())).to.equal(error);
    expect(lease.signal.reason).to.equal(error);
    expect(error.resources).to.deep.equal(['r']);
    expect(error.message).to.contain('"r"');
  });

  it('a loss is lost and not released, also after a release; a release is not lost after its ttl', async () => {
    const { redlock, time } = fakeCluster(3);
    const [lost, released] = [
      await redlock.acquire('a', { ttlMs: 3_000 }),
      await redlock.acquire('b', { ttlMs: 3_000 }),
    ];
    await released.release();
    time.stall(10_000);
    await lost.release();
    expect([lost.status, released.status]).to.deep.equal(['lost', 'released']);
    expect(thrown(() => lost.assertHeld()).code).to.equal('LOCK_LOST');
    expect(thrown(() => released.assertHeld()).code).to.equal('NOT_HELD');
    expect(lost.release()).to.be.an.instanceOf(Promise);
  });

  it('the signal of one that was released does not say that its instance closes, whenever it is read first', async () => {
    const { redlock } = fakeCluster(3);
    const [first, second] = [await redlock.acquire('a'), await redlock.acquire('b')];
    void first.signal;
    await Promise.all([first.release(), second.release()]);
    await redlock.close();
    expect([first.signal.aborted, second.signal.aborted]).to.deep.equal([false, false]);
  });

  it('N=3: at the very end of its validity it is lost, and a release sends nothing', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: 3_000 });
    time.stall(VALID_MS);
    await lease.release();
    expect(lease.status).to.equal('lost');
    expect(masters.flatMap(kindsSentTo)).to.not.include('release');
  });

  it('N=3: a release resolves when a quorum has confirmed it, not before', async () => {
    const { redlock, masters } = fakeCluster(3);
    const lease = await redlock.acquire('r');
    for (const master of masters) master.manner = 'freeze';
    let isOver = false;
    const released = lease.release().then(() => (isOver = true));
    masters[0]?.thaw();
    await settle();
    expect(isOver).to.equal(false);
    masters[1]?.thaw();
    await released;
  });

  it('N=3, all masters silent: a release waits no longer for them than an attempt does', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    for (const master of masters) master.latencyMs = 5;
    const acquired = redlock.acquire('r');
    await time.advance(5);
    const lease = await acquired;
    for (const master of masters) master.manner = 'freeze';
    let isOver = false;
    void lease.release().then(() => (isOver = true));
    await time.advance(200);
    expect(isOver).to.equal(true);
  });

  it('another instance takes it away: it is lost at once, and its error names the other', async () => {
    const { redlock, time, other } = fakeCluster(3, { label: 'thief' }, { hasPushes: true });
    const holders = other('holder', { label: 'holder' }).redlock;
    const first = await redlock.acquire('r');
    const wait = holders.acquire('r'); // one that has waited is reached by pushes
    await settle();
    await first.release();
    const lease = await wait;
    const { signal } = lease;
    const fromMs = time.now();
    const theirs = await redlock.steal('r');
    expect([time.now(), lease.status, signal.aborted]).to.deep.equal([fromMs, 'lost', true]);
    const error = thrown(() => lease.assertHeld());
    expect([error.code, error.message.includes('thief')]).to.deep.equal(['LOCK_LOST', true]);
    expect(theirs.status).to.equal('held');
  });

  for (const isLent of [false, true])
    it(`N=3, lost${isLent ? ' while lent to other processes: its votes may be theirs, and stay' : ': its votes are undone'}`, async () => {
      const { redlock, masters, time } = fakeCluster(3);
      const lease = await redlock.acquire('r', { ttlMs: 3_000 });
      if (isLent) (lease as OwnLease).lend();
      time.stall(VALID_MS);
      expect(lease.status).to.equal('lost');
      await settle();
      expect(masters.map((one) => one.value('r'))).to.deep.equal(
        masters.map(() => (isLent ? lease.token : undefined)),
      );
    });

  it('N=3: a write lease becomes a read lease, once, and only while it is held', async () => {
    const { redlock, masters } = fakeCluster(3);
    const lock = redlock.readWriteLock('r');
    const lease = await lock.write.acquire();
    expect([lease.mode, await lock.read.tryAcquire()]).to.deep.equal(['write', null]);
    await lease.downgrade();
    const sent = masters.map(({ calls }) => calls);
    await lease.downgrade();
    expect([lease.mode, masters.map(({ calls }) => calls)]).to.deep.equal(['read', sent]);
    const reader = await lock.read.acquire();
    await Promise.all([lease.release(), reader.release()]);
    const released = await lock.write.acquire();
    await released.release();
    expect((await rejection(released.downgrade())).code).to.equal('NOT_HELD');
    expect(released.mode).to.equal('write');
  });

  it('`await using` releases it', async () => {
    const { redlock, masters } = fakeCluster(3);
    let kept: Lease | undefined;
    {
      await using lease = await redlock.acquire('r');
      kept = lease;
    }
    expect(kept.status).to.equal('released');
    await settle();
    expect(masters.map(({ size }) => size)).to.deep.equal([0, 0, 0]);
  });
});

describe('Lease.extend', () => {
  it('N=1..5: makes it live for its ttl from now, or for the ttl given, on every master', async () => {
    for (const nodes of SIZES) {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', { ttlMs: 3_000 });
      await time.advance(1_500);
      await lease.extend();
      expect(lease.remainingMs()).to.equal(VALID_MS);
      for (const master of masters) expect(master.ttlMs('r')).to.equal(3_000);
      await lease.extend(10_000);
      expect([lease.remainingMs(), lease.ttlMs]).to.deep.equal([9_898, 3_000]);
      for (const master of masters) expect(master.ttlMs('r')).to.equal(10_000);
    }
  });

  it('refuses a bad ttl before anything is sent', async () => {
    const { redlock, masters } = fakeCluster(3);
    const lease = await redlock.acquire('r');
    for (const bad of [0, -1, 1.5, NaN, Infinity, 2, '5' as unknown as number, null as unknown as number]) {
      expect((await rejection(lease.extend(bad))).code).to.equal('INVALID_ARGUMENT');
    }
    expect(masters.map(({ sent }) => sent.length)).to.deep.equal([1, 1, 1]);
  });

  it('several at a time are sent one after another, and all count', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: 3_000 });
    for (const master of masters) master.latencyMs = 10;
    let done = 0;
    const all = [5_000, 4_000, 9_000].map((ttlMs) => lease.extend(ttlMs).then(() => done++));
    for (let sent = 1; sent <= 3; sent++) {
      await settle();
      expect([masters.map(extensions), done]).to.deep.equal([[sent, sent, sent], sent - 1]);
      await time.advance(10);
    }
    await Promise.all(all);
    expect(lease.remainingMs()).to.equal(9_000 - 92 - 10);
  });

  it('one that fails does not keep the next from being made', async () => {
    const { redlock, masters } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: 3_000 });
    for (const master of masters) master.replies.push(serverError('ERR no'));
    const [first, second] = [rejection(lease.extend()), lease.extend(6_000)];
    expect((await first).code).to.equal('NO_QUORUM');
    await second;
    expect(lease.remainingMs()).to.equal(6_000 - 62);
  });

  it('one that waits for another is not sent once the lease was released', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: 3_000 });
    for (const master of masters) master.latencyMs = 10;
    const calls = [rejection(lease.extend()), rejection(lease.extend())];
    const released = lease.release();
    await time.advance(100);
    await released;
    expect((await Promise.all(calls)).map(({ code }) => code)).to.deep.equal(['NOT_HELD', 'NOT_HELD']);
    expect(masters.map(extensions)).to.deep.equal([1, 1, 1]);
  });

  it('N=3, one answered, two still connecting: it ends with a release at once, and is not sent to those afterwards', async () => {
    const { redlock, masters } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: 3_000 });
    for (const master of masters.slice(1)) master.become('opening');
    const failed = rejection(lease.extend());
    await settle();
    expect(masters.map(extensions)).to.deep.equal([1, 0, 0]);
    const released = lease.release();
    expect((await failed).code).to.equal('NOT_HELD'); // time stands still
    for (const master of masters.slice(1)) master.become('ready');
    await released;
    await settle();
    expect(masters.map(extensions)).to.deep.equal([1, 0, 0]);
    expect(masters.map(({ size }) => size)).to.deep.equal([0, 0, 0]);
  });

  it('N=1..5: a quorum that agrees after the old validity has ended: VALIDITY_EXPIRED, and it is lost', async () => {
    for (const nodes of SIZES) {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', { ttlMs: 3_000 });
      for (const master of masters) master.manner = 'freeze';
      const failed = rejection(lease.extend(60_000));
      await settle();
      time.stall(VALID_MS); // no timer fires
      for (const master of masters) master.thaw();
      const { code, tally } = await failed;
      expect([code, lease.status]).to.deep.equal(['VALIDITY_EXPIRED', 'lost']);
      expect(tally.filter(({ outcome }) => outcome === 'granted').length).to.be.above(nodes / 2);
    }
  });

  it('N=3, a quorum agrees in the last millisecond of its validity: it is extended, and held for as long as that gives', async () => {
    const { redlock, masters, time } = fakeCluster(3, { nodeTimeoutMs: 60_000 });
    const lease = await redlock.acquire('r', { ttlMs: 3_000 });
    for (const master of masters) master.manner = 'freeze';
    const extended = lease.extend();
    await settle();
    time.stall(VALID_MS - 1);
    for (const master of masters) master.thaw();
    await extended;
    expect([lease.status, lease.remainingMs()]).to.deep.equal(['held', 1]);
  });

  it('waits no longer than its validity for silent masters', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: 3_000, nodeTimeoutMs: 60_000 });
    await time.advance(2_000);
    for (const master of masters) master.manner = 'freeze';
    const failed = rejection(lease.extend());
    await time.advance(VALID_MS - 2_000);
    expect((await failed).code).to.equal('LOCK_LOST');
  });

  it('a failure has a tally, the attempts and the time', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: 3_000, nodeTimeoutMs: 40 });
    for (const master of masters.slice(0, 2)) master.manner = 'freeze';
    const failed = rejection(lease.extend());
    await time.advance(40);
    const { tally, attempts, elapsedMs, resources } = await failed;
    expect({ attempts, elapsedMs, resources }).to.deep.equal({
      attempts: 1,
      elapsedMs: 40,
      resources: ['r'],
    });
    expect(tally.map(({ node, outcome }) => `${node} ${outcome}`)).to.deep.equal([
      'm1 unknown',
      'm2 unknown',
      'm3 granted',
    ]);
  });
});

describe('Lease, renewed', () => {
  it('N=3: one that was handed over is renewed a third of its ttl after the vote that counts, not after the last one', async () => {
    const { redlock, masters, time } = fakeCluster(3, { ttlMs: 4_500, localTurns: 0 }, { hasPushes: true });
    const first = await redlock.acquire('r');
    const second = redlock.acquire('r', { renew: true });
    await settle();
    const slow = masters.slice(1);
    for (const master of slow) master.manner = 'freeze';
    void first.release();
    await time.advance(900); // one vote is its own
    for (const master of slow) master.thaw();
    const lease = await second;
    expect([lease.remainingMs() < 3_600, masters.map(extensions)]).to.deep.equal([true, [0, 0, 0]]);
    await time.advance(600);
    expect(masters.map(extensions)).to.deep.equal([1, 1, 1]);
    expect(lease.remainingMs()).to.be.above(4_300);
  });

  for (const ttlMs of [3_000, 1_000, 100, 20]) {
    it(`N=3: a ttl of ${ttlMs} ms, also where it has no whole third: about three renewals per ttl, for ever`, async () => {
      const { redlock, masters, time } = fakeCluster(3);
      let set = 0;
      const background = time.background.bind(time);
      time.background = (delayMs, callback) => {
        if (++set > 10_000) throw new Error('it spins'); // a spec that hangs says less
        return background(delayMs, callback);
      };
      const lease = await redlock.acquire('r', { ttlMs, renew: true });
      await time.advance(ttlMs * 30);
      expect(lease.status).to.equal('held');
      expect(extensions(masters[0])).to.be.within(65, 90);
      expect(set).to.be.below(300);
    });
  }

  for (const [maxHoldMs, renewals] of [
    [1, 0],
    [999, 0],
    [1_000, 1],
    [2_500, 2],
    [10_000, 10],
  ] as const) {
    it(`N=3, ttl 3000: maxHoldMs ${maxHoldMs} makes ${renewals} renewals, then it expires, and the signal fires`, async () => {
      const { redlock, masters, time } = fakeCluster(3);
      const startedAtMs = time.now();
      const lease = await redlock.acquire('r', { ttlMs: 3_000, renew: true, maxHoldMs });
      let lostAtMs = NaN;
      lease.signal.addEventListener('abort', () => (lostAtMs = time.now() - startedAtMs));
      await time.advance(60_000);
      expect(masters.map(extensions)).to.deep.equal([renewals, renewals, renewals]);
      expect(lostAtMs).to.be.within(renewals * 1_000 + VALID_MS - 2, renewals * 1_000 + VALID_MS);
      expect(lostAtMs).to.be.at.most(maxHoldMs + 3_000);
      expect(time.pending).to.equal(0);
    });
  }

  it('N=3: maxHoldMs without a signal that is read: lost all the same, and nothing stays scheduled', async () => {
    const { redlock, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: 3_000, renew: true, maxHoldMs: 1_500 });
    await time.advance(60_000);
    expect([lease.status, time.pending]).to.deep.equal(['lost', 0]);
  });

  it('N=3: an extension by hand moves the next renewal', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: 3_000, renew: true });
    await time.advance(900);
    await lease.extend();
    await time.advance(999);
    expect(extensions(masters[0])).to.equal(1);
    await time.advance(1);
    expect(extensions(masters[0])).to.equal(2);
  });

  it('N=3, masters that fail at once: it is tried again, but not with less than a 32nd of the ttl left', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: 3_000, renew: true });
    for (const master of masters)
      master.replies.push(...Array.from({ length: 500 }, () => serverError('ERR no')));
    await time.advance(VALID_MS - 3_000 / 32 - 1);
    const before = extensions(masters[0]);
    expect(before).to.be.above(10);
    await time.advance(3_000 / 32 - 2);
    expect([extensions(masters[0]), lease.status]).to.deep.equal([before, 'held']);
  });

  for (const [name, reply] of [
    ['succeeds', undefined],
    ['fails', serverError('ERR no')],
  ] as const) {
    it(`N=3: a renewal waits for an extension by hand that is under way, and is made when that ${name}`, async () => {
      const { redlock, masters, time } = fakeCluster(3);
      const lease = await redlock.acquire('r', { ttlMs: 3_000, renew: true });
      await time.advance(900);
      for (const master of masters) master.latencyMs = 150;
      if (reply !== undefined) for (const master of masters) master.replies.push(reply);
      const extended = lease.extend().catch(() => 0);
      await time.advance(149);
      expect(masters.map(extensions)).to.deep.equal([1, 1, 1]);
      await time.advance(1);
      await extended;
      expect(masters.map(extensions)).to.deep.equal([2, 2, 2]);
      await time.advance(10_000);
      expect([lease.status, extensions(masters[0]) > 9]).to.deep.equal(['held', true]);
    });
  }

  for (const [fraction, afterMs] of [
    [0, 197],
    [0.5, 148],
    [0.999, 99],
  ] as const) {
    it(`N=3, a renewal fails with 1968 ms left: the next after a twentieth to a tenth of that, by a chance of ${fraction} after ${afterMs} ms`, async () => {
      const { redlock, masters, random, time } = fakeCluster(3);
      random.fractionValue = fraction;
      await redlock.acquire('r', { ttlMs: 3_000, renew: true });
      for (const master of masters) master.replies.push(serverError('ERR no'));
      await time.advance(1_000 + afterMs - 1);
      expect(masters.map(extensions)).to.deep.equal([1, 1, 1]);
      await time.advance(1);
      expect(masters.map(extensions)).to.deep.equal([2, 2, 2]);
    });
  }

  for (const [leftMs, status] of [
    [2, 'lost'],
    [3, 'held'],
  ] as const) {
    it(`N=3, ${leftMs} ms are left when its timer fires: ${status}`, async () => {
      const { redlock, time } = fakeCluster(3);
      const lease = await redlock.acquire('r', { ttlMs: 3_000, renew: true });
      time.stall(VALID_MS - leftMs);
      await time.advance(0);
      expect([lease.status, lease.remainingMs()]).to.deep.equal([status, status === 'held' ? VALID_MS : 0]);
    });
  }

  it('N=3: a renewal that waits for an extension by hand is not made once the lease was released', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: 3_000, renew: true });
    await time.advance(900);
    for (const master of masters) master.latencyMs = 150;
    const extended = rejection(lease.extend());
    await time.advance(120);
    const released = lease.release();
    await time.advance(1_000);
    await released;
    expect((await extended).code).to.equal('NOT_HELD');
    expect(masters.map(extensions)).to.deep.equal([1, 1, 1]);
  });

  it('N=3, a quorum answers after the node timeout: the next renewal is a third of the ttl after that one was sent', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const told: unknown[] = [];
    redlock.on('renewed', ({ attempts }) => told.push(attempts));
    redlock.on('renewalFailed', () => told.push('failed'));
    await redlock.acquire('r', { ttlMs: 3_000, renew: true, nodeTimeoutMs: 200 });
    for (const master of masters) master.manner = 'freeze';
    await time.advance(1_200);
    for (const master of masters) master.thaw();
    await time.advance(799);
    expect([masters.map(extensions), told]).to.deep.equal([[1, 1, 1], ['failed']]);
    await time.advance(1);
    expect([masters.map(extensions), told]).to.deep.equal([
      [2, 2, 2],
      ['failed', 1], // it counts as one that has not failed
    ]);
  });

  it('N=3, the last vote is late: the first renewal is due at its usual time, as with all votes', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const [, , slow] = masters;
    if (slow !== undefined) slow.latencyMs = 100;
    await redlock.acquire('r', { ttlMs: 9_000, renew: true });
    await time.advance(2_999);
    expect(masters.map(extensions)).to.deep.equal([0, 0, 0]);
    await time.advance(1);
    expect(masters.map(extensions)).to.deep.equal([1, 1, 1]);
  });

  it('N=3, closing: a renewal that waits for an extension by hand is not made once drainMs is over', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: 3_000, renew: true });
    await time.advance(900);
    for (const master of masters) master.latencyMs = 150;
    const extended = lease.extend();
    const closed = redlock.close({ drainMs: 120 });
    await time.advance(1_000);
    await Promise.all([extended, closed]);
    expect(masters.map(extensions)).to.deep.equal([1, 1, 1]);
  });

  it('N=3, slow masters: renewals do not pile up', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: 3_000, renew: true, nodeTimeoutMs: 2_000 });
    for (const master of masters) master.latencyMs = 900;
    await time.advance(30_000);
    expect(lease.status).to.equal('held');
    expect(extensions(masters[0])).to.be.within(25, 30);
  });
});

describe('Lease and its timers', () => {
  it('none for one that is neither renewed nor watched; one for any other, also with both', async () => {
    const { redlock, time } = fakeCluster(5);
    const plain = await redlock.acquire('plain');
    plain.assertHeld();
    expect(time.pending).to.equal(0);
    const watched = await redlock.acquire('watched');
    for (let reads = 0; reads < 5; reads++) void watched.signal;
    expect(time.pending).to.equal(1);
    const renewed = await redlock.acquire('renewed', { renew: true });
    expect(time.pending).to.equal(2);
    void renewed.signal;
    await renewed.extend();
    expect(time.pending).to.equal(2);
  });

  it('N=3, a renewal under way: its deadline, and the end of validity only with less than three node timeouts left', async () => {
    for (const [nodeTimeoutMs, pending] of [
      [(VALID_MS - 1_000) / 3, 1],
      [(VALID_MS - 1_000) / 3 + 1, 2],
    ] as const) {
      const { redlock, masters, time } = fakeCluster(3);
      await redlock.acquire('r', { ttlMs: 3_000, renew: true, nodeTimeoutMs });
      for (const master of masters) master.manner = 'freeze';
      await time.advance(1_000);
      expect(time.pending).to.equal(pending);
    }
  });

  it('one that fires early is set again: the signal does not', async () => {
    const { redlock, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: 3_000 });
    fireEarly(time);
    const { signal } = lease;
    await time.advance(VALID_MS - 3);
    expect([signal.aborted, time.pending]).to.deep.equal([false, 1]);
    await time.advance(3);
    expect([signal.aborted, time.pending]).to.deep.equal([true, 0]);
  });

  it('N=3, one that fires early while a renewal is under way: no other follows it at once', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    await redlock.acquire('r', { ttlMs: 3_000, renew: true, nodeTimeoutMs: 1_000 });
    fireEarly(time);
    for (const master of masters) master.manner = 'freeze';
    await time.advance(2_001);
    expect(masters.map(extensions)).to.deep.equal([1, 1, 1]);
  });

  it('none for one whose signal is read for the first time when it has ended', async () => {
    const { redlock, time } = fakeCluster(3);
    const [released, lost] = [await redlock.acquire('a'), await redlock.acquire('b')];
    await released.release();
    expect([released.signal.aborted, time.pending]).to.deep.equal([false, 0]);
    time.stall(lost.ttlMs);
    expect([lost.signal.aborted, time.pending]).to.deep.equal([true, 0]);
  });

  it('one that is watched and extended: the one for the new end', async () => {
    const { redlock, time } = fakeCluster(3);
    const lease = await redlock.acquire('r', { ttlMs: 3_000 });
    void lease.signal;
    await time.advance(1_000);
    await lease.extend();
    expect(time.pending).to.equal(1);
  });

  it('none for one that is not watched, also when an extension has failed and the next has not', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r');
    for (const master of masters) master.replies.push(serverError('ERR no'));
    await rejection(lease.extend());
    await lease.extend();
    expect(time.pending).to.equal(0);
  });

  it('none for one that is held on when its instance has closed, renewed and watched, or only watched', async () => {
    for (const renew of [true, false]) {
      const { redlock, time } = fakeCluster(3);
      const lease = await redlock.acquire('r', { ttlMs: 3_000, renew });
      const { signal } = lease;
      const closed = redlock.close({ drainMs: 1 });
      await time.advance(1);
      await closed;
      expect([lease.status, signal.aborted, time.pending]).to.deep.equal(['held', true, 0]);
    }
  });

  const ends: [string, (lease: Lease, masters: readonly FakeMaster[]) => unknown][] = [
    ['release', (lease) => lease.release()],
    ['handle', (lease) => lease.giveAway()],
    [
      'a loss by refusal',
      (lease, masters) => (masters.forEach((one) => one.set('r', 'x')), lease.extend().catch(() => 0)),
    ],
  ];
  for (const [name, end] of ends) {
    it(`N=5: none after ${name}`, async () => {
      const { redlock, masters, time } = fakeCluster(5);
      const lease = await redlock.acquire('r', { renew: true });
      void lease.signal;
      await end(lease, masters);
      await settle();
      expect([lease.status === 'held', time.pending]).to.deep.equal([false, 0]);
    });
  }

  it('N=5: none after close, whatever was held and waited for', async () => {
    const { redlock, masters, time, other } = fakeCluster(5);
    const leases = await Promise.all(['a', 'b', 'c'].map((name) => redlock.acquire(name, { renew: true })));
    const blocked = await other().redlock.acquire('d');
    const waiting = rejection(redlock.acquire('d'));
    await settle();
    await redlock.close({ releaseHeld: true });
    expect((await waiting).code).to.equal('CLOSED');
    expect(leases.map(({ status }) => status)).to.deep.equal(['released', 'released', 'released']);
    await blocked.release();
    await settle();
    expect([time.pending, ...masters.map(({ size }) => size)]).to.deep.equal([0, 0, 0, 0, 0, 0]);
  });
});
