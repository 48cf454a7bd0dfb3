import { GlideClient, GlideClusterClient } from '@valkey/valkey-glide';
import { expect } from 'chai';
import fc from 'fast-check';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
import { createClient, createClientPool, createCluster, RESP_TYPES } from 'redis';
import { createClient as createClient5, createCluster as createCluster5 } from 'redis5';
import {
  MemoryFence,
  RedisFence,
  type RedisFenceClient,
  type RedisFenceOptions,
} from '../../lib/fence/index.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import type { IoredisScripts } from '../../lib/redis/ioredis/scripts.js';
import { byHand, startCluster } from '../support/real.js';
import { rejection, thrown } from '../support/rejection.js';
import { CLOSE_PAIRS, NOW, WRONG_INPUT } from './input.js';

const HOST = '127.0.0.1';
const KEY = 'quorate:accepted:r';

let masters: Masters;
let cluster: Masters;
let redis: Redis;
/** By kind. That they can be put here is the type test: each is a client as it comes. */
let clients: Record<string, RedisFenceClient>;
let close: () => void;

const portOf = ({ list }: Masters): number => list[0]?.port ?? 0;

before(async () => {
  [masters, cluster] = await Promise.all([startMasters(1), startCluster()]);
  redis = byHand(portOf(masters));
  const node = { host: HOST, port: portOf(cluster) };
  const ioredis = {
    'ioredis 6': new Redis(portOf(masters), HOST),
    'ioredis 6, its own replies': new Redis({ port: portOf(masters), host: HOST, replyMapping: 'resp3' }),
    'ioredis 6, numbers as texts': new Redis(portOf(masters), HOST, { stringNumbers: true }),
    'ioredis 5': new Redis5(portOf(masters), HOST),
    'ioredis 6 Cluster': new Cluster([node]),
    'ioredis 5 Cluster': new Cluster5([node]),
  };
  const [socket, rootNodes] = [{ host: HOST, port: portOf(masters) }, [{ socket: node }]];
  const nodeRedis = {
    'node-redis 6': createClient({ socket }),
    'node-redis 6, Buffers': createClient({
      socket,
      commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
    }),
    'node-redis 5': createClient5({ socket }),
    'node-redis 6 pool': createClientPool({ socket }),
    'node-redis 6 cluster': createCluster({ rootNodes }),
    'node-redis 5 cluster': createCluster5({ rootNodes }),
  };
  await Promise.all(Object.values(nodeRedis).map((client) => client.connect()));
  const glide = {
    GLIDE: await GlideClient.createClient({ addresses: [socket] }),
    'GLIDE, bytes': await GlideClient.createClient({ addresses: [socket], defaultDecoder: 0 }),
    'GLIDE cluster': await GlideClusterClient.createClient({ addresses: [node] }),
  };
  clients = { ...ioredis, ...nodeRedis, ...glide };
  close = () => {
    for (const client of Object.values(glide)) client.close();
    for (const client of Object.values(ioredis)) client.disconnect();
    for (const client of Object.values(nodeRedis)) client.destroy();
  };
});
after(async () => {
  close?.();
  redis?.disconnect();
  await Promise.all([masters?.stop(), cluster?.stop()]);
});
beforeEach(() => redis.flushall());

/** A client that keeps count of what is sent. */
function counted(client: IoredisScripts = redis): IoredisScripts & { readonly sent: string[] } {
  const sent: string[] = [];
  return {
    sent,
    eval: (...args) => (sent.push('eval'), client.eval(...args)),
    evalsha: (...args) => (sent.push('evalsha'), client.evalsha(...args)),
  };
}

