/**
 * Direct hand-over on a real server (protocol C3): looks that claim, what they leave, and the votes that a release,
 * an undo, a yield or another look hands over by them. `queue-scripts.spec.ts` has what is reserved.
 */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { Batch } from '../../../lib/node/batch.js';
import { counterKey, pushChannel, queueKey, looksKey, turnKey } from '../../../lib/protocol/keys.js';
import { AHEAD_US, BACK_US, LAST_FENCE } from '../../../lib/protocol/lua/stored.js';
import { ENTRY } from '../../../lib/protocol/lua/entries.js';
import { CLAIM, RELEASE, type Script, UNDO } from '../../../lib/protocol/lua/scripts.js';
import {
  FRESH_MS,
  GONE_MS,
  MAX_DROPPED,
  MOST_LEFT,
  RESERVE_MS,
  TIDIED,
  TIDY_MS,
} from '../../../lib/protocol/lua/waiting.js';
import { release, releaseQueued, type Request, undo, undoQueued } from '../../../lib/protocol/request.js';
import { RESERVED_MARK } from '../../../lib/runtime/random.js';
import { tokenFrom } from '../../simulation/world/seeded.js';
import { blockEnd, nextBlock } from '../../support/fence-blocks.js';
import { plainScope } from '../../support/commands.js';
import { type LoneEntry, loneEntry } from '../../support/lone-entries.js';
import { type LookArgs, lookBy, yieldBy } from '../../support/looks.js';
import {
  atInstant,
  clockAt,
  noting,
  oneListener,
  oneServer,
  putData,
  runLoneOn,
  TYPES,
} from '../../support/server.js';

const KEY = 'invoice 42';
const WAITED = [KEY, queueKey(KEY), turnKey(KEY)] as const;
const [, QUEUE, TURN] = WAITED;
const [LOOKS, COUNTER] = [looksKey(KEY), counterKey(KEY)];
const LOOKED = [...WAITED, LOOKS, COUNTER];
const MARKER = 'marker';
const TICKET = 1_790_000_000_000_001;
const LIFE_MS = 600_000;
const TTL_MS = 300_000;
const COUNTER_MS = 6_000_000;
const HOUR_MS = 3_600_000;
/** By the client's clock. */
const SENT_MS = 7_654_321;
const FRESH_US = FRESH_MS * 1_000;
const GONE_US = GONE_MS * 1_000;
/** The most clients that are told that they are among the first. */
const MOST_TOLD = 8;

const marked = (token: string): string => token + RESERVED_MARK;

const [ANN, BEN, CAT, DAN] = ['ann', 'ben', 'cat', 'dan'].map((name) => tokenFrom(name, '1')) as [
  string,
  string,
  string,
  string,
];

function numbers(reply: unknown): readonly number[] {
  return Array.isArray(reply) ? reply.map(Number) : [];
}

/** What the look of a waiter has left. */
interface Terms {
  /** µs before the hand-over. */
  readonly agoUs: number;
  readonly sentMs: number;
  readonly ttlMs: number;
  readonly counterMs: number;
  readonly runId: string;
  /** The end of the last quarantine, in µs before the hand-over; undefined if there was none. */
  readonly leastAgoUs: number | undefined;
}

const USUAL_TERMS: Terms = {
  agoUs: 10_000,
  sentMs: SENT_MS,
  ttlMs: TTL_MS,
  counterMs: COUNTER_MS,
  runId: '',
  leastAgoUs: undefined,
};

