/** Elections over masters in memory, under virtual time: campaigning, proclaiming, resigning, and who is named. */
import { expect } from 'chai';
import type { Leadership } from '../../lib/election/public.js';
import { valueKey } from '../../lib/protocol/keys.js';
import { tokenOf } from '../support/commands.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { settle } from '../support/fake-time.js';
import { rejection, thrown } from '../support/rejection.js';

const TERMS = { ttlMs: 30_000, nodeTimeoutMs: 200 } as const;
const KEY = valueKey('boss');

describe('election', () => {
  for (const nodes of [1, 2, 3, 5]) {
    it(`N=${nodes}: campaign leads, leader() names it, proclaim replaces the value, resign leaves nothing`, async () => {
      const { redlock, masters } = fakeCluster(nodes, TERMS);
      const election = redlock.election('boss');
      expect(await election.leader()).to.equal(null);
      const leadership = await election.campaign('a');
      const { fence } = leadership;
      expect(await election.leader()).to.deep.equal({ value: 'a', fence, seq: 1 });
      await leadership.proclaim('b');
      expect(leadership.value).to.equal('b');
      expect(await election.leader()).to.deep.equal({ value: 'b', fence, seq: 2 });
      expect(await redlock.election('other').leader()).to.equal(null);
      await leadership.resign();
      expect(leadership.status).to.equal('released');
      expect(await election.leader()).to.equal(null);
      for (const master of masters) expect([master.size, master.value(KEY)]).to.deep.equal([0, undefined]);
    });
  }

  it('the next in the queue leads when a leader resigns, with a higher fence', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const [first, second, third] = [bench.redlock, bench.other('b').redlock, bench.other('c').redlock].map(
      (one) => one.election('boss'),
    );
    const leader = await first?.campaign('1');
    const order: string[] = [];
    const waiting = [second, third].map((election, i) =>
      election?.campaign(String(i + 2)).then((won) => {
        order.push(won.value);
        return won;
      }),
    );
    await settle();
    await leader?.resign();
    const next = await waiting[0];
    expect(order).to.deep.equal(['2']);
    expect(next?.fence).to.be.above(leader?.fence ?? Infinity);
    expect(await first?.leader()).to.include({ value: '2' });
    await next?.resign();
    expect((await waiting[1])?.value).to.equal('3');
  });

  it('a candidate that gives up leaves nothing behind', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const leader = await bench.redlock.election('boss').campaign();
    const controller = new AbortController();
    const other = bench.other('b').redlock.election('boss');
    const waiting = rejection(other.campaign('x', { signal: controller.signal }));
    await settle();
    controller.abort(new Error('enough'));
    expect(await waiting).to.include({ code: 'ABORTED' });
    await settle();
    await leader.resign();
    await settle();
    for (const master of bench.masters)
      expect(master.names().filter((key) => !key.startsWith('quorate:fence'))).to.deep.equal([]);
  });

  it('waitMs 0 is one attempt: LOCK_TAKEN, which names the process that leads', async () => {
    const process = { host: 'db-1', pid: 4711, version: '1.2.3', startedAtMs: 1_790_000_000_000 };
    const { redlock, other, time } = fakeCluster(3, TERMS, { process });
    await redlock.election('boss').campaign();
    await time.advance(1_000);
    const error = await rejection(other().redlock.election('boss').campaign('x', { waitMs: 0 }));
    expect([error.code, error.heldBy?.label]).to.deep.equal(['LOCK_TAKEN', 'db-1:4711']);
  });

  it('the value lives on while the lease is renewed, also on a master that has missed it', async () => {
    const { redlock, masters, time } = fakeCluster(3, TERMS);
    const [, , third] = masters;
    third?.become('lost');
    const leadership = await redlock.election('boss').campaign('a');
    third?.become('ready');
    await time.advance(200_000);
    expect(leadership.status).to.equal('held');
    for (const master of masters) expect(master.value(KEY)).to.match(/\|1\|\d+\|a$/);
    expect(await redlock.election('boss').leader()).to.include({ value: 'a' });
  });

  it('a value outlives its vote by one ttl at most, and is not named without it', async () => {
    const { redlock, masters, time, other } = fakeCluster(3, TERMS);
    await redlock.election('boss').campaign('a');
    for (const master of masters) master.manner = 'lose-request'; // the leader is cut off, and cannot renew
    await time.advance(30_001);
    for (const master of masters) master.manner = 'answer';
    for (const master of masters) expect(master.value('boss')).to.equal(undefined);
    const seen = other().redlock.election('boss');
    for (const master of masters) master.set('boss', 'somebody else', 60_000);
    expect(await seen.leader()).to.equal(null);
    await time.advance(30_000);
    for (const master of masters) expect(master.value(KEY)).to.equal(undefined);
  });

  it('its signal has fired, and its validity is over, before another leads', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const leadership = await bench.redlock.election('boss').campaign('a');
    const { signal } = leadership;
    const { tokens } = bench.random;
    for (const master of bench.masters) {
      const send = master.call.bind(master); // the leader is cut off, and its candidate is not
      master.call = (command) =>
        tokens.includes(tokenOf(command)) ? new Promise(() => undefined) : send(command);
    }
    let next: Leadership | undefined;
    const campaign = bench.other('b').redlock.election('boss').campaign('b');
    void campaign.then((won) => {
      next = won;
      expect([signal.aborted, leadership.status, leadership.remainingMs()]).to.deep.equal([true, 'lost', 0]);
    });
    await bench.time.advance(29_000);
    expect([next, signal.aborted]).to.deep.equal([undefined, false]);
    await bench.time.advance(2_000);
    expect((await campaign).fence).to.be.above(leadership.fence);
  });

  it('proclaim: NO_QUORUM while too few masters answer, and the value arrives later', async () => {
    const { redlock, masters, time } = fakeCluster(3, TERMS);
    const leadership = await redlock.election('boss').campaign('a');
    for (const master of masters.slice(1)) master.manner = 'lose-request';
    const failing = rejection(leadership.proclaim('b'));
    await time.advance(300);
    const error = await failing;
    expect(error.code).to.equal('NO_QUORUM');
    expect(error.tally.map(({ outcome }) => outcome)).to.deep.equal(['granted', 'unknown', 'unknown']);
    for (const master of masters) master.manner = 'answer';
    await time.advance(10_000);
    expect(await redlock.election('boss').leader()).to.include({ value: 'b', seq: 2 });
  });

  it('proclaim: LOCK_LOST where others have the votes, and their value stays', async () => {
    const { redlock, masters } = fakeCluster(3, TERMS);
    const leadership = await redlock.election('boss').campaign('a');
    for (const master of masters) master.set('boss', 'another token', 60_000);
    expect(await rejection(leadership.proclaim('b'))).to.include({ code: 'LOCK_LOST' });
    for (const master of masters) expect(master.value(KEY)).to.match(/\|a$/);
  });

  it('proclaim: NOT_HELD after it has resigned', async () => {
    const { redlock } = fakeCluster(3, TERMS);
    const leadership = await redlock.election('boss').campaign('a');
    await leadership.resign();
    expect(await rejection(leadership.proclaim('b'))).to.include({ code: 'NOT_HELD' });
  });

  it('resign: NO_QUORUM while too few masters answer, and a second call tries again', async () => {
    const { redlock, masters, time } = fakeCluster(3, TERMS);
    const leadership = await redlock.election('boss').campaign('a');
    for (const master of masters.slice(1)) master.manner = 'lose-request';
    const failing = rejection(leadership.resign());
    await time.advance(600);
    expect(await failing).to.include({ code: 'NO_QUORUM' });
    expect(leadership.status).to.equal('released');
    for (const master of masters) master.manner = 'answer';
    await time.advance(5_000); // the release is repaired meanwhile
    await leadership.resign();
    for (const master of masters) expect([master.size, master.value(KEY)]).to.deep.equal([0, undefined]);
  });

  it('a late resignation touches neither the votes nor the value of a successor', async () => {
    const { redlock, other, time } = fakeCluster(3, TERMS);
    const first = await redlock.election('boss').campaign('a');
    await first.resign();
    const second = await other().redlock.election('boss').campaign('b');
    await first.resign();
    await time.advance(0);
    expect(await redlock.election('boss').leader()).to.include({ value: 'b', fence: second.fence });
  });

  describe('leader()', () => {
    it('is null where a minority names one', async () => {
      const { redlock, masters, other } = fakeCluster(3, TERMS);
      await redlock.election('boss').campaign('a');
      for (const master of masters.slice(1)) master.delete(KEY);
      expect(await other().redlock.election('boss').leader()).to.equal(null);
    });

    it('is null, after a node timeout at most, while too few masters answer', async () => {
      const { redlock, masters, time } = fakeCluster(3, TERMS);
      await redlock.election('boss').campaign('a');
      for (const master of masters.slice(1)) master.manner = 'lose-request';
      const asked = redlock.election('boss').leader();
      await time.advance(200);
      expect(await asked).to.equal(null);
    });

    it('never goes back to a value that it told of, if its masters do not answer', async () => {
      const { redlock, masters, time, other } = fakeCluster(3, TERMS);
      const leadership = await redlock.election('boss').campaign('a');
      for (const master of masters.slice(1)) master.manner = 'lose-request';
      const failing = rejection(leadership.proclaim('b'));
      await time.advance(300);
      await failing;
      for (const master of masters.slice(1)) master.manner = 'answer';
      const theirs = other().redlock;
      expect(await theirs.election('boss').leader()).to.include({ value: 'b' });
      const [first] = masters;
      if (first !== undefined) first.manner = 'lose-request';
      const again = theirs.election('boss').leader();
      await time.advance(200);
      expect(await again).to.include({ value: 'b' });
    });

    it('never goes back to an earlier leader', async () => {
      const { redlock, masters, other } = fakeCluster(1, TERMS);
      const [master] = masters;
      const first = await redlock.election('boss').campaign('a');
      const [vote, value] = [master?.value('boss') ?? '', master?.value(KEY) ?? ''];
      await first.resign();
      await other().redlock.election('boss').campaign('b');
      const seen = other('c').redlock.election('boss');
      expect(await seen.leader()).to.include({ value: 'b' });
      master?.set('boss', vote, 60_000); // a master that came back with old data
      master?.set(KEY, value, 60_000);
      expect(await seen.leader()).to.equal(null);
    });
  });

  describe('bad input: refused before anything is sent', () => {
    const { redlock, masters } = fakeCluster(1, TERMS);
    const election = redlock.election('boss');
    const cases: readonly (readonly [string, () => Promise<unknown>, RegExp])[] = [
      ['a value that is no text', () => election.campaign(7 as unknown as string), /^value must be .* got 7/],
      ['a value that is too long', () => election.campaign('é'.repeat(2_049)), /4096 bytes/],
      ['half of a surrogate pair', () => election.campaign('\uD800'), /well-formed/],
      ['an unknown option', () => election.campaign('', { ttl: 1 } as object), /^ttl \(1\) is not an option/],
      ['waitMs', () => election.campaign('', { waitMs: -1 }), /^waitMs must be/],
      ['a signal', () => election.campaign('', { signal: 1 as unknown as AbortSignal }), /^signal must be/],
      ['no routine', () => election.lead(undefined as unknown as () => void), /^routine must be a function/],
    ];
    for (const [title, call, text] of cases) {
      it(title, async () => {
        const error = await rejection(call());
        expect(error.code).to.equal('INVALID_ARGUMENT');
        expect(error.message).to.match(text);
        expect(masters[0]?.sent).to.deep.equal([]);
      });
    }

    it('names and options of the election and of observe', () => {
      expect(thrown(() => redlock.election(''))).to.include({ code: 'INVALID_ARGUMENT' });
      expect(thrown(() => redlock.election('x', { ttlMs: 0 })).message).to.match(/^ttlMs must be/);
      expect(thrown(() => redlock.election('x', { waitMs: 1 } as object)).message).to.match(/^waitMs/);
      expect(thrown(() => election.observe({ poll: 1 } as object)).message).to.match(/^poll/);
    });
  });

  it('shows its secret nowhere', async () => {
    const { redlock, random, masters } = fakeCluster(3, TERMS);
    const leadership = await redlock.election('boss').campaign('a');
    const shown = JSON.stringify(leadership) + String(masters[0]?.value(KEY));
    for (const token of random.tokens) expect(shown).to.not.contain(token);
    expect(JSON.parse(JSON.stringify(leadership))).to.include({ value: 'a', status: 'held' });
  });
});
