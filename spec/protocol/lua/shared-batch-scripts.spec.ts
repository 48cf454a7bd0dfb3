/**
 * The batch script of shared locks on a real server: the same replies, the same fields and the same pushes as when each
 * request comes alone, by its short way or as the only entry, in another database. The master in memory gets the same batches, and replies alike. Clocks stand still in all
 * three, far ahead of the server's, so that instants are compared as they are, and no key runs out meanwhile. Who is gone, stale or
 * at rest for too long: `shared-queue-scripts.spec.ts`.
 */
import { expect } from 'chai';
import { Batch } from '../../../lib/node/batch.js';
import { entryReply, isAllYes } from '../../../lib/protocol/batch-call.js';
import { nextBlock } from '../../support/fence-blocks.js';
import { entryReplies } from '../../support/entries.js';
import { counterKey, looksKey, pushChannel, queueKey, turnKey } from '../../../lib/protocol/keys.js';
import { LEAN, type SHARED_ENTRY } from '../../../lib/protocol/lua/entries.js';
import { AHEAD_US, LAST_FENCE } from '../../../lib/protocol/lua/stored.js';
import { MAX_DROPPED, RESERVE_MS } from '../../../lib/protocol/lua/waiting.js';
import { queueing, yielding } from '../../../lib/protocol/queue-request.js';
import {
  acceptance,
  aligning,
  claimQueued,
  extension,
  mutePlace,
  release,
  releaseQueued,
  type Request,
  scriptedClaim,
  undo,
  undoQueued,
} from '../../../lib/protocol/request.js';
import { DOWNGRADED, type Kind, READ, type Scope, WRITE } from '../../../lib/protocol/scope.js';
import { type Script, scriptDigest } from '../../../lib/redis/script.js';
import { MUTE_MARK } from '../../../lib/runtime/random.js';
import { WRONG_TYPE } from '../../../lib/testing/master/keyspace.js';
import { tokenFrom } from '../../simulation/world/seeded.js';
import { plainScope } from '../../support/commands.js';
import { Draw } from '../../support/draw.js';
import { FakeMaster } from '../../support/fake-master.js';
import { FakeTime } from '../../support/fake-time.js';
import {
  atInstant,
  lasting,
  NO_RIGHT,
  oneListener,
  oneServer,
  putData,
  TYPES,
} from '../../support/server.js';

const SEEDS = 60;
const BATCHES = 15;
const LOCKS = ['a', 'b', 'c'];
const MARKER = 'm';
const BESIDE = [counterKey, queueKey, turnKey, looksKey];
const ALL = [...LOCKS, ...BESIDE.flatMap((key) => LOCKS.map(key)), MARKER];
const TOKENS = ['ann', 'ben', 'cat', 'dan'].map((name) => tokenFrom(name, '1'));
/** Of mute places. */
const MUTES = [tokenFrom('zoe', '3'), tokenFrom('abe', '4')].map((token) => token + MUTE_MARK);
const TICKET = 1_790_000_000_000_001;
/** Nobody listens to the last client. */
const LISTENING = TOKENS.slice(0, -1);
const TTLS = [700_000, 10_000_000, 20_000_000, 20_000_000];
const GUARD_MS = 50_000_000;
/** Far ahead of the server's clock: nothing expires by that. */
const AHEAD_MS = 1e9;
/** What is set for less than that would run out on a busy machine. */
const BRIEF_MS = 60_000;
/** So long that the clocks of a spec pass no end: what is handed over, rests or stops others lives for a second. */
const MOST_PASSED_MS = RESERVE_MS / 2;
/** Between two looks in one script, on a busy machine. Lives that differ do so by more. */
const READING_MS = 60_000;
const [ANN = '', BEN = '', CAT = ''] = TOKENS;
const TTL_MS = 3_000_000;

function permits(slots: string, wanted = 1, of = 3): Kind {
  return { name: 'semaphore', permits: of, wanted, slots };
}

function under(guardMs: number, kind: Kind, key: string, isFenced = false): Scope {
  return { keys: [key], isFenced, marker: guardMs < 0 ? undefined : MARKER, guardMs, kind };
}

