import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { CLAIM, EXTEND, INSPECT, RELEASE, type Script, SCRIPTS, UNDO } from '../lib/scripts.js';
import { scriptDigest } from '../lib/transport.js';
import { type Masters, startMasters } from '../scripts/masters.js';
import { FakeMaster } from './support/fake-master.js';
import { FakeTime } from './support/fake-time.js';
import { byHand } from './support/real.js';

let masters: Masters;
let redis: Redis;

before(async () => {
  masters = await startMasters(1);
  redis = byHand(masters.list[0]?.port ?? 0);
});
after(async () => {
  redis?.disconnect();
  await masters?.stop();
});
beforeEach(() => redis?.flushall());

const run = (
  script: Script,
  keys: readonly string[],
  ...args: readonly (string | number)[]
): Promise<unknown> => redis.eval(script.source, keys.length, ...keys, ...args);

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

describe('scripts on a real server', () => {
  for (const { name, source } of SCRIPTS) {
    it(`${name}: loads, and its digest is the server's`, async () => {
      expect(await redis.script('LOAD', source)).to.equal(scriptDigest(source));
    });
  }

  it('claim {1, 0}: all keys are set, with the token and the ttl', async () => {
    expect(await run(CLAIM, ['a', 'b'], 'mine', 60_000)).to.deep.equal([1, 0]);
    expect(await redis.mget('a', 'b')).to.deep.equal(['mine', 'mine']);
    for (const key of ['a', 'b']) expect(await redis.pttl(key)).to.be.within(55_000, 60_000);
  });

  it('claim {1, 0}: also when the token holds them already, or some of them', async () => {
    await redis.set('b', 'mine', 'PX', 1_000);
    expect(await run(CLAIM, ['a', 'b'], 'mine', 60_000)).to.deep.equal([1, 0]);
    expect(await redis.pttl('b')).to.be.above(50_000);
  });

  it('claim {0, ms}: the longest time left of those of others, and nothing is set', async () => {
    await redis.set('b', 'other', 'PX', 20_000);
    await redis.set('c', 'third', 'PX', 90_000);
    await redis.set('d', 'other', 'PX', 10_000);
    const reply = await run(CLAIM, ['a', 'b', 'c', 'd'], 'mine', 60_000);
    expect(about(reply, 90_000)).to.equal(true);
    expect(ends(reply)).to.deep.equal([0, undefined]);
    expect(await redis.exists('a')).to.equal(0);
  });

  it('claim {0, -1}: one of them has no expiry, wherever it stands', async () => {
    await redis.set('a', 'other', 'PX', 20_000);
    await redis.set('b', 'other');
    await redis.set('c', 'other', 'PX', 20_000);
    expect(await run(CLAIM, ['a', 'b', 'c'], 'mine', 60_000)).to.deep.equal([0, -1]);
  });

  for (const other of ['list', 'hash', 'set', 'zset', 'stream'] as const) {
    it(`a ${other}: claim {2, 0}, extend {2, 0}, undo {n, ms, 1}, inspect {2, ms}, release 0; it stays`, async () => {
      await putData(other);
      await redis.pexpire('x', 60_000);
      expect(await run(CLAIM, ['a', 'x'], 'mine', 60_000)).to.deep.equal([2, 0]);
      expect(await redis.exists('a')).to.equal(0);
      expect(await run(EXTEND, ['a', 'x'], 'mine', 60_000, 1)).to.deep.equal([2, 0]);
      expect(await redis.exists('a')).to.equal(0);
      await redis.set('a', 'mine', 'PX', 60_000);
      expect(await run(UNDO, ['a', 'x'], 'mine')).to.deep.equal([1, -2, 1]);
      expect(await run(RELEASE, ['x'], 'mine')).to.equal(0);
      const seen = await run(INSPECT, ['x']);
      expect(about(seen, 60_000)).to.equal(true);
      expect(ends(seen)).to.deep.equal([2, '']);
      expect(await redis.type('x')).to.equal(other);
    });
  }

  it('undo {n, -2, 0}: deletes what is mine', async () => {
    await run(CLAIM, ['a', 'b'], 'mine', 60_000);
    expect(await run(UNDO, ['a', 'b', 'c'], 'mine')).to.deep.equal([2, -2, 0]);
    expect(await redis.exists('a', 'b')).to.equal(0);
  });

  it('undo {n, ms, 0}: the longest time left of those of others, which stay', async () => {
    await redis.set('a', 'mine', 'PX', 60_000);
    await redis.set('b', 'other', 'PX', 20_000);
    await redis.set('c', 'other', 'PX', 90_000);
    const reply = await run(UNDO, ['a', 'b', 'c'], 'mine');
    expect(about(reply, 90_000)).to.equal(true);
    expect(ends(reply)).to.deep.equal([1, 0]);
    expect(await redis.mget('b', 'c')).to.deep.equal(['other', 'other']);
  });

  it('undo {n, -1, 0}: one of them has no expiry', async () => {
    await redis.set('a', 'other', 'PX', 20_000);
    await redis.set('b', 'other');
    expect(await run(UNDO, ['a', 'b'], 'mine')).to.deep.equal([0, -1, 0]);
  });

  it('release: counts what it deleted; gone and taken are nothing', async () => {
    await redis.set('a', 'mine', 'PX', 60_000);
    await redis.set('b', 'other', 'PX', 60_000);
    expect(await run(RELEASE, ['a', 'b', 'c'], 'mine')).to.equal(1);
    expect(await redis.mget('a', 'b')).to.deep.equal([null, 'other']);
  });

  it('extend {1, 0}: lengthens, never shortens, and sets what is gone when it may', async () => {
    await redis.set('a', 'mine', 'PX', 10_000);
    await redis.set('b', 'mine', 'PX', 90_000);
    await redis.set('c', 'mine');
    expect(await run(EXTEND, ['a', 'b', 'c', 'd'], 'mine', 60_000, 1)).to.deep.equal([1, 0]);
    expect(await redis.pttl('a')).to.be.within(55_000, 60_000);
    expect(await redis.pttl('b')).to.be.above(80_000);
    expect(await redis.pttl('c')).to.equal(-1);
    expect([await redis.get('d'), (await redis.pttl('d')) > 55_000]).to.deep.equal(['mine', true]);
  });

  it('extend {0, -2}: a key is gone and may not be set again; nothing is changed', async () => {
    await redis.set('a', 'mine', 'PX', 10_000);
    expect(await run(EXTEND, ['a', 'b'], 'mine', 60_000, 0)).to.deep.equal([0, -2]);
    expect(await redis.pttl('a')).to.be.at.most(10_000);
    expect(await redis.exists('b')).to.equal(0);
  });

  it('extend {0, ms}: another holds one, −1 without expiry; nothing is changed, and nothing of ours comes back', async () => {
    await redis.set('b', 'other', 'PX', 90_000);
    const reply = await run(EXTEND, ['a', 'b'], 'mine', 60_000, 1);
    expect(about(reply, 90_000)).to.equal(true);
    expect(await redis.exists('a')).to.equal(0);
    await redis.persist('b');
    expect(await run(EXTEND, ['a', 'b'], 'mine', 60_000, 1)).to.deep.equal([0, -1]);
  });

  it('inspect: {0, -2} free, {1, ms, owner} held, {1, -1, owner} without expiry', async () => {
    expect(await run(INSPECT, ['a'])).to.deep.equal([0, -2, '']);
    await redis.set('a', 'mine', 'PX', 60_000);
    const held = await run(INSPECT, ['a']);
    expect(about(held, 60_000)).to.equal(true);
    expect(ends(held)).to.deep.equal([1, 'mine']);
    await redis.persist('a');
    expect(await run(INSPECT, ['a'])).to.deep.equal([1, -1, 'mine']);
  });

  it('a ttl as long as a number can be', async () => {
    const ttlMs = Number.MAX_SAFE_INTEGER;
    expect(await run(CLAIM, ['a'], 'mine', ttlMs)).to.deep.equal([1, 0]);
    expect(await run(EXTEND, ['a'], 'mine', ttlMs, 1)).to.deep.equal([1, 0]);
    expect(await redis.pttl('a')).to.be.above(9e15);
  });

  it('at maxmemory: release and undo still delete, and inspect still looks', async () => {
    await redis.mset('a', 'mine', 'b', 'mine');
    await redis.config('SET', 'maxmemory', '1');
    try {
      expect(await run(CLAIM, ['z'], 'mine', 1_000).catch((error: Error) => error.message)).to.match(/OOM/);
      expect(await run(RELEASE, ['a'], 'mine')).to.equal(1);
      expect(await run(UNDO, ['b'], 'mine')).to.deep.equal([1, -2, 0]);
      expect(await run(INSPECT, ['a'])).to.deep.equal([0, -2, '']);
    } finally {
      await redis.config('SET', 'maxmemory', '0');
    }
  });

  async function putData(type: 'list' | 'hash' | 'set' | 'zset' | 'stream'): Promise<void> {
    const commands = {
      list: ['LPUSH', 'x', '1'],
      hash: ['HSET', 'x', 'f', '1'],
      set: ['SADD', 'x', '1'],
      zset: ['ZADD', 'x', '1', 'm'],
      stream: ['XADD', 'x', '*', 'f', '1'],
    };
    const [command = '', ...args] = commands[type];
    await redis.call(command, ...args);
  }
});

