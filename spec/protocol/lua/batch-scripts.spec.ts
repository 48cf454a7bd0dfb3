/**
 * The batch script on a real server: the same replies, and the same keys afterwards, as when each request comes alone, by its
 * short way or as the only entry. Both run on the same server, in one database each, and at the same instant by its clock; times left are compared by their
 * millions of ms. What is pushed is compared as well.
 */
import { expect } from 'chai';
import { Batch } from '../../../lib/node/batch.js';
import { isAllYes } from '../../../lib/protocol/batch-call.js';
import { entryReplies } from '../../support/entries.js';
import {
  acceptance,
  claimQueued,
  extension,
  plainClaim,
  release,
  releaseQueued,
  type Request,
  scriptedClaim,
  undo,
  undoQueued,
} from '../../../lib/protocol/request.js';
import { queueing, yielding } from '../../../lib/protocol/queue-request.js';
import { counterKey, pushChannel, queueKey, looksKey, turnKey } from '../../../lib/protocol/keys.js';
import { AHEAD_US, BACK_US, FENCE_BLOCK } from '../../../lib/protocol/lua/stored.js';
import { ENTRY } from '../../../lib/protocol/lua/entries.js';
import { FRESH_MS, MAX_DROPPED, RESERVE_MS } from '../../../lib/protocol/lua/waiting.js';
import type { Scope } from '../../../lib/protocol/scope.js';
import { tokenFrom } from '../../simulation/world/seeded.js';
import { plainScope } from '../../support/commands.js';
import { Draw } from '../../support/draw.js';
import {
  atInstant,
  lasting,
  NO_RIGHT,
  oneListener,
  oneServer,
  putData,
  TYPES,
} from '../../support/server.js';
import { wide } from '../../support/breadth.js';
import { reserving } from '../../support/looks.js';

const SEEDS = Array.from({ length: 40 }, (_, i) => i + 1);
const BATCHES = 12;
const LOCKS = ['a', 'b', 'c', 'd'];
const MARKER = 'm';
const ALL = [
  ...[...LOCKS, ...LOCKS.map(counterKey)],
  ...[...LOCKS.map(queueKey), ...LOCKS.map(turnKey), ...LOCKS.map(looksKey), MARKER],
];
/** A turn that is data counts as none where many are released at once, and is not deleted. */
const MAY_BE_DATA = ALL.filter((key) => key !== MARKER && !key.includes('turn'));
/** Clients of ours, of which the last is dead, and a foreign client. */
const OURS = ['ann', 'ben', 'cat'].map((name) => tokenFrom(name, '1'));
const TOKENS = [...OURS, 'foreign-client'];
/** Far enough apart to be told by their millions. */
const TTLS = [10_000_000, 20_000_000, 30_000_000];
const GUARD_MS = 50_000_000;
/** Times left are below this, clocks above. */
const CLOCKLIKE = 1e15;

