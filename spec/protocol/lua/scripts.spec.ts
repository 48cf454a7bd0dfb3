import { expect } from 'chai';
import { queueKey, turnKey } from '../../../lib/protocol/keys.js';
import { FLOOR_LEAD_US, HOLDS, LAST_FENCE } from '../../../lib/protocol/lua/mutex.js';
import {
  ACCEPT,
  CLAIM,
  EXTEND,
  HELLO,
  INSPECT,
  RELEASE,
  SCRIPTS,
  UNDO,
} from '../../../lib/protocol/lua/scripts.js';
import { RW_CLAIM } from '../../../lib/protocol/lua/shared-scripts.js';
import { RESERVED_MARK } from '../../../lib/runtime/random.js';
import { scriptDigest } from '../../../lib/redis/script.js';
import { atInstant, NO_RIGHT, oneServer, putData, TYPES } from '../../support/server.js';

const HOUR_MS = 3_600_000;
/** More than 2^53 / 8, as fences are today, and odd, so that a rounding would show. */
const BIG = 1_790_000_000_000_001;

/** Counts that no fence follows, the last of them beyond what INCR can count. */
const SPENT = [LAST_FENCE, LAST_FENCE + 1, Number.MAX_SAFE_INTEGER, 2 ** 53]
  .map(String)
  .concat('9007199254740993', '9223372036854775807', '9'.repeat(30));

/** The reply with its time left: `about` that many ms, as Redis counts down while the spec runs. */
function about(reply: unknown, ms: number): boolean {
  const left = Array.isArray(reply) ? Number(reply[1]) : NaN;
  return left > ms - 5_000 && left <= ms;
}

/** The reply without its time. */
function ends(reply: unknown): unknown[] {
  const [code, , third] = Array.isArray(reply) ? (reply as unknown[]) : [];
  return [code, third];
}

/** The keys of a release or an undo of these resources. */
function withQueues(keys: readonly string[]): readonly string[] {
  return [...keys, ...keys.map(queueKey), ...keys.map(turnKey)];
}

function numbers(reply: unknown): number[] {
  return Array.isArray(reply) ? reply.map(Number) : [];
}

