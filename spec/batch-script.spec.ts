/**
 * The batch script on a real server: the same replies, and the same keys afterwards, as when each entry comes alone. Both
 * run on the same server, in one database each; the clock differs a little between them, so counters and times left are
 * compared as far as the clock does not matter.
 */
import { expect } from 'chai';
import { Batch, entryReply } from '../lib/batch.js';
import {
  acceptance,
  extension,
  plainClaim,
  release,
  type Request,
  scriptedClaim,
  undo,
} from '../lib/request.js';
import type { Scope } from '../lib/scope.js';
import { plainScope } from './support/commands.js';
import { oneServer, putData, TYPES } from './support/server.js';

const SEEDS = 40;
const BATCHES = 12;
const LOCKS = ['a', 'b', 'c', 'd'];
const MARKER = 'm';
const ALL = [...LOCKS, ...LOCKS.map((key) => `f${key}`), MARKER];
/** Far enough apart to be told by their millions. */
const TTLS = [10_000_000, 20_000_000, 30_000_000];
const GUARD_MS = 50_000_000;
/** Counters that are born of the clock are all like this one. */
const CLOCKLIKE = 1e15;

class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }

  pick<T>(list: readonly [T, ...T[]] | readonly T[]): T {
    return list[this.below(list.length)] as T; // never empty
  }
}

describe('batch: on a real server', () => {
  const server = oneServer();

  const asOne = async (requests: readonly Request[]): Promise<readonly unknown[]> => {
    const batch = new Batch();
    for (const request of requests) expect(batch.add(request)).to.equal(true);
    const { args } = batch.command(true);
    await server.redis.select(1);
    return (await server.redis.call('EVAL', [...args])) as unknown[];
  };

  const alone = async (requests: readonly Request[]): Promise<readonly unknown[]> => {
    await server.redis.select(0);
    const replies: unknown[] = [];
    for (const request of requests) {
      const { args } = request.command.name === 'set' ? request.command : request.whole();
      const name = request.command.name === 'set' ? 'SET' : 'EVAL';
      replies.push(await server.redis.call(name, [...args]).catch((error: Error) => error.message));
    }
    return replies;
  };

  const contents = async (database: number): Promise<unknown> => {
    await server.redis.select(database);
    return Promise.all(
      ALL.map(async (key) => {
        const type = await server.redis.type(key);
        const value = type === 'string' ? await server.redis.get(key) : type;
        const ms = await server.redis.pttl(key);
        return [key, roughly(value), ms < 0 ? ms : Math.round(ms / 1_000_000)];
      }),
    );
  };

  for (let seed = 1; seed <= SEEDS; seed++) {
    it(`seed ${seed}: ${BATCHES} random batches do what their entries do one by one`, async () => {
      const draw = new Draw(seed * 7_919);
      const guardMs = draw.pick([-1, 0, GUARD_MS]);
      if (guardMs === GUARD_MS && draw.below(3) > 0) await declare(server.runId, [0, 1]);
      for (let i = 0; i < BATCHES; i++) {
        const foreign = draw.below(6) === 0 ? draw.pick(ALL.slice(0, -1)) : undefined;
        if (foreign !== undefined) {
          for (const database of [0, 1]) {
            await server.redis.select(database);
            await server.redis.del(foreign);
            await putData(server.redis, foreign, 'list');
          }
        }
        const requests = Array.from({ length: 1 + draw.below(9) }, () => drawRequest(draw, guardMs));
        const replies = (await alone(requests)).map(coarse);
        const replied = await asOne(requests);
        const together = requests.map((request, j) => entryReply(request, replied[j]));
        expect(together.map(coarse), `batch ${i}`).to.deep.equal(replies);
        expect(await contents(1), `batch ${i}`).to.deep.equal(await contents(0));
      }
    });
  }

  const declare = async (runId: string, databases: readonly number[]): Promise<void> => {
    for (const database of databases) {
      await server.redis.select(database);
      await server.redis.set(MARKER, `1|${runId}|1000|${GUARD_MS}`);
    }
  };

  for (const type of TYPES) {
    it(`an entry whose key is a ${type} fails alone, wherever it stands`, async () => {
      await server.redis.select(1);
      await putData(server.redis, 'b', type);
      const claims = ['a', 'b', 'c'].map((key) => plainClaim(plainScope(key), `t${key}`, 60_000));
      expect(await asOne(claims)).to.deep.equal([1, [2, 0, 0], 1]);
      expect(await server.redis.type('b')).to.equal(type);
    });
  }

  it('at maxmemory: claims fail one by one, with the error of each; releases and undos in the same call are done', async () => {
    const { redis } = server;
    await redis.select(1);
    await redis.mset('held', 'h', 'other', 'o');
    await redis.config('SET', 'maxmemory', '1');
    try {
      const replies = await asOne([
        plainClaim(plainScope('a'), 'ta', 60_000),
        plainClaim(plainScope('b'), 'tb', 60_000),
        release(plainScope('held'), 'h', 0),
        undo(plainScope('other'), 'o'),
      ]);
      for (const denied of replies.slice(0, 2)) expect(denied).to.match(/^!OOM /);
      expect(replies.slice(2)).to.deep.equal([1, 1]);
    } finally {
      await redis.config('SET', 'maxmemory', '0');
    }
    expect(await redis.dbsize()).to.equal(0);
  });

  it('a guard that cannot be read says so in each entry that votes, and in no other', async () => {
    await server.redis.select(1);
    await server.redis.set(MARKER, 'something else');
    await server.redis.set('b', 'tb');
    const scope: Scope = { keys: ['a'], counters: ['fa'], isFenced: true, marker: MARKER, guardMs: GUARD_MS };
    const replies = await asOne([
      scriptedClaim(scope, 'ta', 60_000, 0),
      release(plainScope('b'), 'tb', 0),
      scriptedClaim({ ...scope, keys: ['c'], counters: ['fc'] }, 'tc', 60_000, 0),
    ]);
    expect(replies).to.deep.equal([[-2, 0, 0], 1, [-2, 0, 0]]);
  });

  it('a master begins its quarantine with the first entry of a batch, and all in it hear of it', async () => {
    const scope: Scope = { keys: ['a'], counters: ['fa'], isFenced: true, marker: MARKER, guardMs: GUARD_MS };
    const claims = ['a', 'b'].map((key) =>
      scriptedClaim({ ...scope, keys: [key], counters: [`f${key}`] }, 't', 60_000, 0),
    );
    expect(await asOne(claims)).to.deep.equal([
      [-1, GUARD_MS, 0],
      [-1, GUARD_MS, 0],
    ]);
    expect(await server.redis.keys('*')).to.deep.equal([MARKER]);
  });
});