describe('batch: on a real server', () => {
  const server = oneServer();
  const listener = oneListener(server);
  before(() => listener.listenTo(...OURS.slice(0, -1).map(pushChannel)));
  const seen = new Set<string>();

  /** @param us  where the clock stands still; undefined: it goes on */
  const replyTo = async (requests: readonly Request[], us?: number): Promise<unknown> => {
    const batch = new Batch();
    for (const request of requests) expect(batch.add(request)).to.equal(true);
    const { args } = batch.command(true);
    await server.redis.select(1);
    return server.redis.call('EVAL', us === undefined ? [...args] : stoppedAt(us, args));
  };

  const asOne = async (requests: readonly Request[], us?: number): Promise<readonly unknown[]> => {
    const reply = await replyTo(requests, us);
    return isAllYes(reply, requests.length) ? requests.map(() => 1) : (reply as unknown[]);
  };

  const alone = async (requests: readonly Request[], us: number): Promise<readonly unknown[]> => {
    await server.redis.select(0);
    const replies: unknown[] = [];
    for (const request of requests) {
      const isPlain = request.command.name === 'set';
      const [name, args] = isPlain
        ? ['SET', [...request.command.args]]
        : ['EVAL', stoppedAt(us, request.whole().args)];
      const reply: unknown = await server.redis.call(name, args).catch((error: Error) => error.message);
      replies.push(request.isLoneEntry ? entryReplies([request], reply)[0] : reply);
    }
    return replies;
  };

  const contents = async (database: number): Promise<unknown> => {
    await server.redis.select(database);
    return Promise.all(
      ALL.map(async (key) => {
        const type = await server.redis.type(key);
        const value = type === 'string' ? await server.redis.get(key) : type;
        const members = type === 'zset' ? await server.redis.zrange(key, '0', '-1', 'WITHSCORES') : [];
        const ms = await server.redis.pttl(key);
        const fields = type === 'hash' ? await server.redis.hgetall(key) : {};
        return [key, value, ...members, fields, ms < 0 ? ms : Math.round(ms / 1_000_000)];
      }),
    );
  };

  /** In both databases: some wait, and what lives for seconds only does not run out while the spec runs. */
  const prepare = async (draw: Draw, us: number): Promise<void> => {
    const waiters = Array.from({ length: draw.below(5) }, () => {
      const scope = { ...plainScope(draw.pick(LOCKS)), isFenced: draw.below(2) === 0 };
      return drawLook(draw, scope, us);
    });
    const lookedUs = us - draw.pick([0, 1_000, 1_000, FRESH_MS * 1_000 + 1]);
    for (const database of [0, 1]) {
      await server.redis.select(database);
      for (const key of [...LOCKS, ...LOCKS.map(looksKey)]) {
        const ms = await server.redis.pttl(key);
        if (ms >= 0 && ms <= FRESH_MS) await server.redis.pexpire(key, 10_000_000);
      }
      for (const waiter of waiters) await server.redis.call('EVAL', stoppedAt(lookedUs, waiter.whole().args));
    }
    await listener.heard();
  };

  /** The turns, as serial, token and ticket. */
  const turns = async (): Promise<ReadonlyMap<string, readonly string[]>> => {
    await server.redis.select(0);
    const texts = await Promise.all(LOCKS.map((key) => server.redis.get(turnKey(key))));
    return new Map(LOCKS.map((key, i) => [key, (texts[i] ?? '').split('|')]));
  };

  for (const seed of wide(SEEDS, SEEDS.slice(0, 20))) {
    it(`seed ${seed}: ${BATCHES} random batches do what their entries do one by one`, async () => {
      const draw = new Draw(seed * 7_919);
      const guardMs = draw.pick([-1, 0, GUARD_MS]);
      if (guardMs === GUARD_MS && draw.below(3) > 0) await declare(server.runId, [0, 1]);
      for (let i = 0; i < BATCHES; i++) {
        const foreign = draw.below(6) === 0 ? draw.pick(MAY_BE_DATA) : undefined;
        if (foreign !== undefined) {
          for (const database of [0, 1]) {
            await server.redis.select(database);
            await server.redis.del(foreign);
            await putData(server.redis, foreign, 'list');
          }
        }
        const nowUs = await server.micros();
        await prepare(draw, nowUs);
        const handed = await turns();
        const requests = Array.from({ length: 1 + draw.below(9) }, () =>
          draw.below(2) === 0 ? drawInLine(draw, guardMs, nowUs, handed) : drawRequest(draw, guardMs, nowUs),
        );
        for (let releases = draw.below(7); releases > 0; releases--)
          requests.push(release(plainScope(draw.pick(LOCKS)), draw.pick(TOKENS)));
        const proposal = drawProposal(draw, nowUs);
        for (let releases = draw.below(7); releases > 0; releases--)
          requests.push(releaseQueued(plainScope(draw.pick(LOCKS)), draw.pick(TOKENS), proposal));
        const terms = {
          ttlMs: draw.pick([20_000_000, 40_000_000]),
          mayCreate: draw.below(2) === 0,
        };
        for (let extensions = draw.below(7); extensions > 0; extensions--)
          requests.push(extension(under(guardMs, draw.pick(LOCKS)), draw.pick(TOKENS), terms));
        const plainly = (reply: unknown, j: number): unknown => {
          const request = requests[j];
          return coarse(request === undefined ? reply : inShort(request, reply));
        };
        const replies = (await alone(requests, nowUs)).map(plainly);
        const heard = await listener.heard();
        const together = entryReplies(requests, await replyTo(requests, nowUs));
        expect(together.map(plainly), `batch ${i}`).to.deep.equal(replies);
        expect(await listener.heard(), `batch ${i}`).to.deep.equal(heard);
        expect(await contents(1), `batch ${i}`).to.deep.equal(await contents(0));
        for (const [j, { operation }] of requests.entries())
          seen.add(`${operation.letter} ${codeOf(replies[j])}`);
        for (const push of heard) seen.add(`push ${push.split(' ')[1]}`);
      }
    });
  }

  it('that met every reply to those in the queue, and every push', () => {
    const wanted = [
      ...['q 6', 'q 1', 'q 0', 'q 4', 'q 2', 'q -1', 'y 0', 'y 1', 'v 0', 'v 1', 'h 0', 'h 1'],
      ...['push v', 'push g', 'push w', 'push i'],
    ];
    expect(wanted.filter((one) => !seen.has(one))).to.deep.equal([]);
  });

  const declare = async (runId: string, databases: readonly number[]): Promise<void> => {
    for (const database of databases) {
      await server.redis.select(database);
      await server.redis.set(MARKER, `1|${runId}|1000|${GUARD_MS}`);
    }
  };

  it('extensions shorten nothing: a key without expiry stays so, and one that lives longer does', async () => {
    await server.redis.select(1);
    const keys = ['a', 'b', 'c'];
    for (const key of keys) await server.redis.set(key, `t${key}`);
    await server.redis.pexpire('a', 100_000);
    await server.redis.pexpire('c', 9_000_000);
    const terms = { ttlMs: 1_000_000, mayCreate: true };
    expect(await asOne(keys.map((key) => extension(plainScope(key), `t${key}`, terms)))).to.deep.equal([
      1, 1, 1,
    ]);
    const [a, b, c] = await Promise.all(keys.map((key) => server.redis.pttl(key)));
    expect([a, c].map((ms = 0) => Math.round(ms / 1_000_000))).to.deep.equal([1, 9]);
    expect(b).to.equal(-1);
  });

  for (const type of TYPES) {
    it(`an entry whose key is a ${type} fails alone, at any position`, async () => {
      await server.redis.select(1);
      await putData(server.redis, 'b', type);
      const claims = ['a', 'b', 'c'].map((key) => plainClaim(plainScope(key), `t${key}`, 60_000));
      expect(await asOne(claims)).to.deep.equal([1, [2, 0, 0], 1]);
      expect(await server.redis.type('b')).to.equal(type);
    });
  }

  it('looks with fencing and without, alike in all else: each is counted, or not, as it asked for', async () => {
    const terms = { ticket: 1, lifeMs: 50_000, sentAtMs: 7, ttlMs: 60_000, proposal: 0 };
    const looks = [true, false, true].map((isFenced, i) =>
      queueing({ ...plainScope(`r${i}`), isFenced }, `t${i}`, terms),
    );
    const us = await server.micros();
    expect(await asOne(looks, us)).to.deep.equal([us, 0, us].map((fence) => [6, us, us, fence, 7]));
    expect(await server.redis.exists(counterKey('r1'))).to.equal(0);
  });

  it('at maxmemory: claims fail one by one, with the error of each; releases and undos in the same call are done', async () => {
    const { redis } = server;
    await redis.select(1);
    await redis.mset('held', 'h', 'other', 'o');
    await redis.config('SET', 'maxmemory', '1');
    try {
      const replies = await asOne([
        plainClaim(plainScope('a'), 'ta', 60_000),
        plainClaim(plainScope('b'), 'tb', 60_000),
        release(plainScope('held'), 'h'),
        undo(plainScope('other'), 'o'),
      ]);
      for (const denied of replies.slice(0, 2)) expect(denied).to.match(/^!OOM /);
      expect(replies.slice(2)).to.deep.equal([1, 1]);
    } finally {
      await redis.config('SET', 'maxmemory', '0');
    }
    expect(await redis.dbsize()).to.equal(0);
  });

  it('waiters that are gone: no more in all than one call may drop; each entry says whether it is to be repeated', async () => {
    const { redis } = server;
    await redis.select(1);
    const count = MAX_DROPPED - 100;
    for (const key of ['a', 'b', 'c', 'd']) {
      await redis.set(key, `t${key}`);
      if (key === 'd') continue;
      const dead = Array.from({ length: count }, (_, i) => [i, tokenFrom(`d${i % 9}`, String(i))]);
      await redis.zadd(queueKey(key), ...dead.flat());
      await redis.set(turnKey(key), '0||');
    }
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((key) => plainScope(key)) as [Scope, Scope, Scope, Scope];
    const replies = await asOne([release(a, 'ta'), undo(b, 'tb'), release(c, 'tc'), release(d, 'td')]);
    expect(replies).to.deep.equal([1, [1, -2, 2], -2, 1]);
    const left = await Promise.all(['a', 'b', 'c'].map((key) => redis.zcard(queueKey(key))));
    expect(left).to.deep.equal([0, count - 100, count]);
    expect(await redis.exists('a', 'b', 'c', 'd')).to.equal(0);
  });

  it('where one look at many is not allowed, each release and each extension is done by itself', async () => {
    const { redis } = server;
    await redis.select(1);
    const terms = { ttlMs: 600_000, mayCreate: false };
    for (const key of ['a', 'b', 'c', 'd']) await redis.set(key, `t${key}`, 'PX', 100_000);
    await redis.call('ACL', 'SETUSER', 'default', '-mget');
    try {
      const released = ['a', 'b'].map((key) => release(plainScope(key), `t${key}`));
      const extended = ['c', 'd'].map((key) => extension(plainScope(key), `t${key}`, terms));
      expect(await asOne([...released, ...extended])).to.deep.equal([1, 1, 1, 1]);
    } finally {
      await redis.call('ACL', 'SETUSER', 'default', '+mget');
    }
    expect(await redis.exists('a', 'b')).to.equal(0);
    for (const key of ['c', 'd']) expect(await redis.pttl(key)).to.be.above(100_000);
  });

  it('all say yes: that many is the whole reply', async () => {
    const claims = ['a', 'b', 'c'].map((key) => plainClaim(plainScope(key), `t${key}`, 60_000));
    expect(await replyTo(claims)).to.equal(3);
    expect(await replyTo([release(plainScope('a'), 'ta'), release(plainScope('b'), 'no')])).to.deep.equal([
      1, 0,
    ]);
  });

  /** How often such commands ran in scripts, by their names. */
  const commandsOf = async (requests: readonly Request[]): Promise<Map<string, number>> => {
    await server.redis.config('RESETSTAT');
    await asOne(requests);
    const stats = await server.redis.info('commandstats');
    const calls = [...stats.matchAll(/cmdstat_(\w+):calls=(\d+)/g)];
    return new Map(calls.map(([, name = '', count]) => [name, Number(count)]));
  };

  it('the proposal of each group is taken where it is near the clock; else its entries get the clock, and are told it', async () => {
    const now = await server.micros();
    const batch = new Batch();
    for (const [i, away] of [0, AHEAD_US, AHEAD_US + 1, -BACK_US, -BACK_US - 1].entries())
      batch.add(scriptedClaim({ ...plainScope(`r${i}`), isFenced: true }, `t${i}`, 60_000, now + away));
    const [source = '', ...args] = batch.command(true).args;
    const { source: stopped } = atInstant({ name: 'batch', source }, now);
    expect(await server.redis.call('EVAL', [stopped, ...args])).to.deep.equal([
      ...[now, now + AHEAD_US, [1, now, now]],
      ...[now - BACK_US, [1, now, now]],
    ]);
  });

  it('the clock is read once for all claims and acceptances: without a proposal, all without a counter get the same', async () => {
    await server.redis.select(1);
    await server.redis.set('d', 'td');
    const keys = ['a', 'b', 'c'];
    const fenced = (key: string): Scope => ({ ...plainScope(key), isFenced: true });
    const far = acceptance(fenced('d'), 'td', 7);
    const commands = await commandsOf([
      ...keys.map((key) => scriptedClaim(fenced(key), `t${key}`, 60_000, 0)),
      scriptedClaim({ ...plainScope('x', 'y'), isFenced: true }, 'tx', 60_000, 0),
      claimQueued(fenced('z'), 'tz', 60_000, 0),
      far,
    ]);
    expect(commands.get('time')).to.equal(1);
    const counts = await server.redis.mget([...keys, 'x', 'y', 'z'].map(counterKey));
    expect(new Set(counts).size).to.equal(1);
    const again = keys.map((key) => scriptedClaim(fenced(`${key}2`), `t${key}`, 60_000, 0));
    const replies = (await asOne(again)) as readonly (readonly number[])[]; // {1, fence, us} each
    const [[, us] = []] = replies;
    expect(replies).to.deep.equal(keys.map(() => [1, us, us]));
  });

  it('a claim of one free lock takes three commands: its vote, the clock and its counter', async () => {
    const now = await server.micros();
    const claims = ['a', 'b', 'c'].map((key) =>
      scriptedClaim({ ...plainScope(key), isFenced: true }, `t${key}`, 60_000, now),
    );
    const commands = await commandsOf(claims);
    expect(['set', 'time', 'get'].map((name) => commands.get(name))).to.deep.equal([6, 1, undefined]);
  });

  it('one look at all keys serves many releases, or many extensions', async () => {
    const keys = ['a', 'b', 'c', 'd'];
    const terms = { ttlMs: 60_000, mayCreate: true };
    await server.redis.select(1);
    for (const key of keys) await server.redis.set(key, `t${key}`, 'PX', 100_000);
    const first = undo(plainScope('z'), 'tz');
    const extensions = keys.map((key) => extension(plainScope(key), `t${key}`, terms));
    const extended = await commandsOf([first, ...extensions]);
    expect([extended.get('mget'), extended.get('get')]).to.deep.equal([1, 1]);
    const releases = keys.map((key) => release(plainScope(key), `t${key}`));
    const released = await commandsOf([first, ...releases]);
    expect([released.get('mget'), released.get('get')]).to.deep.equal([1, 1]);
  });

  it('the marker is looked at once for all', async () => {
    await declare(server.runId, [1]);
    const claims = ['a', 'b', 'c'].map((key) => plainClaim(under(GUARD_MS, key), `t${key}`, 60_000));
    expect((await commandsOf(claims)).get('get')).to.equal(1);
  });

  it('without a guard of its own, a client is refused by a master with a marker', async () => {
    await declare(server.runId, [1]);
    const claims = ['a', 'b'].map((key) => plainClaim(under(0, key), `t${key}`, 60_000));
    const refused = [-2, GUARD_MS, 0];
    expect(await asOne(claims)).to.deep.equal([refused, refused]);
  });

  it('a command that a user may not run: the entries that need it fail, each with the error of the server', async () => {
    const { redis } = server;
    const terms = { ttlMs: 60_000, mayCreate: true };
    await redis.select(1);
    await redis.mset('a', 'ta', 'b', 'tb', 'd', 'td');
    const replies = await server.without('get', () =>
      asOne([
        plainClaim(plainScope('a'), 'other', 60_000),
        acceptance({ ...plainScope('a'), isFenced: true }, 'ta', 7),
        undo(plainScope('a'), 'ta'),
        release(plainScope('d'), 'td'),
        extension(plainScope('a', 'b'), 'ta', terms),
        plainClaim(plainScope('c'), 'tc', 60_000),
      ]),
    );
    for (const i of [0, 1, 2, 4]) expect(replies[i], String(i)).to.match(/^!/).and.match(NO_RIGHT);
    expect([replies[3], replies[5]]).to.deep.equal([1, 1]);
    expect(await redis.mget('a', 'b', 'd')).to.deep.equal(['ta', 'tb', null]);
  });

  it('a user that may not delete: each release and each undo fails, with the error of the server', async () => {
    await server.redis.select(1);
    await server.redis.mset('a', 'ta', 'b', 'tb', 'c', 'tc');
    const replies = await server.without('del', () =>
      asOne([
        release(plainScope('a'), 'ta'),
        release({ ...plainScope('b'), isFenced: true }, 'tb'),
        undo(plainScope('c'), 'tc'),
      ]),
    );
    for (const reply of replies) expect(reply).to.match(/^!/).and.match(NO_RIGHT);
    expect(await server.redis.mget('a', 'b', 'c')).to.deep.equal(['ta', 'tb', 'tc']);
  });

  it('a guard that a user may not look at: what votes fails, and says what it needs', async () => {
    const { redis } = server;
    await redis.select(1);
    await redis.set('b', 'tb');
    const terms = { ttlMs: 60_000, mayCreate: true };
    for (const command of ['get', 'info', 'time']) {
      const votes = await server.without(command, () =>
        asOne([
          plainClaim(under(GUARD_MS, 'a'), 'ta', 60_000),
          extension(under(GUARD_MS, 'b'), 'tb', terms),
          undo(plainScope('c'), 'tc'),
        ]),
      );
      const need = new RegExp(`^!.*quorate needs ${command.toUpperCase()} in scripts: `);
      for (const vote of votes.slice(0, 2)) expect(vote).to.match(need).and.match(NO_RIGHT);
      expect(await redis.keys('*')).to.deep.equal(['b']);
    }
  });

  it('a guard that cannot be read says so in each entry that votes, and in no other', async () => {
    await server.redis.select(1);
    await server.redis.set(MARKER, 'something else');
    await server.redis.set('b', 'tb');
    const replies = await asOne([
      scriptedClaim(guardedScope('a'), 'ta', 60_000, 0),
      release(plainScope('b'), 'tb'),
      scriptedClaim(guardedScope('c'), 'tc', 60_000, 0),
    ]);
    expect(replies).to.deep.equal([[-2, 0, 0], 1, [-2, 0, 0]]);
  });

  it('a master begins its quarantine with the first entry of a batch, and all in it hear of it', async () => {
    const claims = ['a', 'b'].map((key) => scriptedClaim(guardedScope(key), 't', 60_000, 0));
    expect(await asOne(claims)).to.deep.equal([
      [-1, GUARD_MS, 0],
      [-1, GUARD_MS, 0],
    ]);
    expect(await server.redis.keys('*')).to.deep.equal([MARKER]);
  });
});