describe('direct hand-over: scripts on a real server', () => {
  const server = oneServer();
  const listener = oneListener(server);
  const { run, runLone } = server;

  const asked = (look: Partial<LookArgs> = {}): LookArgs => ({
    ...{ ticket: TICKET, lifeMs: LIFE_MS, sentAtMs: SENT_MS, ttlMs: TTL_MS, counterMs: COUNTER_MS },
    ...look,
  });
  /** A look that asks for the vote, and proposes no fencing token unless it is given one. */
  const look = (token: string, terms: Partial<LookArgs> = {}): Promise<unknown> =>
    runLone(lookBy(token, asked(terms)), LOOKED);
  const lookAt = (us: number, token: string, terms: Partial<LookArgs> = {}): Promise<unknown> =>
    runLone(lookBy(token, asked(terms)), LOOKED, clockAt(us));
  const accept = (token: string, fence: number): Promise<unknown> =>
    runLone(loneEntry(ENTRY.accept, token, { fence, life: COUNTER_MS }), [KEY, COUNTER]);
  const extend = (token: string, create: '0' | '1'): Promise<unknown> =>
    runLone(loneEntry(ENTRY.extend, token, { ttl: HOUR_MS, create }), [KEY]);
  const hold = (token: string, ttlMs = HOUR_MS): Promise<unknown> =>
    server.redis.set(KEY, token, 'PX', ttlMs);
  /** It waits, and has left these terms. */
  const waits = async (
    token: string,
    ticket: number,
    us: number,
    left: Partial<Terms> = {},
  ): Promise<void> => {
    const { agoUs, counterMs, leastAgoUs, runId, sentMs, ttlMs } = { ...USUAL_TERMS, ...left };
    await runLone(lookBy(token, { ticket, lifeMs: LIFE_MS }), LOOKED);
    const least = leastAgoUs === undefined ? 0 : us - leastAgoUs;
    const terms = [us - agoUs, sentMs, ttlMs, counterMs, runId, least].join('|');
    await server.redis.hset(LOOKS, token, terms);
  };
  /** What the holder's release or undo does at that instant. */
  const leaveAt = (us: number, script: Script, token = DAN, proposal = us): Promise<unknown> =>
    run(atInstant(script, us), LOOKED, token, proposal);
  const waiting = (): Promise<string[]> => server.redis.zrange(QUEUE, '0', '-1');
  /** Whose terms there are. */
  const noted = async (): Promise<string[]> =>
    (await server.redis.hkeys(LOOKS)).filter((name) => name !== TIDIED);
  const holder = (): Promise<string | null> => server.redis.get(KEY);
  const turn = async (): Promise<readonly string[]> => ((await server.redis.get(TURN)) ?? 'none').split('|');
  const serial = async (): Promise<number> => Number((await turn())[0]);
  const count = async (): Promise<number | undefined> => {
    const text = await server.redis.get(COUNTER);
    return text === null ? undefined : Number(text);
  };
  const expectMs = async (key: string, ms: number): Promise<void> =>
    void expect(await server.redis.pttl(key), key).to.be.within(ms - 60_000, ms);
  /** When the key ends, in ms of the server's clock. */
  const endOf = async (key: string): Promise<number> => {
    for (;;) {
      const before = Math.floor((await server.micros()) / 1_000);
      const ms = await server.redis.pttl(key);
      if (Math.floor((await server.micros()) / 1_000) === before) return before + ms;
    }
  };
  /** What was published: kind and token, and the numbers between them. */
  const pushes = async (): Promise<string[]> => {
    const found = await listener.heard();
    return found.map((text) => {
      const [channel, kind = '', ...rest] = text.slice(0, -KEY.length - 1).split(' ');
      const token = rest.pop() ?? '';
      expect(channel).to.equal(pushChannel(token));
      expect(text.endsWith(` ${KEY}`)).to.equal(true);
      return [kind, token.split(':')[0]?.replaceAll('_', ''), ...rest].join(' ');
    });
  };
  const kinds = async (): Promise<string[]> => (await pushes()).map((text) => text.split(' ', 2).join(' '));
  const listenTo = (...tokens: readonly string[]): Promise<void> =>
    listener.listenTo(...tokens.map(pushChannel));

  beforeEach(() => listenTo(ANN, BEN, CAT, DAN));

  describe('a look at a free lock', () => {
    it('{6, serial, us, fence, sent}: the vote is its own, with the mark, for the whole ttl', async () => {
      const us = await server.micros();
      expect(numbers(await lookAt(us, ANN, { proposal: us + 7 }))).to.deep.equal([
        6,
        us,
        us,
        us + 7,
        SENT_MS,
      ]);
      expect([await holder(), await turn()]).to.deep.equal([marked(ANN), [`${us}`, ANN, `${TICKET}`]]);
      await expectMs(KEY, TTL_MS);
      await expectMs(TURN, TTL_MS);
      expect(await count()).to.equal(blockEnd(us + 7));
      await expectMs(COUNTER, COUNTER_MS + 1);
      expect(await server.redis.exists(QUEUE, LOOKS)).to.equal(0);
      expect(await pushes()).to.deep.equal([]);
    });

    it("the counter lives until its master's clock has passed it, and for its life then", async () => {
      const us = await server.micros();
      await server.redis.set(COUNTER, us + 2 * HOUR_MS * 1_000);
      expect(numbers(await lookAt(us, ANN))[3]).to.equal(us + 2 * HOUR_MS * 1_000 + 1);
      await expectMs(COUNTER, 2 * HOUR_MS + COUNTER_MS + 1);
    });

    it("a counter that its master's clock has passed lives for its life, to the ms", async () => {
      const us = await server.micros();
      const behind = lookBy(ANN, asked({ proposal: us - 5_000 }));
      await runLone(behind, LOOKED, (script) => atInstant(noting(script), us));
      const sets = await server.redis.lrange('sets', 0, -1);
      expect(sets).to.include(`${COUNTER} ${blockEnd(us - 5_000)} PX ${COUNTER_MS}`);
    });

    for (const [title, awayUs, isTaken] of [
      ['at the bound behind', -BACK_US, true],
      ['beyond it', -BACK_US - 1, false],
      ['at the bound ahead', AHEAD_US, true],
      ['beyond it', AHEAD_US + 1, false],
    ] as const) {
      it(`a proposal ${awayUs} µs from the clock, ${title}: is ${isTaken ? 'taken' : 'replaced by the clock'}`, async () => {
        const us = await server.micros();
        const fence = isTaken ? us + awayUs : us;
        expect(numbers(await lookAt(us, ANN, { proposal: us + awayUs }))[3]).to.equal(fence);
        expect(await count()).to.equal(blockEnd(fence));
      });
    }

    it('counts on from a counter that has reached the proposal, up to the last fencing token', async () => {
      const us = await server.micros();
      await server.redis.set(COUNTER, us);
      expect(numbers(await lookAt(us, ANN, { proposal: us }))[3]).to.equal(us + 1);
      await server.redis.del(KEY);
      await server.redis.set(COUNTER, LAST_FENCE - 1);
      expect(numbers(await lookAt(us, BEN, { proposal: us }))[3]).to.equal(LAST_FENCE);
    });

    it('{6, serial, us, 0, sent}: without fencing nothing is counted', async () => {
      const [code, , , fence, sent] = numbers(await look(ANN, { counterMs: 0, sentAtMs: 0 }));
      expect([code, fence, sent]).to.deep.equal([6, 0, 0]);
      expect(await holder()).to.equal(marked(ANN));
      expect(await server.redis.exists(COUNTER)).to.equal(0);
    });

    it('{6, …}: it is the first that waits; its place is gone, and the next is sent a push', async () => {
      await hold(DAN);
      for (const [i, token] of [ANN, BEN].entries()) await look(token, { ticket: TICKET + i });
      await server.redis.del(KEY);
      expect(numbers(await look(ANN))[0]).to.equal(6);
      expect([await holder(), await waiting()]).to.deep.equal([marked(ANN), [BEN]]);
      expect(await pushes()).to.deep.equal(['w ben']);
      await expectMs(TURN, LIFE_MS);
    });

    it('{6, …}: those before it are dead', async () => {
      await hold(DAN);
      for (let i = 0; i < 5; i++) await look(tokenFrom(`dead${i}`, '1'), { ticket: TICKET + i });
      await server.redis.del(KEY);
      expect(numbers(await look(ANN, { ticket: TICKET + 9 }))[0]).to.equal(6);
      expect([await holder(), await waiting()]).to.deep.equal([marked(ANN), []]);
      expect(await noted()).to.deep.equal([ANN]);
    });

    it('{0, ms, us, rank}: one with an earlier ticket waits, and may be dead: it is reserved for it; the token queues', async () => {
      const us = await server.micros();
      await hold(DAN);
      await waits(ANN, TICKET, us);
      await server.redis.del(KEY);
      const reply = await lookAt(us, BEN, { ticket: TICKET + 1, proposal: us });
      const [code, ms = 0, , rank] = numbers(reply);
      expect([code, rank]).to.deep.equal([0, 0]);
      expect(ms).to.be.within(1, RESERVE_MS);
      expect([await holder(), await waiting(), await count()]).to.deep.equal([marked(ANN), [BEN], undefined]);
      expect(await kinds()).to.deep.equal(['g ann', 'w ben']);
      expect(await noted()).to.have.members([ANN, BEN]);
    });

    it('{0, ms, us, rank}: likewise though nobody listens for it (yet): it keeps its place', async () => {
      const us = await server.micros();
      await hold(DAN);
      await waits(ANN, TICKET, us);
      await server.redis.del(KEY);
      await listenTo(ANN);
      expect(numbers(await lookAt(us, BEN, { ticket: TICKET + 1, proposal: us }))[3]).to.equal(0);
      expect([await holder(), await waiting()]).to.deep.equal([marked(ANN), [BEN]]);
    });

    it('{1, serial, us}: a ttl of 0 asks for a reservation; nothing is counted', async () => {
      const us = await server.micros();
      expect(numbers(await lookAt(us, ANN, { ttlMs: 0, proposal: us }))).to.deep.equal([1, us, us]);
      expect(await holder()).to.equal(marked(ANN));
      await expectMs(KEY, RESERVE_MS);
      expect(await server.redis.exists(COUNTER, LOOKS)).to.equal(0);
    });

    for (const text of ['text', '', '-5', '1.5', String(LAST_FENCE), String(2 ** 53)]) {
      it(`{1, serial, us}: its counter is ${JSON.stringify(text)}: the vote is reserved, the counter stays`, async () => {
        await server.redis.set(COUNTER, text);
        expect(numbers(await look(ANN))[0]).to.equal(1);
        expect([await holder(), await server.redis.get(COUNTER)]).to.deep.equal([marked(ANN), text]);
        await expectMs(KEY, RESERVE_MS);
        await expectMs(TURN, RESERVE_MS);
        expect(await server.redis.pttl(COUNTER)).to.equal(-1);
      });
    }

    for (const type of TYPES) {
      it(`{1, serial, us}: its counter is a ${type}: likewise`, async () => {
        await putData(server.redis, COUNTER, type);
        expect(numbers(await look(ANN))[0]).to.equal(1);
        expect([await holder(), await server.redis.type(COUNTER)]).to.deep.equal([marked(ANN), type]);
        await expectMs(KEY, RESERVE_MS);
      });
    }
  });

  describe('a look at what is its own', () => {
    it('{6, …}: with the mark: the full ttl again, the same serial; it is counted again', async () => {
      const us = await server.micros();
      await lookAt(us, ANN, { proposal: us });
      await server.redis.pexpire(KEY, 60_000);
      await server.redis.pexpire(TURN, 60_000);
      const again = await lookAt(us + 1, ANN, { proposal: us, sentAtMs: SENT_MS + 5 });
      expect(numbers(again)).to.deep.equal([6, us, us + 1, nextBlock(us), SENT_MS + 5]);
      expect([await holder(), await turn()]).to.deep.equal([marked(ANN), [`${us}`, ANN, `${TICKET}`]]);
      await expectMs(KEY, TTL_MS);
      await expectMs(TURN, TTL_MS);
      expect(await count()).to.equal(blockEnd(nextBlock(us)));
    });

    it('{6, …}: likewise if it was handed over, directly or by reservation; its look stays', async () => {
      for (const hasTerms of [true, false]) {
        await server.redis.flushall();
        const us = await server.micros();
        await hold(DAN);
        await waits(ANN, TICKET, us);
        if (!hasTerms) await server.redis.del(LOOKS);
        await leaveAt(us, RELEASE);
        const before = await server.redis.hgetall(LOOKS);
        expect(Object.keys(before)).to.deep.equal(hasTerms ? [ANN] : []);
        expect(numbers(await lookAt(us, ANN, { proposal: us })).slice(0, 2)).to.deep.equal([
          6,
          await serial(),
        ]);
        await expectMs(KEY, TTL_MS);
        expect(await count()).to.equal(blockEnd(hasTerms ? nextBlock(us) : us));
        expect(await server.redis.hgetall(LOOKS)).to.deep.equal(before);
      }
    });

    it('{6, …}: the turn names another by now: another serial', async () => {
      await look(ANN);
      await server.redis.set(TURN, `7|${BEN}|1`, 'PX', 60_000);
      const [code, found = 0, us] = numbers(await look(ANN));
      expect([code, found]).to.deep.equal([6, us]);
      expect(await turn()).to.deep.equal([`${us}`, ANN, `${TICKET}`]);
    });

    it('{1, serial, us}: it cannot be counted any more: it is shortened by nothing', async () => {
      const [, first] = numbers(await look(ANN));
      await server.redis.set(COUNTER, LAST_FENCE);
      expect(numbers(await look(ANN)).slice(0, 2)).to.deep.equal([1, first]);
      await expectMs(KEY, TTL_MS);
      await expectMs(TURN, TTL_MS);
    });

    it('{1, serial, us}: without the mark, a late duplicate: nothing is changed', async () => {
      const us = await server.micros();
      await lookAt(us, ANN, { proposal: us });
      await extend(ANN, '0');
      const keys = await server.redis.keys('*');
      expect(numbers(await lookAt(us + 9, ANN, { proposal: us + 9 }))).to.deep.equal([1, us, us + 9]);
      expect([await holder(), await count(), await serial()]).to.deep.equal([ANN, blockEnd(us), us]);
      await expectMs(KEY, HOUR_MS);
      expect(await server.redis.keys('*')).to.have.members(keys);
    });
  });

  describe('what a look leaves', () => {
    beforeEach(() => hold(DAN));

    it("{0, ms, us, rank}: they are noted as they were asked for, with the master's clock", async () => {
      const us = await server.micros();
      await lookAt(us, ANN);
      await lookAt(us + 1, BEN, { ttlMs: 1_234, counterMs: 0, sentAtMs: 0 });
      await server.redis.hdel(LOOKS, TIDIED);
      expect(await server.redis.hgetall(LOOKS)).to.deep.equal({
        [ANN]: `${us}|${SENT_MS}|${TTL_MS}|${COUNTER_MS}||0`,
        [BEN]: `${us + 1}|0|1234|0||0`,
      });
      await lookAt(us + 2, ANN, { sentAtMs: SENT_MS + 9 });
      expect(await server.redis.hget(LOOKS, ANN)).to.equal(
        `${us + 2}|${SENT_MS + 9}|${TTL_MS}|${COUNTER_MS}||0`,
      );
    });

    it('they live as long as the queue', async () => {
      await look(ANN);
      await expectMs(LOOKS, LIFE_MS);
      await server.redis.pexpire(LOOKS, 1);
      await look(BEN, { lifeMs: 1_000 });
      await expectMs(LOOKS, LIFE_MS);
      const queueMs = await server.redis.pttl(QUEUE);
      expect(await server.redis.pttl(LOOKS)).to.be.at.most(queueMs + 60_000); // a busy machine may stop the server in between
    });

    it('a ttl of 0 leaves the instant of the look, in a form that no earlier version takes for a whole look', async () => {
      const us = await server.micros();
      expect(numbers(await lookAt(us, ANN, { ttlMs: 0 }))[0]).to.equal(0);
      expect(await server.redis.hgetall(LOOKS)).to.deep.equal({ [ANN]: `${us}` });
    });

    it('{4, ms, us}: a foreign client holds it: none, but of one that has a place: it has looked', async () => {
      await hold('foreign');
      expect(numbers(await look(ANN))[0]).to.equal(4);
      expect(await server.redis.keys('*')).to.deep.equal([KEY]);
      await hold(DAN);
      await look(ANN);
      await hold('foreign');
      const us = await server.micros();
      expect(numbers(await lookAt(us, ANN))[0]).to.equal(4);
      expect((await server.redis.hget(LOOKS, ANN))?.split('|')[0]).to.equal(String(us));
    });

    for (const [place, key] of [
      ['lock', KEY],
      ['queue', QUEUE],
      ['turn', TURN],
    ] as const) {
      it(`{2, 0, 0}: data in place of the ${place}: none, and nothing is counted`, async () => {
        if (place === 'lock') await server.redis.del(KEY);
        await putData(server.redis, key, 'list');
        const keys = await server.redis.keys('*');
        expect(await look(ANN)).to.deep.equal([2, 0, 0]);
        expect(await server.redis.keys('*')).to.have.members(keys);
      });
    }

    for (const type of [...TYPES.filter((one) => one !== 'hash'), 'string'] as const) {
      it(`a ${type} in their place: it queues all the same, and is handed a reservation; the ${type} stays`, async () => {
        if (type === 'string') await server.redis.set(LOOKS, 'text');
        else await putData(server.redis, LOOKS, type);
        expect(numbers(await look(ANN))[3]).to.equal(0);
        await leaveAt(await server.micros(), RELEASE);
        expect([await holder(), await server.redis.type(LOOKS)]).to.deep.equal([marked(ANN), type]);
        expect(await kinds()).to.deep.equal(['g ann']);
        expect(await server.redis.pttl(LOOKS)).to.equal(-1);
      });
    }

    for (const script of [RELEASE, UNDO]) {
      it(`${script.name}: whoever leaves takes its own away, those of others stay`, async () => {
        await look(ANN);
        await look(BEN, { ticket: TICKET + 1 });
        await leaveAt(await server.micros(), script, ANN);
        expect(await noted()).to.deep.equal([BEN]);
        await leaveAt(await server.micros(), script, DAN);
        expect([await holder(), await noted()]).to.deep.equal([marked(BEN), [BEN]]);
        await look(CAT);
        await leaveAt(await server.micros(), script, BEN);
        expect([await holder(), await noted()]).to.deep.equal([marked(CAT), [CAT]]);
      });
    }
  });

  describe('a look that is refused, and not the first, tidies the queue', () => {
    const crowd = (size: number, client: string): string[] =>
      Array.from({ length: size }, (_, i) => tokenFrom(client, String(i)));
    /** They wait, from that ticket on, and looked so long ago. */
    const lineUp = async (tokens: readonly string[], ticket: number, lookUs: number): Promise<void> => {
      await server.redis.zadd(QUEUE, ...tokens.flatMap((token, i) => [ticket + i, token]));
      await server.redis.hset(LOOKS, ...tokens.flatMap((token) => [token, String(lookUs)]));
    };
    beforeEach(() => hold(DAN));

    it('those that are gone lose their places, 500 places at a time; it leaves out none', async () => {
      const us = await server.micros();
      const [alive, gone] = [crowd(400, 'alive'), crowd(200, 'gone')];
      await lineUp(alive, 1, us);
      await lineUp(gone, 401, us - GONE_US - 1); // half of them are beyond the first 500
      expect(numbers(await lookAt(us, ANN))[3]).to.equal(500);
      const next = us + TIDY_MS * 1_000;
      expect(numbers(await lookAt(next - 1, ANN))[3]).to.equal(500);
      expect(numbers(await lookAt(next, ANN))[3]).to.equal(400);
      expect(await waiting()).to.have.members([...alive, ANN]);
    });

    it(`the first is asked to look, unless it has looked within ${TIDY_MS} ms`, async () => {
      for (const [agoUs, pushed] of [
        [TIDY_MS * 1_000, []],
        [TIDY_MS * 1_000 + 1, ['w ben']],
      ] as const) {
        const us = await server.micros();
        await server.redis.del(LOOKS);
        await lineUp([BEN], 1, us - agoUs);
        await lookAt(us, ANN);
        expect(await kinds()).to.deep.equal(pushed);
      }
    });

    it(`more than ${MOST_LEFT} looks are left over, and one for each place: all are dropped`, async () => {
      for (const isMore of [false, true]) {
        const us = await server.micros();
        await server.redis.del(LOOKS);
        await lineUp([BEN], 1, us);
        const left = crowd(MOST_LEFT + 1 + (isMore ? 1 : 0), 'left'); // beside those of the two that wait, and the note
        await server.redis.hset(LOOKS, ...left.flatMap((token) => [token, String(us)]));
        await lookAt(us, ANN);
        expect((await server.redis.hlen(LOOKS)) > 0).to.equal(!isMore);
      }
    });

    it('a user without the right to looks: it waits all the same', async () => {
      await look(BEN);
      for (const command of ['hget', 'hset', 'hlen', 'hdel']) {
        await server.redis.del(LOOKS);
        const waits = (): Promise<unknown> => look(ANN, { ticket: TICKET + 1 });
        const [code, , , rank] = numbers(await server.without(command, waits));
        expect([code, rank], command).to.deep.equal([0, 1]);
      }
    });
  });

  describe('a look under a guard', () => {
    const guarded = (token: string, us: number, proposal = us, guardMs = HOUR_MS): Promise<unknown> =>
      runLone(lookBy(token, asked({ guardMs, proposal })), [...LOOKED, MARKER], clockAt(us));
    const mark = (sinceMs: number, period = HOUR_MS): Promise<unknown> =>
      server.redis.set(MARKER, `1|${server.runId}|${sinceMs}|${period}`);

    it('{-1, ms, 0} and {-2, ms, 0}: no vote, no place and no look', async () => {
      await hold(DAN);
      const us = await server.micros();
      expect(await guarded(ANN, us)).to.deep.equal([-1, HOUR_MS, 0]);
      await mark(0, 5_000);
      expect(await guarded(ANN, us)).to.deep.equal([-2, 5_000, 0]);
      expect(await server.redis.keys('*')).to.have.members([KEY, MARKER]);
    });

    for (const guardMs of [HOUR_MS, 1]) {
      it(`a period of ${guardMs} ms: the look names the process and the end of its last quarantine`, async () => {
        const us = await server.micros();
        const sinceMs = Math.floor(us / 1_000) - guardMs - 500;
        await mark(sinceMs, guardMs);
        await hold(DAN);
        await guarded(ANN, us, us, guardMs);
        expect(await server.redis.hget(LOOKS, ANN)).to.equal(
          [us, SENT_MS, TTL_MS, COUNTER_MS, server.runId, (sinceMs + guardMs) * 1_000].join('|'),
        );
      });
    }

    for (const [below, isTaken] of [
      [0, true],
      [1, false],
    ] as const) {
      it(`a proposal ${below} µs below the end of the last quarantine: is ${isTaken ? 'taken' : 'replaced by the clock'}`, async () => {
        const us = await server.micros();
        const endMs = Math.floor(us / 1_000) - 500;
        await mark(endMs - HOUR_MS);
        const [code, , , fence] = numbers(await guarded(ANN, us, endMs * 1_000 - below));
        expect([code, fence]).to.deep.equal([6, isTaken ? endMs * 1_000 : us]);
      });
    }
  });

  for (const script of [RELEASE, UNDO]) {
    const DONE = script === UNDO ? [1, -2, 0] : 1;
    describe(`${script.name}: to one that has left terms`, () => {
      it('v serial sent span fence: the vote for its whole ttl, counted; the next is sent a push first', async () => {
        const us = await server.micros();
        await hold(DAN);
        await waits(ANN, TICKET, us, { agoUs: 1_234_567 });
        await waits(BEN, TICKET + 1, us);
        expect(await leaveAt(us, script, DAN, us + 3)).to.deep.equal(DONE);
        const endMs = Math.floor(us / 1_000) + TTL_MS;
        const span = endMs - Math.ceil((us - 1_234_567) / 1_000);
        expect(await pushes()).to.deep.equal([`v ann ${us} ${SENT_MS} ${span} ${us + 3}`, 'w ben']);
        expect([await holder(), await waiting()]).to.deep.equal([marked(ANN), [BEN]]);
        expect(await turn()).to.deep.equal([`${us}`, ANN, `${TICKET}`]);
        expect(await endOf(KEY)).to.equal(endMs);
        expect(await count()).to.equal(blockEnd(us + 3));
        await expectMs(COUNTER, COUNTER_MS + 1);
        await expectMs(TURN, LIFE_MS);
      });

      it('it is the last that waits: the turn lives as long as its vote', async () => {
        const us = await server.micros();
        await hold(DAN);
        await waits(ANN, TICKET, us, { ttlMs: HOUR_MS });
        await leaveAt(us, script);
        await expectMs(KEY, HOUR_MS);
        await expectMs(TURN, HOUR_MS);
        expect(await server.redis.exists(QUEUE)).to.equal(0);
      });

      for (const [title, usOfMs, agoUs, extraMs] of [
        ['whole ms', 0, 2_000, 2],
        ['a µs later', 1, 2_000, 1],
        ['a µs earlier', 999, 2_000, 1],
        ['looked at a whole ms, µs before', 1, 2_001, 2],
      ] as const) {
        it(`span is the end less the look, both rounded against it: ${title}`, async () => {
          const us = Math.floor((await server.micros()) / 1_000) * 1_000 + usOfMs;
          await hold(DAN);
          await waits(ANN, TICKET, us, { agoUs });
          await leaveAt(us, script);
          const [push = ''] = await pushes();
          expect(push.split(' ')[4]).to.equal(String(TTL_MS + extraMs));
          expect(await endOf(KEY)).to.equal(Math.floor(us / 1_000) + TTL_MS);
        });
      }

      it('serials rise from hand-over to hand-over, and so do fencing tokens', async () => {
        const us = await server.micros();
        await hold(DAN);
        for (const [i, token] of [ANN, BEN, CAT].entries()) await waits(token, TICKET + i, us);
        await leaveAt(us, script, DAN, us);
        await leaveAt(us + 1, script, ANN, us);
        await leaveAt(us + 2, script, BEN, us);
        const told = (await pushes()).filter((text) => text.startsWith('v'));
        expect(told.map((text) => text.split(' ').filter((_, i) => [1, 2, 5].includes(i)))).to.deep.equal([
          ['ann', `${us}`, `${us}`],
          ['ben', `${us + 1}`, `${nextBlock(us)}`],
          ['cat', `${us + 2}`, `${nextBlock(nextBlock(us))}`],
        ]);
      });

      it('of a vote that has expired: hands over all the same', async () => {
        const us = await server.micros();
        await hold(DAN);
        await waits(ANN, TICKET, us);
        await server.redis.del(KEY);
        await leaveAt(us, script);
        expect([await holder(), await kinds()]).to.deep.equal([marked(ANN), ['v ann']]);
      });

      /** Terms, the proposal µs from the clock, and what is there before. */
      type Case = readonly [
        title: string,
        left: Partial<Terms>,
        awayUs?: number,
        prepare?: (us: number) => Promise<unknown>,
      ];
      const put = (text: number | string) => (): Promise<unknown> => server.redis.set(COUNTER, text);
      const DIRECT: readonly Case[] = [
        ['a look at this instant', { agoUs: 0 }],
        [`a look of ${FRESH_MS} ms before`, { agoUs: FRESH_US }],
        ['the run id of this process', { runId: 'own' }],
        ['a proposal at the bound behind', { agoUs: 2 * BACK_US }, -BACK_US],
        ['a proposal at the bound ahead', {}, AHEAD_US],
        ['a proposal at the bound below the look', { agoUs: 50_000 }, -50_000 - AHEAD_US],
        ['a proposal at the end of the quarantine', { agoUs: BACK_US, leastAgoUs: 700 }, -700],
        ['no fencing, and no proposal', { counterMs: 0 }, -Infinity],
        ['no fencing, and no counter', { counterMs: 0 }, 0, () => putData(server.redis, COUNTER, 'list')],
        ['a counter of 0', {}, 0, put('0')],
        ['the last counter but one', {}, 0, put(LAST_FENCE - 1)],
      ];
      const RESERVED: readonly Case[] = [
        ['no look', {}, 0, () => server.redis.del(LOOKS)],
        ['a look that cannot be read', {}, 0, () => server.redis.hset(LOOKS, ANN, 'text')],
        ['terms of another version', {}, 0, (us) => server.redis.hset(LOOKS, ANN, `${us}|2|3|4||0|7`)],
        [`a look of more than ${FRESH_MS} ms before`, { agoUs: FRESH_US + 1 }],
        ['a look to come', { agoUs: -1 }],
        ['the run id of another process', { runId: 'other' }],
        ['a proposal beyond the bound behind', { agoUs: 2 * BACK_US }, -BACK_US - 1],
        ['a proposal beyond the bound ahead', {}, AHEAD_US + 1],
        ['a proposal beyond the bound below the look', { agoUs: 50_000 }, -50_000 - AHEAD_US - 1],
        ['a proposal before the end of the quarantine', { agoUs: BACK_US, leastAgoUs: 700 }, -701],
        ['no proposal', {}, -Infinity],
        ['a counter that is a text', {}, 0, put('text')],
        ['a spent counter', {}, 0, put(LAST_FENCE)],
        ...TYPES.map((type): Case => [
          `a ${type} for a counter`,
          {},
          0,
          () => putData(server.redis, COUNTER, type),
        ]),
      ];
      for (const [expected, cases] of [
        ['v', DIRECT],
        ['g', RESERVED],
      ] as const) {
        for (const [title, left, awayUs = 0, prepare] of cases) {
          it(`${expected}: ${title}`, async () => {
            const us = await server.micros();
            await hold(DAN);
            const runId = left.runId === 'own' ? server.runId : (left.runId ?? '');
            await waits(ANN, TICKET, us, { ...left, runId });
            await prepare?.(us);
            const before = await server.redis.get(COUNTER).catch(() => 'data');
            expect(await leaveAt(us, script, DAN, Math.max(0, us + awayUs))).to.deep.equal(DONE);
            expect([await holder(), await waiting()]).to.deep.equal([marked(ANN), []]);
            const [push = ''] = await pushes();
            expect(push.slice(0, 5)).to.equal(`${expected} ann`);
            await expectMs(KEY, expected === 'v' ? TTL_MS : RESERVE_MS);
            const isCounted = expected === 'v' && left.counterMs !== 0;
            const after = await server.redis.get(COUNTER).catch(() => 'data');
            const fence = before === null || before === '0' ? us + awayUs : Number(before) + 1;
            expect(after).to.equal(isCounted ? String(blockEnd(fence)) : before);
            if (expected === 'v') expect(Number(push.split(' ')[5])).to.equal(isCounted ? fence : 0);
          });
        }
      }

      it('g: the caller names neither terms nor counter', async () => {
        const us = await server.micros();
        await hold(DAN);
        await waits(ANN, TICKET, us);
        expect(await run(script, WAITED, DAN)).to.deep.equal(DONE);
        expect([await holder(), await kinds()]).to.deep.equal([marked(ANN), ['g ann']]);
        expect(await server.redis.exists(COUNTER)).to.equal(0);
        await expectMs(KEY, RESERVE_MS);
      });

      it('g: its look asked for no vote', async () => {
        await hold(DAN);
        await look(ANN, { ttlMs: 0 });
        await leaveAt(await server.micros(), script);
        expect(await kinds()).to.deep.equal(['g ann']);
      });

      it('nobody hears of it: the lock is free again, and the next gets it; the looks of the dead are gone', async () => {
        const us = await server.micros();
        await listenTo(BEN, CAT);
        await hold(DAN);
        for (const [i, token] of [ANN, BEN, CAT].entries()) await waits(token, TICKET + i, us);
        expect(await leaveAt(us, script)).to.deep.equal(DONE);
        expect([await holder(), await waiting()]).to.deep.equal([marked(BEN), [CAT]]);
        const [first = '', second] = await pushes();
        const [kind, name, named, , , fence] = first.split(' ');
        expect([kind, name, second]).to.deep.equal(['v', 'ben', 'w cat']);
        expect(Number(named)).to.equal(us + 1); // a serial names one hand-over, be it one in vain
        const again = nextBlock(us); // the first was counted in vain
        expect([await count(), Number(fence)]).to.deep.equal([blockEnd(again), again]);
        expect((await turn())[1]).to.equal(BEN);
        expect(await noted()).to.have.members([BEN, CAT]);
      });

      it('the next has left no look: it is reserved for it', async () => {
        const us = await server.micros();
        await listenTo(BEN);
        await hold(DAN);
        await waits(ANN, TICKET, us, { ttlMs: HOUR_MS });
        await look(BEN, { ttlMs: 0, ticket: TICKET + 1 });
        await leaveAt(us, script);
        expect([await holder(), await kinds()]).to.deep.equal([marked(BEN), ['g ben']]);
        await expectMs(KEY, RESERVE_MS);
      });

      it('it is reserved: the next clients are told, each once, up to one that has looked lately', async () => {
        const us = await server.micros();
        const [again, last] = [tokenFrom('ben', '2'), tokenFrom('dan', '2')];
        await hold(DAN);
        for (const [i, token] of [ANN, BEN, again, CAT, last].entries())
          await look(token, { ttlMs: 0, ticket: TICKET + i });
        await pushes();
        const lately = us - TIDY_MS * 1_000;
        const long = String(lately - 1);
        await server.redis.hset(LOOKS, { [ANN]: long, [BEN]: long, [again]: long, [CAT]: String(lately) });
        await leaveAt(us, script);
        expect(await kinds()).to.deep.equal(['g ann', 'w ben', 'w cat']);
      });

      it(`it is reserved: ${MOST_TOLD} of the next clients are told at most, not counting those whom no push reaches`, async () => {
        const us = await server.micros();
        const next = Array.from({ length: MOST_TOLD + 2 }, (_, i) => tokenFrom(`next${i}`, '1'));
        const dead = tokenFrom('dead', '1');
        await hold(DAN);
        for (const [i, token] of [ANN, ...next].entries())
          await look(token, { ttlMs: 0, ticket: TICKET + 2 * i });
        await look(dead, { ttlMs: 0, ticket: TICKET + 3 }); // between the first two
        await listenTo(ANN, ...next);
        const long = String(us - TIDY_MS * 1_000 - 1);
        await server.redis.hset(LOOKS, Object.fromEntries([ANN, ...next].map((token) => [token, long])));
        await leaveAt(us, script);
        expect(await kinds()).to.deep.equal([
          'g ann',
          ...next.slice(0, MOST_TOLD).map((_, i) => `w next${i}`),
        ]);
      });

      it(`one that has not looked for ${GONE_MS} ms loses its place, though a push would reach it`, async () => {
        for (const [agoUs, pushed] of [
          [GONE_US, ['g ann', 'w ben']],
          [GONE_US + 1, ['v ben']],
        ] as const) {
          await server.redis.flushall();
          const us = await server.micros();
          await hold(DAN);
          for (const [i, token] of [ANN, BEN].entries()) await waits(token, TICKET + i, us);
          await server.redis.hset(LOOKS, ANN, String(us - agoUs));
          await leaveAt(us, script);
          expect(await kinds()).to.deep.equal(pushed);
          const [, name] = pushed[0].split(' ');
          expect([await holder(), await waiting()]).to.deep.equal(
            name === 'ann' ? [marked(ANN), [BEN]] : [marked(BEN), []],
          );
        }
      });

      it('nobody lives: the lock is free, and nothing is left but what was counted', async () => {
        const us = await server.micros();
        await listenTo();
        await hold(DAN);
        for (const [i, token] of [ANN, BEN].entries()) await waits(token, TICKET + i, us);
        expect(await leaveAt(us, script)).to.deep.equal(DONE);
        expect(await server.redis.keys('*')).to.deep.equal([COUNTER]);
      });

      it('the last that waited has claimed from the queue, which leaves its looks behind: they go with the turn', async () => {
        const us = await server.micros();
        await waits(ANN, TICKET, us);
        await server.redis.zrem(QUEUE, ANN);
        await hold(ANN);
        await server.redis.hset(LOOKS, BEN, (await server.redis.hget(LOOKS, ANN)) ?? '');
        expect(await leaveAt(us, script, ANN)).to.deep.equal(DONE);
        expect(await server.redis.keys('*')).to.deep.equal([]);
      });

      it('more of the dead than one call may drop: the lock is free, and the next call goes on', async () => {
        const us = await server.micros();
        await hold(DAN);
        const dead = Array.from({ length: MAX_DROPPED + 1 }, (_, i) => tokenFrom('dead', String(i)));
        await server.redis.zadd(QUEUE, ...dead.flatMap((token, i) => [i + 1, token]));
        await server.redis.pexpire(QUEUE, LIFE_MS);
        await server.redis.hset(LOOKS, TIDIED, `${us}|0`);
        await waits(BEN, TICKET, us);
        const terms = await server.redis.hget(LOOKS, BEN);
        await server.redis.hset(LOOKS, ...dead.flatMap((token) => [token, terms ?? '']));
        expect(await leaveAt(us, script)).to.deep.equal(script === UNDO ? [1, -2, 2] : -2);
        expect([await holder(), await turn(), await pushes()]).to.deep.equal([null, ['0', '', ''], []]);
        expect((await noted()).length).to.equal(2);
        expect(await leaveAt(us, script)).to.deep.equal(script === UNDO ? [0, -2, 0] : 0);
        expect([await holder(), await kinds()]).to.deep.equal([marked(BEN), ['v ben']]);
      });

      it('of several: each is handed over by its own terms and counter', async () => {
        const us = await server.micros();
        const names = ['x', 'y', 'z'];
        const beside = [queueKey, turnKey, looksKey, counterKey];
        const of = (name: string): readonly string[] => [name, ...beside.map((key) => key(name))];
        for (const name of names) await server.redis.set(name, DAN);
        await runLone(lookBy(ANN, asked()), of('x'), clockAt(us));
        await runLone(lookBy(ANN, asked({ ttlMs: 0 })), of('y'), clockAt(us));
        await runLone(lookBy(BEN, asked({ counterMs: 0 })), of('z'), clockAt(us));
        await server.redis.set(counterKey('x'), us + 5);
        const keys = [...names, ...beside.flatMap((key) => names.map(key))];
        const reply = await run(atInstant(script, us), keys, DAN, us);
        expect(reply).to.deep.equal(script === UNDO ? [3, -2, 0] : 3);
        expect(await server.redis.mget(names)).to.deep.equal([marked(ANN), marked(ANN), marked(BEN)]);
        const span = Math.floor(us / 1_000) + TTL_MS - Math.ceil(us / 1_000);
        expect(await listener.heard()).to.deep.equal([
          `${pushChannel(ANN)} v ${us} ${SENT_MS} ${span} ${us + 6} ${ANN} x`,
          `${pushChannel(ANN)} g ${us} ${ANN} y`,
          `${pushChannel(BEN)} v ${us} ${SENT_MS} ${span} 0 ${BEN} z`,
        ]);
        expect(await server.redis.exists(counterKey('y'), counterKey('z'))).to.equal(0);
      });
    });
  }

  describe('the mark of a vote that was handed over directly', () => {
    let us = 0;
    beforeEach(async () => {
      us = await server.micros();
      await hold(DAN);
      await waits(ANN, TICKET, us);
      await leaveAt(us, RELEASE);
      expect(await holder()).to.equal(marked(ANN));
    });
    const yielded = async (): Promise<unknown> =>
      runLone(yieldBy(ANN, { serial: await serial(), ticket: TICKET, lifeMs: LIFE_MS }), LOOKED);

    const touches: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['a claim', () => run(CLAIM, [KEY, COUNTER], ANN, HOUR_MS, COUNTER_MS, us, -1)],
      ['a claim from the queue', () => run(CLAIM, [...WAITED, COUNTER], ANN, HOUR_MS, COUNTER_MS, us, -1, 1)],
      ['an acceptance', () => accept(ANN, nextBlock(us))],
      ['an extension', () => extend(ANN, '0')],
      ['an extension that may create one', () => extend(ANN, '1')],
    ];
    for (const [title, touch] of touches) {
      it(`${title} by its owner takes it away: it is not yielded any more`, async () => {
        const reply = await touch();
        expect(Array.isArray(reply) ? reply[0] : reply).to.equal(1);
        expect(await holder()).to.equal(ANN);
        expect(await yielded()).to.equal(0);
        expect(await holder()).to.equal(ANN);
      });
    }

    it('an acceptance leaves the vote as long as it was; one that is refused leaves the mark', async () => {
      const endMs = await endOf(KEY);
      expect(numbers(await accept(ANN, blockEnd(us)))[0]).to.equal(3);
      expect(await holder()).to.equal(marked(ANN));
      await accept(ANN, nextBlock(us));
      expect([await holder(), await endOf(KEY)]).to.deep.equal([ANN, endMs]);
    });

    it('others neither claim, accept nor extend it', async () => {
      expect(numbers(await run(CLAIM, [KEY], BEN, HOUR_MS, 0, 0, -1)).slice(0, 1)).to.deep.equal([0]);
      expect(numbers(await accept(BEN, nextBlock(us)))[0]).to.equal(0);
      expect(numbers(await extend(BEN, '1'))[0]).to.equal(0);
      expect([await holder(), await count()]).to.deep.equal([marked(ANN), blockEnd(us)]);
      await expectMs(KEY, TTL_MS);
    });
  });

  describe('who gives back a vote with the mark, or without', () => {
    const ways: readonly (readonly [string, unknown, () => Promise<unknown>])[] = [
      ['release, at once', 1, () => run(RELEASE, WAITED, ANN)],
      ['release in the queue, at once', 1, () => run(RELEASE, LOOKED, ANN, 0)],
      ['undo', [1, -2, 0], () => run(UNDO, WAITED, ANN)],
      ['undo in the queue', [1, -2, 0], () => run(UNDO, LOOKED, ANN, 0)],
    ];
    for (const [title, done, way] of ways) {
      for (const value of [ANN, marked(ANN)]) {
        it(`${title}: ${value === ANN ? 'without' : 'with'} the mark, it is deleted, and the turn with it`, async () => {
          await server.redis.set(KEY, value, 'PX', TTL_MS);
          await server.redis.set(TURN, `7|${ANN}|1`, 'PX', TTL_MS);
          expect(await way()).to.deep.equal(done);
          expect(await server.redis.dbsize()).to.equal(0);
        });
      }
    }

    const names = ['x', 'y', 'z'];
    for (const [title, ofOne] of [
      ['releases', (name: string) => release(plainScope(name), ANN)],
      ['releases in the queue', (name: string) => releaseQueued(plainScope(name), ANN, 0)],
      ['undos', (name: string) => undo(plainScope(name), ANN)],
      ['undos in the queue', (name: string) => undoQueued(plainScope(name), ANN, 0)],
    ] as const) {
      it(`${title} of one each in a batch: both are deleted, and nothing of others`, async () => {
        const batch = new Batch();
        const requests: readonly Request[] = names.map(ofOne);
        for (const request of requests) batch.add(request);
        const [x = '', y = '', z = ''] = names;
        await server.redis.mset(x, ANN, y, marked(ANN), z, marked(BEN));
        const reply = await server.redis.call('EVAL', [...batch.command(true).args]);
        const isUndo = title.startsWith('undo');
        expect(reply).to.deep.equal(isUndo ? [1, 1, [0, -1, 0]] : [1, 1, 0]);
        expect(await server.redis.mget(names)).to.deep.equal([null, null, marked(BEN)]);
      });
    }

    it('of several in one release, or one undo: likewise', async () => {
      const [x = '', y = '', z = ''] = names;
      for (const script of [RELEASE, UNDO]) {
        await server.redis.mset(x, ANN, y, marked(ANN), z, marked(BEN));
        const beside = [queueKey, turnKey, looksKey, counterKey];
        const keys = [...names, ...beside.flatMap((key) => names.map(key))];
        const reply = await run(script, keys, ANN, 0);
        expect(reply).to.deep.equal(script === UNDO ? [2, -1, 0] : 2);
        expect(await server.redis.mget(names)).to.deep.equal([null, null, marked(BEN)]);
      }
    });
  });

  describe('yield', () => {
    const yieldAt = (
      us: number,
      token: string,
      of: number,
      lifeMs = LIFE_MS,
      ticket = TICKET,
    ): Promise<unknown> =>
      runLone(yieldBy(token, { serial: of, ticket, lifeMs, proposal: us }), LOOKED, clockAt(us));

    it('1: the earlier one is handed it directly; the token waits again, by its last look', async () => {
      const us = await server.micros();
      await hold(DAN);
      await waits(BEN, TICKET + 1, us, { agoUs: 30_000, sentMs: 5 });
      await leaveAt(us, RELEASE);
      const [first = ''] = await pushes();
      const own = await server.redis.hget(LOOKS, BEN);
      await lookAt(us, ANN, { sentAtMs: 6 });
      expect(await kinds()).to.deep.equal(['i ben']);
      expect(await yieldAt(us + 1, BEN, us, LIFE_MS, TICKET + 1)).to.equal(1);
      expect([await holder(), await waiting()]).to.deep.equal([marked(ANN), [BEN]]);
      expect(await server.redis.hget(LOOKS, BEN)).to.equal(own);
      const [second = '', next] = await pushes();
      expect(next).to.equal('w ben');
      await leaveAt(us + 2, RELEASE, ANN, us);
      const [third = ''] = await pushes();
      const brief = [first, second, third].map((text) => text.split(' ').filter((_, i) => i !== 4));
      expect(brief).to.deep.equal([
        ['v', 'ben', `${us}`, '5', `${us}`],
        ['v', 'ann', `${us + 1}`, '6', `${nextBlock(us)}`],
        ['v', 'ben', `${us + 2}`, '5', `${nextBlock(nextBlock(us))}`],
      ]);
      const endMs = Math.floor((us + 2) / 1_000) + TTL_MS;
      expect(Number(third.split(' ')[4])).to.equal(endMs - Math.ceil((us - 30_000) / 1_000));
    });

    it('1: nobody is before it: it is handed it again, under another serial and another fencing token', async () => {
      const us = await server.micros();
      await hold(DAN);
      await waits(BEN, TICKET, us);
      await leaveAt(us, RELEASE);
      expect(await yieldAt(us, BEN, us)).to.equal(1);
      expect([await holder(), (await turn())[0], await count()]).to.deep.equal([
        ...[marked(BEN), String(us + 1), blockEnd(nextBlock(us))],
      ]);
      expect(await kinds()).to.deep.equal(['v ben', 'v ben']);
    });

    it('1: its look had claimed it, and left no look: it is reserved for it', async () => {
      const us = await server.micros();
      await lookAt(us, BEN, { proposal: us });
      expect(await yieldAt(us, BEN, us)).to.equal(1);
      expect([await holder(), await count()]).to.deep.equal([marked(BEN), blockEnd(us)]);
      expect(await kinds()).to.deep.equal(['g ben']);
    });

    it('1: for good: the next is handed it directly', async () => {
      const us = await server.micros();
      await hold(DAN);
      await waits(BEN, TICKET, us);
      await waits(CAT, TICKET + 1, us);
      await leaveAt(us, RELEASE);
      expect(await yieldAt(us, BEN, us, 0)).to.equal(1);
      expect([await holder(), await waiting()]).to.deep.equal([marked(CAT), []]);
      expect(await kinds()).to.deep.equal(['v ben', 'w cat', 'v cat']);
    });

    it('1: nobody lives: the lock is free', async () => {
      const us = await server.micros();
      await hold(DAN);
      await waits(BEN, TICKET, us);
      await leaveAt(us, RELEASE);
      await listenTo();
      expect(await yieldAt(us, BEN, us)).to.equal(1);
      expect(await server.redis.keys('*')).to.deep.equal([COUNTER]);
    });

    it('0: sent twice, the second time it finds the next hand-over, and leaves it', async () => {
      const us = await server.micros();
      await hold(DAN);
      await waits(BEN, TICKET, us);
      await leaveAt(us, RELEASE);
      expect(await yieldAt(us, BEN, us)).to.equal(1);
      expect(await yieldAt(us, BEN, us)).to.equal(0);
      expect([await holder(), await serial()]).to.deep.equal([marked(BEN), us + 1]);
    });

    it('0: the turn names another token, another serial, or nobody; or the vote has no mark', async () => {
      const us = await server.micros();
      await lookAt(us, BEN, { proposal: us });
      expect(await yieldAt(us, BEN, us - 1)).to.equal(0);
      expect(await yieldAt(us, BEN, us + 1)).to.equal(0);
      expect(await yieldAt(us, ANN, us)).to.equal(0);
      await server.redis.set(KEY, BEN, 'PX', TTL_MS);
      expect(await yieldAt(us, BEN, us)).to.equal(0);
      await server.redis.set(KEY, marked(BEN), 'PX', TTL_MS);
      for (const text of [`${us}|${ANN}|1`, '0||', 'text']) {
        await server.redis.set(TURN, text, 'PX', TTL_MS);
        expect(await yieldAt(us, BEN, us)).to.equal(0);
      }
      await server.redis.del(TURN);
      expect(await yieldAt(us, BEN, us)).to.equal(0);
      expect([await holder(), await count(), await pushes()]).to.deep.equal([marked(BEN), blockEnd(us), []]);
    });
  });

  it('at maxmemory: a release hands over directly, and a look fails with nothing done', async () => {
    const us = await server.micros();
    await hold(DAN);
    await waits(ANN, TICKET, us);
    await server.redis.config('SET', 'maxmemory', '1');
    try {
      expect(await leaveAt(us, RELEASE)).to.equal(1);
      expect([await holder(), await kinds()]).to.deep.equal([marked(ANN), ['v ann']]);
      await leaveAt(us, UNDO, ANN);
      const failure = await look(BEN).catch((error: Error) => error.message);
      expect(failure).to.be.a('string').that.matches(/OOM/);
      expect(await server.redis.keys('*')).to.deep.equal([COUNTER]);
    } finally {
      await server.redis.config('SET', 'maxmemory', '0');
    }
  });

  describe('without rights', () => {
    let other: Redis;
    before(() => {
      other = server.redis.duplicate({ username: 'other', password: 'x', lazyConnect: true });
      other.on('error', () => undefined);
    });
    after(() => other.disconnect());

    const restrict = (rights: readonly string[]): Promise<unknown> =>
      server.redis.call('ACL', 'SETUSER', 'other', 'reset', 'on', '>x', '~*', '&*', '+@all', ...rights);
    /** As a user that may do all but this. */
    const runWithout = async (
      rights: readonly string[],
      script: Script,
      ...args: readonly (string | number)[]
    ): Promise<unknown> => {
      await restrict(rights);
      return other.eval(script.source, LOOKED.length, ...LOOKED, ...args);
    };
    const runLoneWithout = async (
      rights: readonly string[],
      entry: LoneEntry,
      as?: (script: Script) => Script,
    ): Promise<unknown> => {
      await restrict(rights);
      return runLoneOn(other, entry, LOOKED, as);
    };

    for (const script of [RELEASE, UNDO]) {
      const DONE = script === UNDO ? [1, -2, 0] : 1;

      for (const right of ['-publish', 'resetchannels']) {
        it(`${script.name}, ${right}: the vote goes, none is left behind, and all stay in the queue with their looks`, async () => {
          const us = await server.micros();
          await hold(DAN);
          for (const [i, token] of [ANN, BEN].entries()) await waits(token, TICKET + i, us);
          expect(await runWithout([right], atInstant(script, us), DAN, us)).to.deep.equal(DONE);
          expect([await holder(), await waiting(), await turn()]).to.deep.equal([
            null,
            [ANN, BEN],
            ['0', '', ''],
          ]);
          expect(await noted()).to.have.members([ANN, BEN]);
        });
      }

      for (const counterMs of [0, COUNTER_MS]) {
        it(`${script.name}, -set, counters live ${counterMs} ms: the vote goes, and nobody is told of one that is not there`, async () => {
          const us = await server.micros();
          await hold(DAN);
          await waits(ANN, TICKET, us, { counterMs });
          expect(await runWithout(['-set'], atInstant(script, us), DAN, us)).to.deep.equal(DONE);
          expect([await holder(), await waiting(), await pushes()]).to.deep.equal([null, [ANN], []]);
        });
      }

      for (const right of ['-hget', '-hset', '-info']) {
        it(`${script.name}, ${right}: ${right === '-info' ? 'no word of the run id' : 'no look'}: it is reserved`, async () => {
          const us = await server.micros();
          await hold(DAN);
          if (right === '-hset') await runLoneWithout([right], lookBy(ANN, asked()));
          else await waits(ANN, TICKET, us, { runId: right === '-info' ? server.runId : '' });
          expect(await runWithout([right], atInstant(script, us), DAN, us)).to.deep.equal(DONE);
          expect([await holder(), await kinds()]).to.deep.equal([marked(ANN), ['g ann']]);
        });
      }

      it(`${script.name}, -hdel: it is handed over directly, and the looks that are left expire`, async () => {
        const us = await server.micros();
        await hold(DAN);
        await look(DAN);
        await waits(ANN, TICKET, us);
        expect(await runWithout(['-hdel'], atInstant(script, us), DAN, us)).to.deep.equal(DONE);
        expect([await holder(), await kinds()]).to.deep.equal([marked(ANN), ['v ann']]);
      });
    }

    it('yield, -set: the vote goes, and it waits again', async () => {
      const us = await server.micros();
      await hold(DAN);
      await waits(BEN, TICKET, us);
      await leaveAt(us, RELEASE);
      await pushes();
      const yielded = yieldBy(BEN, { serial: us, ticket: TICKET, lifeMs: LIFE_MS, proposal: us });
      expect(await runLoneWithout(['-set'], yielded, clockAt(us))).to.equal(1);
      expect([await holder(), await waiting(), await pushes()]).to.deep.equal([null, [BEN], []]);
    });

    it('queue, -publish: it gets a free lock though others wait, since no push can reach them', async () => {
      await hold(DAN);
      await look(ANN);
      await server.redis.del(KEY);
      const reply = await runLoneWithout(['-publish'], lookBy(BEN, asked({ ticket: TICKET + 1 })));
      expect(numbers(reply)[0]).to.equal(6);
      expect([await holder(), await waiting()]).to.deep.equal([marked(BEN), [ANN]]);
    });
  });
});
