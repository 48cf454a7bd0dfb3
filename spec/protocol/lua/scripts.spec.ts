import { expect } from 'chai';
import { counterKey, queueKey, looksKey, turnKey } from '../../../lib/protocol/keys.js';
import { COUNTER_LIFE_MS, LAST_FENCE, HOLDS } from '../../../lib/protocol/lua/stored.js';
import { ENTRY } from '../../../lib/protocol/lua/entries.js';
import {
  CLAIM,
  HELLO,
  INSPECT,
  RELEASE,
  RW_CLAIM,
  SCRIPTS,
  UNDO,
} from '../../../lib/protocol/lua/scripts.js';
import { RESERVED_MARK } from '../../../lib/runtime/random.js';
import { scriptDigest } from '../../../lib/redis/script.js';
import { blockEnd, nextBlock } from '../../support/fence-blocks.js';
import { loneEntry } from '../../support/lone-entries.js';
import { atInstant, clockAt, NO_RIGHT, oneServer, putData, TYPES } from '../../support/server.js';

const LIFE = COUNTER_LIFE_MS;
/** More than 2^53 / 8, as fences are today, and odd, so that a rounding would show. */
const BIG = 1_790_000_000_000_001;

/** How much of a time may have gone by, however slow the server is. */
function slackMs(ms: number): number {
  return Math.min(60_000, ms / 2);
}