function guardedScope(key: string): Scope {
  return {
    ...plainScope(key),
    isFenced: true,
    marker: MARKER,
    guardMs: GUARD_MS,
  };
}

function under(guardMs: number, ...keys: readonly string[]): Scope {
  return { ...plainScope(...keys), marker: guardMs < 0 ? undefined : MARKER, guardMs };
}

function drawRequest(draw: Draw, guardMs: number, nowUs: number): Request {
  const first = draw.below(LOCKS.length);
  const keys = draw.below(3) === 0 ? [...new Set([draw.pick(LOCKS), draw.pick(LOCKS)])] : [draw.pick(LOCKS)];
  const isFenced = draw.below(3) > 0;
  const scope: Scope = { ...under(guardMs, ...keys), isFenced };
  const token = draw.pick(TOKENS);
  const ttlMs = draw.pick(TTLS);
  const inBlocks = 1 + (draw.below(9) * FENCE_BLOCK) / 2; // within the block of another one, or apart from it
  const amount = inBlocks + draw.pick([0, 4e15, nowUs + 5e6, nowUs + 5e6]);
  switch (first + draw.below(4)) {
    case 0:
    case 1:
      return draw.pick([scriptedClaim, claimQueued])(scope, token, ttlMs, draw.pick([0, 7, nowUs - 200_000]));
    case 2:
      return isFenced ? acceptance(scope, token, amount) : undo(scope, token);
    case 3:
      return release(scope, token);
    case 4:
      return undo(scope, token);
    default:
      return extension(scope, token, { ttlMs, mayCreate: draw.below(2) === 0 });
  }
}

