import { expect } from 'chai';
import { MOST_TRIES, TRY_AFTER_MS } from '../../lib/coordinator/attempt-history.js';
import { AT_ONCE, MOST_HELD_MS, Pace, type Paced, type PacedCall } from '../../lib/node/pace.js';
import type { Command } from '../../lib/redis/transport.js';
import { LONG_TTL, outOfStep } from '../support/out-of-step.js';
import { keysOf, kindsSentTo, sentTo } from '../support/commands.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

/** A master that waits for its turn. */
class Waiting implements Paced {
  calls = 0;

  goOn(): void {
    this.calls++;
  }
}

describe('pace: when what waits may go', () => {
  const QUORUM = 3;

  interface Bench {
    readonly time: FakeTime;
    readonly pace: Pace;
    readonly one: Waiting;
    readonly other: Waiting;
    /** Sends a call of this many requests to this many masters, in a turn of its own. */
    send(requests: number, masters?: number): Promise<PacedCall>;
    answer(call: PacedCall, times: number): void;
  }

  function bench(quorum = QUORUM): Bench {
    const time = new FakeTime();
    const pace = new Pace(time, time, quorum);
    const send = async (requests: number, masters = 5): Promise<PacedCall> => {
      const command: Command = { name: 'evalsha', args: [] };
      let call = pace.sent(command, requests);
      for (let i = 1; i < masters; i++) call = pace.sent(command, requests);
      await settle();
      return call;
    };
    const answer = (call: PacedCall, times: number): void => {
      for (let i = 0; i < times; i++) pace.answered(call);
    };
    return { time, pace, one: new Waiting(), other: new Waiting(), send, answer };
  }

  it('a single master: while less than two calls are under way, since it works on one while we handle its answer to another', async () => {
    const { pace, one, send, answer } = bench(1);
    const first = await send(32, 1);
    expect(pace.admits(one)).to.equal(true);
    await settle();
    await send(32, 1);
    expect(pace.admits(one)).to.equal(false);
    answer(first, 1);
    expect(one.calls).to.equal(1);
    expect(pace.admits(one)).to.equal(true);
  });

  it('whose time is up by its timer is waited for no longer, also where the clock’s numbers are rounded', async () => {
    const { time, pace, one, send } = bench();
    time.stall(4_094.579 - time.now());
    expect(time.now() + MOST_HELD_MS - MOST_HELD_MS).to.be.below(time.now());
    await send(AT_ONCE);
    expect(pace.admits(one)).to.equal(false);
    await time.advance(MOST_HELD_MS);
    expect([one.calls, pace.requests]).to.deep.equal([1, 0]);
  });

  it('a call that was answered before its time is up ends nobody else’s', async () => {
    const { time, pace, one, send, answer } = bench();
    const first = await send(AT_ONCE);
    expect(pace.admits(one)).to.equal(false);
    await time.advance(1);
    await send(AT_ONCE);
    answer(first, QUORUM);
    await time.advance(MOST_HELD_MS - 1);
    expect([one.calls, pace.requests]).to.deep.equal([0, AT_ONCE]);
    await time.advance(1);
    expect([one.calls, pace.requests]).to.deep.equal([1, 0]);
  });

  it('at once while less than two requests are under way, to however many masters', async () => {
    const { pace, one, send } = bench();
    expect(pace.admits(one)).to.equal(true);
    await settle();
    await send(AT_ONCE - 1);
    expect(pace.requests).to.equal(1);
    expect(pace.admits(one)).to.equal(true);
    await settle();
    await send(1);
    expect(pace.admits(one)).to.equal(false);
    expect(one.calls).to.equal(0);
  });

  it('two calls to each master, one after the other: each of them holds others up', async () => {
    const { pace, one, answer } = bench();
    const commands: Command[] = [
      { name: 'evalsha', args: ['exclusive'] },
      { name: 'evalsha', args: ['shared'] },
    ];
    const calls = Array.from({ length: 5 }, () => commands.map((command) => pace.sent(command, 3)));
    await settle();
    expect(pace.requests).to.equal(6);
    for (const [first, second] of calls) expect([first, second]).to.deep.equal(calls[0]);
    const [exclusive, shared] = calls[0] ?? [];
    if (exclusive !== undefined) answer(exclusive, QUORUM);
    expect([pace.requests, pace.admits(one)]).to.deep.equal([3, false]);
    if (shared !== undefined) answer(shared, QUORUM);
    expect([pace.requests, one.calls]).to.deep.equal([0, 1]);
  });

  it('all that come in the same turn as the first, to all masters, and none in the next', async () => {
    for (const isTold of [true, false]) {
      const { pace, one, other, send } = bench();
      if (isTold) expect(pace.admits(one)).to.equal(true);
      const sent = send(AT_ONCE);
      expect(pace.admits(other)).to.equal(true);
      await sent;
      expect(pace.admits(other)).to.equal(false);
    }
  });

  it("at a quorum's answers, all that wait at once: a silent minority holds nobody up", async () => {
    const { pace, one, other, send, answer, time } = bench();
    const call = await send(9);
    for (const waiting of [one, other, one]) pace.admits(waiting);
    answer(call, QUORUM - 1);
    expect([one.calls, other.calls]).to.deep.equal([0, 0]);
    answer(call, 1);
    expect([one.calls, other.calls, pace.requests]).to.deep.equal([1, 1, 0]);
    answer(call, 2);
    expect([one.calls, other.calls, pace.requests, time.pending]).to.deep.equal([1, 1, 0, 0]);
  });

  it('only once all calls but one request are through', async () => {
    const { pace, one, send, answer } = bench();
    const calls = [await send(1), await send(1), await send(3)];
    pace.admits(one);
    for (const call of [calls[2], calls[0]]) {
      expect(one.calls).to.equal(0);
      if (call !== undefined) answer(call, QUORUM);
    }
    expect([one.calls, pace.requests]).to.deep.equal([1, 1]);
  });

  it('again and again: each time only those that wait then, and by the time as well', async () => {
    const { pace, one, other, send, answer, time } = bench();
    const first = await send(2);
    pace.admits(one);
    answer(first, QUORUM);
    const second = await send(2);
    pace.admits(other);
    answer(second, QUORUM);
    expect([one.calls, other.calls]).to.deep.equal([1, 1]);
    await send(2);
    pace.admits(one);
    await time.advance(MOST_HELD_MS);
    expect([one.calls, other.calls]).to.deep.equal([2, 1]);
  });

  it('not because something urgent goes in the same turn', async () => {
    for (const underWay of [AT_ONCE, AT_ONCE + 1]) {
      const { pace, one, send } = bench();
      await send(underWay);
      const urgent = send(1);
      expect(pace.admits(one)).to.equal(false);
      await urgent;
    }
  });

  it('no timer runs for a request that holds nobody up', async () => {
    const { pace, one, send, time } = bench();
    await send(AT_ONCE);
    await time.advance(MOST_HELD_MS / 2);
    await send(1);
    pace.admits(one);
    await time.advance(MOST_HELD_MS / 2);
    expect([one.calls, pace.requests, time.pending]).to.deep.equal([1, 1, 0]);
  });

  it('a call to less than a quorum holds nobody up', async () => {
    const { pace, one, send, answer } = bench();
    const call = await send(9, QUORUM - 1);
    expect([pace.admits(one), pace.requests]).to.deep.equal([true, 0]);
    answer(call, QUORUM - 1);
    expect(pace.requests).to.equal(0);
  });

  it('after 2 ms though no master answers; the answers that come later change nothing', async () => {
    const { pace, one, send, answer, time } = bench();
    const call = await send(5);
    await time.advance(MOST_HELD_MS / 2);
    const later = await send(5);
    pace.admits(one);
    await time.advance(MOST_HELD_MS / 2);
    expect([one.calls, pace.requests]).to.deep.equal([0, 5]); // the later one still holds it up
    await time.advance(MOST_HELD_MS / 2);
    expect([one.calls, pace.requests, time.pending]).to.deep.equal([1, 0, 0]);
    answer(call, 5);
    answer(later, 5);
    expect([one.calls, pace.requests]).to.deep.equal([1, 0]);
    expect(pace.admits(one)).to.equal(true);
  });

  it('calls that nobody answers do not add up, though nobody waits', async () => {
    const { pace, send, time } = bench();
    for (let i = 0; i < 100; i++) {
      await send(1);
      await time.advance(MOST_HELD_MS);
    }
    expect(pace.requests).to.equal(1);
  });

  it('at once if all that is under way is older than 2 ms: distant masters are sent a call every few ms', async () => {
    const { pace, one, send, time } = bench();
    for (let i = 0; i < 100; i++) {
      expect(pace.admits(one)).to.equal(true);
      await send(i % 2 === 0 ? 64 : AT_ONCE);
      await time.advance(MOST_HELD_MS);
    }
  });
});