describe('RedisFence on real servers', () => {
  for (const kind of [
    'ioredis 6',
    'ioredis 6, its own replies',
    'ioredis 6, numbers as texts',
    'ioredis 5',
    'ioredis 6 Cluster',
    'ioredis 5 Cluster',
    'node-redis 6',
    'node-redis 6, Buffers',
    'node-redis 5',
    'node-redis 6 cluster',
    'node-redis 5 cluster',
    'node-redis 6 pool',
    'GLIDE',
    'GLIDE, bytes',
    'GLIDE cluster',
  ]) {
    it(`${kind}: accepts the first, the same and a higher one, refuses a lower one; resources are apart`, async () => {
      const client = clients[kind];
      if (client === undefined) throw new Error('it was made');
      const guard = new RedisFence(client, { keyPrefix: `${kind}:` });
      expect(await guard.accepts('r', NOW)).to.equal(true);
      expect(await guard.accepts('r', NOW)).to.equal(true);
      expect(await guard.accepts('r', NOW + 1)).to.equal(true);
      expect(await guard.accepts('r', NOW)).to.equal(false);
      expect(await guard.accepts('other', 5)).to.equal(true);
      const other = new RedisFence(client, { keyPrefix: `${kind}:`, ttlMs: 600_000 }); // another script's arguments
      expect(await other.accepts('r', NOW)).to.equal(false);
      await guard.check('r', NOW + 1);
      const error = await rejection(guard.check('r', NOW));
      expect([error.code, error.message, error.resources]).to.deep.equal([
        'STALE_FENCE',
        `fencing token ${NOW} for "r" is stale: ${NOW + 1} was accepted.`,
        ['r'],
      ]);
    });
  }

  for (const [low, high] of CLOSE_PAIRS) {
    it(`after ${high}: refuses ${low}, and the key holds the digits of ${high}`, async () => {
      const guard = new RedisFence(redis);
      expect([await guard.accepts('r', low), await guard.accepts('r', high)]).to.deep.equal([true, true]);
      expect([await guard.accepts('r', low), await guard.accepts('r', high)]).to.deep.equal([false, true]);
      expect(await redis.get(KEY)).to.equal(String(high));
    });
  }

  it('one key, keyPrefix + resource, without expiry; the client puts its own prefix before it', async () => {
    await new RedisFence(redis).accepts('r', 5);
    await new RedisFence(redis, { keyPrefix: 'mine:' }).accepts('r', 5);
    const prefixed = new Redis(portOf(masters), HOST, { keyPrefix: 'app:' });
    await new RedisFence(prefixed).accepts('r', 5).finally(() => prefixed.disconnect());
    expect((await redis.keys('*')).sort()).to.deep.equal(['app:quorate:accepted:r', 'mine:r', KEY]);
    for (const key of await redis.keys('*')) expect(await redis.ttl(key)).to.equal(-1);
  });

  it('ttlMs: the time starts again with every call, refused ones too; the key is forgotten after it', async () => {
    const guard = new RedisFence(redis, { ttlMs: 600_000 });
    for (const [fence, isAccepted] of [
      [5, true],
      [5, true],
      [6, true],
      [5, false],
    ] as const) {
      expect(await guard.accepts('r', fence)).to.equal(isAccepted);
      expect(await redis.pttl(KEY)).to.be.within(300_001, 600_000);
      await redis.pexpire(KEY, 300_000);
    }
    await redis.del(KEY); // as the expiry does
    expect(await guard.accepts('r', 1)).to.equal(true);
  });

  it('without ttlMs: an expiry that somebody else set is taken off by the next one that is accepted', async () => {
    await redis.set(KEY, '5', 'PX', 60_000);
    await new RedisFence(redis).accepts('r', 5);
    expect(await redis.ttl(KEY)).to.equal(-1);
  });

  it('one EVALSHA for each call; after a NOSCRIPT one EVAL', async () => {
    await redis.script('FLUSH');
    const client = counted();
    const guard = new RedisFence(client);
    for (const fence of [5, 6, 4]) await guard.accepts('r', fence);
    await guard.check('r', 6);
    expect(client.sent).to.deep.equal(['evalsha', 'eval', 'evalsha', 'evalsha', 'evalsha']);
  });

  for (const { title, resource, fence, text } of WRONG_INPUT) {
    it(`${title}: INVALID_ARGUMENT, and nothing is sent: ${text}`, async () => {
      const client = counted();
      const guard = new RedisFence(client);
      for (const call of [guard.accepts(resource, fence), guard.check(resource, fence)]) {
        const error = await rejection(call);
        expect([error.code, error.message]).to.deep.equal(['INVALID_ARGUMENT', text]);
      }
      expect(client.sent).to.deep.equal([]);
    });
  }

  for (const value of [
    '',
    'text',
    '0',
    '-5',
    '5.5',
    '05',
    ' 5',
    '5 ',
    '1e3',
    '0x10',
    'nan',
    'inf',
    '9007199254740992',
  ]) {
    it(`a key that holds ${JSON.stringify(value)}: WRONG_KIND with the server's error as cause; it stays`, async () => {
      await redis.set(KEY, value);
      const error = await rejection(new RedisFence(redis).accepts('r', NOW));
      expect([error.code, error.message, error.resources]).to.deep.equal([
        'WRONG_KIND',
        `the key "${KEY}" holds something that is not a fencing token.`,
        ['r'],
      ]);
      expect(error.cause).to.be.instanceOf(Error).with.property('message').that.contains('holds no fence');
      expect(await redis.get(KEY)).to.equal(value);
    });
  }

  it("a key of another type: WRONG_KIND with the server's error as cause; it stays", async () => {
    await redis.lpush(KEY, '5');
    for (const options of [{}, { ttlMs: 1_000 }]) {
      const error = await rejection(new RedisFence(redis, options).check('r', NOW));
      expect(error.code).to.equal('WRONG_KIND');
      expect(error.cause).to.be.instanceOf(Error).with.property('message').that.contains('WRONGTYPE');
    }
    expect(await redis.lrange(KEY, 0, -1)).to.deep.equal(['5']);
    expect(await redis.ttl(KEY)).to.equal(-1);
  });

  it('the words of a server before 7.0 are understood', async () => {
    const says = (text: string): RedisFenceClient => {
      const answer = (): Promise<never> => Promise.reject(new Error(text));
      return { eval: answer, evalsha: answer };
    };
    const before7 = (text: string): string =>
      `ERR Error running script (call to f_5b1e): @user_script:7: ${text} `;
    for (const text of [
      before7('quorate: the key holds no fence'),
      before7('WRONGTYPE Operation against a key'),
    ]) {
      expect((await rejection(new RedisFence(says(text)).accepts('r', 5))).code).to.equal('WRONG_KIND');
    }
  });

  it('errors that are not about the key come through as they are: nothing is known then', async () => {
    const gone = byHand(portOf(masters), { lazyConnect: true, enableOfflineQueue: false });
    const failure: unknown = await new RedisFence(gone).accepts('r', 5).catch((error: unknown) => error);
    gone.disconnect();
    expect(failure).to.be.instanceOf(Error).with.property('message').that.contains("isn't writeable");
    const client = counted({
      evalsha: () => Promise.reject(new Error('BUSY')),
      eval: () => Promise.resolve('accepted'),
    });
    expect(await new RedisFence(client).accepts('r', 5).catch((error: Error) => error.message)).to.equal(
      'BUSY',
    );
    expect(client.sent).to.deep.equal(['evalsha']);
    await redis.config('SET', 'maxmemory', '1');
    try {
      const full: unknown = await new RedisFence(redis).accepts('r', 5).catch((error: unknown) => error);
      expect(full).to.be.instanceOf(Error).with.property('message').that.contains('OOM');
    } finally {
      await redis.config('SET', 'maxmemory', '0');
    }
    expect(await redis.exists(KEY)).to.equal(0);
  });

  for (const reply of [null, undefined, 1, 'OK', 'QUEUED', '', '0', '05', [1], Buffer.from('accepted')]) {
    it(`a client that answers ${JSON.stringify(reply)}: INVALID_ARGUMENT, never accepted`, async () => {
      const answer = (): Promise<unknown> => Promise.resolve(reply);
      const guard = new RedisFence({ eval: answer, evalsha: answer });
      expect((await rejection(guard.accepts('r', 5))).code).to.equal('INVALID_ARGUMENT');
    });
  }

  const WRONG_OPTIONS: readonly [unknown, string][] = [
    [null, 'options must be an object; got null.'],
    [[], 'options must be an object; got an empty array.'],
    [{ prefix: 'x' }, 'prefix ("x") is not an option here; did you mean keyPrefix? Known: keyPrefix, ttlMs.'],
    [{ keyPrefix: 1 }, 'keyPrefix must be a string of well-formed Unicode; got 1.'],
    [{ keyPrefix: '\ud800' }, 'keyPrefix must be a string of well-formed Unicode; got "\\ud800".'],
    [{ ttlMs: 0 }, 'ttlMs must be a whole number of milliseconds from 1 on; got 0.'],
    [{ ttlMs: 1.5 }, 'ttlMs must be a whole number of milliseconds from 1 on; got 1.5.'],
    [{ ttlMs: '9' }, 'ttlMs must be a whole number of milliseconds from 1 on; got "9".'],
    [{ ttlMs: Infinity }, 'ttlMs must be a whole number of milliseconds from 1 on; got Infinity.'],
  ];
  for (const [options, text] of WRONG_OPTIONS) {
    it(text, () => {
      const error = thrown(() => new RedisFence(redis, options as RedisFenceOptions));
      expect([error.code, error.message]).to.deep.equal(['INVALID_ARGUMENT', text]);
    });
  }

  for (const client of [
    undefined,
    null,
    'redis://a',
    {},
    { eval: () => 1 },
    { evalsha: () => 1 },
    { evalSha: () => 1 },
  ]) {
    it(`a client that is ${JSON.stringify(client) ?? 'undefined'}: INVALID_ARGUMENT`, () => {
      const error = thrown(() => new RedisFence(client as unknown as RedisFenceClient));
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message).to.match(/^redis must be a client of ioredis, node-redis or Valkey GLIDE; got /);
    });
  }

  it('20 writers at once: each sees its own fences accepted until a higher one was, and the highest stays', async () => {
    const fences = Array.from({ length: 20 }, (_, i) => NOW + i);
    const guard = new RedisFence(redis);
    const answers = await Promise.all(
      fences.flatMap((fence) => [guard.accepts('r', fence), guard.accepts('r', NOW + 19 - (fence - NOW))]),
    );
    expect(answers.slice(0, 2)).to.deep.equal([true, true]); // NOW, then NOW + 19: sent in this order
    expect(answers.filter(Boolean)).to.have.length(3); // and NOW + 19 once more, as the last but one
    expect(await redis.get(KEY)).to.equal(String(NOW + 19));
  });

  it('any sequence: the same answers as MemoryFence', async () => {
    const calls = fc.array(
      fc.record({
        resource: fc.constantFrom('a', 'b', '{a}', 'ä ☃'),
        fence: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: NOW, max: NOW + 5 })),
      }),
      { maxLength: 30 },
    );
    await fc.assert(
      fc.asyncProperty(calls, async (sequence) => {
        await redis.flushall();
        const [memory, guard] = [new MemoryFence(), new RedisFence(redis)];
        for (const { resource, fence } of sequence) {
          expect(await guard.accepts(resource, fence)).to.equal(memory.accepts(resource, fence));
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe('RedisFence.LUA in a script of one’s own', () => {
  const WRITE = `${RedisFence.LUA}
local isAccepted, highest = quorate_accepts(KEYS[1], ARGV[1], ARGV[3])
if not isAccepted then return {0, highest} end
redis.call('SET', KEYS[2], ARGV[2])
return {1, type(highest)}`;
  const write = (fence: string | number, text: string, ...more: string[]): Promise<unknown> =>
    redis.eval(WRITE, 2, KEY, 'data', fence, text, ...more);

  it('writes when accepted; writes nothing and gives the highest when stale; shares its memory with accepts', async () => {
    expect(await write(NOW, 'first')).to.deep.equal([1, 'nil']);
    expect(await write(NOW + 1, 'second')).to.deep.equal([1, 'nil']);
    expect(await write(NOW, 'late')).to.deep.equal([0, String(NOW + 1)]);
    expect(await redis.get('data')).to.equal('second');
    expect(await new RedisFence(redis).accepts('r', NOW)).to.equal(false);
    await new RedisFence(redis).accepts('r', NOW + 2);
    expect(await write(NOW + 1, 'late')).to.deep.equal([0, String(NOW + 2)]);
    expect(await redis.ttl(KEY)).to.equal(-1);
  });

  it('takes a ttl in ms', async () => {
    await write(NOW, 'first', '600000');
    expect(await redis.pttl(KEY)).to.be.within(300_001, 600_000);
  });

  it('takes a number as well, and stores all its digits', async () => {
    const script = `${RedisFence.LUA} return quorate_accepts(KEYS[1], tonumber(ARGV[1])) and 1 or 0`;
    expect(await redis.eval(script, 1, KEY, NOW + 1)).to.equal(1);
    expect(await redis.get(KEY)).to.equal(String(NOW + 1));
    expect(await redis.eval(script, 1, KEY, NOW)).to.equal(0);
  });

  for (const fence of ['', '0', '-1', '05', '1.5', ' 7', '0x10', '1e3', 'nan', 'x', '9007199254740992']) {
    it(`a fence ${JSON.stringify(fence)}: the script fails, and nothing is written`, async () => {
      const failure: unknown = await write(fence, 'wrong').catch((error: unknown) => error);
      expect(failure)
        .to.be.instanceOf(Error)
        .with.property('message')
        .that.contains('quorate: the fence is no positive safe integer');
      expect(await redis.dbsize()).to.equal(0);
    });
  }

  for (const lua of ['nil', 'false', '{}', '1.5', '0/0', '1/0', '2^53', '0', '-3']) {
    it(`a fence that is ${lua} in Lua: the script fails, and nothing is written`, async () => {
      const script = `${RedisFence.LUA} return quorate_accepts(KEYS[1], ${lua}) and 1 or 0`;
      const failure: unknown = await redis.eval(script, 1, KEY).catch((error: unknown) => error);
      expect(failure)
        .to.be.instanceOf(Error)
        .with.property('message')
        .that.contains('no positive safe integer');
      expect(await redis.dbsize()).to.equal(0);
    });
  }
});