/** The reply with its time left: `about` that many ms, as Redis counts down while the spec runs. */
function about(reply: unknown, ms: number): boolean {
  const left = Array.isArray(reply) ? Number(reply[1]) : NaN;
  return left > ms - slackMs(ms) && left <= ms;
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
  const claim = (keys: readonly string[], token = 'mine', ttlMs = 600_000): Promise<unknown> =>
    run(CLAIM, keys, token, ttlMs, ...PLAIN);
  /** The server's clock stands at the first fencing token that is proposed. */
  const claimFenced = (keys: readonly string[], proposal = BIG): Promise<unknown> =>
    run(atInstant(CLAIM, BIG), keys, 'mine', 600_000, LIFE, proposal, -1);
  const accept = (keys: readonly string[], fence: number | string, us = BIG): Promise<unknown> =>
    server.runLone(
      loneEntry(ENTRY.accept, 'mine', { fence, life: LIFE }, keys.length / 2),
      keys,
      clockAt(us),
    );
  const extend = (keys: readonly string[], ttlMs = 600_000, mayCreate = 1): Promise<unknown> =>
    server.runLone(loneEntry(ENTRY.extend, 'mine', { ttl: ttlMs, create: mayCreate }, keys.length), keys);
  const inspect = async (key: string): Promise<unknown> =>
    ((await run(INSPECT, [key, queueKey(key), looksKey(key), counterKey(key)])) as unknown[]).slice(0, 5);
  const expectMs = async (key: string, ms: number): Promise<void> =>
    void expect(await server.redis.pttl(key)).to.be.within(ms - slackMs(ms), ms);

  for (const { name, source } of SCRIPTS) {
    it(`${name}: loads, and its digest is the server's`, async () => {
      expect(await server.redis.script('LOAD', source)).to.equal(scriptDigest(source));
    });
  }

  describe('claim without fencing', () => {
    it('{1, 0, 0}: all keys are set, with the token and the ttl', async () => {
      expect(await claim(['a', 'b'])).to.deep.equal([1, 0, 0]);
      expect(await server.redis.mget('a', 'b')).to.deep.equal(['mine', 'mine']);
      for (const key of ['a', 'b']) await expectMs(key, 600_000);
      expect(await server.redis.dbsize()).to.equal(2);
    });

    it('{1, 0, 0}: also when the token holds them already, or some of them', async () => {
      await server.redis.set('b', 'mine', 'PX', 10_000);
      expect(await claim(['a', 'b'])).to.deep.equal([1, 0, 0]);
      await expectMs('b', 600_000);
    });

    it('{0, ms, 1}: the longest time left of those of others, and nothing is set', async () => {
      await server.redis.set('b', 'other', 'PX', 200_000);
      await server.redis.set('c', 'third', 'PX', 900_000);
      await server.redis.set('d', 'other', 'PX', 100_000);
      const reply = await claim(['a', 'b', 'c', 'd']);
      expect(about(reply, 900_000)).to.equal(true);
      expect(ends(reply)).to.deep.equal([0, 1]);
      expect(await server.redis.exists('a')).to.equal(0);
    });

    it('{0, -1, 1}: one of them has no expiry, at any position', async () => {
      await server.redis.set('a', 'other', 'PX', 200_000);
      await server.redis.set('b', 'other');
      await server.redis.set('c', 'other', 'PX', 200_000);
      expect(await claim(['a', 'b', 'c'])).to.deep.equal([0, -1, 1]);
    });
  });

  // what becomes of counters: counter-scripts.spec.ts
  describe('claim with fencing', () => {
    it('the fence in short: the one that is proposed; key and counter live for their ttls', async () => {
      expect(await run(atInstant(CLAIM, BIG), ['a', 'c'], 'mine', 900_000, LIFE, BIG, -1)).to.equal(BIG);
      await expectMs('a', 900_000);
      await expectMs('c', LIFE + 1); // from the end of the block on
    });

    it('the fence in short: also one above the counter, and where no marker is found', async () => {
      await server.redis.set('c', BIG);
      expect(await claimFenced(['a', 'c'])).to.equal(BIG + 1);
      await server.redis.del('a');
      const reply = await run(atInstant(CLAIM, BIG), ['a', 'c', 'marker'], 'mine', 600_000, LIFE, BIG, 0);
      const second = nextBlock(BIG + 1);
      expect(reply).to.equal(second);
      const counted = String(blockEnd(second));
      expect(await server.redis.mget('a', 'c', 'marker')).to.deep.equal(['mine', counted, null]);
    });

    it('{1, fence, us}: the clock in place of no proposal, by a clock that goes on', async () => {
      const before = await server.micros();
      const [code, fence = 0, us] = numbers(await run(CLAIM, ['a', 'c'], 'mine', 600_000, LIFE, 0, -1));
      expect([code, us]).to.deep.equal([1, fence]);
      expect(fence).to.be.within(before, await server.micros());
      expect(await server.redis.get('c')).to.equal(String(blockEnd(fence)));
    });

    it('{1, fence, 0}: in full where the token holds it already, or for several (T-A9)', async () => {
      expect(await claimFenced(['a', 'c'])).to.equal(BIG);
      const second = nextBlock(BIG);
      expect(await claimFenced(['a', 'c'])).to.deep.equal([1, second, 0]);
      expect(await claimFenced(['a', 'b', 'c', 'd'])).to.deep.equal([1, nextBlock(second), 0]);
    });

    it('{0, ms, 1}: another holds it; the counter stays, or stays missing', async () => {
      await server.redis.set('a', 'other', 'PX', 900_000);
      const reply = await claimFenced(['a', 'c']);
      expect(about(reply, 900_000)).to.equal(true);
      expect(ends(reply)).to.deep.equal([0, 1]);
      expect(await server.redis.exists('c')).to.equal(0);
      await server.redis.set('c', 5);
      await claimFenced(['a', 'c']);
      expect(await server.redis.get('c')).to.equal('5');
    });
  });

  it('claim of a waiter: it leaves the queues of those locks that others hold', async () => {
    await server.redis.set('b', 'other', 'PX', 600_000);
    for (const key of ['a', 'b']) await server.redis.zadd(queueKey(key), 1, 'mine', 2, 'next');
    const reply = await run(CLAIM, withQueues(['a', 'b']), 'mine', 600_000, ...PLAIN, 1);
    expect(about(reply, 600_000)).to.equal(true);
    expect(await server.redis.zrange(queueKey('b'), '0', '-1')).to.deep.equal(['next']);
  });

  const lineOf = (key: string): string[] => [key, queueKey(key), turnKey(key), looksKey(key)];

  it('a reader of a read-write lock is not counted; without the right to read a counter, no writer claims', async () => {
    expect(await run(RW_CLAIM, lineOf('a'), 'mine', 'r', 600_000, '', ...PLAIN)).to.deep.equal([1, 0, 0]);
    const reply = await server.without('get', () =>
      run(RW_CLAIM, [...lineOf('b'), 'c'], 'mine', 'w', 600_000, '', LIFE, 0, -1).catch(
        (error: Error) => error.message,
      ),
    );
    expect(reply).to.be.a('string').that.matches(NO_RIGHT);
    expect(await server.redis.exists('b', 'c')).to.equal(0);
  });

  describe('accept', () => {
    beforeEach(() => server.redis.set('a', 'mine', 'PX', 600_000));

    it('{1, fence, 0}: every counter is below it; all of them get the end of its block, and live on', async () => {
      await server.redis.set('b', 'mine');
      await server.redis.set('c1', BIG - 1, 'PX', 10_000);
      await server.redis.set('c2', BIG - 7);
      expect(await accept(['a', 'b', 'c1', 'c2'], BIG)).to.deep.equal([1, BIG, 0]);
      const end = String(blockEnd(BIG));
      expect(await server.redis.mget('c1', 'c2')).to.deep.equal([end, end]);
      for (const key of ['c1', 'c2']) await expectMs(key, LIFE + 1); // from the end of the block on
    });

    it('{3, us, 0}: one of several counters has reached it already; nothing is changed (T-A3)', async () => {
      for (const [own, other, wanted] of [
        [BIG, 1, BIG],
        [BIG + 1, 1, BIG + 1],
        [5, BIG, BIG],
        [5, BIG + 9, BIG + 9],
      ] as const) {
        await server.redis.set('b', 'mine');
        await server.redis.mset('c1', own, 'c2', other);
        for (const counter of ['c1', 'c2']) await server.redis.pexpire(counter, 200_000);
        expect(await accept(['a', 'b', 'c1', 'c2'], BIG)).to.deep.equal([3, wanted, 0]);
        for (const counter of ['c1', 'c2']) await expectMs(counter, 200_000);
        expect(await server.redis.mget('c1', 'c2')).to.deep.equal([String(own), String(other)]);
      }
    });

    it('{0, ms, 0}: a key is another’s by now; {0, -1, 0} without expiry; {0, -2, 0}: it is gone', async () => {
      await server.redis.mset('c1', 5, 'c2', 5);
      await server.redis.set('b', 'other', 'PX', 900_000);
      const reply = await accept(['a', 'b', 'c1', 'c2'], BIG);
      expect(about(reply, 900_000)).to.equal(true);
      expect(ends(reply)).to.deep.equal([0, 0]);
      await server.redis.persist('b');
      expect(await accept(['a', 'b', 'c1', 'c2'], BIG)).to.deep.equal([0, -1, 0]);
      await server.redis.del('b');
      expect(await accept(['a', 'b', 'c1', 'c2'], BIG)).to.deep.equal([0, -2, 0]);
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
      await server.redis.set('a', 'mine', 'PX', 600_000);
      await server.redis.set('b', 'other', 'PX', 200_000);
      await server.redis.set('c', 'other', 'PX', 900_000);
      await server.redis.set('d', 'other', 'PX', 200_000);
      const reply = await run(UNDO, withQueues(['a', 'b', 'c', 'd']), 'mine');
      expect(about(reply, 900_000)).to.equal(true);
      expect(ends(reply)).to.deep.equal([1, 0]);
      expect(await server.redis.mget('b', 'c', 'd')).to.deep.equal(['other', 'other', 'other']);
    });

    it('{n, -1, 0}: one of them has no expiry', async () => {
      await server.redis.set('a', 'other', 'PX', 200_000);
      await server.redis.set('b', 'other');
      await server.redis.set('c', 'other', 'PX', 200_000);
      expect(await run(UNDO, withQueues(['a', 'b', 'c']), 'mine')).to.deep.equal([0, -1, 0]);
    });
  });

  it('release: counts what it deleted; gone and taken are nothing', async () => {
    await server.redis.set('a', 'mine', 'PX', 600_000);
    await server.redis.set('b', 'other', 'PX', 600_000);
    expect(await run(RELEASE, withQueues(['a', 'b', 'c']), 'mine')).to.equal(1);
    expect(await server.redis.mget('a', 'b')).to.deep.equal([null, 'other']);
  });

  describe('extend', () => {
    it('{1, 0, 0}: lengthens, never shortens, and sets what is gone when it may', async () => {
      await server.redis.set('a', 'mine', 'PX', 100_000);
      await server.redis.set('b', 'mine', 'PX', 900_000);
      await server.redis.set('c', 'mine');
      expect(await extend(['a', 'b', 'c', 'd'])).to.deep.equal([1, 0, 0]);
      await expectMs('a', 600_000);
      await expectMs('b', 900_000);
      expect(await server.redis.pttl('c')).to.equal(-1);
      expect(await server.redis.get('d')).to.equal('mine');
      await expectMs('d', 600_000);
    });

    it('{0, -2, 0}: a key is gone and may not be set again; nothing is changed', async () => {
      await server.redis.set('a', 'mine', 'PX', 100_000);
      expect(await extend(['a', 'b'], 600_000, 0)).to.deep.equal([0, -2, 0]);
      expect(await server.redis.pttl('a')).to.be.at.most(100_000);
      expect(await server.redis.exists('b')).to.equal(0);
    });

    it('{0, ms, 0}: another holds one, −1 without expiry; nothing is changed, and nothing of ours comes back', async () => {
      await server.redis.set('b', 'other', 'PX', 900_000);
      const reply = await extend(['a', 'b']);
      expect(about(reply, 900_000)).to.equal(true);
      expect(ends(reply)).to.deep.equal([0, 0]);
      await server.redis.persist('b');
      expect(await extend(['a', 'b'])).to.deep.equal([0, -1, 0]);
      expect(await server.redis.exists('a')).to.equal(0);
    });

    for (const create of [0, 1]) {
      it(`{1, 0, 0}: what was handed over to the token loses its mark, create ${create}; others stay as they are`, async () => {
        await server.redis.set('a', `mine${RESERVED_MARK}`, 'PX', 100_000);
        await server.redis.set('b', 'mine');
        await server.redis.set('c', 'mine', 'PX', 900_000);
        await server.redis.set('d', `mine${RESERVED_MARK}`, 'PX', 900_000);
        expect(await extend(['b', 'a', 'c', 'd'], 600_000, create)).to.deep.equal([1, 0, 0]);
        expect(await server.redis.mget('a', 'b', 'c', 'd')).to.deep.equal(['mine', 'mine', 'mine', 'mine']);
        await expectMs('a', 600_000);
        expect(await server.redis.pttl('b')).to.equal(-1);
        await expectMs('c', 900_000);
        await expectMs('d', 900_000);
      });

      it(`{0, ms, 0}: what was handed over to another is left as it is, create ${create}`, async () => {
        await server.redis.set('a', `mine${RESERVED_MARK}`, 'PX', 100_000);
        await server.redis.set('b', `other${RESERVED_MARK}`, 'PX', 100_000);
        const refused = await extend(['a', 'b'], 600_000, create);
        expect(about(refused, 100_000)).to.equal(true);
        expect(ends(refused)).to.deep.equal([0, 0]);
        expect(await server.redis.mget('a', 'b')).to.deep.equal([
          ...[`mine${RESERVED_MARK}`, `other${RESERVED_MARK}`],
        ]);
      });
    }
  });

  it('hello: {receivers, us}: how many listen to the channel, and the clock of the server', async () => {
    expect(await run(atInstant(HELLO, BIG), [], 'channel', 'e 1')).to.deep.equal([0, BIG]);
    const listener = server.redis.duplicate();
    try {
      await listener.subscribe('channel');
      expect(await run(atInstant(HELLO, BIG), [], 'channel', 'e 1')).to.deep.equal([1, BIG]);
    } finally {
      listener.disconnect();
    }
  });

  it('inspect: {0, -2} free, {1, ms, owner} held, {1, -1, owner} without expiry', async () => {
    expect(await inspect('a')).to.deep.equal([0, -2, '', 0, []]);
    await server.redis.set('a', 'mine', 'PX', 600_000);
    const held = await inspect('a');
    expect(about(held, 600_000)).to.equal(true);
    expect(ends(held)).to.deep.equal([1, 'mine']);
    await server.redis.persist('a');
    expect(await inspect('a')).to.deep.equal([1, -1, 'mine', 0, []]);
  });

  for (const type of TYPES) {
    it(`a ${type} for a lock: claim, accept, extend {2, 0, 0}, undo {n, ms, 1}, inspect {2, ms, ''}, release 0; it stays`, async () => {
      await putData(server.redis, 'x', type);
      await server.redis.pexpire('x', 600_000);
      for (const keys of [
        ['a', 'x'],
        ['x', 'a'],
      ]) {
        const counters = ['c1', 'c2'];
        expect(await claim(keys)).to.deep.equal([2, 0, 0]);
        expect(await claimFenced([...keys, ...counters])).to.deep.equal([2, 0, 0]);
        expect(await extend(keys)).to.deep.equal([2, 0, 0]);
        expect(await server.redis.keys('*')).to.deep.equal(['x']);
        await server.redis.set('a', 'mine', 'PX', 600_000);
        expect(await accept([...keys, ...counters], BIG)).to.deep.equal([2, 0, 0]);
        expect(await server.redis.exists(...counters)).to.equal(0);
        expect(await run(UNDO, withQueues(keys), 'mine')).to.deep.equal([1, -2, 1]);
        expect(await run(RELEASE, withQueues(keys), 'mine')).to.equal(0);
      }
      const seen = await inspect('x');
      expect(about(seen, 600_000)).to.equal(true);
      expect(ends(seen)).to.deep.equal([2, '']);
      expect(await server.redis.type('x')).to.equal(type);
    });

    it(`a ${type} for a lock and another's lock: claim {2, 0, 0}, at any position`, async () => {
      await putData(server.redis, 'x', type);
      await server.redis.set('o', 'other', 'PX', 600_000);
      expect(await claim(['o', 'x'])).to.deep.equal([2, 0, 0]);
      expect(await claim(['x', 'o'])).to.deep.equal([2, 0, 0]);
    });
  }

  it('the last fence there is: it is granted; nothing follows', async () => {
    await server.redis.set('c', LAST_FENCE - 1);
    expect(await claimFenced(['a', 'c'])).to.equal(LAST_FENCE);
    expect(await claimFenced(['a', 'c'])).to.deep.equal([2, HOLDS.counter, 0]);
  });

  it('a fence beyond 2^50 goes through every script exactly, as a number and as a text (T-A8)', async () => {
    for (const fence of [2 ** 50 + 1, BIG, 2 ** 52 + 1]) {
      for (const as of [fence, String(fence)]) {
        await server.redis.flushall();
        const claimed = await run(atInstant(CLAIM, fence), ['a', 'c'], 'mine', 600_000, LIFE, as, -1);
        expect(claimed).to.equal(fence);
        expect(await server.redis.get('c')).to.equal(String(blockEnd(fence)));
        await server.redis.set('c', String(fence - 1));
        expect(await accept(['a', 'c'], as, fence)).to.deep.equal([1, fence, 0]);
        expect(await server.redis.get('c')).to.equal(String(blockEnd(fence)));
        expect(await accept(['a', 'c'], as, fence)).to.deep.equal([3, blockEnd(fence), 0]);
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
        // an extension of one looks by MGET
        await server.without('mget', () => denied('get', () => extend(keys)));
        await denied('get', () => run(UNDO, withQueues(keys), 'mine'));
        await denied('get', () => inspect('a'));
      }
      expect(await server.redis.mget('a', 'b', 'c1', 'c2')).to.deep.equal(['mine', 'mine', '5', '5']);
    });

    it('-get: a release deletes nothing', async () => {
      await server.redis.mset('a', 'mine', 'b', 'mine');
      expect(await server.without('get', () => run(RELEASE, withQueues(['a']), 'mine'))).to.equal(0);
      expect(await server.without('get', () => run(RELEASE, withQueues(['a', 'b']), 'mine'))).to.equal(0);
      expect(await server.redis.mget('a', 'b')).to.deep.equal(['mine', 'mine']);
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
  });

  it('at maxmemory: release and undo still delete, and inspect still looks', async () => {
    await server.redis.mset('a', 'mine', 'b', 'mine', 'c', 5);
    await server.redis.config('SET', 'maxmemory', '1');
    try {
      const message = (promise: Promise<unknown>): Promise<unknown> =>
        promise.catch((error: Error) => error.message);
      expect(await message(claim(['z']))).to.match(/OOM/);
      expect(await message(claimFenced(['z', 'cz']))).to.match(/OOM/);
      expect(await message(accept(['a', 'c'], BIG))).to.match(/OOM/);
      expect(await run(RELEASE, withQueues(['a']), 'mine')).to.equal(1);
      expect(await run(UNDO, withQueues(['b']), 'mine')).to.deep.equal([1, -2, 0]);
      expect(await inspect('a')).to.deep.equal([0, -2, '', 0, []]);
      expect(await server.redis.exists('a', 'b', 'z', 'cz')).to.equal(0);
    } finally {
      await server.redis.config('SET', 'maxmemory', '0');
    }
  });
});