/** What a waiter or the holder of what was handed over asks for. */
function drawInLine(
  draw: Draw,
  guardMs: number,
  nowUs: number,
  handed: ReadonlyMap<string, readonly string[]>,
): Request {
  const key = draw.pick(LOCKS);
  const scope: Scope = { ...under(guardMs, key), isFenced: draw.below(3) > 0 };
  const many = draw.below(3) === 0 ? { ...scope, keys: [...new Set([key, draw.pick(LOCKS)])] } : scope;
  const [last = '', named = ''] = handed.get(key) ?? [];
  const token = draw.pick([...TOKENS, named || draw.pick(OURS)]);
  const proposal = drawProposal(draw, nowUs);
  switch (draw.below(6)) {
    case 0:
    case 1:
      return drawLook(draw, scope, nowUs);
    case 2:
      return undoQueued(many, token, proposal);
    case 3:
      return releaseQueued(many, token, proposal);
    default: {
      const serial = draw.pick([Number(last) || 0, Number(last) || 0, nowUs, nowUs + 1]);
      const lifeMs = draw.pick([0, 50_000_000]);
      const owner = draw.pick([token, named || token]);
      return yielding(scope, owner, { serial, ticket: 1 + draw.below(3), lifeMs, proposal });
    }
  }
}

/** Asks for the vote, or for a reservation. */
function drawLook(draw: Draw, scope: Scope, nowUs: number): Request {
  const token = draw.pick(OURS);
  const ticket = 1 + draw.below(3);
  if (draw.below(4) === 0) return reserving(scope, token, ticket, 50_000_000);
  const proposal = drawProposal(draw, nowUs);
  return queueing(scope, token, {
    ...{ ticket, lifeMs: 50_000_000, sentAtMs: draw.below(200), ttlMs: draw.pick(TTLS), proposal },
  });
}

