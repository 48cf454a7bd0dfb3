/**
 * The queue of read-write locks and semaphores on a real server (protocol C5): looks, whom they and all that frees something
 * let in, yields, inquiries, rests, and mute places. The scripts' clock stands still unless a spec moves it, and is far ahead of
 * the server's, so that instants are exact and nothing runs out meanwhile.
 */
import { expect } from 'chai';
import { counterKey, looksKey, pushChannel, queueKey, turnKey } from '../../../lib/protocol/keys.js';
import { LEAN, SHARED_ENTRY } from '../../../lib/protocol/lua/entries.js';
import { LEAVE, PERMIT_CLAIM, RW_CLAIM, type Script } from '../../../lib/protocol/lua/scripts.js';
import { AHEAD_US, BACK_US, LAST_FENCE } from '../../../lib/protocol/lua/stored.js';
import {
  FRESH_MS,
  GONE_MS,
  MAX_DROPPED,
  MUTE_MS,
  RESERVE_MS,
  REST_MS,
} from '../../../lib/protocol/lua/waiting.js';
import type { Letter } from '../../../lib/protocol/operation.js';
import { mutePlace } from '../../../lib/protocol/request.js';
import { AT_REST, MUTE_MARK } from '../../../lib/runtime/random.js';
import { tokenFrom } from '../../simulation/world/seeded.js';
import { blockEnd, nextBlock } from '../../support/fence-blocks.js';
import { loneEntry } from '../../support/lone-entries.js';
import {
  atInstant,
  lasting,
  NO_RIGHT,
  oneListener,
  oneServer,
  putData,
  TYPES,
} from '../../support/server.js';

const KEY = 'invoice 42';
const LINE = [KEY, queueKey(KEY), turnKey(KEY), looksKey(KEY)] as const;
const [, QUEUE, TURN, LOOKS] = LINE;
const COUNTER = counterKey(KEY);
const COUNTED = [...LINE, COUNTER];
const MARKER = 'quorate:guard';
const TICKET = 1_790_000_000_000_001;
const TTL_MS = 300_000;
const HOUR_MS = 3_600_000;
const LIFE_MS = 600_000;
const COUNTER_MS = 6_000_000;
const GUARD_MS = 60_000;
/** By the client's clock. */
const SENT_MS = 7_654_321;
/** The scripts' clock against the server's: eleven days. */
const AHEAD_MS = 1e9;
/** What is set for less than that would run out on a busy machine. */
const BRIEF_MS = 60_000;
/** The most that one call lets in; and that it asks for their votes. */
const [MOST_LET_IN, MOST_ASKED] = [400, 64];

const [ANN, BEN, CAT, DAN, EVE] = ['ann', 'ben', 'cat', 'dan', 'eve'].map((name) => tokenFrom(name, '1')) as [
  string,
  string,
  string,
  string,
  string,
];
const MUTE = ANN + MUTE_MARK;

interface Look {
  readonly ticket?: number;
  readonly ttlMs?: number;
  readonly sentAtMs?: number;
  /** Of the counter; 0 is no fencing. */
  readonly counterMs?: number;
  readonly proposal?: number;
  readonly guardMs?: number;
}

interface Yield {
  readonly want?: string;
  readonly serial?: number;
  readonly ticket?: number;
  readonly lifeMs?: number;
  readonly rests?: boolean;
}

function nameOf(token: string): string {
  const [client = '', secret = ''] = token.split(':');
  return client.replaceAll('_', '') + (secret.endsWith(MUTE_MARK) ? MUTE_MARK : '');
}