const over = (kind: Kind, key: string, isFenced = false): Scope => under(-1, kind, key, isFenced);
const reading = (key: string, token: string): Request => scriptedClaim(over(READ, key), token, TTL_MS, 0);
const writing = (key: string, token: string, proposal: number): Request =>
  scriptedClaim(over(WRITE, key, true), token, TTL_MS, proposal);
const taking = (key: string, token: string, wanted = 1): Request =>
  scriptedClaim(over(permits('', wanted), key), token, TTL_MS, 0);
const looking = (kind: Kind, key: string, token: string): Request => {
  const terms = { ticket: TICKET, lifeMs: TTL_MS, sentAtMs: 5, ttlMs: TTL_MS, proposal: 0 };
  return queueing(over(kind, key), token, terms);
};
const standingStill = (name: string, source: string, us: number): Script =>
  atInstant(lasting({ name, source }, BRIEF_MS), us);

/** A vote that was handed over, as it is stored. */
interface Marked {
  readonly key: string;
  readonly token: string;
  readonly serial: number;
  readonly ticket: number;
}

describe('shared batch: on a real server', () => {
  const server = oneServer();
  const listener = oneListener(server);
  const channels = LISTENING.map(pushChannel);
  before(() => listener.listenTo(...channels));

  const batchOf = (requests: readonly Request[]): Batch => {
    const batch = new Batch();
    for (const request of requests) expect(batch.add(request)).to.equal(true);
    return batch;
  };

  /** @param us  where the clock stands; by default the server's goes on */
  const replyTo = async (requests: readonly Request[], us?: number): Promise<unknown> => {
    const [source = '', ...args] = batchOf(requests).command(true).args;
    await server.redis.select(1);
    const stopped = us === undefined ? source : standingStill('shared-batch', source, us).source;
    return server.redis.call('EVAL', [stopped, ...args]);
  };

  const asOne = async (requests: readonly Request[]): Promise<readonly unknown[]> => {
    const reply = await replyTo(requests);
    return isAllYes(reply, requests.length) ? requests.map(() => 1) : (reply as unknown[]);
  };

  const alone = async (requests: readonly Request[], us: number): Promise<readonly unknown[]> => {
    await server.redis.select(0);
    const replies: unknown[] = [];
    for (const request of requests) {
      const [source = '', ...args] = request.whole().args;
      const { source: stopped } = standingStill('alone', source, us);
      const reply: unknown = await server.redis.call('EVAL', [stopped, ...args]);
      replies.push(request.isLoneEntry ? entryReplies([request], reply)[0] : reply);
    }
    return replies;
  };

  const contents = async (database: number): Promise<unknown> => {
    await server.redis.select(database);
    return Promise.all(
      ALL.map(async (key) => {
        const type = await server.redis.type(key);
        if (type === 'hash') return [key, await server.redis.hgetall(key)];
        if (type === 'zset') return [key, await server.redis.zrange(key, '0', '-1', 'WITHSCORES')];
        return [key, type === 'string' ? await server.redis.get(key) : type];
      }),
    );
  };

  /** When the last field of a lock of ours ends, in ms; 0 for something else. */
  const lastEndOf = async (lock: string): Promise<number> => {
    if ((await server.redis.type(lock)) !== 'hash') return 0;
    const texts = Object.values(await server.redis.hgetall(lock));
    return Math.max(0, ...texts.map((text) => Number(text.split('|')[1] ?? 0)));
  };

  /**
   * Times left in both databases: the same keys expire, and no lock before its last field. (Whoever leaves shortens nothing, unless
   * an entry for that lock counts the ends anew.)
   */
  const expectSameLives = async (title: string): Promise<void> => {
    const source = `local lives = {}
for i = 1, #KEYS do
  redis.call('SELECT', '0')
  local alone = redis.call('PTTL', KEYS[i])
  redis.call('SELECT', '1')
  lives[i] = {alone, redis.call('PTTL', KEYS[i])}
end
return lives`;
    const lives = (await server.redis.eval(source, ALL.length, ...ALL)) as [number, number][]; // as PTTL replies
    for (const [i, [alone, together]] of lives.entries()) {
      expect(Math.sign(together), title).to.equal(Math.sign(alone));
      const lastEndMs = i < LOCKS.length ? await lastEndOf(LOCKS[i] ?? '') : 0;
      if (lastEndMs === 0) continue;
      const leastMs = lastEndMs - Math.floor((await server.micros()) / 1_000) - READING_MS;
      for (const ms of [alone, together]) expect(ms, title).to.be.at.least(leastMs);
    }
  };

  const contentsOf = (fake: FakeMaster): unknown =>
    ALL.map((key) => {
      const members = fake.members(key);
      if (members !== WRONG_TYPE && members.length > 0)
        return [key, members.flatMap(({ name, score }) => [name, String(score)])];
      const fields = fake.fields(key);
      if (fields !== WRONG_TYPE && fields.size > 0) return [key, Object.fromEntries(fields)];
      const text = fake.get(key);
      return [key, text === WRONG_TYPE ? 'list' : (text ?? 'none')];
    });

  /** What others do, in both databases and in memory. */
  const disturb = async (draw: Draw, fake: FakeMaster): Promise<void> => {
    const { redis } = server;
    const lock = draw.pick(LOCKS);
    const counter = counterKey(lock);
    const text = draw.pick([ANN, 'text']);
    const count = draw.pick(['0', '7', 'text', String(LAST_FENCE), String(LAST_FENCE - 1)]);
    const field = draw.pick(['odd', 'other']);
    const way = draw.below(6);
    for (const database of [0, 1]) {
      await redis.select(database);
      if (way === 0) await redis.set(lock, text);
      else if (way === 1) await redis.set(counter, count);
      else if (way === 2 && (await redis.type(lock)) === 'hash') await redis.hset(lock, field, 'rw2');
      else if (way > 2) await redis.del(lock);
      if (way === 4) await putData(redis, lock, 'list');
    }
    if (way === 0) fake.set(lock, text);
    else if (way === 1) fake.set(counter, count);
    else if (way === 2) {
      const fields = fake.fields(lock);
      if (fields !== WRONG_TYPE && fields.size > 0) fake.setFields(lock, { [field]: 'rw2' });
    } else if (way > 2) fake.delete(lock);
    if (way === 4) fake.set(lock, WRONG_TYPE);
  };

  /** The votes of the lone entries' database that were handed over. */
  const markedVotes = async (): Promise<Marked[]> => {
    await server.redis.select(0);
    const found: Marked[] = [];
    for (const key of LOCKS) {
      if ((await server.redis.type(key)) !== 'hash') continue;
      for (const [token, text] of Object.entries(await server.redis.hgetall(key))) {
        const [, , , serial, ticket] = text.split('|');
        if (ticket !== undefined) found.push({ key, token, serial: Number(serial), ticket: Number(ticket) });
      }
    }
    return found;
  };

  const seen = new Set<string>();

  for (let seed = 1; seed <= SEEDS; seed++) {
    it(`seed ${seed}: ${BATCHES} random batches do what their entries do one by one, also in memory`, async () => {
      const draw = new Draw(seed * 9_967);
      const fake = new FakeMaster('fake', new FakeTime());
      fake.runId = server.runId;
      const told: string[] = [];
      for (const channel of channels)
        fake.channels.subscribe(channel, (text) => told.push(`${channel} ${text}`));
      const guardMs = draw.pick([-1, -1, 0, GUARD_MS]);
      let us = (await server.micros()) + AHEAD_MS * 1_000;
      if (guardMs === GUARD_MS && draw.below(3) > 0) {
        const marker = `1|${server.runId}|1000|${GUARD_MS}`;
        for (const database of [0, 1]) {
          await server.redis.select(database);
          await server.redis.set(MARKER, marker);
        }
        fake.set(MARKER, marker);
      }
      for (let i = 0; i < BATCHES; i++) {
        us += draw.pick([1, Math.floor(MOST_PASSED_MS / BATCHES)]) * 1_000;
        fake.clockAheadUs += us - fake.micros();
        if (draw.below(5) === 0) await disturb(draw, fake);
        const isReadWrite = draw.below(2) === 0;
        const marked = await markedVotes();
        const requests = Array.from({ length: 1 + draw.below(14) }, () =>
          drawRequest(draw, guardMs, draw.below(8) === 0 ? !isReadWrite : isReadWrite, us, marked),
        );
        const title = `batch ${i}`;
        const replies = (await alone(requests, us)).map(inFull);
        const heard = sorted(await listener.heard());
        const raw = await replyTo(requests, us);
        const together = entryReplies(requests, raw).map(inFull);
        expect(together, title).to.deep.equal(replies);
        expect(sorted(await listener.heard()), title).to.deep.equal(heard);
        expect(await contents(1), title).to.deep.equal(await contents(0));
        await expectSameLives(title);
        expect(await fake.call(batchOf(requests).command(true)), title).to.deep.equal(raw);
        expect(sorted(told.splice(0)), title).to.deep.equal(heard);
        expect(contentsOf(fake), title).to.deep.equal(await contents(1));
        const codes = (entryReplies(requests, raw) as unknown[]).map(codeOf);
        requests.forEach(({ operation }, j) => seen.add(`${operation.letter} ${String(codes[j])}`));
        for (const text of heard) seen.add(`push ${text.split(' ')[1] ?? ''}`);
      }
    });
  }

  it('that met every reply of every kind', () => {
    const wanted: Readonly<Record<(typeof SHARED_ENTRY)[keyof typeof SHARED_ENTRY], readonly number[]>> = {
      C: [1, 0, 2, -1],
      A: [1, 0, 2, 3, -1],
      E: [1, 0, 2, -1],
      D: [1, 0, 2, -1],
      P: [1, 0, 2, 5, -1],
      S: [1, 0, 2, 5, -1],
      X: [1, 0, 2, 5, -1],
      L: [1, 0],
      Q: [6, 1, 0, 2, -1],
      Y: [1, 0],
    };
    const letters = ['V', 'G', 'W', 'N', 'I', 'H'].map((letter) => `push ${letter}`);
    const all = Object.entries(wanted).flatMap(([letter, codes]) => codes.map((code) => `${letter} ${code}`));
    expect([...all, ...letters].filter((one) => !seen.has(one))).to.deep.equal([]);
  });

  it('all say yes: that many is the whole reply, fencing tokens that were proposed and permit 0 included', async () => {
    const now = await server.micros();
    const claims = [reading('a', ANN), writing('b', BEN, now), taking('c', CAT), reading('a', BEN)];
    expect(await replyTo(claims, now)).to.equal(4);
    expect(entryReply(writing('b', BEN, now), 1)).to.equal(now);
    const higher = nextBlock(now) + 5;
    const more = [
      acceptance(over(WRITE, 'b', true), BEN, higher),
      extension(over(READ, 'a'), ANN, { ttlMs: TTL_MS, mayCreate: false }),
      extension(over(permits('0'), 'c'), CAT, { ttlMs: TTL_MS, mayCreate: false }),
      aligning(over(permits(''), 'c'), CAT, '0'),
      release(over(READ, 'a'), ANN),
      undo(over(READ, 'a'), BEN),
    ];
    expect(await replyTo(more, now)).to.equal(6);
    expect(entryReply(acceptance(over(WRITE, 'b', true), BEN, higher), 1)).to.deep.equal([1, higher, 0]);
  });

  it('short forms: another fencing token, another permit, a token that was not there; several permits are written out', async () => {
    const now = await server.micros();
    await server.redis.select(1);
    await server.redis.set(counterKey('a'), now + 7);
    expect(
      await replyTo(
        [
          writing('a', ANN, now),
          writing('b', BEN, now + AHEAD_US + 1),
          taking('c', ANN),
          taking('c', BEN),
          taking('d', ANN, 2),
          release(over(READ, 'e'), ANN),
        ],
        now,
      ),
    ).to.deep.equal([now + 8, [1, now, now], 1, 2, [1, 0, 0, 0, 1], 0]);
  });

  for (const type of TYPES) {
    it(`an entry whose key is a ${type} fails alone, at any position`, async () => {
      await server.redis.select(1);
      await putData(server.redis, 'b', type);
      expect(await asOne(['a', 'b', 'c'].map((key) => reading(key, ANN)))).to.deep.equal([1, [2, 0, 0], 1]);
      expect(await asOne(['a', 'b', 'c'].map((key) => release(over(READ, key), ANN)))).to.deep.equal([
        1,
        type === 'hash' ? 0 : [0, -2, 1],
        1,
      ]);
      expect(await server.redis.type('b')).to.equal(type);
    });
  }

  it('one lock, one entry after the other: who is let in first excludes those behind', async () => {
    const now = await server.micros();
    const replies = await asOne([
      reading('a', ANN),
      writing('a', BEN, now),
      release(over(READ, 'a'), ANN),
      writing('a', BEN, now),
      reading('a', CAT),
      taking('a', CAT),
      undo(over(WRITE, 'a'), BEN),
      taking('a', CAT),
    ]);
    expect(replies.map(codeOf)).to.deep.equal([1, 0, 1, 1, 0, 2, 1, 1]);
    expect(await server.redis.hkeys('a')).to.have.members([CAT]);
  });

  /** How often such commands ran in scripts, by their names. */
  const commandsOf = async (requests: readonly Request[]): Promise<Map<string, number>> => {
    await server.redis.config('RESETSTAT');
    await asOne(requests);
    const stats = await server.redis.info('commandstats');
    const calls = [...stats.matchAll(/cmdstat_(\w+):calls=(\d+)/g)];
    return new Map(calls.map(([, name = '', count]) => [name, Number(count)]));
  };

  it('a free lock is taken by one look, one field and one expiry; the clock is read once for all', async () => {
    const locks = ['a', 'b', 'c', 'd'];
    for (const claims of [
      locks.map((key) => reading(key, ANN)),
      locks.map((key) => taking(`${key}2`, ANN)),
    ]) {
      const commands = await commandsOf(claims);
      expect(
        ['exists', 'hgetall', 'hset', 'pexpireat', 'time'].map((name) => commands.get(name)),
      ).to.deep.equal([4, undefined, 4, 4, 1]);
    }
  });

  it('one look serves all entries for one lock, those that leave included, however many it has let in', async () => {
    const tokens = Array.from({ length: 30 }, (_, i) => tokenFrom('crowd', String(i)));
    const terms = { ttlMs: 60_000, mayCreate: true };
    await asOne([reading('a', ANN), taking('b', ANN), taking('b', BEN)]);
    const entering = await commandsOf(tokens.map((token) => reading('a', token)));
    expect([entering.get('hgetall'), entering.get('hset')]).to.deep.equal([1, 30]);
    const staying = await commandsOf(tokens.map((token) => extension(over(READ, 'a'), token, terms)));
    expect([staying.get('hgetall'), staying.get('hset')]).to.deep.equal([1, 30]);
    const leaving = await commandsOf([
      looking(WRITE, 'a', CAT),
      ...tokens.map((token) => releaseQueued(over(READ, 'a'), token, 0)),
    ]);
    expect(leaving.get('hgetall')).to.equal(1);
    expect(await server.redis.hkeys('a')).to.have.members([ANN]);
    await listener.heard();
    const again = await asOne([reading('a', BEN), releaseQueued(over(READ, 'a'), ANN, 0)]);
    expect(again.map(codeOf)).to.deep.equal([0, 1]);
    const heard = await listener.heard();
    expect(heard.map((text) => text.split(' ', 2).join(' '))).to.deep.equal([`${pushChannel(CAT)} V`]);
    expect(await server.redis.hkeys('a')).to.have.members([CAT]);
  });

  it('what leaves between two looks is gone from both: one of several, and the last one', async () => {
    const now = await server.micros();
    const replies = await asOne([
      reading('a', ANN),
      reading('a', BEN),
      release(over(READ, 'a'), ANN),
      writing('a', CAT, now),
      release(over(READ, 'a'), BEN),
      writing('a', CAT, now),
      release(over(WRITE, 'a'), CAT),
      taking('a', ANN),
    ]);
    expect(replies.map(codeOf)).to.deep.equal([1, 1, 1, 0, 1, 1, 1, 1]);
  });

  it('one that waits leaves as well, and was the last there: the key is free for a lock of another kind', async () => {
    await asOne([reading('a', ANN), looking(WRITE, 'a', BEN)]);
    const leaving = [WRITE, READ].map((kind, i) => releaseQueued(over(kind, 'a'), [BEN, ANN][i] ?? '', 0));
    expect(await asOne([...leaving, taking('a', CAT)])).to.deep.equal([0, 1, 1]);
    expect(await server.redis.hget('a', CAT)).to.match(/^\d\|\d+\|3$/);
  });

  it('one lock: who is let in by an entry is there for the next ones', async () => {
    const replies = await asOne([
      reading('a', ANN),
      looking(WRITE, 'a', BEN),
      looking(READ, 'a', CAT),
      releaseQueued(over(READ, 'a'), ANN, 0), // lets in the writer
      reading('a', ANN),
      releaseQueued(over(WRITE, 'a'), BEN, 0), // lets in the reader
      extension(over(READ, 'a'), CAT, { ttlMs: TTL_MS, mayCreate: false }),
    ]);
    expect(replies.map(codeOf)).to.deep.equal([1, 0, 0, 1, 0, 1, 1]);
    expect(await server.redis.hkeys('a')).to.have.members([CAT]);
    expect(await server.redis.hget('a', CAT)).to.match(/^r\|\d+\|$/);
  });

  describe('one lock, which is yielded first', () => {
    let serial = 0;
    const yielded = (rests: boolean): Request => {
      const place = { serial, ticket: TICKET, lifeMs: 0, proposal: 0 };
      return yielding(over(WRITE, 'a'), BEN, { ...place, rests });
    };
    beforeEach(async () => {
      serial = await server.micros();
      expect(codeOf(((await replyTo([looking(WRITE, 'a', BEN)], serial)) as unknown[])[0])).to.equal(6);
    });

    it('for good: it is free for a lock of another kind', async () => {
      expect(await asOne([yielded(false), taking('a', CAT)])).to.deep.equal([1, 1]);
      expect(await server.redis.hkeys('a')).to.deep.equal([CAT]);
    });

    it('to rest: claims are refused until an extension has ended that', async () => {
      const terms = { ttlMs: TTL_MS, mayCreate: true };
      const replies = await asOne([
        ...[yielded(true), reading('a', CAT)],
        ...[extension(over(READ, 'a'), ANN, terms), reading('a', CAT)],
      ]);
      expect(replies.map(codeOf)).to.deep.equal([1, 0, 1, 1]);
      expect(await server.redis.hkeys('a')).to.have.members([ANN, CAT]);
    });

    it('to rest: it is a read-write lock still, whatever other entries are about', async () => {
      const replies = await asOne([
        ...[taking('b', CAT), yielded(true)],
        ...[reading('a', CAT), taking('a', CAT), taking('b', ANN)],
      ]);
      expect(replies.map(codeOf)).to.deep.equal([1, 1, 0, 2, 1]);
    });

    it('to rest, by a user that may not set that: it does not', async () => {
      const replies = await server.without('hset', () => asOne([yielded(true), reading('a', CAT)]));
      for (const reply of replies) expect(reply).to.match(/^!/).and.match(NO_RIGHT);
    });

    it('to rest: it is no holder that an extension would find in its way', async () => {
      const writes = extension(over(WRITE, 'a'), ANN, { ttlMs: TTL_MS, mayCreate: true });
      expect(await asOne([yielded(true), writes])).to.deep.equal([1, 1]);
      expect(await server.redis.hkeys('a')).to.deep.equal([ANN]);
    });
  });

  it('many that have run out are dropped once', async () => {
    const gone = Array.from({ length: MAX_DROPPED + 1 }, (_, i) => [tokenFrom('gone', String(i)), 'r|1000|']);
    await server.redis.select(1);
    await server.redis.hset('a', ...gone.flat());
    const commands = await commandsOf([reading('a', ANN), reading('a', BEN)]);
    expect([commands.get('hgetall'), commands.get('hdel')]).to.deep.equal([1, 2]);
    expect(await server.redis.hkeys('a')).to.have.members([ANN, BEN]);
  });

  it('at maxmemory: claims fail one by one, with the error of each; what leaves in the same call does', async () => {
    await asOne([reading('held', ANN), reading('held', BEN)]);
    await server.redis.config('SET', 'maxmemory', '1');
    try {
      const replies = await asOne([
        reading('held', CAT),
        reading('a', ANN),
        taking('b', ANN),
        release(over(READ, 'held'), ANN),
        undo(over(READ, 'held'), BEN),
      ]);
      for (const denied of replies.slice(0, 3)) expect(denied).to.match(/^!OOM /);
      expect(replies.slice(3)).to.deep.equal([1, 1]);
    } finally {
      await server.redis.config('SET', 'maxmemory', '0');
    }
    expect(await server.redis.dbsize()).to.equal(0);
  });

  it('an entry that failed half-way leaves nothing behind that the next one would take for true', async () => {
    await server.redis.select(1);
    const replies = await server.without('pexpireat', () =>
      asOne([reading('a', ANN), writing('a', BEN, 0), release(over(READ, 'a'), ANN), reading('a', ANN)]),
    );
    expect(replies[0]).to.match(NO_RIGHT);
    expect(replies.slice(1, 3).map(codeOf)).to.deep.equal([0, 1]);
    expect(replies[3]).to.match(NO_RIGHT);
  });

  it('a user that may not set fields: what an entry would have set is not there for the next one', async () => {
    const isGone = [0, -2, 0];
    const staying = extension(over(READ, 'a'), BEN, { ttlMs: TTL_MS, mayCreate: false });
    const first = async (...setUp: readonly Request[]): Promise<void> => {
      await server.redis.flushall();
      await asOne(setUp);
    };
    const denied = async (request: Request, next: Request): Promise<readonly unknown[]> =>
      server.without('hset', () => asOne([request, next]));
    for (const request of [reading('a', BEN), looking(READ, 'a', BEN)]) {
      await first(reading('a', ANN));
      const [error, reply] = await denied(request, staying);
      expect(error).to.match(/^!/).and.match(NO_RIGHT);
      expect(reply).to.deep.equal(isGone);
    }
    await first(writing('a', ANN, 0), looking(READ, 'a', BEN));
    expect(await denied(releaseQueued(over(WRITE, 'a'), ANN, 0), staying)).to.deep.equal([1, isGone]);
  });

  it('a command that a user may not run: the entries that need it fail, each with the error of the server', async () => {
    await asOne([reading('a', ANN), taking('b', ANN)]);
    const terms = { ttlMs: TTL_MS, mayCreate: true };
    const denied = await server.without('hgetall', () =>
      asOne([
        reading('a', BEN),
        extension(over(READ, 'a'), ANN, terms),
        acceptance(over(WRITE, 'a', true), ANN, 7),
        taking('b', BEN),
        aligning(over(permits(''), 'b'), ANN, '1'),
        extension(over(permits('0'), 'b'), ANN, terms),
        release(over(READ, 'a'), ANN),
      ]),
    );
    for (const [i, reply] of denied.slice(0, 6).entries())
      expect(reply, String(i)).to.match(/^!/).and.match(NO_RIGHT);
    expect(denied[6]).to.equal(1);
    const left = await server.without('hdel', () => asOne([release(over(permits(''), 'b'), ANN)]));
    expect(left[0]).to.match(/^!/).and.match(NO_RIGHT);
    expect(await server.redis.hkeys('b')).to.have.members([ANN]);
  });

  it('a user that may not read all fields: what leaves takes no others with it', async () => {
    await asOne([reading('a', ANN), reading('a', BEN), looking(WRITE, 'a', CAT)]);
    expect(
      await server.without('hgetall', () => asOne([releaseQueued(over(READ, 'a'), ANN, 0)])),
    ).to.deep.equal([1]);
    expect(await server.redis.hkeys('a')).to.have.members([BEN]);
  });

  describe('under a guard', () => {
    const claims = (guardMs: number): Request[] => [
      scriptedClaim(under(guardMs, READ, 'a'), ANN, TTL_MS, 0),
      release(over(READ, 'b'), BEN),
      scriptedClaim(under(guardMs, permits(''), 'c'), ANN, TTL_MS, 0),
    ];

    it('a master begins its quarantine with the first entry, and all in it that vote hear of it', async () => {
      expect(await asOne(claims(GUARD_MS))).to.deep.equal([[-1, GUARD_MS, 0], 0, [-1, GUARD_MS, 0]]);
      await server.redis.select(1);
      expect(await server.redis.keys('*')).to.deep.equal([MARKER]);
    });

    it('without a guard of its own, a client is refused by a master with a marker; what leaves, leaves', async () => {
      await server.redis.select(1);
      await server.redis.set(MARKER, `1|${server.runId}|1000|${GUARD_MS}`);
      expect(await asOne(claims(0))).to.deep.equal([[-2, GUARD_MS, 0], 0, [-2, GUARD_MS, 0]]);
    });

    it('the marker is looked at once for all', async () => {
      await server.redis.select(1);
      await server.redis.set(MARKER, `1|${server.runId}|1000|${GUARD_MS}`);
      expect((await commandsOf(claims(GUARD_MS))).get('get')).to.equal(1);
    });

    it('one that a user may not look at: what votes fails, and says what it needs', async () => {
      const replies = await server.without('info', async () => {
        await server.redis.select(1);
        await server.redis.set(MARKER, `1|${server.runId}|1000|${GUARD_MS}`);
        return asOne(claims(GUARD_MS));
      });
      for (const vote of [replies[0], replies[2]])
        expect(vote).to.match(/^!.*quorate needs INFO in scripts: /);
      expect(replies[1]).to.equal(0);
    });
  });

  it('without entries it does nothing: so it is loaded', async () => {
    const [source = ''] = batchOf([reading('a', ANN)]).command(true).args;
    expect(await server.redis.eval(source, 0, '-1')).to.equal(0);
    expect(await server.redis.evalsha(scriptDigest(source), 0, '-1')).to.equal(0);
    expect(plainScope('a').guardMs).to.equal(-1);
  });
});