describe('pace: an instance under load', () => {
  for (const nodes of [1, 3, 5]) {
    it(`N=${nodes}: requests out of step share calls, the same for all masters`, async () => {
      const { masters, redlock, time } = fakeCluster(nodes, LONG_TTL);
      for (const master of masters) master.latencyMs = 1;
      const acquired = await outOfStep(time, 20, (i) => redlock.acquire(`r${i}`));
      await time.advance(2);
      await Promise.all(acquired);
      const [first] = masters;
      for (const master of masters) {
        expect(master.calls).to.be.below(8);
        expect(master.sent).to.deep.equal(first?.sent);
      }
    });
  }

  it('N=5, two masters frozen: nobody waits for them', async () => {
    const { masters, redlock, time } = fakeCluster(5, LONG_TTL);
    for (const master of masters) master.latencyMs = 1;
    for (const master of masters.slice(3)) master.manner = 'freeze';
    const acquired = await outOfStep(time, 20, (i) => redlock.acquire(`r${i}`));
    await time.advance(2);
    await Promise.all(acquired);
  });

  it('N=3: a request waits for 2 ms at most where the round trip takes longer', async () => {
    const { masters, redlock, time } = fakeCluster(3, { ...LONG_TTL, nodeTimeoutMs: 2_000 });
    for (const master of masters) master.latencyMs = 300;
    const startedAtMs = time.now();
    const acquired = await outOfStep(time, 20, (i) => redlock.acquire(`r${i}`));
    const sentAtMs = time.now();
    await time.advance(MOST_HELD_MS);
    for (const master of masters) expect(master.sent).to.have.length(20);
    await time.advance(300);
    await Promise.all(acquired);
    expect(sentAtMs - startedAtMs).to.be.below(20);
  });

  it('N=3: an undo does not wait for the call before', async () => {
    const { masters, other, redlock, time } = fakeCluster(3, LONG_TTL);
    await other().redlock.acquire('taken');
    const [m1] = masters;
    m1?.delete('taken'); // its vote has to be undone
    for (const master of masters) {
      master.latencyMs = 3;
      master.sent.length = 0;
    }
    const refused = redlock.tryAcquire('taken');
    await time.advance(2.5);
    for (const master of masters) master.latencyMs = 100;
    const others = ['a', 'b', 'c'].map((name) => redlock.acquire(name));
    await time.advance(0.5);
    expect(m1?.calls).to.equal(4 + 1); // with other's claim: taken, a, b with c, the undo
    expect(kindsSentTo(m1 ?? never())).to.deep.equal(['claim', 'claim', 'claim', 'claim', 'undo']);
    await time.advance(300);
    await Promise.all(others);
    expect(await refused).to.equal(null);
  });

  it('N=3: a release waits with the others, that of a lock for which others wait goes at once', async () => {
    for (const isContended of [false, true]) {
      const { masters, other, redlock, time } = fakeCluster(3, LONG_TTL, { hasPushes: true });
      const others = other().redlock;
      let held = await others.acquire('r');
      for (let times = 0; times < 6; times++) {
        const next = redlock.acquire('r');
        await time.advance(MOST_TRIES * TRY_AFTER_MS.most); // it may try before it queues
        await held.release();
        await (await next).release();
        held = await others.acquire('r');
      }
      const acquired = isContended ? redlock.acquire('r') : redlock.acquire('free');
      await time.advance(10);
      await held.release();
      await time.advance(10);
      const lease = await acquired;
      for (const master of masters) {
        master.latencyMs = 1.5;
        master.sent.length = 0;
      }
      const busy = [redlock.acquire('a'), redlock.acquire('b')];
      await settle();
      const released = lease.release();
      await settle();
      const atOnce = masters.map((master) => kindsSentTo(master).includes('release'));
      expect(atOnce).to.deep.equal(masters.map(() => isContended));
      await time.advance(10);
      await Promise.all([...busy, released]);
    }
  });

  it('N=3: an extension goes before claims; with less than half of its ttl left it does not wait', async () => {
    for (const leftMs of [3_000_000, 1_000_000]) {
      const { masters, redlock, time } = fakeCluster(3, LONG_TTL);
      const lease = await redlock.acquire('held');
      await time.advance(3_600_000 - leftMs);
      for (const master of masters) {
        master.latencyMs = 1;
        master.sent.length = 0;
      }
      const busy = [redlock.acquire('a'), redlock.acquire('b')];
      await settle();
      const waiting = redlock.acquire('c');
      await settle();
      const extended = lease.extend();
      await settle();
      const isUrgent = leftMs < 1_800_000;
      expect(masters.map(kindsSentTo)).to.deep.equal(
        masters.map(() => (isUrgent ? ['claim', 'claim', 'extend', 'claim'] : ['claim', 'claim'])),
      );
      await time.advance(5);
      await Promise.all([...busy, waiting, extended]);
      const kinds = kindsSentTo(masters[0] ?? masters[1] ?? never());
      expect(kinds.indexOf('extend')).to.be.below(kinds.lastIndexOf('claim'));
    }
  });

  it('N=3: what is unsent at the end of its attempt is dropped, and the error says so', async () => {
    const { masters, redlock, time } = fakeCluster(3, LONG_TTL);
    for (const master of masters) master.latencyMs = 100;
    const busy = [redlock.acquire('a'), redlock.acquire('b')];
    await settle();
    const failed = rejection(redlock.acquire('r', { waitMs: 0, nodeTimeoutMs: 1 }));
    await time.advance(1);
    const error = await failed;
    expect(error).to.include({ code: 'NO_QUORUM' });
    expect(String(error)).to.contain('not sent within 1 ms');
    await time.advance(300);
    await Promise.all(busy);
    for (const master of masters) {
      expect(master.sent.flatMap(keysOf)).to.not.include('r');
      expect(sentTo(master)).to.have.length(2);
    }
  });
});

function never(): never {
  throw new Error('there are three masters');
}