function drawRequest(draw: Draw, guardMs: number): Request {
  const first = draw.below(LOCKS.length);
  const keys = draw.below(3) === 0 ? [...new Set([draw.pick(LOCKS), draw.pick(LOCKS)])] : [draw.pick(LOCKS)];
  const marker = guardMs < 0 ? undefined : MARKER;
  const isFenced = draw.below(3) > 0;
  const counters = isFenced ? keys.map((key) => `f${key}`) : [];
  const scope: Scope = { keys, counters, isFenced, marker, guardMs };
  const token = draw.pick(['one', 'two', 'three']);
  const ttlMs = draw.pick(TTLS);
  const amount = 1 + draw.below(9) + (draw.below(2) === 0 ? 0 : 4e15);
  switch (first + draw.below(4)) {
    case 0:
    case 1:
      return scriptedClaim(scope, token, ttlMs, draw.pick([0, 7]));
    case 2:
      return isFenced ? acceptance(scope, token, ttlMs, amount) : undo(scope, token);
    case 3:
      return release(scope, token, isFenced ? amount : 0);
    case 4:
      return undo(scope, token, isFenced ? amount : 0);
    default:
      return extension(scope, token, { ttlMs, fence: isFenced ? amount : 0, mayCreate: draw.below(2) === 0 });
  }
}

/** What comes from the clock is alike on both sides, and not the same. */
function roughly(value: unknown): unknown {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof value === 'string' && value.startsWith('1|')) return value.replace(/\|\d+\|/, '|since|');
  if (typeof number !== 'number' || number < CLOCKLIKE || number > 3 * CLOCKLIKE) return value;
  return 'a count from the clock';
}

/** Times left count down between the two. */
function coarse(reply: unknown): unknown {
  if (!Array.isArray(reply)) return roughly(reply);
  return reply.map((part: unknown) => {
    const rough = roughly(part);
    return typeof rough === 'number' && rough > 1_000_000 && rough < CLOCKLIKE
      ? Math.round(rough / 1_000_000)
      : rough;
  });
}