describe('the queue of shared locks: scripts on a real server', () => {
  const server = oneServer();
  const listener = oneListener(server);
  /** The scripts' clock. */
  let us = 0;
  const nowMs = (): number => Math.floor(us / 1_000);
  const pass = (ms: number): void => void (us += ms * 1_000);
  const as = (script: Script): Script => atInstant(lasting(script, BRIEF_MS), us);

  const run = async (
    script: Script,
    keys: readonly string[],
    ...args: readonly (string | number)[]
  ): Promise<number[]> => (await server.run(as(script), keys, ...args)) as number[]; // what the headers say
  const entry = (
    letter: Letter,
    token: string,
    args: Parameters<typeof loneEntry>[2],
    keys: readonly string[] = COUNTED,
  ): Promise<unknown> => server.runLone(loneEntry(letter, token, args), keys, as);

  const look = async (token: string, want: string, more: Look = {}): Promise<number[]> => {
    const { counterMs = want === 'w' ? COUNTER_MS : 0, guardMs = -1, proposal = us } = more;
    const { sentAtMs = SENT_MS, ticket = TICKET, ttlMs = TTL_MS } = more;
    const place = [ticket, LIFE_MS, sentAtMs].join('|');
    const args = { want, ttl: ttlMs, life: counterMs, proposal, place, guard: guardMs };
    return (await entry(
      SHARED_ENTRY.queue,
      token,
      args,
      guardMs < 0 ? COUNTED : [...COUNTED, MARKER],
    )) as number[]; // numbers all
  };
  /** They wait for that, in this order. */
  const wait = async (wants: Readonly<Record<string, string>>, more: Look = {}): Promise<void> => {
    for (const [i, [token, want]] of Object.entries(wants).entries()) {
      const [code] = await look(token, want, { ticket: TICKET + i, ...more });
      expect(code, `${nameOf(token)} waits`).to.equal(0);
    }
    await listener.heard();
  };
  const claim = (token: string, role: 'r' | 'w', place = '', ttlMs = HOUR_MS): Promise<number[]> =>
    run(RW_CLAIM, LINE, token, role, ttlMs, place, 0, 0, -1);
  const take = (token: string, permits: number, k: number, place = ''): Promise<number[]> =>
    run(PERMIT_CLAIM, LINE, token, HOUR_MS, permits, k, place, -1);
  const leave = (token: string, proposal = us): Promise<number[]> => run(LEAVE, COUNTED, token, proposal);
  const extend = (token: string, role: 'r' | 'w', create: 0 | 1 = 1): Promise<unknown> =>
    entry(SHARED_ENTRY.extend, token, { role, ttl: HOUR_MS, create }, [KEY]);
  const downgrade = (token: string, create: 0 | 1 = 0): Promise<unknown> =>
    entry(SHARED_ENTRY.downgrade, token, { role: 'r', ttl: HOUR_MS, create, proposal: us });
  const extendPermits = (
    token: string,
    slots: string,
    permits: number,
    create: 0 | 1 = 1,
  ): Promise<unknown> =>
    entry(SHARED_ENTRY.extendPermits, token, { ttl: HOUR_MS, slots, permits, create }, [KEY]);
  const align = (token: string, slots: string, permits: number): Promise<unknown> =>
    entry(SHARED_ENTRY.align, token, { slots, permits, proposal: us });
  const accept = (token: string, fence: number): Promise<unknown> =>
    entry(SHARED_ENTRY.accept, token, { fence, life: COUNTER_MS }, [KEY, COUNTER]);
  const yields = async (token: string, more: Yield = {}): Promise<unknown> => {
    const { lifeMs = LIFE_MS, rests = false, serial = await serialOf(token) } = more;
    const { ticket = TICKET, want = 'r' } = more;
    const place = [serial, ticket, lifeMs, ...(rests ? [1] : [])].join('|');
    return entry(SHARED_ENTRY.yield, token, { want, proposal: us, place });
  };

  const field = async (token: string): Promise<readonly string[]> =>
    ((await server.redis.hget(KEY, token)) ?? '').split('|');
  const serialOf = async (token: string): Promise<number> => Number((await field(token))[3]);
  /** How long its vote lives, in ms. */
  const leftOf = async (token: string): Promise<number> => Number((await field(token))[1]) - nowMs();
  /** Who holds what, with the mark of a hand-over as a plus. */
  const held = async (): Promise<Record<string, string>> => {
    const { kind: _, ...fields } = await server.redis.hgetall(KEY);
    const short = Object.entries(fields).map(([token, text]) => {
      const [first = '', , , serial] = text.split('|');
      return [nameOf(token), first + (serial === undefined ? '' : '+')] as const;
    });
    return Object.fromEntries(short);
  };
  const waiting = async (): Promise<string[]> => (await server.redis.zrange(QUEUE, '0', '-1')).map(nameOf);
  const count = (): Promise<string | null> => server.redis.get(COUNTER);
  /** What was published: letter and client, and the numbers between them. */
  const pushes = async (): Promise<string[]> => {
    const found = await listener.heard();
    return found.map((text) => {
      const [channel, letter = '', ...rest] = text.slice(0, -KEY.length - 1).split(' ');
      const token = rest.pop() ?? '';
      expect(channel).to.equal(pushChannel(token));
      expect(text.endsWith(` ${KEY}`)).to.equal(true);
      return [letter, nameOf(token), ...rest].join(' ');
    });
  };
  /** Their letters and clients; of those that one call sends to many, the order means nothing. */
  const told = async (): Promise<string[]> =>
    (await pushes()).map((text) => text.split(' ', 2).join(' ')).sort();
  const listenTo = (...tokens: readonly string[]): Promise<void> =>
    listener.listenTo(...tokens.map(pushChannel));
  const crowd = (size: number, client = 'crowd'): string[] =>
    Array.from({ length: size }, (_, i) => tokenFrom(client, String(i)));
  const wanting = (tokens: readonly string[], want: string): Record<string, string> =>
    Object.fromEntries(tokens.map((token) => [token, want]));
  /** So many wait in front of all others, and have not looked for too long. */
  const lineUpGone = async (count: number): Promise<void> => {
    const gone = crowd(count, 'gone');
    const long = `${us - GONE_MS * 1_000 - 1}|0|0|0||0|r`;
    await server.redis.zadd(QUEUE, ...gone.flatMap((token, i) => [i + 1, token]));
    await server.redis.hset(LOOKS, ...gone.flatMap((token) => [token, long]));
  };
  const contents = async (): Promise<unknown> => {
    const keys = (await server.redis.keys('*')).sort();
    return Promise.all(keys.map(async (key) => [key, (await server.redis.dumpBuffer(key))?.toString('hex')]));
  };

  beforeEach(async () => {
    us = (await server.micros()) + AHEAD_MS * 1_000;
    await listenTo(ANN, BEN, CAT, DAN, EVE);
  });

  describe('a look', () => {
    it('{6, serial, us, 0, sent}: it is free; the vote is its own, with the mark, for the whole ttl', async () => {
      expect(await look(ANN, 'r')).to.deep.equal([6, us, us, 0, SENT_MS]);
      expect(await server.redis.hgetall(KEY)).to.deep.equal({
        [ANN]: `r|${nowMs() + TTL_MS}||${us}|${TICKET}`,
      });
      const endsInMs = AHEAD_MS + TTL_MS; // by the server's clock
      expect(await server.redis.pttl(KEY)).to.be.closeTo(endsInMs, BRIEF_MS);
      expect(await server.redis.keys('*')).to.deep.equal([KEY]);
      expect(await pushes()).to.deep.equal([]);
    });

    it('{6, serial, us, fence, sent}: a writer is counted, by its proposal if that is near the clock', async () => {
      for (const [awayUs, isTaken] of [
        [-BACK_US, true],
        [-BACK_US - 1, false],
        [AHEAD_US, true],
        [AHEAD_US + 1, false],
      ] as const) {
        await server.redis.flushall();
        const fence = isTaken ? us + awayUs : us;
        expect(await look(ANN, 'w', { proposal: us + awayUs })).to.deep.equal([6, us, us, fence, SENT_MS]);
        expect([await count(), await held()]).to.deep.equal([String(blockEnd(fence)), { ann: 'w+' }]);
      }
      await server.redis.del(KEY);
      await server.redis.set(COUNTER, us + 9);
      expect((await look(BEN, 'w'))[3]).to.equal(us + 10);
    });

    it('{6, …}: it fits beside the others; permits are the lowest that are free', async () => {
      await claim(ANN, 'r');
      for (const token of [BEN, CAT]) expect((await look(token, 'r'))[0]).to.equal(6);
      expect(await held()).to.deep.equal({ ann: 'r', ben: 'r+', cat: 'r+' });
      await server.redis.flushall();
      await take(ANN, 1, 4);
      await take(BEN, 1, 4);
      await leave(ANN);
      expect((await look(CAT, '2/4')).slice(0, 4)).to.deep.equal([6, us, us, 'p0,2']);
      expect(await held()).to.deep.equal({ ben: '1', cat: '0,2+' });
      expect(await server.redis.hget(KEY, CAT)).to.equal(`0,2|${nowMs() + TTL_MS}|4|${us}|${TICKET}`);
    });

    it('{1, serial, us}: a ttl of 0 asks for a reservation; nothing is counted', async () => {
      expect(await look(ANN, 'w', { ttlMs: 0 })).to.deep.equal([1, us, us]);
      expect([await held(), await leftOf(ANN), await count()]).to.deep.equal([
        { ann: 'w+' },
        RESERVE_MS,
        null,
      ]);
    });

    for (const text of ['text', String(LAST_FENCE)]) {
      it(`{1, serial, us}: its counter is ${text}: the vote is reserved; a reader does not need it`, async () => {
        await server.redis.set(COUNTER, text);
        expect(await look(ANN, 'w')).to.deep.equal([1, us, us]);
        expect([await leftOf(ANN), await count()]).to.deep.equal([RESERVE_MS, text]);
        await server.redis.del(KEY);
        expect((await look(ANN, 'r'))[0]).to.equal(6);
      });
    }

    it('{0, ms, us, rank}: it is held: the token waits, and what it asks for is noted', async () => {
      await claim(DAN, 'w');
      expect(await look(ANN, 'r')).to.deep.equal([0, HOUR_MS, us, 0]);
      expect(await look(BEN, 'w', { ticket: TICKET + 1 })).to.deep.equal([0, HOUR_MS, us, 1]);
      expect(await look(CAT, 'r', { ticket: TICKET - 1, ttlMs: 0 })).to.deep.equal([0, HOUR_MS, us, 0]);
      expect([await waiting(), await held()]).to.deep.equal([['cat', 'ann', 'ben'], { dan: 'w' }]);
      expect(await server.redis.hmget(LOOKS, ANN, BEN, CAT)).to.deep.equal([
        `${us}|${SENT_MS}|${TTL_MS}|0||0|r`,
        `${us}|${SENT_MS}|${TTL_MS}|${COUNTER_MS}||0|w`,
        `${us}|${SENT_MS}|0|0||0|r`,
      ]);
      for (const key of [QUEUE, TURN, LOOKS])
        expect(await server.redis.pttl(key), key).to.be.within(LIFE_MS - BRIEF_MS, LIFE_MS);
    });

    it('{0, ms, us, rank}: ms until there may be room: after the last, the writer, or enough permits', async () => {
      await claim(DAN, 'r', '', TTL_MS);
      await claim(EVE, 'r', '', HOUR_MS);
      expect((await look(ANN, 'w'))[1]).to.equal(HOUR_MS);
      await server.redis.flushall();
      for (const [i, token] of [CAT, DAN, EVE].entries())
        await run(PERMIT_CLAIM, LINE, token, (3 - i) * TTL_MS, 1, 4, '', -1);
      for (const [want, ms] of [
        ['2/4', TTL_MS],
        ['3/4', 2 * TTL_MS],
        ['4/4', 3 * TTL_MS],
        ['1/5', 3 * TTL_MS],
      ] as const) {
        expect((await look(ANN, want)).slice(0, 2), want).to.deep.equal([0, ms]);
        await leave(ANN);
      }
    });

    it('{6, …}: its own vote with the mark: the same serial, for the full ttl again, never shorter, and counted again', async () => {
      await look(ANN, 'w');
      const serial = us;
      pass(1_000);
      const again = await look(ANN, 'w', { sentAtMs: SENT_MS + 5 });
      expect(again).to.deep.equal([6, serial, us, us, SENT_MS + 5]);
      expect([await leftOf(ANN), await serialOf(ANN)]).to.deep.equal([TTL_MS, serial]);
      expect((await look(ANN, 'w', { ttlMs: 1_000 }))[1]).to.equal(serial);
      expect(await look(ANN, 'w', { ttlMs: 0 })).to.deep.equal([1, serial, us]);
      expect([await leftOf(ANN), await count()]).to.deep.equal([TTL_MS, String(blockEnd(nextBlock(us)))]);
    });

    it('{6, …}: its own vote, long after: the key lives as long as the vote', async () => {
      await look(ANN, 'r');
      const laterMs = TTL_MS / 2;
      pass(laterMs);
      expect((await look(ANN, 'r'))[0]).to.equal(6);
      expect(await server.redis.pttl(KEY)).to.be.closeTo(AHEAD_MS + laterMs + TTL_MS, BRIEF_MS);
    });

    it(`{0, 0, us, 0}: more than ${MAX_DROPPED} are gone in front of it: the same look goes on`, async () => {
      await claim(EVE, 'w', '', 1_000);
      await wait({ [ANN]: 'r' });
      await lineUpGone(MAX_DROPPED + 1);
      pass(1_000);
      expect(await look(BEN, 'w', { ticket: TICKET + 1 })).to.deep.equal([0, 0, us, 0]);
      expect(await waiting()).to.have.length(3);
      expect((await look(BEN, 'w', { ticket: TICKET + 1 }))[0]).to.equal(0);
      expect([await held(), await waiting()]).to.deep.equal([{ ann: 'r+' }, ['ben']]);
    });

    it('{6, …}: likewise if it was let in, by a vote or a reservation', async () => {
      for (const ttlMs of [TTL_MS, 0]) {
        await server.redis.flushall();
        await claim(DAN, 'w');
        await wait({ [ANN]: 'r' }, { ttlMs });
        await leave(DAN);
        const serial = await serialOf(ANN);
        expect((await look(ANN, 'r')).slice(0, 2)).to.deep.equal([6, serial]);
        expect([await leftOf(ANN), await held()]).to.deep.equal([TTL_MS, { ann: 'r+' }]);
      }
    });

    it('{1, serial, us}: its own vote without the mark, a late duplicate: nothing is changed', async () => {
      await look(ANN, 'w');
      await extend(ANN, 'w', 0);
      const before = await contents();
      pass(1_000);
      const [code, , clock] = await look(ANN, 'w');
      expect([code, clock, await contents()]).to.deep.equal([1, us, before]);
    });

    it('{2, what, 0}: something else is there; it takes no place', async () => {
      await server.redis.set(KEY, DAN);
      expect(await look(ANN, 'r')).to.deep.equal([2, 1, 0]);
      await server.redis.del(KEY);
      await claim(DAN, 'r');
      expect(await look(ANN, '1/2')).to.deep.equal([2, 2, 0]);
      await leave(DAN);
      await take(DAN, 1, 2);
      expect(await look(ANN, 'r')).to.deep.equal([2, 3, 0]);
      expect(await server.redis.keys('*')).to.deep.equal([KEY]);
    });

    it('fails with the error of the server, with nothing done, if a user may not look', async () => {
      await claim(DAN, 'w');
      const before = await contents();
      for (const command of ['hgetall', 'get', 'zcard', 'time']) {
        const failed = (): Promise<string> =>
          server
            .runLone(
              loneEntry(SHARED_ENTRY.queue, ANN, { want: 'r', place: '1|1|1', ttl: 1, life: 0, proposal: 0 }),
              COUNTED,
            )
            .then(String, (error: Error) => error.message);
        expect(await server.without(command, failed), command).to.match(NO_RIGHT);
      }
      expect(await contents()).to.deep.equal(before);
    });
  });

  describe('letting in', () => {
    it('a writer leaves: all readers in front of the next writer come in together; nobody passes that', async () => {
      await claim(EVE, 'w');
      await wait({ [ANN]: 'r', [BEN]: 'r', [CAT]: 'w', [DAN]: 'r' });
      expect(await leave(EVE)).to.deep.equal([1, -2, 0]);
      expect(await held()).to.deep.equal({ ann: 'r+', ben: 'r+' });
      expect([await waiting(), await told()]).to.deep.equal([
        ['cat', 'dan'],
        ['V ann', 'V ben', 'W cat'],
      ]);
      expect(await leave(ANN)).to.deep.equal([1, -2, 0]);
      expect([await waiting(), await told()]).to.deep.equal([['cat', 'dan'], []]);
      await leave(BEN);
      expect([await held(), await waiting()]).to.deep.equal([{ cat: 'w+' }, ['dan']]);
      expect(await told()).to.deep.equal(['V cat', 'W dan']);
      await leave(CAT);
      expect([await held(), await told()]).to.deep.equal([{ dan: 'r+' }, ['V dan']]);
      expect((await server.redis.keys('*')).sort()).to.deep.equal([COUNTER, KEY].sort()); // nobody waits
    });

    it('a writer that waits stops later readers, beside readers too, but none with an earlier ticket', async () => {
      await claim(EVE, 'r');
      await wait({ [BEN]: 'w' });
      expect(await look(CAT, 'r', { ticket: TICKET + 1 })).to.deep.equal([0, HOUR_MS, us, 1]);
      expect((await look(ANN, 'r', { ticket: TICKET - 1 }))[0]).to.equal(6);
      expect([await held(), await waiting()]).to.deep.equal([{ eve: 'r', ann: 'r+' }, ['ben', 'cat']]);
    });

    it('a look lets in those in front of it as well, by reservations: a vote ran out, and nobody else noticed', async () => {
      await claim(EVE, 'w', '', 1_000);
      await wait({ [ANN]: 'r', [BEN]: 'r', [CAT]: 'w' });
      pass(1_000);
      expect((await look(DAN, 'r', { ticket: TICKET + 9 }))[0]).to.equal(0);
      expect([await held(), await told()]).to.deep.equal([
        { ann: 'r+', ben: 'r+' },
        ['G ann', 'G ben', 'W cat'],
      ]);
      expect([await leftOf(ANN), await leftOf(BEN)]).to.deep.equal([RESERVE_MS, RESERVE_MS]);
    });

    it('the one that looks is let in by its reply, in its turn; those behind it directly', async () => {
      await claim(EVE, 'w', '', 1_000);
      await wait({ [ANN]: 'r', [BEN]: 'r', [CAT]: 'r' });
      pass(1_000);
      expect((await look(BEN, 'r', { ticket: TICKET + 1 })).slice(0, 4)).to.deep.equal([6, us, us, 0]);
      expect(await held()).to.deep.equal({ ann: 'r+', ben: 'r+', cat: 'r+' });
      expect([await waiting(), await told()]).to.deep.equal([[], ['G ann', 'V cat']]);
    });

    it(`one that has not looked for ${FRESH_MS} ms is told to, and stops others for ${RESERVE_MS} ms more, once`, async () => {
      await claim(EVE, 'r');
      await wait({ [ANN]: 'w' });
      pass(FRESH_MS);
      await wait({ [BEN]: 'r' }, { ticket: TICKET + 2 });
      us += 1;
      expect((await look(CAT, 'r', { ticket: TICKET + 3 })).slice(0, 2)).to.deep.equal([0, RESERVE_MS]);
      expect([await told(), await waiting()]).to.deep.equal([['W ann'], ['ann', 'ben', 'cat']]);
      pass(RESERVE_MS - 1);
      expect((await look(CAT, 'r', { ticket: TICKET + 3 })).slice(0, 2)).to.deep.equal([0, 1]);
      expect(await claim(MUTE, 'r')).to.deep.equal([0, 1, 0]);
      pass(1);
      expect((await look(CAT, 'r', { ticket: TICKET + 3 }))[0]).to.equal(6);
      expect([await held(), await waiting()]).to.deep.equal([{ eve: 'r', ben: 'r+', cat: 'r+' }, ['ann']]);
      expect(await told()).to.deep.equal(['G ben']);
      for (const token of [EVE, BEN, CAT]) await leave(token);
      expect([await held(), await leftOf(ANN)]).to.deep.equal([{ ann: 'w+' }, RESERVE_MS]);
    });

    it(`one whose look is not known may be gone, and is told to look; it stops others for ${RESERVE_MS} ms, once`, async () => {
      await claim(EVE, 'r');
      await wait({ [ANN]: 'w' });
      await server.redis.del(LOOKS);
      expect((await look(CAT, 'r', { ticket: TICKET + 1 })).slice(0, 2)).to.deep.equal([0, RESERVE_MS]);
      expect([await told(), await waiting()]).to.deep.equal([
        ['W ann', 'w ann'],
        ['ann', 'cat'],
      ]);
      await server.redis.del(LOOKS);
      expect(await claim(DAN, 'r')).to.deep.equal([0, RESERVE_MS, 0]);
      pass(RESERVE_MS);
      expect((await look(CAT, 'r', { ticket: TICKET + 1 }))[0]).to.equal(6);
      expect([await told(), await waiting()]).to.deep.equal([[], ['ann']]);
    });

    it('one that looks when it is told stops others as before', async () => {
      await claim(EVE, 'r');
      await wait({ [ANN]: 'w' });
      pass(FRESH_MS + 1);
      await look(BEN, 'r', { ticket: TICKET + 2 });
      expect(await told()).to.deep.equal(['W ann', 'w ann']);
      await wait({ [ANN]: 'w' });
      pass(RESERVE_MS);
      await look(BEN, 'r', { ticket: TICKET + 2 });
      expect([await held(), await told()]).to.deep.equal([{ eve: 'r' }, []]);
    });

    it('those who come in together leave the writer behind them waiting for one second, and not for readers', async () => {
      await claim(EVE, 'w');
      await wait({ [ANN]: 'r', [BEN]: 'r', [CAT]: 'w', [DAN]: 'r' });
      pass(FRESH_MS + 1);
      await wait({ [ANN]: 'r', [BEN]: 'r' });
      await leave(EVE);
      expect([await held(), await waiting()]).to.deep.equal([{ ann: 'r+', ben: 'r+' }, ['cat', 'dan']]);
      expect(await told()).to.deep.equal(['V ann', 'V ben', 'W cat']);
      pass(RESERVE_MS - 1);
      await look(EVE, 'r', { ticket: TICKET + 4 });
      expect(await waiting()).to.deep.equal(['cat', 'dan', 'eve']);
      pass(1);
      await leave(ANN);
      expect([await held(), await waiting()]).to.deep.equal([{ ben: 'r+', dan: 'r+', eve: 'r+' }, ['cat']]);
    });

    it('who was told is not told again as others come in or yield; the one behind it is', async () => {
      await claim(EVE, 'r');
      await wait({ [ANN]: 'w', [BEN]: 'w' });
      pass(FRESH_MS + 1);
      for (const [, name] of [
        [ANN, 'ann'],
        [BEN, 'ben'],
      ] as const) {
        await look(CAT, 'r', { ticket: TICKET + 2 });
        expect(await told()).to.include(`W ${name}`);
        pass(RESERVE_MS);
      }
      const [, serial = 0] = await look(CAT, 'r', { ticket: TICKET + 2 });
      expect(await held()).to.deep.equal({ eve: 'r', cat: 'r+' });
      us += 1;
      await look(DAN, 'r', { ticket: TICKET + 3 });
      await yields(CAT, { want: 'r', serial, ticket: TICKET + 2 });
      expect(await held()).to.deep.equal({ eve: 'r', dan: 'r+', cat: 'r+' });
      expect(await told()).to.not.include('W ann');
    });

    it('who was told to look stops others for as long, though another yields meanwhile', async () => {
      await claim(EVE, 'r');
      await look(DAN, 'r', { ticket: TICKET - 1 });
      await wait({ [ANN]: 'w' });
      pass(FRESH_MS + 1);
      await look(CAT, 'r', { ticket: TICKET + 1 });
      await yields(DAN, { ticket: TICKET - 1 });
      expect((await look(CAT, 'r', { ticket: TICKET + 1 })).slice(0, 2)).to.deep.equal([0, RESERVE_MS]);
      pass(RESERVE_MS);
      expect((await look(CAT, 'r', { ticket: TICKET + 1 }))[0]).to.equal(6);
    });

    it(`one that has not looked for ${GONE_MS} ms loses its place, though a push would reach it`, async () => {
      await claim(EVE, 'w');
      await wait({ [ANN]: 'r' });
      pass(GONE_MS);
      await wait({ [BEN]: 'r' }, { ticket: TICKET + 1 });
      expect(await waiting()).to.deep.equal(['ann', 'ben']);
      us += 1;
      await leave(EVE);
      expect([await held(), await waiting(), await told()]).to.deep.equal([{ ben: 'r+' }, [], ['V ben']]);
    });

    it('those whom no push reaches lose vote and place, and whoever fits then comes in', async () => {
      await claim(EVE, 'w');
      await wait({ [ANN]: 'w', [BEN]: 'r', [CAT]: 'r', [DAN]: 'w' });
      await listenTo(CAT);
      await leave(EVE);
      expect([await held(), await waiting(), await told()]).to.deep.equal([{ cat: 'r+' }, [], ['V cat']]);
    });

    it('a client that is gone is sent one push, whatever else of it waits', async () => {
      const many = crowd(20);
      await claim(EVE, 'w');
      await wait(wanting(many, 'r'));
      await wait({ [ANN]: 'r' }, { ticket: TICKET + 99 });
      await server.redis.config('RESETSTAT');
      await leave(EVE);
      expect(await server.redis.info('commandstats')).to.match(/cmdstat_publish:calls=2,/);
      expect([await held(), await waiting()]).to.deep.equal([{ ann: 'r+' }, []]);
    });

    it('nobody lives: it is free, and nothing is left', async () => {
      await claim(EVE, 'w');
      await wait({ [ANN]: 'r', [BEN]: 'w' });
      await listenTo();
      expect(await leave(EVE)).to.deep.equal([1, -2, 0]);
      expect((await server.redis.keys('*')).filter((key) => key !== COUNTER)).to.deep.equal([]);
    });

    it(`{n, -2, 2}: more than ${MAX_DROPPED} are gone: the same release goes on`, async () => {
      await claim(EVE, 'w');
      await wait({ [ANN]: 'r' });
      await lineUpGone(MAX_DROPPED + 1);
      expect(await leave(EVE)).to.deep.equal([1, -2, 2]);
      expect([await held(), (await waiting()).length]).to.deep.equal([{}, 2]);
      expect(await leave(EVE)).to.deep.equal([0, -2, 0]);
      expect([await held(), await waiting()]).to.deep.equal([{ ann: 'r+' }, []]);
    });

    it('who has a vote here already loses the place, and is given nothing', async () => {
      await claim(EVE, 'r');
      await wait({ [ANN]: 'w', [BEN]: 'r' });
      await extend(BEN, 'r'); // sets its vote: extensions ask no queue
      await leave(EVE);
      expect([await held(), await waiting(), await told()]).to.deep.equal([{ ben: 'r' }, ['ann', 'ben'], []]);
      await leave(ANN);
      expect([await held(), await waiting(), await told()]).to.deep.equal([{ ben: 'r' }, [], []]);
    });

    it(`${MOST_LET_IN} come in at most, and the next is told to look at once: that lets in itself, and so many more`, async () => {
      const many = crowd(2 * MOST_LET_IN + 5);
      await listenTo(many[0] ?? '', CAT);
      await claim(EVE, 'w');
      await wait(wanting(many, 'r'));
      await leave(EVE);
      expect(Object.keys(await server.redis.hgetall(KEY))).to.have.members(many.slice(0, MOST_LET_IN));
      const heard = await listener.heard();
      expect(heard).to.have.length(MOST_LET_IN + 1);
      const next = many[MOST_LET_IN] ?? '';
      expect(heard.at(-1)).to.equal(`${pushChannel(next)} N ${next} ${KEY}`);
      expect((await look(next, 'r', { ticket: TICKET + MOST_LET_IN }))[0]).to.equal(6);
      expect([await server.redis.hlen(KEY), await server.redis.zcard(QUEUE)]).to.deep.equal([
        2 * MOST_LET_IN,
        5,
      ]);
      expect((await listener.heard()).at(-1)).to.include(' N ');
    });

    it('a second time, and of what was not there: nobody else is let in, or told', async () => {
      await claim(EVE, 'w');
      await wait({ [ANN]: 'w', [BEN]: 'r' });
      await leave(EVE);
      await listener.heard();
      const before = [await held(), await waiting()];
      expect(await leave(EVE)).to.deep.equal([0, -2, 0]);
      expect([await held(), await waiting(), await told()]).to.deep.equal([...before, []]);
    });

    it('who leaves the queue lets in those whom it stopped', async () => {
      await claim(EVE, 'r');
      await wait({ [ANN]: 'w', [BEN]: 'r', [CAT]: 'r' });
      expect(await leave(ANN)).to.deep.equal([0, -2, 0]);
      expect(await held()).to.deep.equal({ eve: 'r', ben: 'r+', cat: 'r+' });
      expect([await waiting(), await told()]).to.deep.equal([[], ['V ben', 'V cat']]);
    });

    it('a user that may not publish: all keep their places, to look again', async () => {
      await claim(EVE, 'w');
      await wait({ [ANN]: 'r', [BEN]: 'r' });
      expect(await server.without('publish', () => leave(EVE))).to.deep.equal([1, -2, 0]);
      expect([await held(), await waiting()]).to.deep.equal([{}, ['ann', 'ben']]);
      const looks = async (): Promise<unknown> => (await look(ANN, 'r'))[0];
      expect(await server.without('publish', looks)).to.equal(6);
      expect([await held(), await waiting()]).to.deep.equal([{ ann: 'r+' }, ['ben']]);
    });
  });

  describe('lean: of one that met nobody who waits', () => {
    const lean = {
      claim: (token: string, role: 'r' | 'w', counterMs = 0) =>
        run(RW_CLAIM, [KEY, QUEUE, COUNTER], token, role, HOUR_MS, LEAN, counterMs, us, -1),
      take: (token: string, permits: number, k: number) =>
        run(PERMIT_CLAIM, [KEY, QUEUE], token, HOUR_MS, permits, k, LEAN, -1),
      leave: (token: string) => run(LEAVE, [KEY, QUEUE], token, LEAN),
    };

    it('a claim is granted beside others, and a writer is counted; again, too, though somebody waits by now', async () => {
      expect(await lean.claim(ANN, 'w', COUNTER_MS)).to.deep.equal([1, us, 0]);
      expect([await count(), await lean.leave(ANN)]).to.deep.equal([String(blockEnd(us)), [1, -2, 0]]);
      expect([await lean.claim(ANN, 'r'), await lean.claim(BEN, 'r')]).to.deep.equal([
        [1, 0, 0],
        [1, 0, 0],
      ]);
      await wait({ [CAT]: 'w' });
      expect(await lean.claim(BEN, 'r')).to.deep.equal([1, 0, 0]);
      expect(await held()).to.deep.equal({ ann: 'r', ben: 'r' });
    });

    it('a claim of permits likewise', async () => {
      expect([await lean.take(ANN, 1, 4), await lean.take(BEN, 2, 4)]).to.deep.equal([
        [1, 0, 0, 0],
        [1, 0, 0, 1, 2],
      ]);
      await wait({ [CAT]: '2/4' });
      expect(await lean.take(BEN, 2, 4)).to.deep.equal([1, 0, 0, 1, 2]);
      expect((await lean.take(DAN, 1, 5)).slice(0, 1)).to.deep.equal([5]);
      expect((await lean.take(DAN, 2, 4)).slice(0, 1)).to.deep.equal([0]);
    });

    it(`{0, ${RESERVE_MS}, 0}: a claim that somebody waits before, alive or not, and whatever there is room for`, async () => {
      await claim(EVE, 'r');
      await wait({ [ANN]: 'w' });
      expect(await lean.claim(BEN, 'r')).to.deep.equal([0, RESERVE_MS, 0]);
      pass(GONE_MS + 1);
      expect(await lean.claim(BEN, 'r')).to.deep.equal([0, RESERVE_MS, 0]);
      expect([await held(), await waiting()]).to.deep.equal([{ eve: 'r' }, ['ann']]);
      await leave(EVE);
      expect(await claim(BEN, 'r')).to.deep.equal([1, 0, 0]);
      await server.redis.flushall();
      await take(EVE, 1, 3);
      await wait({ [ANN]: '3/3' });
      expect(await lean.take(BEN, 1, 3)).to.deep.equal([0, RESERVE_MS, 0]);
    });

    it('nobody waits, but the turn is still there: a claim is granted', async () => {
      await server.redis.set(TURN, `${us}||`);
      expect(await lean.claim(ANN, 'r')).to.deep.equal([1, 0, 0]);
      expect(await lean.take(ANN, 1, 3)).to.deep.equal([2, 2, 0]);
    });

    it('{1, -2, 2}: a release that somebody waits for: the first is asked to look, and the release in full lets all in', async () => {
      await claim(EVE, 'w');
      await wait({ [ANN]: 'r', [BEN]: 'r' });
      expect(await lean.leave(EVE)).to.deep.equal([1, -2, 2]);
      expect([await held(), await waiting(), await told()]).to.deep.equal([{}, ['ann', 'ben'], ['N ann']]);
      expect(await leave(EVE)).to.deep.equal([0, -2, 0]);
      expect([await held(), await told()]).to.deep.equal([{ ann: 'r+', ben: 'r+' }, ['V ann', 'V ben']]);
    });

    it('{1, -2, 2}: a release that one waits for without pushes: it is told nothing', async () => {
      await claim(EVE, 'w');
      expect((await claim(BEN, 'w', mutePlace(MUTE, TICKET))).slice(0, 1)).to.deep.equal([0]);
      expect([await lean.leave(EVE), await told(), await waiting()]).to.deep.equal([
        [1, -2, 2],
        [],
        ['ann!'],
      ]);
    });

    it('{0, -2, 1}: a release of something else', async () => {
      await putData(server.redis, KEY, 'list');
      expect(await lean.leave(ANN)).to.deep.equal([0, -2, 1]);
    });
  });

  describe('what is given', () => {
    const spanOf = (lookUs: number): number => nowMs() + TTL_MS - Math.ceil(lookUs / 1_000);

    it('V serial sent span fence: a vote for the whole ttl; span counts from the look; writers are counted', async () => {
      us += 400;
      await claim(EVE, 'w');
      await wait({ [ANN]: 'w' });
      const looked = us;
      pass(FRESH_MS);
      await leave(EVE, us + 7);
      expect(await pushes()).to.deep.equal([`V ann ${us} ${SENT_MS} ${spanOf(looked)} ${us + 7}`]);
      expect([await leftOf(ANN), await count()]).to.deep.equal([TTL_MS, String(blockEnd(us + 7))]);
      expect(await server.redis.hget(KEY, ANN)).to.equal(`w|${nowMs() + TTL_MS}||${us}|${TICKET}`);
    });

    it('V …: by a yield of another, which proposes the fencing token for it', async () => {
      await look(DAN, 'r', { ticket: TICKET + 1 });
      await wait({ [ANN]: 'w' });
      await yields(DAN, { lifeMs: 0 });
      const [push = ''] = await pushes();
      expect([push.slice(0, 5), await count()]).to.deep.equal(['V ann', String(blockEnd(us))]);
    });

    it('V …: readers carry no fencing token, permits have their names in place of it; neither needs a proposal', async () => {
      await claim(EVE, 'w');
      await wait({ [ANN]: 'r', [BEN]: 'r' });
      await leave(EVE, 0);
      const vote = `${us} ${SENT_MS} ${spanOf(us)}`;
      expect(await pushes()).to.deep.equal([`V ann ${vote} 0`, `V ben ${vote} 0`]);
      await server.redis.flushall();
      await take(EVE, 2, 2);
      await wait({ [ANN]: '1/2' });
      await leave(EVE, 0);
      expect(await pushes()).to.deep.equal([`V ann ${vote} p0`]);
      expect([await held(), await count()]).to.deep.equal([{ ann: '0+' }, null]);
    });

    type Case = readonly [
      why: string,
      left: Look,
      more?: { passUs?: number; proposal?: number; counter?: string },
    ];
    const reservations: readonly Case[] = [
      ['its look asked for no vote', { ttlMs: 0 }],
      ['its look is too old', {}, { passUs: FRESH_MS * 1_000 + 1 }],
      ['its look is from a time to come', {}, { passUs: -1 }],
      ['no fencing token is proposed', {}, { proposal: 0 }],
      ['the proposal is too far ahead', {}, { proposal: AHEAD_US + 1 }],
      ['the counter is spent', {}, { counter: String(LAST_FENCE) }],
      ['the counter is something else', {}, { counter: 'text' }],
    ];
    for (const [why, left, { counter, passUs = 0, proposal } = {}] of reservations) {
      it(`G serial: a writer's vote is reserved: ${why}`, async () => {
        await claim(EVE, 'w');
        await wait({ [ANN]: 'w' }, left);
        us += passUs;
        if (counter !== undefined) await server.redis.set(COUNTER, counter);
        const away = proposal === undefined || proposal === 0 ? 0 : us;
        await leave(EVE, proposal === undefined ? us : proposal + away);
        expect(await pushes()).to.deep.equal([`G ann ${await serialOf(ANN)}`]);
        expect([await leftOf(ANN), await held(), await count()]).to.deep.equal([
          RESERVE_MS,
          { ann: 'w+' },
          counter ?? null,
        ]);
      });
    }

    it('G serial: permits and readers likewise, by what each asked for', async () => {
      await take(EVE, 2, 2);
      await wait({ [ANN]: '1/2' }, { ttlMs: 0 });
      await wait({ [BEN]: '1/2' }, { ticket: TICKET + 1 });
      await leave(EVE);
      expect(await told()).to.deep.equal(['G ann', 'V ben']);
      expect([await leftOf(ANN), await leftOf(BEN)]).to.deep.equal([RESERVE_MS, TTL_MS]);
    });

    it('the key lives until the last of all ends, not of those who came last', async () => {
      await claim(EVE, 'r');
      await claim(DAN, 'w');
      await wait({ [BEN]: 'w', [ANN]: 'r' });
      await leave(BEN);
      expect(await held()).to.deep.equal({ eve: 'r', ann: 'r+' });
      expect(await server.redis.pttl(KEY)).to.be.closeTo(AHEAD_MS + HOUR_MS, BRIEF_MS);
    });

    it('serials rise while somebody waits, though the clock steps back', async () => {
      await claim(EVE, 'w');
      await wait({ [ANN]: 'w', [BEN]: 'w', [CAT]: 'w' });
      await leave(EVE);
      const first = await serialOf(ANN);
      us -= 500;
      await leave(ANN);
      expect(await serialOf(BEN)).to.be.above(first);
    });

    it('serials rise though an older vote is yielded, and the clock has stepped back', async () => {
      await look(ANN, 'r');
      await wait({ [CAT]: 'w' }, { ticket: TICKET + 1 });
      pass(1);
      await look(BEN, 'r', { ticket: TICKET - 1 });
      us -= 5_000;
      await yields(ANN);
      expect(await serialOf(ANN)).to.be.above(await serialOf(BEN));
    });
  });

  describe('the mark', () => {
    const stays = async (token: string): Promise<void> => {
      const serial = await serialOf(token);
      expect(serial).to.be.above(0);
      expect(await yields(token, { serial })).to.equal(1);
    };
    const touches: readonly (readonly [string, string, () => Promise<unknown>])[] = [
      ['a claim', 'w', () => claim(ANN, 'w')],
      ["a waiter's claim", 'w', () => claim(ANN, 'w', 'q')],
      ['an acceptance', 'w', () => accept(ANN, us + 1)],
      ['an extension', 'w', () => extend(ANN, 'w', 0)],
      ['an extension that may set it again', 'w', () => extend(ANN, 'w')],
      ['an extension as a reader', 'w', () => downgrade(ANN)],
      ['a claim of permits', '1/2', () => take(ANN, 1, 2)],
      ['an alignment to the permits that it has', '1/2', () => align(ANN, '0', 2)],
      ['an alignment to others', '1/2', () => align(ANN, '1', 2)],
      ['an extension of permits', '1/2', () => extendPermits(ANN, '0', 2, 0)],
    ];
    for (const [title, want, touch] of touches) {
      it(`${title} by its owner takes it away: it is not yielded any more`, async () => {
        await look(ANN, want);
        const serial = us;
        pass(1);
        const reply = await touch();
        expect(Array.isArray(reply) ? (reply as number[])[0] : reply).to.equal(1);
        const [first = '', , , mark] = await field(ANN);
        expect([first === '', mark]).to.deep.equal([false, undefined]);
        expect(await yields(ANN, { serial, want })).to.equal(0);
        expect((await field(ANN))[0]).to.equal(first);
      });
    }

    it('no claim takes permits beside it: those that were handed over are told', async () => {
      await look(ANN, '1/2');
      expect(await take(ANN, 1, 2)).to.deep.equal([1, 0, 0, 0]);
      expect(await take(BEN, 1, 2)).to.deep.equal([1, 0, 0, 1]);
    });

    it("others do not take it away, be it by claims, looks, extensions or releases; nor does its owner's refusal", async () => {
      await look(ANN, 'w');
      await claim(BEN, 'r');
      await look(CAT, 'w', { ticket: TICKET + 1 });
      await extend(DAN, 'r');
      await leave(EVE);
      await accept(ANN, 1);
      await claim(ANN, 'r');
      await stays(ANN);
    });

    it('votes of several have a mark and a serial each', async () => {
      await look(ANN, 'r');
      pass(1);
      await look(BEN, 'r', { ticket: TICKET + 1 });
      expect(await serialOf(BEN)).to.be.above(await serialOf(ANN));
      await claim(BEN, 'r');
      expect(await held()).to.deep.equal({ ann: 'r+', ben: 'r' });
      await stays(ANN);
    });
  });

  describe('yields', () => {
    /** A later reader has it, and an earlier writer waits. */
    const crossed = async (): Promise<void> => {
      await look(BEN, 'r', { ticket: TICKET + 1 });
      pass(1);
      await wait({ [ANN]: 'w' });
    };

    it('1: one with an earlier ticket gets the vote, and the token waits again', async () => {
      await crossed();
      expect(await yields(BEN, { ticket: TICKET + 1 })).to.equal(1);
      expect([await held(), await waiting()]).to.deep.equal([{ ann: 'w+' }, ['ben']]);
      expect(await told()).to.include('V ann');
      await leave(ANN);
      expect((await look(BEN, 'r', { ticket: TICKET + 1 }))[0]).to.equal(6);
    });

    it('1: nobody is before it, and its last look is kept: it has the vote again, under another serial', async () => {
      await claim(EVE, 'w');
      await wait({ [ANN]: 'r', [BEN]: 'w' });
      await leave(EVE);
      const serial = await serialOf(ANN);
      await told();
      expect(await yields(ANN)).to.equal(1);
      expect([await held(), await waiting()]).to.deep.equal([{ ann: 'r+' }, ['ben']]);
      expect(await told()).to.include('V ann');
      expect(await serialOf(ANN)).to.be.above(serial);
    });

    it('1: for good, with a life of 0: it waits no more', async () => {
      await crossed();
      expect(await yields(BEN, { lifeMs: 0 })).to.equal(1);
      expect([await held(), await waiting()]).to.deep.equal([{ ann: 'w+' }, []]);
    });

    it('1: for good, and nobody waits: nothing is left', async () => {
      await look(BEN, 'r');
      expect(await yields(BEN, { lifeMs: 0 })).to.equal(1);
      expect(await server.redis.keys('*')).to.deep.equal([]);
    });

    it('0: another serial, of before or to come, or no vote: nothing is changed', async () => {
      await crossed();
      const serial = await serialOf(BEN);
      const before = await contents();
      for (const other of [0, serial - 1, serial + 1])
        expect(await yields(BEN, { serial: other })).to.equal(0);
      expect(await yields(CAT, { serial })).to.equal(0);
      expect(await yields(ANN, { serial })).to.equal(0);
      expect(await contents()).to.deep.equal(before);
    });

    it('0: a second time, also when the vote has come back since', async () => {
      await crossed();
      const serial = await serialOf(BEN);
      await yields(BEN, { serial, ticket: TICKET + 1 });
      const before = await contents();
      expect(await yields(BEN, { serial, ticket: TICKET + 1 })).to.equal(0);
      expect(await contents()).to.deep.equal(before);
      await leave(ANN);
      await look(BEN, 'r', { ticket: TICKET + 1 });
      pass(1);
      expect(await yields(BEN, { serial, ticket: TICKET + 1 })).to.equal(0);
      expect(await held()).to.deep.equal({ ben: 'r+' });
    });

    it('1: others that its vote kept out come in, whatever it waits for', async () => {
      await look(EVE, 'w', { ticket: TICKET + 9 });
      pass(1);
      await wait({ [ANN]: 'r', [BEN]: 'r', [CAT]: 'w' });
      await yields(EVE, { ticket: TICKET + 9, want: 'w' });
      expect([await held(), await waiting()]).to.deep.equal([{ ann: 'r+', ben: 'r+' }, ['cat', 'eve']]);
    });
  });

  describe('inquiries', () => {
    it('I serial: a look that is refused asks each later waiter that has a vote in its way, latest first', async () => {
      const serials: number[] = [];
      for (const [i, token] of [BEN, CAT, DAN].entries()) {
        pass(1);
        await look(token, 'r', { ticket: TICKET + 1 + i });
        serials.push(us);
      }
      await look(ANN, 'w');
      expect(await pushes()).to.deep.equal(
        ['dan', 'cat', 'ben'].map((name, i) => `I ${name} ${serials[2 - i]}`),
      );
      await look(ANN, 'w');
      expect(await told()).to.deep.equal(['I ben', 'I cat', 'I dan']); // a yield may be lost
    });

    it('not of earlier ones, nor of what was touched; equal tickets by the token', async () => {
      await look(BEN, 'r', { ticket: TICKET });
      await look(CAT, 'r', { ticket: TICKET - 1 });
      await look(DAN, 'r', { ticket: TICKET + 1 });
      await claim(EVE, 'r');
      await claim(DAN, 'r');
      await look(ANN, 'w'); // before ben by its token
      expect(await told()).to.deep.equal(['I ben']);
    });

    it('not of readers by a reader, which they do not exclude; of a writer', async () => {
      await look(BEN, 'r', { ticket: TICKET + 2 });
      await wait({ [CAT]: 'w' }, { ticket: TICKET + 1 });
      await listener.heard();
      await look(DAN, 'r', { ticket: TICKET + 3 });
      expect(await told()).to.deep.equal([]);
      await server.redis.flushall();
      await look(BEN, 'w', { ticket: TICKET + 2 });
      await look(ANN, 'r');
      expect(await told()).to.deep.equal(['I ben']);
    });

    it('of permits, in the way of one who finds too few', async () => {
      await look(BEN, '1/2', { ticket: TICKET + 1 });
      await look(CAT, '1/2', { ticket: TICKET + 2 });
      await look(ANN, '1/2');
      expect(await told()).to.deep.equal(['I ben', 'I cat']);
    });

    it('by a yield too: who waits again asks those later than itself', async () => {
      await look(CAT, 'r', { ticket: TICKET + 2 });
      await look(BEN, 'r', { ticket: TICKET + 1 });
      await wait({ [ANN]: 'w' });
      await claim(EVE, 'r', 'q'); // so that nobody writes yet
      await yields(BEN, { ticket: TICKET + 1, want: 'w' });
      expect(await told()).to.include('I cat');
    });

    it('by no yield for good, nor by one that has the vote again', async () => {
      await look(ANN, '1/2');
      await look(BEN, '1/2', { ticket: TICKET + 1 });
      await yields(ANN, { want: '1/2' });
      expect([await held(), await told()]).to.deep.equal([{ ann: '0+', ben: '1+' }, ['G ann']]);
      await yields(ANN, { want: '1/2', lifeMs: 0 });
      expect([await held(), await told()]).to.deep.equal([{ ben: '1+' }, []]);
    });

    it(`of ${MOST_ASKED} at a time, others the next time: who cannot yield keeps silent`, async () => {
      const size = MOST_ASKED + 40;
      const many = crowd(size);
      await listenTo(many[0] ?? '');
      for (const [i, token] of many.entries()) await look(token, 'r', { ticket: TICKET + 1 + i });
      const asked = new Set<string>();
      for (let i = 0; i < 10 && asked.size < size; i++) {
        await look(ANN, 'w');
        const texts = await listener.heard();
        expect(texts).to.have.length(MOST_ASKED);
        for (const text of texts) asked.add(text);
        us += MOST_ASKED;
      }
      expect(asked.size).to.equal(size);
    });
  });

  describe('a rest for the holders', () => {
    it('{0, ms, 2}: an extension that marked votes refuse asks them all, by H', async () => {
      await look(BEN, 'r');
      await look(CAT, 'r', { ticket: TICKET + 1 });
      expect(await extend(EVE, 'w')).to.deep.equal([0, TTL_MS, 2]);
      expect(await pushes()).to.have.members(['H ben', 'H cat']);
      await server.redis.flushall();
      await look(BEN, 'w');
      expect(await extend(EVE, 'r')).to.deep.equal([0, TTL_MS, 2]);
      expect(await pushes()).to.deep.equal(['H ben']);
      await server.redis.flushall();
      await look(BEN, '1/1');
      expect(await extendPermits(EVE, '0', 1)).to.deep.equal([0, TTL_MS, 2]);
      expect(await pushes()).to.deep.equal(['H ben']);
    });

    it('{0, ms, 0}: nobody is asked: votes are touched, nobody hears, or it may not set its vote again', async () => {
      await claim(BEN, 'w');
      expect(await extend(EVE, 'r')).to.deep.equal([0, HOUR_MS, 0]);
      await leave(BEN);
      await look(BEN, 'w');
      expect(await extend(EVE, 'r', 0)).to.deep.equal([0, -2, 0]);
      expect(await pushes()).to.deep.equal([]);
      await listenTo();
      expect(await extend(EVE, 'r')).to.deep.equal([0, TTL_MS, 0]);
    });

    it('1: the vote rests: `~` lets in nobody for a while, and whoever waits goes on waiting', async () => {
      await look(BEN, 'w', { ticket: TICKET + 1 });
      await wait({ [CAT]: 'r' }, { ticket: TICKET + 2 });
      expect(await yields(BEN, { ticket: TICKET + 1, want: 'w', rests: true })).to.equal(1);
      expect(await server.redis.hgetall(KEY)).to.deep.equal({
        [AT_REST]: `${AT_REST}|${nowMs() + REST_MS}|`,
      });
      expect(await waiting()).to.deep.equal(['ben', 'cat']);
      expect(await told()).to.deep.equal([]);
      expect(await look(ANN, 'r')).to.deep.equal([0, REST_MS, us, 0]);
      expect(await claim(DAN, 'r')).to.deep.equal([0, REST_MS, 0]);
      expect(await claim(DAN, 'w')).to.deep.equal([0, REST_MS, 0]);
      expect(await extend(DAN, 'r', 0)).to.deep.equal([0, -2, 0]);
      expect(await leave(DAN)).to.deep.equal([0, -2, 0]);
      expect(await held()).to.deep.equal({ [AT_REST]: AT_REST });
    });

    it('extensions end it, of a reader, a writer or permits', async () => {
      for (const [want, token, again] of [
        ['w', EVE, () => extend(EVE, 'w')],
        ['w', EVE, () => extend(EVE, 'r')],
        ['1/1', EVE, () => extendPermits(EVE, '0', 1)],
      ] as const) {
        await server.redis.flushall();
        await look(BEN, want);
        await yields(BEN, { want, rests: true });
        if (want !== 'w') expect((await take(ANN, 1, 1))[0]).to.equal(0);
        expect(await again()).to.deep.equal([1, 0, 0]);
        expect(Object.keys(await held())).to.deep.equal([nameOf(token)]);
      }
    });

    it(`it ends by itself, after ${REST_MS} ms: the next look lets in whoever is first`, async () => {
      await look(BEN, 'w');
      await yields(BEN, { want: 'w', rests: true });
      await wait({ [CAT]: 'r' }, { ticket: TICKET + 1 });
      pass(REST_MS - 1);
      expect((await look(BEN, 'w'))[0]).to.equal(0);
      pass(1);
      expect((await look(BEN, 'w'))[0]).to.equal(6);
      expect(await held()).to.deep.equal({ ben: 'w+' });
    });

    it('beside others that hold: they keep what they have, and leave', async () => {
      await claim(EVE, 'r');
      await look(BEN, 'r');
      await yields(BEN, { rests: true });
      expect(await held()).to.deep.equal({ eve: 'r', [AT_REST]: AT_REST });
      expect(await claim(EVE, 'r')).to.deep.equal([1, 0, 0]);
      expect(await leave(EVE)).to.deep.equal([1, -2, 0]);
      expect([await held(), await waiting()]).to.deep.equal([{ [AT_REST]: AT_REST }, ['ben']]);
    });

    it('0: a stale serial, or a touched vote: it does not rest', async () => {
      await look(BEN, 'w');
      const serial = us;
      expect(await yields(BEN, { serial: serial - 1, rests: true })).to.equal(0);
      await claim(BEN, 'w');
      expect(await yields(BEN, { serial, rests: true })).to.equal(0);
      expect(await held()).to.deep.equal({ ben: 'w' });
    });
  });

  describe('a downgrade', () => {
    it('the writer is a reader from then on, and readers come in at once, up to the next writer', async () => {
      await claim(EVE, 'w');
      await wait({ [ANN]: 'r', [BEN]: 'r', [CAT]: 'w', [DAN]: 'r' });
      expect(await downgrade(EVE)).to.equal(1);
      expect(await held()).to.deep.equal({ eve: 'r', ann: 'r+', ben: 'r+' });
      expect(await told()).to.deep.equal(['V ann', 'V ben', 'W cat']);
      expect(await extend(EVE, 'w')).to.deep.equal([0, HOUR_MS, 0]); // no way back
      expect(await downgrade(EVE)).to.equal(1);
      expect([await held(), await told()]).to.deep.equal([{ eve: 'r', ann: 'r+', ben: 'r+' }, []]);
    });

    it('a first writer gets nothing by it', async () => {
      await claim(EVE, 'w');
      await wait({ [ANN]: 'w', [BEN]: 'r' });
      expect(await downgrade(EVE)).to.equal(1);
      expect([await held(), await waiting(), await told()]).to.deep.equal([{ eve: 'r' }, ['ann', 'ben'], []]);
    });

    it('{0, ms, s}: refused as any extension; one that is gone is set again as a reader', async () => {
      expect(await downgrade(EVE)).to.deep.equal([0, -2, 0]);
      expect(await downgrade(EVE, 1)).to.equal(1);
      expect(await held()).to.deep.equal({ eve: 'r' });
      await leave(EVE);
      await look(BEN, 'w');
      expect(await downgrade(EVE, 1)).to.deep.equal([0, TTL_MS, 2]);
      expect(await told()).to.deep.equal(['H ben']);
    });

    it('a user that may not publish: it is a reader all the same', async () => {
      await claim(EVE, 'w');
      await wait({ [ANN]: 'r' });
      expect(await server.without('publish', () => downgrade(EVE))).to.equal(1);
      expect([await held(), await waiting()]).to.deep.equal([{ eve: 'r' }, ['ann']]);
    });
  });

  describe('claims beside a queue', () => {
    it('{0, ms, 0}: one without a place does not pass whoever is fresh, though it would fit; it takes no place', async () => {
      await claim(EVE, 'r');
      await wait({ [ANN]: 'w' });
      expect(await claim(BEN, 'r')).to.deep.equal([0, HOUR_MS, 0]);
      pass(FRESH_MS);
      expect((await claim(BEN, 'r'))[0]).to.equal(0);
      us += 1;
      expect(await claim(BEN, 'r')).to.deep.equal([1, 0, 0]);
      expect(await waiting()).to.deep.equal(['ann']);
      await server.redis.flushall();
      await take(EVE, 1, 2);
      await wait({ [ANN]: '2/2' });
      expect(await take(BEN, 1, 2)).to.deep.equal([0, HOUR_MS, 0]);
    });

    it(`{0, ${MUTE_MS}, 0}: it is free, and somebody waits who was not let in yet`, async () => {
      await claim(EVE, 'w', '', 1_000);
      await wait({ [ANN]: 'r' });
      pass(1_000);
      expect(await claim(BEN, 'r')).to.deep.equal([0, MUTE_MS, 0]);
    });

    it('its own vote is claimed again, whoever waits', async () => {
      await claim(EVE, 'r');
      await wait({ [ANN]: 'w' });
      expect(await claim(EVE, 'r')).to.deep.equal([1, 0, 0]);
    });

    it("a waiter's claim leaves the queue, whether it is granted or refused, and asks nobody", async () => {
      await claim(EVE, 'r');
      await wait({ [ANN]: 'w', [BEN]: 'r' });
      expect(await claim(BEN, 'r', 'q')).to.deep.equal([1, 0, 0]);
      expect([await waiting(), await server.redis.hexists(LOOKS, BEN)]).to.deep.equal([['ann'], 0]);
      expect((await claim(ANN, 'w', 'q'))[0]).to.equal(0);
      expect([await waiting(), await held()]).to.deep.equal([[], { eve: 'r', ben: 'r' }]);
      await server.redis.flushall();
      await take(EVE, 1, 2);
      await wait({ [ANN]: '2/2' });
      expect((await take(ANN, 2, 2, 'q'))[0]).to.equal(0);
      expect(await waiting()).to.deep.equal([]);
    });
  });

  describe('a mute place', () => {
    const place = mutePlace(MUTE, TICKET);

    it('is taken by a claim that is refused, and stops whoever is later until its last claim is old', async () => {
      await claim(EVE, 'r');
      expect(await claim(ANN, 'w', place)).to.deep.equal([0, HOUR_MS, 0]);
      expect(await waiting()).to.deep.equal(['ann!']);
      expect((await look(BEN, 'r', { ticket: TICKET + 1 }))[0]).to.equal(0);
      expect((await claim(CAT, 'r'))[0]).to.equal(0);
      pass(MUTE_MS);
      expect((await claim(CAT, 'r'))[0]).to.equal(0);
      us += 1;
      expect((await look(DAN, 'r', { ticket: TICKET + 2 }))[0]).to.equal(6);
      expect(await held()).to.deep.equal({ eve: 'r', ben: 'r+', dan: 'r+' });
      expect(await waiting()).to.deep.equal([]); // it is gone
    });

    it('is renewed by each claim', async () => {
      await claim(EVE, 'r');
      for (let i = 0; i < 3; i++) {
        await claim(ANN, 'w', place);
        pass(MUTE_MS);
        expect((await claim(CAT, 'r'))[0]).to.equal(0);
      }
    });

    it('is handed nothing and told nothing, be it free; its next claim comes in, and leaves it', async () => {
      await claim(EVE, 'w');
      await claim(ANN, 'w', place);
      await wait({ [BEN]: 'r' }, { ticket: TICKET + 1 });
      await leave(EVE);
      expect([await held(), await waiting(), await told()]).to.deep.equal([{}, ['ann!', 'ben'], []]);
      expect(await claim(ANN, 'w', place)).to.deep.equal([1, 0, 0]);
      expect([await held(), await waiting()]).to.deep.equal([{ ann: 'w' }, ['ben']]);
      expect(await server.redis.hexists(LOOKS, MUTE)).to.equal(0);
    });

    it('does not pass whoever is fresh in front of it, and so waits too', async () => {
      await claim(EVE, 'r');
      await wait({ [BEN]: 'w' }, { ticket: TICKET - 1 });
      expect((await claim(ANN, 'r', place))[0]).to.equal(0);
      expect(await waiting()).to.deep.equal(['ben', 'ann!']);
      expect((await claim(ANN, 'r', place))[0]).to.equal(0);
      pass(FRESH_MS);
      us += 1;
      expect(await claim(ANN, 'r', place)).to.deep.equal([1, 0, 0]);
    });

    it('another attempt of the same claimant has the same place, under another token', async () => {
      await claim(EVE, 'w');
      await claim(ANN, 'w', place);
      await leave(EVE);
      expect(await claim(tokenFrom('ann', '2'), 'w', place)).to.deep.equal([1, 0, 0]);
      expect(await waiting()).to.deep.equal([]);
    });

    it('of permits: nobody passes who wants several', async () => {
      await take(EVE, 1, 2);
      expect((await take(ANN, 2, 2, place))[0]).to.equal(0);
      expect((await take(BEN, 1, 2))[0]).to.equal(0);
      expect((await look(BEN, '1/2', { ticket: TICKET + 1 }))[0]).to.equal(0);
      await leave(EVE);
      expect(await take(ANN, 2, 2, place)).to.deep.equal([1, 0, 0, 0, 1]);
    });

    it('who leaves it lets in those whom it stopped', async () => {
      await claim(EVE, 'r');
      await claim(ANN, 'w', place);
      await wait({ [BEN]: 'r' }, { ticket: TICKET + 1 });
      expect(await leave(MUTE)).to.deep.equal([0, -2, 0]);
      expect([await held(), await waiting()]).to.deep.equal([{ eve: 'r', ben: 'r+' }, []]);
    });
  });

  describe('permits', () => {
    it('a release lets in as many as fit, in their order; the lowest that are free', async () => {
      for (const token of [CAT, DAN, EVE]) await take(token, 1, 3);
      await wait({ [ANN]: '1/3', [BEN]: '1/3' });
      await leave(DAN);
      expect([await held(), await told()]).to.deep.equal([
        { cat: '0', eve: '2', ann: '1+' },
        ['V ann', 'W ben'],
      ]);
      await leave(CAT);
      expect(await held()).to.deep.equal({ eve: '2', ann: '1+', ben: '0+' });
    });

    it('who wants several waits for all of them, and nobody passes', async () => {
      await take(DAN, 1, 3);
      await take(EVE, 1, 3);
      await wait({ [ANN]: '3/3', [BEN]: '1/3' });
      await leave(DAN);
      expect([await held(), await told()]).to.deep.equal([{ eve: '1' }, []]);
      await leave(EVE);
      expect([await held(), await waiting()]).to.deep.equal([{ ann: '0,1,2+' }, ['ben']]);
    });

    it('another k waits until all of the first have left, and is not passed', async () => {
      await take(DAN, 1, 3);
      await take(EVE, 1, 3);
      await wait({ [ANN]: '1/2', [BEN]: '1/3' });
      await leave(DAN);
      expect(await held()).to.deep.equal({ eve: '1' });
      await leave(EVE);
      expect([await held(), await waiting()]).to.deep.equal([{ ann: '0+' }, ['ben']]);
    });

    it('an alignment lets in whoever fits by what was given up, whether it gets the others or not', async () => {
      for (const [slots, code] of [
        ['1', 1],
        ['0', 0],
      ] as const) {
        await server.redis.flushall();
        for (const token of [CAT, DAN, EVE]) await take(token, 1, 3);
        await wait({ [ANN]: '1/3' });
        if (code === 1) await server.redis.hdel(KEY, DAN);
        expect(((await align(EVE, slots, 3)) as number[])[0]).to.equal(code);
        expect((await held())['ann']).to.equal('2+');
        expect((await held())['eve']).to.equal(code === 1 ? '1' : undefined);
        expect(await told()).to.deep.equal(['V ann']);
      }
    });
  });

  describe('something else in place of what it needs', () => {
    for (const type of [...TYPES, 'string'] as const) {
      const put = (key: string): Promise<unknown> =>
        type === 'string' ? server.redis.set(key, 'text') : putData(server.redis, key, type);

      for (const [what, key] of [
        ['lock', KEY],
        ['queue', QUEUE],
        ['turn', TURN],
      ] as const) {
        if ((key === QUEUE && type === 'zset') || (key === TURN && type === 'string')) continue;
        it(`a ${type} for the ${what}: a look replies {2, 0, 0}, and changes nothing`, async () => {
          await put(key);
          const before = await contents();
          expect(await look(ANN, 'r')).to.deep.equal([2, 0, 0]);
          expect(await contents()).to.deep.equal(before);
        });
      }

      it(`a ${type} for queue or looks: a claim is granted, be it of a waiter, and the ${type} stays`, async () => {
        for (const key of [QUEUE, LOOKS]) {
          await server.redis.flushall();
          await server.redis.set(TURN, `${us}||`); // as if somebody waited
          await put(key);
          const before = await server.redis.dumpBuffer(key);
          for (const place of ['', 'q', mutePlace(MUTE, TICKET)]) {
            expect(await claim(ANN, 'r', place)).to.deep.equal([1, 0, 0]);
            await server.redis.del(KEY);
            expect(await take(ANN, 1, 2, place)).to.deep.equal([1, 0, 0, 0]);
            await server.redis.del(KEY);
          }
          expect(await server.redis.dumpBuffer(key)).to.deep.equal(before);
        }
      });

      it(`a ${type} for queue or turn: a yield replies 0, and the vote stays`, async () => {
        for (const key of [QUEUE, TURN]) {
          if ((key === QUEUE && type === 'zset') || (key === TURN && type === 'string')) continue;
          await server.redis.flushall();
          await look(ANN, 'r');
          await put(key);
          const before = await contents();
          expect(await yields(ANN)).to.equal(0);
          expect(await contents()).to.deep.equal(before);
        }
      });

      it(`a ${type} for the lock: a yield replies 0, and a release {0, -2, s}; the ${type} stays`, async () => {
        await put(KEY);
        const before = await contents();
        expect(await yields(ANN, { serial: us })).to.equal(0);
        expect((await leave(ANN)).slice(0, 2)).to.deep.equal([0, -2]);
        expect(await contents()).to.deep.equal(before);
      });

      it(`a ${type} for queue, turn or looks: whoever leaves does, and the ${type} stays`, async () => {
        for (const key of [QUEUE, TURN, LOOKS]) {
          if (key === QUEUE && type === 'zset') continue;
          await server.redis.flushall();
          await claim(EVE, 'r');
          await claim(DAN, 'r');
          await put(key);
          const before = await server.redis.dumpBuffer(key);
          expect(await leave(EVE)).to.deep.equal([1, -2, 0]);
          expect(await held()).to.deep.equal({ dan: 'r' });
          if (key !== TURN) expect(await server.redis.dumpBuffer(key)).to.deep.equal(before);
        }
      });
    }
  });

  describe('under a guard', () => {
    const marker = (since: number): Promise<unknown> =>
      server.redis.set(MARKER, `1|${server.runId}|${since}|${GUARD_MS}`);

    it('{-1, ms, 0}: a quarantined master gives nothing, and takes nobody into its queue', async () => {
      expect(await look(ANN, 'r', { guardMs: GUARD_MS })).to.deep.equal([-1, GUARD_MS, 0]);
      expect(await server.redis.keys('*')).to.deep.equal([MARKER]);
      expect(await look(ANN, 'r', { guardMs: GUARD_MS + 1 })).to.deep.equal([-2, GUARD_MS, 0]);
    });

    it('a vote is direct as long as the process is the one that answered the look, and its fencing token is not too low', async () => {
      await marker(nowMs() - 2 * GUARD_MS);
      for (const [runId, leastUs, letter] of [
        [server.runId, 0, 'V'],
        [server.runId, us, 'V'],
        [server.runId, us + 1, 'G'],
        ['f'.repeat(40), 0, 'G'],
        [server.runId.slice(0, -1), 0, 'G'],
      ] as const) {
        await claim(EVE, 'w');
        await wait({ [ANN]: 'w' }, { guardMs: GUARD_MS });
        const [at, , , , own, least] = ((await server.redis.hget(LOOKS, ANN)) ?? '').split('|');
        expect([own, Number(least)]).to.deep.equal([server.runId, (nowMs() - GUARD_MS) * 1_000]);
        const left = [at, SENT_MS, TTL_MS, COUNTER_MS, runId, leastUs, 'w'].join('|');
        await server.redis.hset(LOOKS, ANN, left);
        await leave(EVE);
        expect(await told(), `${runId} ${leastUs - us}`).to.deep.equal([`${letter} ann`]);
        await server.redis.del(KEY, QUEUE, TURN, LOOKS, COUNTER);
      }
    });

    it('yields and releases do not ask it', async () => {
      await look(ANN, 'r');
      await server.redis.set(MARKER, 'odd');
      expect(await yields(ANN, { lifeMs: 0 })).to.equal(1);
      expect(await leave(BEN)).to.deep.equal([0, -2, 0]);
    });
  });
});