describe('scripts: the twins in memory do the same', () => {
  const KEYS = ['a', 'b', 'c', 'd'];
  const TTLS = [1_000_000, 2_000_000, 3_000_000]; // far enough apart to be told by their millions

  /** A small generator, so that a failure can be repeated by its seed. */
  function draws(seed: number): (below: number) => number {
    let state = seed;
    return (below) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
  }

  /** Replies with times rounded up to millions: the real ones count down. */
  const rounded = (reply: unknown): string =>
    JSON.stringify(reply, (_key, part: unknown) =>
      typeof part === 'number' && part > 1_000 ? Math.ceil(part / 1e6) * 1e6 : part,
    );

  for (let seed = 1; seed <= 20; seed++) {
    it(`seed ${seed}: 60 random commands, replies and keys compared after each`, async () => {
      const below = draws(seed * 7_919);
      const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T; // an index below its length
      const fake = new FakeMaster('fake', new FakeTime());
      for (let step = 0; step < 60; step++) {
        const keys = KEYS.filter(() => below(2) === 0);
        if (keys.length === 0) keys.push(pick(KEYS));
        const [token, ttl] = [pick(['one', 'two']), String(pick(TTLS))];
        const key = keys[0] ?? 'a';
        const script = pick([CLAIM, UNDO, RELEASE, EXTEND, INSPECT, undefined, undefined]);
        let pair: [unknown, unknown];
        if (script !== undefined) {
          const args =
            script === EXTEND
              ? [token, ttl, String(below(2))]
              : script === CLAIM
                ? [token, ttl]
                : script === INSPECT
                  ? []
                  : [token];
          const of = script === INSPECT ? [key] : keys;
          const real = run(script, of, ...args);
          pair = [
            await real,
            await fake.call({ name: 'eval', args: [script.source, String(of.length), ...of, ...args] }),
          ];
        } else {
          pair = await disturb(fake, key, token, below(4), ttl);
        }
        const title = `step ${step}: ${script?.name ?? 'by hand'} ${keys.join()} ${token} ${ttl}`;
        expect(rounded(pair[1]), title).to.equal(rounded(pair[0]));
        expect(await state(fake), title).to.deep.equal(await state(redis));
      }
    });
  }

  /** What others do to a key: set it, with or without expiry, put data there, delete it. */
  async function disturb(
    fake: FakeMaster,
    key: string,
    token: string,
    what: number,
    ttl: string,
  ): Promise<[unknown, unknown]> {
    const del = async (): Promise<void> => {
      await redis.del(key);
      await fake.call({ name: 'eval', args: [RELEASE.source, '1', key, fake.value(key) ?? ''] });
    };
    switch (what) {
      case 0:
        return [
          await redis.set(key, token, 'PX', ttl, 'NX'),
          await fake.call({ name: 'set', args: [key, token, 'PX', ttl, 'NX'] }),
        ];
      case 1:
        await del();
        await redis.set(key, token);
        fake.set(key, token);
        return [0, 0];
      case 2:
        await del();
        await redis.lpush(key, 'data');
        fake.setForeign(key);
        return [0, 0];
      default:
        await del();
        return [0, 0];
    }
  }

  /** Every key: its value, or that it is no string, and its time left in millions. */
  async function state(of: FakeMaster | Redis): Promise<string[]> {
    return Promise.all(
      KEYS.map(async (key) => {
        if (of instanceof FakeMaster) {
          const value = of.value(key)?.startsWith('\0') === true ? 'data' : (of.value(key) ?? 'none');
          const ms = of.ttlMs(key);
          return `${value} ${ms === Infinity ? -1 : ms < 0 ? ms : Math.ceil(ms / 1e6)}`;
        }
        const isList = (await of.type(key)) === 'list';
        const ms = await of.pttl(key);
        return `${isList ? 'data' : ((await of.get(key)) ?? 'none')} ${ms < 0 ? ms : Math.ceil(ms / 1e6)}`;
      }),
    );
  }
});