/** @param marked  what may be yielded */
function drawRequest(
  draw: Draw,
  guardMs: number,
  isReadWrite: boolean,
  us: number,
  marked: readonly Marked[],
): Request {
  const key = draw.pick(LOCKS);
  const token = draw.pick(TOKENS);
  const ttlMs = draw.pick(TTLS);
  const terms = { ttlMs, mayCreate: draw.below(2) === 0 };
  const ticket = TICKET + draw.below(4);
  const mute = draw.below(3) > 0 ? '' : mutePlace(draw.pick(MUTES), ticket);
  const of = draw.below(6) === 0 ? 2 : 3;
  const isWriter = draw.below(3) === 0;
  const isFenced = isReadWrite && isWriter && draw.below(3) > 0;
  const kind = isReadWrite
    ? isWriter
      ? WRITE
      : READ
    : permits(draw.pick(['0', '1', '2', '0,1', '1,2']), 1 + draw.below(2), of);
  const scope = under(guardMs, kind, key, isFenced);
  const proposal = draw.pick([0, us - 200_000, us, us, us + 1e9]);
  const lifeMs = draw.pick([TTL_MS, 2 * TTL_MS]);
  switch (draw.below(13)) {
    case 0:
    case 1:
      return scriptedClaim(scope, token, ttlMs, proposal, draw.below(3) === 0 ? LEAN : mute);
    case 2:
      return claimQueued(scope, token, ttlMs, proposal);
    case 3:
      if (!isReadWrite) return aligning(scope, token, draw.pick(['0', '1', '2', '0,1']));
      return acceptance(under(guardMs, WRITE, key, true), token, draw.pick([8, 8, us + 1e6, us + 2e6]));
    case 4:
    case 5:
      return extension(scope, token, terms);
    case 6:
      return extension(isReadWrite ? under(guardMs, DOWNGRADED, key) : scope, token, terms);
    case 7:
      return undoQueued(scope, draw.pick([...TOKENS, ...MUTES]), proposal);
    case 8:
      if (draw.below(3) === 0) return release(scope, token);
      return releaseQueued(scope, draw.pick([...TOKENS, ...TOKENS, ...MUTES]), proposal);
    case 9: {
      const one = marked.length > 0 ? draw.pick(marked) : { key, token, serial: us, ticket };
      const serial = draw.below(4) === 0 ? one.serial - 1 : one.serial;
      const place = { serial, ticket: one.ticket, lifeMs: draw.pick([0, lifeMs, lifeMs]) };
      const from = under(guardMs, kind, one.key, isFenced);
      return yielding(from, one.token, { ...place, proposal, rests: draw.below(4) === 0 });
    }
    default:
      return queueing(scope, token, {
        ...{ ticket, lifeMs, sentAtMs: 1 + draw.below(9), proposal },
        ttlMs: draw.pick([0, ttlMs, ttlMs]),
      });
  }
}

function sorted(texts: readonly string[]): readonly string[] {
  return [...texts].sort(); // of those that one entry asks for a rest, the order means nothing
}

/** A fencing token in short is {1, fence, 0}. */
function inFull(reply: unknown): unknown {
  return typeof reply === 'number' ? [1, reply, 0] : reply;
}

function codeOf(reply: unknown): unknown {
  return Array.isArray(reply)
    ? (reply as unknown[])[0]
    : typeof reply === 'number'
      ? Math.min(reply, 1)
      : reply;
}
