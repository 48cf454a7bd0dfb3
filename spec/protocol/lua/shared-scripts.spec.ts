/**
 * The scripts of read-write locks and semaphores on a real server: each reply, and what is stored. Whoever waits, and mute places:
 * `shared-queue-scripts.spec.ts`.
 */
import { expect } from 'chai';
import { counterKey, looksKey, pushChannel, queueKey, turnKey } from '../../../lib/protocol/keys.js';
import { COUNTER_LIFE_MS, HOLDS } from '../../../lib/protocol/lua/stored.js';
import { SHARED_ENTRY } from '../../../lib/protocol/lua/entries.js';
import { LEAVE, RW_CLAIM, RW_OUST, PERMIT_CLAIM, SURVEY_SHARED } from '../../../lib/protocol/lua/scripts.js';
import { MAX_DROPPED } from '../../../lib/protocol/lua/waiting.js';
import type { Letter } from '../../../lib/protocol/operation.js';
import type { Script } from '../../../lib/redis/script.js';
import { AT_REST } from '../../../lib/runtime/random.js';
import { tokenFrom } from '../../simulation/world/seeded.js';
import { blockEnd, nextBlock } from '../../support/fence-blocks.js';
import { loneEntry } from '../../support/lone-entries.js';
import {
  atInstant,
  clockAt,
  NO_RIGHT,
  oneListener,
  oneServer,
  putData,
  TYPES,
} from '../../support/server.js';

const KEY = 'invoice 42';
const COUNTER = counterKey(KEY);
const LINE = [KEY, queueKey(KEY), turnKey(KEY), looksKey(KEY)] as const;
const [, QUEUE, , LOOKS] = LINE;
/** Of what may let others in. */
const COUNTED = [...LINE, COUNTER];
const TICKET = 1_790_000_000_000_001;
const MARKER = 'quorate:guard';
const TTL_MS = 600_000;
const LIFE = COUNTER_LIFE_MS;
const [ANN, BEN, CAT, DAN] = ['ann', 'ben', 'cat', 'dan'].map((name) => tokenFrom(name, '1')) as [
  string,
  string,
  string,
  string,
];

type Reply = readonly number[];