/** Few values, so that some share a group. */
function drawProposal(draw: Draw, nowUs: number): number {
  return draw.pick([0, nowUs, nowUs, nowUs, nowUs + AHEAD_US + 1, nowUs - BACK_US / 2]);
}

function codeOf(reply: unknown): string {
  return String(Array.isArray(reply) ? reply[0] : reply);
}

/** The arguments of EVAL, for a server whose clock stands still. */
function stoppedAt(us: number, [source = '', ...args]: readonly string[]): string[] {
  return [atInstant(lasting({ name: 'stopped', source }, FRESH_MS), us).source, ...args];
}

/** A claim alone tells a plain yes in short where it could take its short way only; a batch always does. */
function inShort({ operation }: Request, reply: unknown): unknown {
  const isVote = operation.isClaim || operation.letter === ENTRY.extend;
  if (!isVote || !Array.isArray(reply) || reply[0] !== 1 || reply[2] !== 0) return reply;
  return Number(reply[1]) === 0 ? 1 : reply[1];
}

/** How long a reservation lives in a `lasting` script. */
const RESERVED_MS = 1_000 * RESERVE_MS;

/** Times left count down between the two; a vote that is reserved has less left than any other. */
function coarse(reply: unknown): unknown {
  if (!Array.isArray(reply)) return reply;
  return reply.map((part: unknown) => {
    if (typeof part !== 'number' || part >= CLOCKLIKE) return part;
    if (part > 0.5 * RESERVED_MS && part <= RESERVED_MS) return 'reserved';
    return part > 1_000_000 ? Math.round(part / 1_000_000) : part;
  });
}