describe('scripts on a real server', () => {
  const server = oneServer();
  const { run } = server;
  const PLAIN = [0, 0, -1] as const; // no fencing, no marker
  const claim = (keys: readonly string[], token = 'mine', ttlMs = 60_000): Promise<unknown> =>
    run(CLAIM, keys, token, ttlMs, ...PLAIN);
  const claimFenced = (keys: readonly string[], floor = 0): Promise<unknown> =>
    run(CLAIM, keys, 'mine', 60_000, HOUR_MS, floor, -1);
  const accept = (keys: readonly string[], fence: number | string): Promise<unknown> =>
    run(ACCEPT, keys, 'mine', fence, HOUR_MS, -1);
  const extend = (keys: readonly string[], ttlMs = 60_000, mayCreate = 1): Promise<unknown> =>
    run(EXTEND, keys, 'mine', ttlMs, mayCreate, 0, 0, -1);
  const extendFenced = (keys: readonly string[], fence: number, mayCreate = 1): Promise<unknown> =>
    run(EXTEND, keys, 'mine', 60_000, mayCreate, HOUR_MS, fence, -1);
  const inspect = (key: string): Promise<unknown> => run(INSPECT, [key, queueKey(key)]);
  const expectMs = async (key: string, ms: number): Promise<void> =>
    void expect(await server.redis.pttl(key)).to.be.within(ms - 5_000, ms);

  for (const { name, source } of SCRIPTS) {
    it(`${name}: loads, and its digest is the server's`, async () => {
      expect(await server.redis.script('LOAD', source)).to.equal(scriptDigest(source));
    });
  }

  describe('claim without fencing', () => {
    it('{1, 0, 0}: all keys are set, with the token and the ttl', async () => {
      expect(await claim(['a', 'b'])).to.deep.equal([1, 0, 0]);
      expect(await server.redis.mget('a', 'b')).to.deep.equal(['mine', 'mine']);
      for (const key of ['a', 'b']) await expectMs(key, 60_000);
      expect(await server.redis.dbsize()).to.equal(2);
    });

    it('{1, 0, 0}: also when the token holds them already, or some of them', async () => {
      await server.redis.set('b', 'mine', 'PX', 1_000);
      expect(await claim(['a', 'b'])).to.deep.equal([1, 0, 0]);
      await expectMs('b', 60_000);
    });

    it('{0, ms, 1}: the longest time left of those of others, and nothing is set', async () => {
      await server.redis.set('b', 'other', 'PX', 20_000);
      await server.redis.set('c', 'third', 'PX', 90_000);
      await server.redis.set('d', 'other', 'PX', 10_000);
      const reply = await claim(['a', 'b', 'c', 'd']);
      expect(about(reply, 90_000)).to.equal(true);
      expect(ends(reply)).to.deep.equal([0, 1]);
      expect(await server.redis.exists('a')).to.equal(0);
    });

    it('{0, -1, 1}: one of them has no expiry, at any position', async () => {
      await server.redis.set('a', 'other', 'PX', 20_000);
      await server.redis.set('b', 'other');
      await server.redis.set('c', 'other', 'PX', 20_000);
      expect(await claim(['a', 'b', 'c'])).to.deep.equal([0, -1, 1]);
    });
  });

  describe('claim with fencing', () => {
    it('the fence in short: one more than the counter; key and counter live for their ttls', async () => {
      await server.redis.set('c', BIG, 'PX', 1_000);
      expect(await claimFenced(['a', 'c'])).to.equal(BIG + 1);
      expect(await server.redis.mget('a', 'c')).to.deep.equal(['mine', String(BIG + 1)]);
      await expectMs('a', 60_000);
      await expectMs('c', HOUR_MS);
    });

    it('the fence in short: also from the lowest counter there is, and where no marker is found', async () => {
      await server.redis.set('c', 1);
      expect(await claimFenced(['a', 'c'])).to.equal(2);
      await server.redis.del('a');
      expect(await run(CLAIM, ['a', 'c', 'marker'], 'mine', 60_000, HOUR_MS, 0, 0)).to.equal(3);
      expect(await server.redis.mget('a', 'c', 'marker')).to.deep.equal(['mine', '3', null]);
      await expectMs('c', HOUR_MS);
    });

    it('{1, fence, 0}: several share one, the highest plus one, in any order', async () => {
      for (const counts of [
        [7, 9, 8],
        [9, 8, 7],
        [7, 8, 9],
        [1, 8, 9],
        [9, 9, 9],
      ]) {
        await server.redis.flushall();
        await server.redis.mset('c1', counts[0] ?? 0, 'c2', counts[1] ?? 0, 'c3', counts[2] ?? 0);
        expect(await claimFenced(['x', 'y', 'z', 'c1', 'c2', 'c3'])).to.deep.equal([1, 10, 0]);
        expect(await server.redis.mget('c1', 'c2', 'c3')).to.deep.equal(['10', '10', '10']);
        expect(await server.redis.mget('x', 'y', 'z')).to.deep.equal(['mine', 'mine', 'mine']);
      }
    });

    it('{1, fence, us}: a missing counter begins with the clock, and the reply reports it', async () => {
      const before = await server.micros();
      const [code, fence = 0, us = 0] = numbers(await claimFenced(['a', 'c']));
      expect([code, fence]).to.deep.equal([1, us + 1]);
      expect(us).to.be.within(before, await server.micros());
      expect(await server.redis.get('c')).to.equal(String(fence));
    });

    it('{1, fence, us}: a floor lifts a new counter, and by no more than the lead', async () => {
      const floors: [string, (now: number) => number, (us: number, floor: number) => number][] = [
        ['behind', (now) => now - 1, (us) => us + 1],
        ['ahead', (now) => now + FLOOR_LEAD_US, (_us, floor) => floor + 1],
        ['too far ahead', (now) => now + 60_000_000, (us) => us + FLOOR_LEAD_US + 1],
      ];
      for (const [title, floorAt, wanted] of floors) {
        await server.redis.flushall();
        const now = await server.micros();
        const floor = floorAt(now);
        const script = atInstant(CLAIM, now);
        const reply = await run(script, ['a', 'c'], 'mine', 60_000, HOUR_MS, floor, -1);
        expect(reply, title).to.deep.equal([1, wanted(now, floor), now]);
      }
    });

    it('the fence in short: a floor does not lift a counter that is there', async () => {
      await server.redis.set('c', 5);
      expect(await claimFenced(['a', 'c'], await server.micros())).to.equal(6);
    });

    it('{1, fence, us}: one counter is missing, the other far ahead: both get the higher plus one', async () => {
      const ahead = (await server.micros()) + 60_000_000;
      await server.redis.set('c1', ahead);
      const [code, fence, us] = numbers(await claimFenced(['a', 'b', 'c1', 'c2']));
      expect([code, fence]).to.deep.equal([1, ahead + 1]);
      expect(us).to.be.above(0);
      expect(await server.redis.mget('c1', 'c2')).to.deep.equal([String(ahead + 1), String(ahead + 1)]);
    });

    it('{1, fence, 0} a second time: the token holds it already; the counter goes on (T-A9)', async () => {
      await server.redis.set('c', 5);
      expect(await claimFenced(['a', 'c'])).to.equal(6);
      expect(await claimFenced(['a', 'c'])).to.deep.equal([1, 7, 0]);
    });

    it('{0, ms, 1}: another holds it; the counter stays, or stays missing', async () => {
      await server.redis.set('a', 'other', 'PX', 90_000);
      const reply = await claimFenced(['a', 'c']);
      expect(about(reply, 90_000)).to.equal(true);
      expect(ends(reply)).to.deep.equal([0, 1]);
      expect(await server.redis.exists('c')).to.equal(0);
      await server.redis.set('c', 5);
      await claimFenced(['a', 'c']);
      expect(await server.redis.get('c')).to.equal('5');
    });
  });

  it('claim of a waiter: it leaves the queues of those locks that others hold', async () => {
    await server.redis.set('b', 'other', 'PX', 60_000);
    for (const key of ['a', 'b']) await server.redis.zadd(queueKey(key), 1, 'mine', 2, 'next');
    const reply = await run(CLAIM, withQueues(['a', 'b']), 'mine', 60_000, ...PLAIN, 1);
    expect(about(reply, 60_000)).to.equal(true);
    expect(await server.redis.zrange(queueKey('b'), '0', '-1')).to.deep.equal(['next']);
  });

  it('a reader of a read-write lock is not counted; without the right to read a counter, no writer claims', async () => {
    expect(await run(RW_CLAIM, ['a'], 'mine', 'r', 60_000, '', 1, ...PLAIN)).to.deep.equal([1, 0, 0]);
    const reply = await server.without('get', () =>
      run(RW_CLAIM, ['b', 'c'], 'mine', 'w', 60_000, '', 1, HOUR_MS, 0, -1).catch(
        (error: Error) => error.message,
      ),
    );
    expect(reply).to.be.a('string').that.matches(NO_RIGHT);
    expect(await server.redis.exists('b', 'c')).to.equal(0);
  });

  describe('accept', () => {
    beforeEach(() => server.redis.set('a', 'mine', 'PX', 60_000));

    it('{1, fence, 0}: every counter is below it; all of them get it, and live on', async () => {
      await server.redis.set('b', 'mine');
      await server.redis.set('c1', BIG - 1, 'PX', 1_000);
      await server.redis.set('c2', BIG - 7);
      expect(await accept(['a', 'b', 'c1', 'c2'], BIG)).to.deep.equal([1, BIG, 0]);
      expect(await server.redis.mget('c1', 'c2')).to.deep.equal([String(BIG), String(BIG)]);
      await expectMs('c1', HOUR_MS);
      await expectMs('c2', HOUR_MS);
    });

    it('{3, count, 0}: a counter has reached it already; nothing is changed (T-A3)', async () => {
      for (const [own, other, wanted] of [
        [BIG, 1, BIG],
        [BIG + 1, 1, BIG + 1],
        [5, BIG, BIG],
        [5, BIG + 9, BIG + 9],
      ] as const) {
        await server.redis.set('b', 'mine');
        await server.redis.mset('c1', own, 'c2', other);
        for (const counter of ['c1', 'c2']) await server.redis.pexpire(counter, 20_000);
        expect(await accept(['a', 'b', 'c1', 'c2'], BIG)).to.deep.equal([3, wanted, 0]);
        for (const counter of ['c1', 'c2']) await expectMs(counter, 20_000);
        expect(await server.redis.mget('c1', 'c2')).to.deep.equal([String(own), String(other)]);
      }
    });

    it('{3, count, 0} for a missing counter: it begins with the clock, never with the fence (T-A7)', async () => {
      const before = await server.micros();
      const [code, count = 0] = numbers(await accept(['a', 'c'], before - 1_000_000));
      expect([code, await server.redis.get('c')]).to.deep.equal([3, String(count)]);
      expect(count).to.be.within(before, await server.micros());
      await expectMs('c', HOUR_MS);
    });

    it('{1, fence, 0} for a missing counter, when the fence is beyond the clock', async () => {
      const ahead = (await server.micros()) + 60_000_000;
      expect(await accept(['a', 'c'], ahead)).to.deep.equal([1, ahead, 0]);
      expect(await server.redis.get('c')).to.equal(String(ahead));
    });

    it('{1, fence, 0} and then {3, fence, 0}: carried out twice, it is accepted once (T-A9)', async () => {
      await server.redis.set('c', 5);
      expect(await accept(['a', 'c'], 7)).to.deep.equal([1, 7, 0]);
      expect(await accept(['a', 'c'], 7)).to.deep.equal([3, 7, 0]);
    });

    it('{0, ms, 0}: a key is another’s by now; {0, -1, 0} without expiry; {0, -2, 0}: it is gone', async () => {
      await server.redis.mset('c1', 5, 'c2', 5);
      await server.redis.set('b', 'other', 'PX', 90_000);
      const reply = await accept(['a', 'b', 'c1', 'c2'], 7);
      expect(about(reply, 90_000)).to.equal(true);
      expect(ends(reply)).to.deep.equal([0, 0]);
      await server.redis.persist('b');
      expect(await accept(['a', 'b', 'c1', 'c2'], 7)).to.deep.equal([0, -1, 0]);
      await server.redis.del('b');
      expect(await accept(['a', 'b', 'c1', 'c2'], 7)).to.deep.equal([0, -2, 0]);
      expect(await server.redis.mget('c1', 'c2')).to.deep.equal(['5', '5']);
    });
  });

  describe('undo', () => {
    it('{n, -2, 0}: deletes what is mine', async () => {
      await claim(['a', 'b']);
      expect(await run(UNDO, withQueues(['a', 'b', 'c']), 'mine')).to.deep.equal([2, -2, 0]);
      expect(await server.redis.exists('a', 'b')).to.equal(0);
    });

    it('{n, ms, 0}: the longest time left of those of others, which stay', async () => {
      await server.redis.set('a', 'mine', 'PX', 60_000);
      await server.redis.set('b', 'other', 'PX', 20_000);
      await server.redis.set('c', 'other', 'PX', 90_000);
      await server.redis.set('d', 'other', 'PX', 20_000);
      const reply = await run(UNDO, withQueues(['a', 'b', 'c', 'd']), 'mine');
      expect(about(reply, 90_000)).to.equal(true);
      expect(ends(reply)).to.deep.equal([1, 0]);
      expect(await server.redis.mget('b', 'c', 'd')).to.deep.equal(['other', 'other', 'other']);
    });

    it('{n, -1, 0}: one of them has no expiry', async () => {
      await server.redis.set('a', 'other', 'PX', 20_000);
      await server.redis.set('b', 'other');
      await server.redis.set('c', 'other', 'PX', 20_000);
      expect(await run(UNDO, withQueues(['a', 'b', 'c']), 'mine')).to.deep.equal([0, -1, 0]);
    });
  });

  it('release: counts what it deleted; gone and taken are nothing', async () => {
    await server.redis.set('a', 'mine', 'PX', 60_000);
    await server.redis.set('b', 'other', 'PX', 60_000);
    expect(await run(RELEASE, withQueues(['a', 'b', 'c']), 'mine')).to.equal(1);
    expect(await server.redis.mget('a', 'b')).to.deep.equal([null, 'other']);
  });

  for (const script of [RELEASE, UNDO]) {
    it(`${script.name} with the fence seen: lifts counters that lag, creates none, lowers none, keeps their ttl`, async () => {
      await server.redis.mset('a', 'mine', 'b', 'mine', 'd', 'mine', 'e', 'other');
      await server.redis.set('c1', BIG - 3, 'PX', 20_000);
      await server.redis.set('c4', BIG + 3);
      const reply = await run(
        script,
        [...withQueues(['a', 'b', 'd', 'e']), 'c1', 'c2', 'c3', 'c4'],
        'mine',
        BIG,
      );
      expect(Array.isArray(reply) ? reply[0] : reply).to.equal(3);
      expect(await server.redis.mget('a', 'b', 'd', 'e')).to.deep.equal([null, null, null, 'other']);
      expect(await server.redis.mget('c1', 'c2', 'c3', 'c4')).to.deep.equal([
        String(BIG),
        null,
        null,
        String(BIG + 3),
      ]);
      await expectMs('c1', 20_000);
      expect(await server.redis.pttl('c4')).to.equal(-1);
    });

    for (const content of ['text', '', 'a list'] as const) {
      it(`${script.name} with the fence seen: a counter that holds ${content === '' ? 'nothing' : content} stays, the lock goes`, async () => {
        await server.redis.set('a', 'mine');
        if (content === 'a list') await putData(server.redis, 'c', 'list');
        else await server.redis.set('c', content);
        const reply = await run(script, [...withQueues(['a']), 'c'], 'mine', BIG);
        expect(Array.isArray(reply) ? reply[0] : reply).to.equal(1);
        if (content === 'a list') expect(await server.redis.type('c')).to.equal('list');
        else expect(await server.redis.get('c')).to.equal(content);
      });
    }
  }

  for (const content of ['-5', '1.5', '1e3', ' 7', '0x10']) {
    it(`release and undo with the fence seen: ${JSON.stringify(content)} is no counter: not lifted`, async () => {
      for (const script of [RELEASE, UNDO]) {
        await server.redis.set('c', content);
        await run(script, [...withQueues(['a']), 'c'], 'mine', BIG);
        expect(await server.redis.get('c')).to.equal(content);
      }
    });
  }

  describe('extend', () => {
    it('{1, 0, 0}: lengthens, never shortens, and sets what is gone when it may', async () => {
      await server.redis.set('a', 'mine', 'PX', 10_000);
      await server.redis.set('b', 'mine', 'PX', 90_000);
      await server.redis.set('c', 'mine');
      expect(await extend(['a', 'b', 'c', 'd'])).to.deep.equal([1, 0, 0]);
      await expectMs('a', 60_000);
      await expectMs('b', 90_000);
      expect(await server.redis.pttl('c')).to.equal(-1);
      expect(await server.redis.get('d')).to.equal('mine');
      await expectMs('d', 60_000);
    });

    it('{0, -2, 0}: a key is gone and may not be set again; nothing is changed', async () => {
      await server.redis.set('a', 'mine', 'PX', 10_000);
      await server.redis.set('c1', 5);
      expect(await extend(['a', 'b'], 60_000, 0)).to.deep.equal([0, -2, 0]);
      expect(await extendFenced(['a', 'b', 'c1', 'c2'], 7, 0)).to.deep.equal([0, -2, 0]);
      expect(await server.redis.pttl('a')).to.be.at.most(10_000);
      expect(await server.redis.exists('b', 'c2')).to.equal(0);
      expect(await server.redis.get('c1')).to.equal('5');
    });

    it('{0, ms, 0}: another holds one, −1 without expiry; nothing is changed, and nothing of ours comes back', async () => {
      await server.redis.set('b', 'other', 'PX', 90_000);
      const reply = await extend(['a', 'b']);
      expect(about(reply, 90_000)).to.equal(true);
      expect(ends(reply)).to.deep.equal([0, 0]);
      await server.redis.persist('b');
      expect(await extend(['a', 'b'])).to.deep.equal([0, -1, 0]);
      expect(await server.redis.exists('a')).to.equal(0);
    });

    it('{1, 0, 0}: what is reserved for the token becomes its vote, where a free key would; others stay as they are', async () => {
      await server.redis.set('a', `mine${RESERVED_MARK}`, 'PX', 10_000);
      await server.redis.set('b', 'mine');
      await server.redis.set('c', 'mine', 'PX', 90_000);
      const refused = await extend(['a', 'b', 'c'], 60_000, 0);
      expect(about(refused, 10_000)).to.equal(true);
      expect(ends(refused)).to.deep.equal([0, 0]);
      expect(await server.redis.get('a')).to.equal(`mine${RESERVED_MARK}`);
      expect(await extend(['b', 'a', 'c'])).to.deep.equal([1, 0, 0]);
      expect(await server.redis.mget('a', 'b', 'c')).to.deep.equal(['mine', 'mine', 'mine']);
      await expectMs('a', 60_000);
      expect(await server.redis.pttl('b')).to.equal(-1);
      await expectMs('c', 90_000);
      await server.redis.set('a', `other${RESERVED_MARK}`, 'PX', 10_000);
      expect(ends(await extend(['a']))).to.deep.equal([0, 0]);
    });

    it('{1, 0, 0} with fencing: counters are lifted to the fence, never lowered, and live on', async () => {
      await server.redis.mset('a', 'mine', 'b', 'mine');
      await server.redis.set('c1', BIG - 1, 'PX', 1_000);
      await server.redis.set('c2', BIG + 1, 'PX', 1_000);
      expect(await extendFenced(['a', 'b', 'c1', 'c2'], BIG)).to.deep.equal([1, 0, 0]);
      expect(await server.redis.mget('c1', 'c2')).to.deep.equal([String(BIG), String(BIG + 1)]);
      for (const key of ['c1', 'c2']) await expectMs(key, HOUR_MS);
    });

    it('{1, 0, 0} with fencing: a missing counter begins with the clock, never with the fence (T-A7)', async () => {
      await server.redis.set('a', 'mine');
      const before = await server.micros();
      expect(await extendFenced(['a', 'c'], before - 60_000_000)).to.deep.equal([1, 0, 0]);
      expect(Number(await server.redis.get('c'))).to.be.within(before, await server.micros());
      await server.redis.del('c');
      const ahead = before + 60_000_000;
      expect(await extendFenced(['a', 'c'], ahead)).to.deep.equal([1, 0, 0]);
      expect(await server.redis.get('c')).to.equal(String(ahead));
    });
  });

  it('hello: {receivers, us}: how many listen to the channel, and the clock of the server', async () => {
    expect(await run(atInstant(HELLO, BIG), [], 'channel')).to.deep.equal([0, BIG]);
    const listener = server.redis.duplicate();
    try {
      await listener.subscribe('channel');
      expect(await run(atInstant(HELLO, BIG), [], 'channel')).to.deep.equal([1, BIG]);
    } finally {
      listener.disconnect();
    }
  });

  it('inspect: {0, -2} free, {1, ms, owner} held, {1, -1, owner} without expiry', async () => {
    expect(await inspect('a')).to.deep.equal([0, -2, '', 0, []]);
    await server.redis.set('a', 'mine', 'PX', 60_000);
    const held = await inspect('a');
    expect(about(held, 60_000)).to.equal(true);
    expect(ends(held)).to.deep.equal([1, 'mine']);
    await server.redis.persist('a');
    expect(await inspect('a')).to.deep.equal([1, -1, 'mine', 0, []]);
  });

  for (const type of TYPES) {
    it(`a ${type} for a lock: claim, accept, extend {2, 0, 0}, undo {n, ms, 1}, inspect {2, ms, ''}, release 0; it stays`, async () => {
      await putData(server.redis, 'x', type);
      await server.redis.pexpire('x', 60_000);
      for (const keys of [
        ['a', 'x'],
        ['x', 'a'],
      ]) {
        const counters = ['c1', 'c2'];
        expect(await claim(keys)).to.deep.equal([2, 0, 0]);
        expect(await claimFenced([...keys, ...counters])).to.deep.equal([2, 0, 0]);
        expect(await extend(keys)).to.deep.equal([2, 0, 0]);
        expect(await extendFenced([...keys, ...counters], BIG)).to.deep.equal([2, 0, 0]);
        expect(await server.redis.keys('*')).to.deep.equal(['x']);
        await server.redis.set('a', 'mine', 'PX', 60_000);
        expect(await accept([...keys, ...counters], BIG)).to.deep.equal([2, 0, 0]);
        expect(await server.redis.exists(...counters)).to.equal(0);
        expect(await run(UNDO, withQueues(keys), 'mine')).to.deep.equal([1, -2, 1]);
        expect(await run(RELEASE, withQueues(keys), 'mine')).to.equal(0);
      }
      const seen = await inspect('x');
      expect(about(seen, 60_000)).to.equal(true);
      expect(ends(seen)).to.deep.equal([2, '']);
      expect(await server.redis.type('x')).to.equal(type);
    });

    it(`a ${type} for a lock and another's lock: claim {2, 0, 0}, at any position`, async () => {
      await putData(server.redis, 'x', type);
      await server.redis.set('o', 'other', 'PX', 60_000);
      expect(await claim(['o', 'x'])).to.deep.equal([2, 0, 0]);
      expect(await claim(['x', 'o'])).to.deep.equal([2, 0, 0]);
    });
  }

  const contents: [string, (key: string) => Promise<unknown>][] = [
    ...TYPES.map((type): [string, (key: string) => Promise<unknown>] => [
      `a ${type}`,
      (key) => putData(server.redis, key, type),
    ]),
    ...['text', '', '-5', '1.5', '1e3', ' 7', '0x10'].map(
      (text): [string, (key: string) => Promise<unknown>] => [
        JSON.stringify(text),
        (key) => server.redis.set(key, text),
      ],
    ),
  ];
  for (const [title, put] of contents) {
    it(`${title} for a counter: claim and accept {2, what, 0} and nothing is taken; an extension does without it; it stays`, async () => {
      await server.redis.set('c1', 5);
      await put('c2');
      const before = await server.redis.dump('c2');
      for (const counters of [
        ['c1', 'c2'],
        ['c2', 'c1'],
      ]) {
        expect(await claimFenced(['a', 'b', ...counters])).to.deep.equal([2, HOLDS.counter, 0]);
        expect([await server.redis.exists('a', 'b'), await server.redis.get('c1')]).to.deep.equal([0, '5']);
        await server.redis.mset('a', 'mine', 'b', 'mine');
        expect(await accept(['a', 'b', ...counters], 7)).to.deep.equal([2, HOLDS.counter, 0]);
        expect(await server.redis.get('c1')).to.equal('5');
        await server.redis.del('a', 'b');
      }
      expect(await extendFenced(['a', 'b', 'c2', 'c1'], 7)).to.deep.equal([1, 0, 0]);
      expect(await server.redis.mget('a', 'b', 'c1')).to.deep.equal(['mine', 'mine', '7']);
      expect(await server.redis.dump('c2')).to.deep.equal(before);
    });
  }

  for (const count of SPENT) {
    const left = 20_000;
    const expectKept = async (): Promise<void> => {
      expect([await server.redis.get('c'), await server.redis.exists('a')]).to.deep.equal([count, 0]);
      expect(await server.redis.pttl('c')).to.be.within(1, left);
    };

    it(`a counter at ${count}, which no fence can follow: {2, what, 0} to a claim and an acceptance; it lives no longer`, async () => {
      await server.redis.set('c', count, 'PX', left);
      await server.redis.set('d', 5, 'PX', left);
      for (const keys of [
        ['a', 'c'],
        ['a', 'b', 'c', 'd'],
        ['a', 'b', 'd', 'c'],
      ]) {
        expect(await claimFenced(keys)).to.deep.equal([2, HOLDS.counter, 0]);
        await expectKept();
        await server.redis.mset('a', 'mine', 'b', 'mine');
        expect(await accept(keys, BIG)).to.deep.equal([2, HOLDS.counter, 0]);
        await server.redis.del('a', 'b');
      }
      await expectKept();
      expect(await server.redis.get('d')).to.equal('5');
    });

    it(`a counter at ${count}: an extension leaves it as it is, a release and an undo as well`, async () => {
      await server.redis.set('c', count, 'PX', left);
      await server.redis.set('a', 'mine');
      expect(await extendFenced(['a', 'c'], BIG)).to.deep.equal([1, 0, 0]);
      for (const script of [RELEASE, UNDO]) await run(script, [...withQueues(['a']), 'c'], 'mine', BIG);
      await expectKept();
    });
  }

  it('the last fence there is: it is granted, and accepted; but no counter is lifted to it for the sake of another', async () => {
    const last = LAST_FENCE;
    await server.redis.set('c', last - 1);
    expect(await claimFenced(['a', 'c'])).to.equal(last);
    await server.redis.set('c', last - 1);
    expect(await accept(['a', 'c'], last)).to.deep.equal([1, last, 0]);
    await server.redis.set('c', BIG, 'PX', 20_000);
    expect(await extendFenced(['a', 'c'], last)).to.deep.equal([1, 0, 0]);
    for (const script of [RELEASE, UNDO]) await run(script, [...withQueues(['a']), 'c'], 'mine', last);
    expect(await server.redis.get('c')).to.equal(String(BIG));
    await server.redis.set('a', 'mine');
    expect(await extendFenced(['a', 'c'], last - 1)).to.deep.equal([1, 0, 0]);
    expect(await server.redis.get('c')).to.equal(String(last - 1));
  });

  it('a fence beyond 2^50 goes through every script exactly, as a number and as a text (T-A8)', async () => {
    for (const fence of [2 ** 50 + 1, BIG, 2 ** 52 + 1]) {
      await server.redis.flushall();
      await server.redis.set('c', String(fence - 1));
      expect(await claimFenced(['a', 'c'])).to.equal(fence);
      expect(await server.redis.get('c')).to.equal(String(fence));
      for (const as of [fence, String(fence)]) {
        await server.redis.set('c', String(fence - 1));
        expect(await accept(['a', 'c'], as)).to.deep.equal([1, fence, 0]);
        expect(await server.redis.get('c')).to.equal(String(fence));
        expect(await accept(['a', 'c'], as)).to.deep.equal([3, fence, 0]);
        await server.redis.set('c', String(fence - 1));
        await extendFenced(['a', 'c'], fence);
        expect(await server.redis.get('c')).to.equal(String(fence));
        await server.redis.set('c', String(fence - 1));
        await run(UNDO, [...withQueues(['x']), 'c'], 'mine', as);
        expect(await server.redis.get('c')).to.equal(String(fence));
      }
    }
  });

  it('a ttl as long as a number can be', async () => {
    const ttlMs = Number.MAX_SAFE_INTEGER;
    expect(await claim(['a'], 'mine', ttlMs)).to.deep.equal([1, 0, 0]);
    expect(await extend(['a'], ttlMs)).to.deep.equal([1, 0, 0]);
    expect(await server.redis.pttl('a')).to.be.above(9e15);
  });

  describe('without rights', () => {
    const denied = async (command: string, action: () => Promise<unknown>): Promise<void> => {
      const reply = await server.without(command, () => action().catch((error: Error) => error.message));
      expect(reply, command).to.be.a('string').that.matches(NO_RIGHT);
    };

    it('-get: each script that decides by what a key holds fails with the error of the server, and changes nothing', async () => {
      await server.redis.mset('a', 'mine', 'b', 'mine', 'c1', 5, 'c2', 5);
      for (const keys of [['a'], ['a', 'b']]) {
        const counters = ['c1', 'c2'].slice(0, keys.length);
        await denied('get', () => claim(keys));
        await denied('get', () => claimFenced([...keys, ...counters]));
        await denied('get', () => accept([...keys, ...counters], 7));
        await denied('get', () => extend(keys));
        await denied('get', () => run(UNDO, withQueues(keys), 'mine'));
        await denied('get', () => inspect('a'));
      }
      expect(await server.redis.mget('a', 'b', 'c1', 'c2')).to.deep.equal(['mine', 'mine', '5', '5']);
    });

    it('-get: a release deletes nothing, and lifts nothing', async () => {
      await server.redis.mset('a', 'mine', 'b', 'mine', 'c', 5);
      expect(await server.without('get', () => run(RELEASE, withQueues(['a']), 'mine'))).to.equal(0);
      expect(await server.without('get', () => run(RELEASE, withQueues(['a', 'b']), 'mine'))).to.equal(0);
      expect(
        await server.without('get', () => run(RELEASE, [...withQueues(['a']), 'c'], 'mine', 9)),
      ).to.equal(0);
      expect(await server.redis.mget('a', 'b', 'c')).to.deep.equal(['mine', 'mine', '5']);
    });

    it('-exists: nobody seems to wait; a release and an undo are done', async () => {
      for (const keys of [['a'], ['a', 'b']]) {
        await server.redis.set('a', 'mine');
        expect(await server.without('exists', () => run(RELEASE, withQueues(keys), 'mine'))).to.equal(1);
        expect(await server.without('exists', () => run(RELEASE, withQueues(keys), 'mine'))).to.equal(0);
        await server.redis.set('a', 'mine');
        const undone = await server.without('exists', () => run(UNDO, withQueues(keys), 'mine'));
        expect(undone).to.deep.equal([1, -2, 0]);
      }
    });

    it('-incr: a claim is granted and counted all the same', async () => {
      await server.redis.set('c', 5);
      expect(await server.without('incr', () => claimFenced(['a', 'c']))).to.deep.equal([1, 6, 0]);
    });

    it('-time: a missing counter cannot be made, and nothing is claimed', async () => {
      const reply = await server.without('time', () =>
        claimFenced(['a', 'c']).catch((error: Error) => error.message),
      );
      expect(reply)
        .to.match(/quorate needs TIME in scripts: /)
        .and.match(NO_RIGHT);
      expect(await server.redis.exists('a', 'c')).to.equal(0);
    });

    it('-set: counters are left as they are by an extension, a release and an undo', async () => {
      await server.redis.mset('a', 'mine', 'c', 5);
      expect(await server.without('set', () => extendFenced(['a', 'c'], 9))).to.deep.equal([1, 0, 0]);
      const keys = [...withQueues(['a']), 'c'];
      expect(await server.without('set', () => run(UNDO, keys, 'mine', 9))).to.deep.equal([1, -2, 0]);
      await server.redis.set('a', 'mine');
      expect(await server.without('set', () => run(RELEASE, keys, 'mine', 9))).to.equal(1);
      expect(await server.redis.get('c')).to.equal('5');
    });
  });

  it('at maxmemory: release and undo still delete, with counters as well, and inspect still looks', async () => {
    await server.redis.mset('a', 'mine', 'b', 'mine', 'd', 'mine', 'e', 'mine', 'c', 5);
    await server.redis.config('SET', 'maxmemory', '1');
    try {
      const message = (promise: Promise<unknown>): Promise<unknown> =>
        promise.catch((error: Error) => error.message);
      expect(await message(claim(['z']))).to.match(/OOM/);
      expect(await message(claimFenced(['z', 'cz']))).to.match(/OOM/);
      expect(await message(accept(['a', 'c'], 7))).to.match(/OOM/);
      expect(await run(RELEASE, withQueues(['a']), 'mine')).to.equal(1);
      expect(await run(UNDO, withQueues(['b']), 'mine')).to.deep.equal([1, -2, 0]);
      expect(await run(RELEASE, [...withQueues(['d']), 'c'], 'mine', 7)).to.equal(1);
      expect(await run(UNDO, [...withQueues(['e']), 'c'], 'mine', 7)).to.deep.equal([1, -2, 0]);
      expect(await inspect('a')).to.deep.equal([0, -2, '', 0, []]);
      expect(await server.redis.exists('a', 'b', 'd', 'e', 'z', 'cz')).to.equal(0);
    } finally {
      await server.redis.config('SET', 'maxmemory', '0');
    }
  });
});