describe('read-write locks and semaphores: scripts on a real server', () => {
  const server = oneServer();
  const run = async (script: Script, keys: readonly string[], ...args: (string | number)[]): Promise<Reply> =>
    (await server.run(script, keys, ...args)) as Reply; // what the headers say
  const runLone = async (...args: Parameters<typeof server.runLone>): Promise<Reply> =>
    (await server.runLone(...args)) as Reply; // likewise

  const claim = (role: 'r' | 'w', token: string, ttlMs = TTL_MS): Promise<Reply> =>
    run(RW_CLAIM, LINE, token, role, ttlMs, '', 0, 0, -1);
  const read = (token: string): Promise<Reply> => claim('r', token);
  const write = (token: string): Promise<Reply> => claim('w', token);
  /** A writer's, which is counted. */
  const writeFenced = (token: string, proposal: number, as = RW_CLAIM): Promise<Reply> =>
    run(as, COUNTED, token, 'w', TTL_MS, '', LIFE, proposal, -1);
  const extend = (role: 'r' | 'w', token: string, create: 0 | 1 = 0, ttlMs = TTL_MS): Promise<Reply> =>
    runLone(loneEntry(SHARED_ENTRY.extend, token, { role, ttl: ttlMs, create }), [KEY]);
  const take = (token: string, permits = 1, k = 2, ttlMs = TTL_MS): Promise<Reply> =>
    run(PERMIT_CLAIM, LINE, token, ttlMs, permits, k, '', -1);
  const align = (token: string, slots: string, k = 2): Promise<Reply> =>
    runLone(loneEntry(SHARED_ENTRY.align, token, { slots, permits: k, proposal: 0 }), COUNTED);
  const extendPermits = (
    token: string,
    slots: string,
    create: 0 | 1 = 0,
    k = 2,
    ttlMs = TTL_MS,
  ): Promise<Reply> => {
    const args = { ttl: ttlMs, slots, permits: k, create };
    return runLone(loneEntry(SHARED_ENTRY.extendPermits, token, args), [KEY]);
  };
  const accept = (token: string, fence: number): Promise<Reply> =>
    runLone(loneEntry(SHARED_ENTRY.accept, token, { fence, life: LIFE }), [KEY, COUNTER]);
  const leave = (token: string): Promise<Reply> => run(LEAVE, COUNTED, token, 0);
  /** It waits for that. */
  const wait = (token: string, want: string): Promise<unknown> => {
    const args = { want, ttl: TTL_MS, life: 0, proposal: 0, place: `${TICKET}|${TTL_MS}|0` };
    return server.runLone(loneEntry(SHARED_ENTRY.queue, token, args), COUNTED);
  };
  /** Each script that votes. */
  const votes: readonly (() => Promise<Reply>)[] = [
    () => read(ANN),
    () => write(ANN),
    () => extend('r', ANN, 1),
    () => accept(ANN, 9),
    () => take(ANN),
    () => align(ANN, '0'),
    () => extendPermits(ANN, '0', 1),
  ];

  const fields = (): Promise<Record<string, string>> => server.redis.hgetall(KEY);
  /** What stands in the hash, without instants. */
  const stored = async (): Promise<Record<string, string>> => {
    const known = Object.entries({ ANN, BEN, CAT, DAN });
    const short = Object.entries(await fields()).map(([name, text]) => {
      const [first = '', , rest = ''] = text.split('|');
      const who = known.find(([, token]) => token === name)?.[0] ?? name;
      return [who, `${first}${rest === '' ? '' : ` of ${rest}`}`] as const;
    });
    return Object.fromEntries(short);
  };
  const endsInMs = async (token: string): Promise<number> => {
    const text = (await fields())[token] ?? '';
    return Number(text.split('|')[1]) - Math.floor((await server.micros()) / 1_000);
  };
  const expire = async (name: string): Promise<void> => {
    const [first = '', , rest = ''] = ((await fields())[name] ?? '').split('|');
    await server.redis.hset(KEY, name, `${first}|1|${rest}`);
  };
  const refused = ([code, ms = 0, last]: Reply, most = TTL_MS): void => {
    expect([code, last]).to.deep.equal([0, 0]);
    expect(ms).to.be.within(1, most);
  };

  describe('read-write', () => {
    it('{1, 0, 0}: readers beside each other, each with its own end; the key lives as long as the last', async () => {
      expect(await claim('r', ANN, 300_000)).to.deep.equal([1, 0, 0]);
      expect(await read(BEN)).to.deep.equal([1, 0, 0]);
      expect(await stored()).to.deep.equal({ ANN: 'r', BEN: 'r' });
      expect(await endsInMs(ANN)).to.be.within(1, 300_000);
      expect(await endsInMs(BEN)).to.be.within(300_001, TTL_MS);
      expect(await server.redis.pttl(KEY)).to.be.within(300_001, TTL_MS);
    });

    it('{0, ms, 0}: a writer beside readers, a reader or a writer beside the writer; ms = the longest', async () => {
      await claim('r', ANN, 300_000);
      await read(BEN);
      const [, ms = 0] = await write(CAT);
      expect(ms).to.be.within(300_001, TTL_MS);
      await leave(ANN);
      await leave(BEN);
      expect(await server.redis.exists(KEY)).to.equal(0);
      expect(await write(CAT)).to.deep.equal([1, 0, 0]);
      refused(await read(ANN));
      refused(await write(BEN));
      expect(await stored()).to.deep.equal({ CAT: 'w' });
    });

    it('many that have run out are dropped by a few commands', async () => {
      const count = 3 * MAX_DROPPED + 1;
      const gone = Array.from({ length: count }, (_, i) => [tokenFrom('gone', String(i)), 'r|1000|']);
      await server.redis.hset(KEY, ...gone.flat());
      await server.redis.config('RESETSTAT');
      expect(await read(ANN)).to.deep.equal([1, 0, 0]);
      expect(await server.redis.info('commandstats')).to.match(/cmdstat_hdel:calls=4,/);
      expect(await stored()).to.deep.equal({ ANN: 'r' });
    });

    it('a reader that has expired excludes nobody, and is dropped', async () => {
      await read(ANN);
      await read(BEN);
      await expire(ANN);
      refused(await write(CAT));
      await expire(BEN);
      expect(await write(CAT)).to.deep.equal([1, 0, 0]);
      expect(await stored()).to.deep.equal({ CAT: 'w' });
    });

    it('a reader has expired at the very instant at which it ends, and not before', async () => {
      await read(ANN);
      const endsMs = Number((await fields())[ANN]?.split('|')[1]);
      const writeAt = (ms: number): Promise<Reply> =>
        run(atInstant(RW_CLAIM, ms * 1_000), LINE, BEN, 'w', TTL_MS, '', 0, 0, -1);
      expect(await writeAt(endsMs - 1)).to.deep.equal([0, 1, 0]);
      expect(await writeAt(endsMs)).to.deep.equal([1, 0, 0]);
      expect(await stored()).to.deep.equal({ BEN: 'w' });
    });

    it('a claim that is carried out twice is granted twice, and never shortens; it changes no role', async () => {
      await read(ANN);
      expect(await claim('r', ANN, 1_000)).to.deep.equal([1, 0, 0]);
      expect(await endsInMs(ANN)).to.be.above(1_000);
      refused(await write(ANN));
      expect(await stored()).to.deep.equal({ ANN: 'r' });
    });

    // what becomes of counters: counter-scripts.spec.ts
    it('{1, fence, us}: the writer is counted, and a fence is accepted once', async () => {
      const before = await server.micros();
      const [code, fence = 0, us] = await writeFenced(ANN, 0);
      expect([code, us]).to.deep.equal([1, fence]);
      expect(fence).to.be.within(before, await server.micros());
      for (const counted of [fence, blockEnd(fence)]) {
        const [no, least = 0, last] = await accept(ANN, counted);
        expect([no, least >= blockEnd(fence), last]).to.deep.equal([3, true, 0]);
      }
      const second = nextBlock(fence) + 5;
      expect(await accept(ANN, second)).to.deep.equal([1, second, 0]);
      expect(await server.redis.get(COUNTER)).to.equal(String(blockEnd(second)));
      expect(await server.redis.pttl(COUNTER)).to.be.within(1, LIFE + 1);
      const above = nextBlock(second) + 9;
      expect(await accept(BEN, above)).to.deep.equal([0, -2, 0]);
      await leave(ANN);
      await read(BEN);
      refused(await accept(BEN, above));
      await leave(BEN);
      const [third, fourth] = [nextBlock(second), nextBlock(nextBlock(second))];
      expect(await writeFenced(CAT, fence, atInstant(RW_CLAIM, fence))).to.deep.equal([1, third, 0]);
      const counted = blockEnd(third); // the proposal is where the counter is
      expect(await writeFenced(CAT, counted, atInstant(RW_CLAIM, fence))).to.deep.equal([1, fourth, 0]);
      await server.redis.set(COUNTER, 'no number', 'PX', 200_000);
      const again = await writeFenced(CAT, 0);
      expect(again).to.deep.equal([2, HOLDS.counter, 0]);
      expect(await accept(CAT, nextBlock(fourth))).to.deep.equal([2, HOLDS.counter, 0]);
      expect(await server.redis.get(COUNTER)).to.equal('no number');
      expect(await server.redis.pttl(COUNTER)).to.be.within(1, 200_000);
    });

    it('extend: another that has 1 ms left excludes it', async () => {
      await read(ANN);
      const endsMs = Number((await fields())[ANN]?.split('|')[1]);
      const extension = loneEntry(SHARED_ENTRY.extend, BEN, { role: 'w', ttl: TTL_MS, create: 1 });
      const extendAt = (ms: number): Promise<Reply> => runLone(extension, [KEY], clockAt(ms * 1_000));
      expect(await extendAt(endsMs - 1)).to.deep.equal([0, 1, 0]);
      expect(await extendAt(endsMs)).to.deep.equal([1, 0, 0]);
    });

    it('extend: never shortens, renews it if it is gone and nobody excludes it, and needs no leave of those who wait', async () => {
      expect(await extend('r', ANN)).to.deep.equal([0, -2, 0]);
      expect(await extend('r', ANN, 1, 900_000)).to.deep.equal([1, 0, 0]);
      expect(await extend('r', ANN, 1, 1_000)).to.deep.equal([1, 0, 0]);
      expect(await endsInMs(ANN)).to.be.within(TTL_MS, 900_000);
      await wait(BEN, 'w');
      expect(await extend('r', ANN)).to.deep.equal([1, 0, 0]);
      expect(await extend('r', CAT, 1)).to.deep.equal([1, 0, 0]);
      refused(await extend('w', BEN, 1), 900_000);
    });

    it('extend: a vote that has run out is there again, and is not dropped as one that has', async () => {
      for (const role of ['r', 'w'] as const) {
        await server.redis.flushall();
        await claim(role, ANN);
        await expire(ANN);
        expect(await extend(role, ANN, 1)).to.deep.equal([1, 0, 0]);
        expect(await stored()).to.deep.equal({ ANN: role });
        await expire(ANN);
        expect(await claim(role, ANN)).to.deep.equal([1, 0, 0]);
        expect(await stored()).to.deep.equal({ ANN: role });
      }
    });

    it('extend: a writer that is extended as a reader is one; there is no way back', async () => {
      await write(ANN);
      refused(await read(BEN));
      expect(await extend('r', ANN)).to.deep.equal([1, 0, 0]);
      refused(await extend('w', ANN, 1));
      expect(await read(BEN)).to.deep.equal([1, 0, 0]);
      expect(await stored()).to.deep.equal({ ANN: 'r', BEN: 'r' });
    });
  });

  describe('semaphore', () => {
    it('{1, 0, 0, slot…}: the lowest free permits, all or none', async () => {
      expect(await take(ANN, 1, 3)).to.deep.equal([1, 0, 0, 0]);
      expect(await take(BEN, 1, 3)).to.deep.equal([1, 0, 0, 1]);
      refused(await take(CAT, 2, 3));
      await leave(ANN);
      expect(await take(CAT, 2, 3)).to.deep.equal([1, 0, 0, 0, 2]);
      refused(await take(DAN, 1, 3));
      expect(await take(CAT, 2, 3)).to.deep.equal([1, 0, 0, 0, 2]);
      expect(await stored()).to.deep.equal({ BEN: '1 of 3', CAT: '0,2 of 3' });
    });

    it('{0, ms, 0}: ms is the shortest time left; what has run out is free', async () => {
      await take(ANN, 1, 2, 300_000);
      await take(BEN);
      const [, ms = 0] = await take(CAT);
      expect(ms).to.be.within(1, 300_000);
      await expire(ANN);
      expect(await take(CAT)).to.deep.equal([1, 0, 0, 0]);
    });

    it('{5, ms, k}: holders go by another number of permits; also to settle and to extend', async () => {
      await take(ANN, 1, 3);
      const [code, ms = 0, k] = await take(BEN, 1, 2);
      expect([code, k]).to.deep.equal([5, 3]);
      expect(ms).to.be.within(1, TTL_MS);
      expect((await extendPermits(BEN, '1', 1, 2)).filter((_, i) => i !== 1)).to.deep.equal([5, 3]);
      await server.redis.hset(KEY, BEN, (await fields())[ANN]?.replace(/^0(.*)3$/, '1$12') ?? '');
      expect((await align(BEN, '0', 2)).filter((_, i) => i !== 1)).to.deep.equal([5, 3]);
      await expire(ANN);
      expect(await take(CAT, 1, 2)).to.deep.equal([1, 0, 0, 0]);
    });

    it('align: exactly these permits from here on, as often as it comes; nothing where the token is not', async () => {
      await take(ANN, 2, 3);
      expect(await take(BEN, 1, 3)).to.deep.equal([1, 0, 0, 2]);
      await leave(ANN);
      for (let i = 0; i < 2; i++) expect(await align(BEN, '0', 3)).to.deep.equal([1, 0, 0, 0]);
      expect(await align(DAN, '1', 3)).to.deep.equal([0, -2, 0]);
      expect(await stored()).to.deep.equal({ BEN: '0 of 3' });
    });

    it("align: another's permit is not given, and the permits that were held instead are given up", async () => {
      await take(ANN);
      await take(BEN);
      refused(await align(BEN, '0'));
      expect(await stored()).to.deep.equal({ ANN: '0 of 2' });
    });

    it("extend: exactly these permits, never shorter; a free permit is taken again, another's is not", async () => {
      expect(await extendPermits(ANN, '1')).to.deep.equal([0, -2, 0]);
      expect(await extendPermits(ANN, '1', 1, 2, 900_000)).to.deep.equal([1, 0, 0]);
      expect(await extendPermits(ANN, '1', 1, 2, 1_000)).to.deep.equal([1, 0, 0]);
      expect(await endsInMs(ANN)).to.be.within(TTL_MS, 900_000);
      refused(await extendPermits(BEN, '0,1', 1), 900_000);
      expect(await take(BEN)).to.deep.equal([1, 0, 0, 0]);
      refused(await extendPermits(BEN, '1', 1), 900_000);
      expect(await stored()).to.deep.equal({ ANN: '1 of 2' });
      expect(await extendPermits(ANN, '0', 1)).to.deep.equal([1, 0, 0]);
      expect(await stored()).to.deep.equal({ ANN: '0 of 2' });
    });

    it('a vote that has run out is there again when it is extended or claimed again, and is not dropped', async () => {
      await take(ANN);
      await expire(ANN);
      expect(await extendPermits(ANN, '0', 1)).to.deep.equal([1, 0, 0]);
      expect(await stored()).to.deep.equal({ ANN: '0 of 2' });
      await expire(ANN);
      expect(await take(ANN)).to.deep.equal([1, 0, 0, 0]);
      expect(await stored()).to.deep.equal({ ANN: '0 of 2' });
    });

    it('extend: what else it has here is given up, whether it gets these or not', async () => {
      for (const [slots, isTaken] of [
        ['0', false],
        ['1', true],
      ] as const) {
        await server.redis.flushall();
        for (const holder of [ANN, BEN, CAT]) await take(holder, 1, 3);
        if (!isTaken) await expire(ANN);
        const [code] = await extendPermits(CAT, slots, 0, 3);
        expect(code).to.equal(isTaken ? 0 : 1);
        expect((await stored())['CAT']).to.equal(isTaken ? undefined : '0 of 3');
      }
    });
  });

  describe('taking it away from all holders', () => {
    const listener = oneListener(server);
    const HOUR_MS = 3_600_000;
    const [LEFT_MS, STAY_MS] = [300_000, 2_000];
    const OWN = tokenFrom('zoe', '1');
    /** The script's clock, so far ahead that nothing runs out meanwhile. */
    let nowMs = 0;

    const oust = (
      holders: readonly string[],
      graceMs = HOUR_MS,
      isClaimed = 0,
      stayMs = STAY_MS,
    ): Promise<Reply> =>
      run(atInstant(RW_OUST, nowMs * 1_000), [KEY], OWN, graceMs, stayMs, isClaimed, ':thief', ...holders);
    /** Who has what, each for so many ms more. */
    const holds = (lefts: Readonly<Record<string, number>>, what = 'r', k = ''): Promise<unknown> => {
      const texts = Object.entries(lefts).map(([name, ms]) => [name, `${what}|${nowMs + ms}|${k}`]);
      return server.redis.hset(KEY, Object.fromEntries(texts) as Record<string, string>);
    };
    const writes = (ms: number): Record<string, string> => ({ [OWN]: `w|${nowMs + ms}|` });

    beforeEach(async () => {
      nowMs = Math.floor((await server.micros()) / 1_000) + 1e9;
      await listener.listenTo(pushChannel(ANN), pushChannel(BEN));
    });

    for (const [title, graceMs, isClaimed, waitMs, lifeMs] of [
      ['a grace shorter than their votes', 60_000, 0, 60_000, 60_000 + STAY_MS],
      ['a grace almost as long as these', LEFT_MS - 1, 0, LEFT_MS - 1, LEFT_MS],
      ['a longer one', HOUR_MS, 0, LEFT_MS, LEFT_MS],
      ['no grace', 0, 0, 0, STAY_MS],
      ['for a claim', HOUR_MS, 1, LEFT_MS, LEFT_MS + STAY_MS],
      ['no grace, for a claim', 0, 1, 0, STAY_MS],
    ] as const) {
      it(`{1, ms, 0}: ${title}: it writes in their place, all of them are told, and a second time nothing is`, async () => {
        await holds({ [ANN]: LEFT_MS / 2, [BEN]: LEFT_MS, [CAT]: 0 });
        expect(await oust([ANN, BEN, DAN], graceMs, isClaimed)).to.deep.equal([1, waitMs, 0]);
        expect(await fields()).to.deep.equal(writes(lifeMs));
        expect(await server.redis.pttl(KEY)).to.be.within(lifeMs, 1e9 + lifeMs);
        expect(await listener.heard()).to.have.members(
          [ANN, BEN].map((token) => `${pushChannel(token)} s ${OWN} :thief ${token} ${KEY}`),
        );
        const leftMs = isClaimed === 1 ? lifeMs - STAY_MS : lifeMs; // the while after it is its own
        expect(await oust([ANN, BEN], graceMs, isClaimed)).to.deep.equal([1, leftMs, 0]);
        expect([await fields(), await listener.heard()]).to.deep.equal([writes(lifeMs), []]);
      });
    }

    it('{1, 0, 0}: it has had it, and only a part of the while is left', async () => {
      await holds({ [OWN]: STAY_MS - 1 }, 'w');
      expect(await oust([ANN], HOUR_MS, 1)).to.deep.equal([1, 0, 0]);
    });

    it('{1, 0, 0}: nobody has it, or it rests: it is taken for the while, and for no less than 1 ms', async () => {
      for (const isClaimed of [0, 1]) {
        for (const [stayMs, lifeMs] of [
          [STAY_MS, STAY_MS],
          [0, 1],
        ] as const) {
          for (const rests of [false, true]) {
            await server.redis.flushall();
            if (rests) await holds({ [AT_REST]: LEFT_MS }, AT_REST);
            expect(await oust([ANN], HOUR_MS, isClaimed, stayMs)).to.deep.equal([1, 0, 0]);
            expect(await fields()).to.deep.equal(writes(lifeMs));
          }
        }
      }
      expect(await listener.heard()).to.deep.equal([]);
    });

    it('{0, ms, 0}: others have it as well, the last of them for ms: nothing is changed, and nobody told', async () => {
      await holds({ [ANN]: HOUR_MS, [BEN]: LEFT_MS, [CAT]: 2 * LEFT_MS });
      const before = await fields();
      expect(await oust([ANN])).to.deep.equal([0, 2 * LEFT_MS, 0]);
      expect(await oust([ANN, CAT])).to.deep.equal([0, LEFT_MS, 0]);
      await holds({ [BEN]: 1 });
      expect(await oust([ANN, CAT])).to.deep.equal([0, 1, 0]);
      expect(await fields()).to.deep.equal({ ...before, [BEN]: `r|${nowMs + 1}|` });
      expect(await listener.heard()).to.deep.equal([]);
    });

    it('{2, what, 0}: it is no read-write lock', async () => {
      await holds({ [ANN]: LEFT_MS }, '0', '2');
      expect(await oust([ANN])).to.deep.equal([2, HOLDS.semaphore, 0]);
      await server.redis.del(KEY);
      await server.redis.set(KEY, ANN);
      expect(await oust([ANN])).to.deep.equal([2, HOLDS.mutex, 0]);
    });
  });

  describe('other kinds', () => {
    const every = (): readonly Promise<Reply>[] => votes.map((vote) => vote());

    it('{2, what, 0}: data of any type, an exclusive lock, the other kind of these; nothing is changed', async () => {
      for (const type of TYPES) {
        await server.redis.flushall();
        await putData(server.redis, KEY, type);
        const before = await server.redis.dump(KEY);
        for (const reply of await Promise.all(every())) expect(reply, type).to.deep.equal([2, 0, 0]);
        const left = type === 'hash' ? [0, -2, 0] : [0, -2, 1];
        expect(await leave(ANN), type).to.deep.equal(left);
        expect(await server.redis.dump(KEY), type).to.deep.equal(before);
      }
      await server.redis.set(KEY, 'data');
      expect(await read(ANN)).to.deep.equal([2, 0, 0]);
      await server.redis.set(KEY, BEN);
      for (const reply of await Promise.all(every())) expect(reply).to.deep.equal([2, 1, 0]);
      await server.redis.del(KEY);
      await read(BEN);
      expect(await take(ANN)).to.deep.equal([2, 2, 0]);
      await leave(BEN);
      await take(BEN);
      expect(await read(ANN)).to.deep.equal([2, 3, 0]);
    });

    it('a field that nobody of us wrote makes it something else', async () => {
      await read(ANN);
      await server.redis.hset(KEY, 'mine', '1');
      expect(await read(BEN)).to.deep.equal([2, 0, 0]);
    });
  });

  it('guard: a quarantined master gives nothing; leaving is always possible', async () => {
    const line = [...LINE, MARKER];
    const quarantined = ([code, ms]: Reply): void => {
      expect(code).to.equal(-1);
      expect(ms).to.be.within(1, 60_000);
    };
    const place = `${TICKET}|${TTL_MS}|0`;
    const args = {
      role: 'r',
      want: 'r',
      ttl: TTL_MS,
      create: 1,
      fence: 9,
      life: LIFE,
      slots: '0',
      permits: 2,
    };
    const guarded = { ...args, proposal: 0, place, guard: 60_000 };
    quarantined(await run(RW_CLAIM, line, ANN, 'r', TTL_MS, '', 0, 0, 60_000));
    quarantined(await run(PERMIT_CLAIM, line, ANN, TTL_MS, 1, 2, '', 60_000));
    const entries: readonly (readonly [letter: Letter, keys: readonly string[]])[] = [
      [SHARED_ENTRY.accept, [KEY, COUNTER]],
      [SHARED_ENTRY.extend, [KEY]],
      [SHARED_ENTRY.extendPermits, [KEY]],
      [SHARED_ENTRY.align, COUNTED],
      [SHARED_ENTRY.downgrade, COUNTED],
      [SHARED_ENTRY.queue, COUNTED],
    ];
    for (const [letter, keys] of entries)
      quarantined(await runLone(loneEntry(letter, ANN, guarded), [...keys, MARKER]));
    expect(await run(RW_CLAIM, line, ANN, 'r', TTL_MS, '', 0, 0, 50_000)).to.deep.equal([-2, 60_000, 0]);
    expect(await leave(ANN)).to.deep.equal([0, -2, 0]);
  });

  it('on no keys, what may leave a vote does nothing', async () => {
    for (const script of [RW_CLAIM, PERMIT_CLAIM]) expect(await run(script, [])).to.deep.equal([0, 0, 0]);
    expect(await server.redis.dbsize()).to.equal(0);
  });

  const survey = async (): Promise<unknown[]> =>
    (await server.run(SURVEY_SHARED, [KEY, QUEUE, LOOKS, COUNTER])) as unknown[];

  it('survey: fields as they are, who waits, and something else', async () => {
    expect(await survey()).to.deep.include.ordered.members([0, -2]);
    await read(ANN);
    await server.redis.zadd(QUEUE, 1, CAT, 2, DAN);
    const beforeMs = Math.floor((await server.micros()) / 1_000);
    const [code, ms, now, all, ...line] = await survey();
    expect([code, line]).to.deep.equal([1, [2, [CAT, DAN], ['1', '2'], '']]);
    expect(ms).to.be.within(1, TTL_MS);
    expect(now).to.be.within(beforeMs, (await server.micros()) / 1_000);
    expect(all).to.include.members([ANN]);
    await server.redis.set(KEY, BEN);
    expect((await survey())[0]).to.equal(2);
  });

  for (const type of TYPES.filter((one) => one !== 'zset')) {
    it(`survey: a ${type} for the queue: nobody waits`, async () => {
      await putData(server.redis, QUEUE, type);
      expect((await survey()).slice(3)).to.deep.equal([[], 0, [], [], '']);
    });
  }

  describe('without rights', () => {
    const denied = async (command: string, action: () => Promise<unknown>): Promise<void> => {
      const reply = await server.without(command, () => action().catch((error: Error) => error.message));
      expect(reply, command).to.be.a('string').that.matches(NO_RIGHT);
    };

    it('what a user may not read or delete it is told of, and nothing is changed', async () => {
      await read(BEN);
      const before = await fields();
      for (const vote of votes) await denied('hgetall', vote);
      await denied('hgetall', survey);
      await denied('hdel', () => leave(BEN));
      expect(await fields()).to.deep.equal(before);
    });

    for (const command of ['del', 'exists', 'hgetall', 'zrem', 'zrange', 'publish', 'time']) {
      it(`leave, -${command}: the vote goes all the same, and others keep theirs; also where somebody waits`, async () => {
        for (const isAwaited of [false, true]) {
          await read(ANN);
          await read(BEN);
          if (isAwaited) await wait(CAT, 'w');
          expect(await server.without(command, () => leave(ANN))).to.deep.equal([1, -2, 0]);
          expect(await stored()).to.deep.equal({ BEN: 'r' });
          await server.redis.flushall();
        }
      });
    }
  });
});
