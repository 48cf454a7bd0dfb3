/**
 * Fair waiting on a real server, by reservation: replies of `queue` and `yield`, and what releases and undos do for those
 * who wait. Looks ask for reservations here; `direct-scripts.spec.ts` has those that claim.
 */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { counterKey, pushChannel, queueKey, looksKey, turnKey } from '../../../lib/protocol/keys.js';
import { ENTRY } from '../../../lib/protocol/lua/entries.js';
import { CLAIM, INSPECT, RELEASE, type Script, UNDO } from '../../../lib/protocol/lua/scripts.js';
import { MAX_DROPPED, RESERVE_MS, SHOWN_WAITERS, TIDIED } from '../../../lib/protocol/lua/waiting.js';
import { RESERVED_MARK } from '../../../lib/runtime/random.js';
import { tokenFrom } from '../../simulation/world/seeded.js';
import { blockEnd, nextBlock } from '../../support/fence-blocks.js';
import { rightsOf } from '../../support/documented-rights.js';
import { type LoneEntry, loneEntry } from '../../support/lone-entries.js';
import { lookBy, yieldBy } from '../../support/looks.js';
import {
  atInstant,
  clockAt,
  NO_RIGHT,
  oneListener,
  oneServer,
  putData,
  runLoneOn,
  TYPES,
} from '../../support/server.js';

const KEY = 'invoice 42';
const WAITED = [KEY, queueKey(KEY), turnKey(KEY)] as const;
const [, QUEUE, TURN] = WAITED;
/** What looks and yields are about. */
const lookedAt = (key: string): readonly string[] => [
  ...[key, queueKey(key), turnKey(key), looksKey(key), counterKey(key)],
];
const LOOKED = lookedAt(KEY);
const LOOKS = looksKey(KEY);
const COUNTER = counterKey(KEY);
const LIFE_MS = 600_000;
const HOUR_MS = 3_600_000;
/** The fencing token that is proposed, and the server's clock. */
const FENCE = 1_790_000_000_000_001;
/** Tickets are µs since 1970, of today and of the last day that a number can hold exactly. */
const TICKET = 1_790_000_000_000_001;
const LAST_TICKET = Number.MAX_SAFE_INTEGER;
const PLACE = { ticket: TICKET, lifeMs: LIFE_MS };

const reserved = (token: string): string => token + RESERVED_MARK;

const [ANN, BEN, CAT, DAN] = ['ann', 'ben', 'cat', 'dan'].map((name) => tokenFrom(name, '1')) as [
  string,
  string,
  string,
  string,
];

function numbers(reply: unknown): readonly number[] {
  return Array.isArray(reply) ? reply.map(Number) : [];
}

describe('fair waiting: scripts on a real server', () => {
  const server = oneServer();
  const listener = oneListener(server);
  const { run, runLone } = server;

  const queue = (token: string, ticket = TICKET, lifeMs = LIFE_MS): Promise<unknown> =>
    runLone(lookBy(token, { ticket, lifeMs }), LOOKED);
  const yieldIt = (
    token: string,
    serial: number | string,
    ticket = TICKET,
    lifeMs = LIFE_MS,
  ): Promise<unknown> => runLone(yieldBy(token, { serial, ticket, lifeMs }), LOOKED);
  const release = (token: string): Promise<unknown> => run(RELEASE, WAITED, token);
  /** A vote that was claimed, as by any other client of this library. */
  const hold = (token: string, ttlMs = 300_000): Promise<unknown> =>
    server.redis.set(KEY, token, 'PX', ttlMs);
  const waiting = (): Promise<string[]> => server.redis.zrange(QUEUE, '0', '-1');
  /** What is left, beside looks: requests that do not name them leave them to expire. */
  const left = async (): Promise<string[]> => (await server.redis.keys('*')).filter((key) => key !== LOOKS);
  const holder = (): Promise<string | null> => server.redis.get(KEY);
  const turn = async (): Promise<readonly string[]> => ((await server.redis.get(TURN)) ?? 'none').split('|');
  const expectMs = async (key: string, ms: number): Promise<void> =>
    void expect(await server.redis.pttl(key), key).to.be.within(ms - 60_000, ms);
  /** The turn outlives the queue. */
  const expectLife = async (ms: number): Promise<void> => {
    await expectMs(QUEUE, ms);
    expect(await server.redis.pttl(TURN)).to.be.at.least(await server.redis.pttl(QUEUE));
  };
  const listenTo = (...tokens: readonly string[]): Promise<void> =>
    listener.listenTo(...tokens.map(pushChannel));
  /** What was published: `g token`, with the serial where there is one. */
  const pushes = async (): Promise<string[]> => {
    const found = await listener.heard();
    return found.map((text) => {
      const [channel = '', kind = '', ...rest] = text.slice(0, -KEY.length - 1).split(' ');
      const token = rest.pop() ?? '';
      expect(channel).to.equal(pushChannel(token));
      expect(text.endsWith(` ${KEY}`)).to.equal(true);
      return [kind, token.split(':')[0]?.replaceAll('_', ''), ...rest].join(' ');
    });
  };

  beforeEach(() => listenTo(ANN, BEN, CAT, DAN));

  /** So many are in the queue before everybody else, of so many clients, and none of them lives. */
  const lineUpDead = async (count: number, clients: number, key = KEY): Promise<void> => {
    const line = queueKey(key);
    for (let i = 0; i < count; i += 1_000) {
      const some = Array.from({ length: Math.min(1_000, count - i) }, (_, j) => i + j + 1);
      await server.redis.zadd(line, ...some.flatMap((n) => [n, tokenFrom(`d${n % clients}`, String(n))]));
    }
    await server.redis.pexpire(line, LIFE_MS);
    await server.redis.set(turnKey(key), '0||', 'PX', LIFE_MS);
    await server.redis.hset(looksKey(key), TIDIED, `${await server.micros()}|0`); // looks leave them alone
  };

  describe('queue: the lock is free', () => {
    it('{1, serial, us}: nobody waits; the vote is reserved, the turn names the grant', async () => {
      const before = await server.micros();
      const [code, serial = 0, us] = numbers(await queue(ANN));
      expect([code, us]).to.deep.equal([1, us]);
      expect(us).to.be.within(before, await server.micros());
      expect(serial).to.be.within(before, await server.micros());
      expect(await holder()).to.equal(reserved(ANN));
      await expectMs(KEY, RESERVE_MS);
      expect(await turn()).to.deep.equal([String(serial), ANN, String(TICKET)]);
      await expectMs(TURN, RESERVE_MS);
      expect(await server.redis.exists(QUEUE)).to.equal(0);
      expect(await pushes()).to.deep.equal([]);
    });

    it('{1, serial, us}: it is the first that waits; the next is sent a push', async () => {
      await hold(DAN);
      for (const [i, token] of [ANN, BEN, CAT].entries()) await queue(token, TICKET + i);
      await server.redis.del(KEY);
      expect(numbers(await queue(ANN))[0]).to.equal(1);
      expect([await holder(), await waiting()]).to.deep.equal([reserved(ANN), [BEN, CAT]]);
      expect(await pushes()).to.deep.equal(['w ben']);
    });

    it('{1, serial, us}: its ticket is before that of the first; the former first is sent a push', async () => {
      await hold(DAN);
      await queue(BEN, TICKET + 1);
      await server.redis.del(KEY);
      expect(numbers(await queue(ANN, TICKET))[0]).to.equal(1);
      expect([await holder(), await waiting()]).to.deep.equal([reserved(ANN), [BEN]]);
      expect(await pushes()).to.deep.equal(['w ben']);
    });

    it('{0, ms, us, rank}: one with an earlier ticket waits and gets it; the token queues', async () => {
      await hold(DAN);
      await queue(ANN, TICKET);
      await server.redis.del(KEY);
      const [code, ms, us, rank] = numbers(await queue(BEN, TICKET + 1));
      expect([code, rank]).to.deep.equal([0, 0]);
      expect(ms).to.be.within(1, RESERVE_MS);
      expect(us).to.be.above(TICKET / 2);
      expect([await holder(), await waiting()]).to.deep.equal([reserved(ANN), [BEN]]);
      const [serial] = await turn();
      expect(await pushes()).to.deep.equal([`g ann ${serial}`, 'w ben']);
      await expectLife(LIFE_MS);
    });

    it('{0, ms, us, rank}: it keeps its place though nobody listens for it (yet)', async () => {
      await hold(DAN);
      await queue(ANN, TICKET);
      await server.redis.del(KEY);
      await listenTo(ANN);
      expect(numbers(await queue(BEN, TICKET + 1)).slice(-1)).to.deep.equal([0]);
      expect(await waiting()).to.deep.equal([BEN]);
    });

    it('{1, serial, us}: 20 wait before it, and none of them lives', async () => {
      await hold(DAN);
      for (let i = 0; i < 20; i++) await queue(tokenFrom('dead', String(i)), TICKET + i);
      await queue(CAT, TICKET + 21);
      await server.redis.del(KEY);
      const [code, serial] = numbers(await queue(ANN, TICKET + 20));
      expect(code).to.equal(1);
      expect([await holder(), await waiting()]).to.deep.equal([reserved(ANN), [CAT]]);
      expect(await turn()).to.deep.equal([String(serial), ANN, String(TICKET + 20)]);
      expect(await pushes()).to.deep.equal(['w cat']);
    });

    it('{1, serial, us}: another waiter of its client comes before it, and no push has reached that client', async () => {
      await hold(DAN);
      await listenTo(CAT);
      await queue(tokenFrom('ann', '0'), TICKET);
      await queue(CAT, TICKET + 2);
      await server.redis.del(KEY);
      expect(numbers(await queue(ANN, TICKET + 1))[0]).to.equal(1);
      expect([await holder(), await waiting()]).to.deep.equal([reserved(ANN), [CAT]]);
    });

    it('{0, 0, us, 0}: more of the dead are ahead of it than one call may drop; the next calls go on', async () => {
      await lineUpDead(2 * MAX_DROPPED + 1, 7);
      for (const left of [MAX_DROPPED + 1, 1]) {
        const [code, ms, us, rank] = numbers(await queue(BEN));
        expect([code, ms, rank]).to.deep.equal([0, 0, 0]);
        expect(us).to.be.above(TICKET / 2);
        expect([await server.redis.zcard(QUEUE), await holder()]).to.deep.equal([left + 1, null]);
        await expectLife(LIFE_MS);
      }
      expect(numbers(await queue(BEN))[0]).to.equal(1);
      expect([await waiting(), await holder()]).to.deep.equal([[], reserved(BEN)]);
    });

    it('serials rise, also where the clock has stepped back', async () => {
      const ahead = (await server.micros()) + 3_600_000_000;
      await server.redis.set(TURN, `${ahead}|${DAN}|${TICKET}`, 'PX', 1_000);
      expect(numbers(await queue(ANN))[1]).to.equal(ahead + 1);
      await server.redis.del(KEY);
      expect(numbers(await queue(ANN))[1]).to.equal(ahead + 2);
    });
  });

  describe('queue: the token has the vote', () => {
    it('{1, serial, us}: the same serial; the reservation lasts for at least its time, and a lease is not shortened', async () => {
      const [, serial] = numbers(await queue(ANN));
      const left = RESERVE_MS / 2;
      await server.redis.pexpire(KEY, left);
      expect(numbers(await queue(ANN)).slice(0, 2)).to.deep.equal([1, serial]);
      expect(await server.redis.pttl(KEY)).to.be.above(left);
      await expectMs(TURN, RESERVE_MS);
      await hold(ANN, HOUR_MS);
      await queue(ANN, TICKET, 10);
      expect(await holder()).to.equal(ANN);
      await expectMs(KEY, HOUR_MS);
      await server.redis.persist(KEY);
      await queue(ANN);
      expect(await server.redis.pttl(KEY)).to.equal(-1);
    });

    it('{1, serial, us}: by a claim that came late; nothing is changed', async () => {
      await hold(BEN);
      await queue(ANN);
      await queue(CAT);
      await hold(ANN);
      const [code, serial, us] = numbers(await queue(ANN, TICKET - 1, HOUR_MS));
      expect([code, serial]).to.deep.equal([1, 0]);
      expect(us).to.be.above(TICKET / 2);
      expect([await holder(), await turn(), await waiting()]).to.deep.equal([ANN, ['0', '', ''], [ANN, CAT]]);
      await expectLife(LIFE_MS);
      await server.redis.del(TURN, QUEUE);
      const [, clock, now] = numbers(await queue(ANN));
      expect(clock).to.equal(now);
      expect(await left()).to.deep.equal([KEY]);
    });

    it('{1, serial, us}: it asks for a reservation of what it holds for longer; neither vote nor turn is shortened', async () => {
      const [, serial] = numbers(await runLone(lookBy(ANN, { ...PLACE, ttlMs: HOUR_MS }), LOOKED));
      expect(numbers(await queue(ANN)).slice(0, 2)).to.deep.equal([1, serial]);
      await expectMs(KEY, HOUR_MS);
      await expectMs(TURN, HOUR_MS);
    });
  });

  describe('queue: another client has the vote', () => {
    beforeEach(() => hold(DAN));

    it('{0, ms, us, rank}: in the order of the tickets, not of arrival', async () => {
      const before = await server.micros();
      const [code, ms, us, rank] = numbers(await queue(BEN, TICKET + 2));
      expect([code, rank]).to.deep.equal([0, 0]);
      expect(ms).to.be.within(240_000, 300_000);
      expect(us).to.be.within(before, await server.micros());
      expect(numbers(await queue(CAT, TICKET + 3))[3]).to.equal(1);
      expect(numbers(await queue(ANN, TICKET + 1))[3]).to.equal(0);
      expect(await waiting()).to.deep.equal([ANN, BEN, CAT]);
      expect(await turn()).to.deep.equal(['0', '', '']);
      await expectLife(LIFE_MS);
      expect(await holder()).to.equal(DAN);
      expect(await pushes()).to.deep.equal([]);
    });

    it('{0, -1, us, rank}: the key has no expiry', async () => {
      await server.redis.persist(KEY);
      expect(numbers(await queue(ANN)).slice(0, 2)).to.deep.equal([0, -1]);
    });

    it('equal tickets: in the order of the tokens', async () => {
      for (const token of [CAT, ANN, BEN]) await queue(token);
      expect(await waiting()).to.deep.equal([ANN, BEN, CAT]);
    });

    it('a second time: nothing changes', async () => {
      await queue(ANN);
      await queue(BEN, TICKET + 1);
      expect(numbers(await queue(ANN))[3]).to.equal(0);
      expect(await waiting()).to.deep.equal([ANN, BEN]);
    });

    it('a place lives for as long as was asked for; none shortens that of another, and the turn is there as long', async () => {
      await queue(ANN, TICKET, HOUR_MS);
      await expectLife(HOUR_MS);
      await queue(BEN, TICKET + 1, LIFE_MS);
      await expectLife(HOUR_MS);
      await server.redis.set(TURN, `7|${DAN}|1`, 'PX', 60_000); // of the grant by which it holds
      await queue(CAT, TICKET + 2, 2 * HOUR_MS);
      await expectLife(2 * HOUR_MS);
      expect(await turn()).to.deep.equal(['7', DAN, '1']);
      await server.redis.del(TURN);
      await queue(CAT, TICKET + 2, LIFE_MS);
      await expectLife(2 * HOUR_MS);
    });

    it('a place that is kept for less than the vote lives leaves the turn that names the vote as it is', async () => {
      await server.redis.del(KEY);
      const [, serial] = numbers(await runLone(lookBy(DAN, { ...PLACE, ttlMs: HOUR_MS }), LOOKED));
      await queue(BEN, TICKET + 1, 1_000);
      await expectMs(TURN, HOUR_MS);
      expect(await turn()).to.deep.equal([String(serial), DAN, String(TICKET)]);
    });

    it('a queue that has run out is gone, and so is the turn: nobody is handed anything', async () => {
      await queue(ANN, TICKET, 1);
      while ((await server.redis.exists(QUEUE, TURN)) > 0);
      expect(await release(DAN)).to.equal(1);
      expect(await left()).to.deep.equal([]);
      expect(await pushes()).to.deep.equal([]);
    });

    it('tickets up to 2^53 keep every digit, in the queue, in the turn and when they are given back', async () => {
      await queue(BEN, LAST_TICKET);
      await queue(ANN, LAST_TICKET - 1);
      expect(await waiting()).to.deep.equal([ANN, BEN]);
      await release(DAN);
      expect((await turn())[2]).to.equal(String(LAST_TICKET - 1));
      await release(ANN);
      expect((await turn())[2]).to.equal(String(LAST_TICKET));
      const [serial = ''] = await turn();
      expect(await yieldIt(BEN, serial, LAST_TICKET)).to.equal(1);
      expect((await turn())[2]).to.equal(String(LAST_TICKET));
    });
  });

  describe('queue: inquiries', () => {
    const grant = async (token: string, ticket: number): Promise<number> =>
      numbers(await queue(token, ticket))[1] ?? 0;

    it('an earlier ticket than that of the grant: its owner is asked, each time', async () => {
      const serial = await grant(BEN, TICKET);
      await queue(ANN, TICKET - 1);
      await queue(ANN, TICKET - 1);
      expect(await pushes()).to.deep.equal([`i ben ${serial}`, `i ben ${serial}`]);
    });

    it('a later one: not; equal ones: if the token is before', async () => {
      const serial = await grant(BEN, TICKET);
      await queue(ANN, TICKET + 1);
      await queue(CAT, TICKET);
      expect(await pushes()).to.deep.equal([]);
      await queue(ANN, TICKET);
      expect(await pushes()).to.deep.equal([`i ben ${serial}`]);
    });

    it('equal ones of one client: if the token is before', async () => {
      const serial = await grant(BEN, TICKET);
      await queue(tokenFrom('ben', '2'), TICKET);
      expect(await pushes()).to.deep.equal([]);
      await queue(tokenFrom('ben', '0'), TICKET);
      expect(await pushes()).to.deep.equal([`i ben ${serial}`]);
    });

    it('an owner that the turn does not name is not asked', async () => {
      await grant(BEN, TICKET);
      await hold(CAT);
      expect(numbers(await queue(ANN, TICKET - 1))[3]).to.equal(0);
      expect(await pushes()).to.deep.equal([]);
    });

    for (const text of ['text', '', `x|${BEN}|1`, '7']) {
      it(`a turn that is ${JSON.stringify(text)} names nobody, and is set anew`, async () => {
        await hold(BEN);
        await server.redis.set(TURN, text, 'PX', HOUR_MS);
        await queue(ANN, 1);
        expect(await pushes()).to.deep.equal([]);
        expect(await turn()).to.deep.equal(['0', '', '']);
        await expectLife(LIFE_MS);
      });
    }
  });

  for (const [title, owner] of [
    ['a text', 'another'],
    ['a uuid', '6f1c0e5e-5c60-4d9c-9b0e-1c6e3c1e5a11'],
    ['one letter more', `${DAN}x`],
    ['a colon elsewhere', DAN.replace(':', '').replace(/^./, ':')],
    ['two colons', DAN.replace(/.$/, ':')],
    ['a letter that is none', DAN.replace(/.$/, '+')],
  ] as const) {
    it(`{4, ms, us}: a foreign client holds it (${title}); no place is taken, and an earlier place stays`, async () => {
      await hold(owner);
      const [code, ms, us] = numbers(await queue(ANN));
      expect(code).to.equal(4);
      expect(ms).to.be.within(240_000, 300_000);
      expect(us).to.be.above(TICKET / 2);
      expect(await server.redis.keys('*')).to.deep.equal([KEY]);
      await hold(DAN);
      await queue(ANN);
      await hold(owner);
      expect(numbers(await queue(ANN))[0]).to.equal(4);
      expect(await waiting()).to.deep.equal([ANN]);
    });

    it(`claim {0, ms, 1}: a foreign client holds a key (${title}), whoever holds others`, async () => {
      await server.redis.set('mine', DAN, 'PX', HOUR_MS);
      const claim = (...keys: string[]): Promise<unknown> => run(CLAIM, keys, ANN, 1_000, 0, 0, -1);
      expect(numbers(await claim('free', 'mine'))[2]).to.equal(0);
      await hold(owner);
      for (const keys of [[KEY], ['mine', KEY], [KEY, 'mine', 'free']])
        expect(numbers(await claim(...keys))[2]).to.equal(1);
    });
  }

  describe('queue under a guard', () => {
    const MARKER = 'marker';
    const guarded = (): Promise<unknown> =>
      runLone(lookBy(ANN, { ...PLACE, guardMs: HOUR_MS }), [...LOOKED, MARKER]);
    const mark = (since: number, period = HOUR_MS): Promise<unknown> =>
      server.redis.set(MARKER, `1|${server.runId}|${since}|${period}`);

    it('{-1, ms, 0} and {-2, ms, 0}: no vote and no place; {1, serial, us} when it votes', async () => {
      expect(await guarded()).to.deep.equal([-1, HOUR_MS, 0]);
      await mark(0, 5_000);
      expect(await guarded()).to.deep.equal([-2, 5_000, 0]);
      expect(await server.redis.keys('*')).to.deep.equal([MARKER]);
      await mark(0);
      expect(numbers(await guarded())[0]).to.equal(1);
    });
  });

  describe('what is reserved', () => {
    const claim = (token: string): Promise<unknown> => run(CLAIM, [KEY], token, HOUR_MS, 0, 0, -1);
    const extend = (token: string, mayCreate: '0' | '1', ttlMs = HOUR_MS): Promise<unknown> =>
      runLone(loneEntry(ENTRY.extend, token, { ttl: ttlMs, create: mayCreate }), [KEY]);

    beforeEach(() => queue(ANN));

    it('is claimed by its token alone', async () => {
      const [code, ms = 0, isForeignClient] = numbers(await claim(BEN));
      expect([code, isForeignClient]).to.deep.equal([0, 0]);
      expect(ms).to.be.within(1, RESERVE_MS);
      expect(await claim(ANN)).to.deep.equal([1, 0, 0]);
      expect(await holder()).to.equal(ANN);
      await expectMs(KEY, HOUR_MS);
    });

    it('becomes a vote by an acceptance, and lives as long; not by one that is refused', async () => {
      const accept = (token: string, fence: number): Promise<unknown> =>
        runLone(loneEntry(ENTRY.accept, token, { fence, life: HOUR_MS }), [KEY, 'f'], clockAt(FENCE));
      expect(numbers(await accept(BEN, FENCE))[0]).to.equal(0);
      expect(numbers(await accept(ANN, 7))[0]).to.equal(3);
      expect([await holder(), await server.redis.exists('f')]).to.deep.equal([reserved(ANN), 0]);
      expect(await accept(ANN, FENCE)).to.deep.equal([1, FENCE, 0]);
      expect([await holder(), await server.redis.get('f')]).to.deep.equal([ANN, String(blockEnd(FENCE))]);
      await expectMs(KEY, RESERVE_MS);
    });

    for (const mayCreate of ['0', '1'] as const) {
      it(`becomes a vote by an extension that may create ${mayCreate === '0' ? 'none' : 'one'}, and lives no shorter`, async () => {
        expect(numbers(await extend(BEN, mayCreate))[0]).to.equal(0);
        expect(await holder()).to.equal(reserved(ANN));
        expect(await extend(ANN, mayCreate, 1)).to.deep.equal([1, 0, 0]);
        expect(await holder()).to.equal(ANN);
        expect(await server.redis.pttl(KEY)).to.be.above(1);
        expect(await extend(ANN, '0')).to.deep.equal([1, 0, 0]);
        await expectMs(KEY, HOUR_MS);
      });
    }

    it('no inquiry is made about what was claimed', async () => {
      await queue(BEN, TICKET - 1);
      await claim(ANN);
      await queue(CAT, TICKET - 2);
      expect((await pushes()).map((text) => text.slice(0, 5))).to.deep.equal(['i ann']);
    });
  });

  describe('claim by a waiter from the queue', () => {
    const FENCED = [...WAITED, 'c'];
    const claim = (token: string): Promise<unknown> => run(CLAIM, WAITED, token, HOUR_MS, 0, 0, -1, 1);
    const claimFenced = (token: string): Promise<unknown> =>
      run(atInstant(CLAIM, FENCE), FENCED, token, HOUR_MS, HOUR_MS, FENCE, -1, 1);

    beforeEach(async () => {
      await hold(DAN);
      for (const [i, token] of [ANN, BEN, CAT].entries()) await queue(token, TICKET + i);
    });

    it('of a lock that was handed to it: it has left the queue', async () => {
      await release(DAN);
      expect(await claim(ANN)).to.deep.equal([1, 0, 0]);
      expect([await holder(), await waiting()]).to.deep.equal([ANN, [BEN, CAT]]);
    });

    it('of a lock that is free: it leaves the queue, and nobody else does', async () => {
      await server.redis.del(KEY);
      expect(await claim(BEN)).to.deep.equal([1, 0, 0]);
      expect([await holder(), await waiting()]).to.deep.equal([BEN, [ANN, CAT]]);
    });

    it('of a lock that another holds: likewise, though it is refused', async () => {
      expect(numbers(await claim(BEN))[0]).to.equal(0);
      expect([await holder(), await waiting()]).to.deep.equal([DAN, [ANN, CAT]]);
    });

    it('of a lock that an extension set for it: it leaves the queue, and so does not get the lock again', async () => {
      await hold(ANN); // an extension sets a key without the mark, and leaves the place
      expect(await claim(ANN)).to.deep.equal([1, 0, 0]);
      expect([await holder(), await waiting()]).to.deep.equal([ANN, [BEN, CAT]]);
    });

    it('fenced: it is counted, and the counter is distinguished from queue and turn', async () => {
      await server.redis.set('c', 5, 'PX', 1_000);
      await server.redis.del(KEY);
      expect(await claimFenced(ANN)).to.deep.equal([1, FENCE, 0]);
      expect(await claimFenced(ANN)).to.deep.equal([1, nextBlock(FENCE), 0]);
      expect([await server.redis.get('c'), (await turn())[0], await waiting()]).to.deep.equal([
        ...[String(blockEnd(nextBlock(FENCE))), '0', [BEN, CAT]],
      ]);
    });

    it('what it holds when it expires is handed to others', async () => {
      await server.redis.del(KEY);
      await claim(ANN);
      await server.redis.del(KEY);
      expect(numbers(await queue(CAT, TICKET + 2))[3]).to.equal(0);
      expect([await holder(), await waiting()]).to.deep.equal([reserved(BEN), [CAT]]);
    });

    it('beside data in place of a queue: it is granted all the same', async () => {
      await server.redis.del(KEY, QUEUE);
      await server.redis.set(QUEUE, 'text');
      expect(await claim(ANN)).to.deep.equal([1, 0, 0]);
      expect([await holder(), await server.redis.get(QUEUE)]).to.deep.equal([ANN, 'text']);
    });
  });

  for (const script of [RELEASE, UNDO]) {
    describe(script.name, () => {
      const leave = (token: string): Promise<unknown> => run(script, WAITED, token);
      const DONE = script === UNDO ? [1, -2, 0] : 1;

      it('hands over to the first that waits, and sends the next a push, and those behind it, which it does not know to live; serials rise', async () => {
        await hold(DAN);
        for (const [i, token] of [CAT, BEN, ANN].entries()) await queue(token, TICKET - i);
        const before = await server.micros();
        expect(await leave(DAN)).to.deep.equal(DONE);
        expect([await holder(), await waiting()]).to.deep.equal([reserved(ANN), [BEN, CAT]]);
        await expectMs(KEY, RESERVE_MS);
        const [serial] = await turn();
        expect(await turn()).to.deep.equal([serial, ANN, String(TICKET - 2)]);
        expect(Number(serial)).to.be.at.least(before);
        expect(await pushes()).to.deep.equal([`g ann ${serial}`, 'w ben', 'w cat']);
        await expectLife(LIFE_MS);
        await leave(ANN);
        const [next] = await turn();
        expect(Number(next)).to.be.above(Number(serial));
        expect(await pushes()).to.deep.equal([`g ben ${next}`, 'w cat']);
      });

      it('the last that waits: the turn stays for as long as the queue would have', async () => {
        await hold(DAN);
        await queue(ANN);
        await leave(DAN);
        expect(await server.redis.exists(QUEUE)).to.equal(0);
        await expectMs(TURN, LIFE_MS);
        expect(await leave(ANN)).to.deep.equal(DONE); // with the mark, too
        expect(await left()).to.deep.equal([]);
      });

      it('skips 20 dead waiters at once, also for the push to the next', async () => {
        await hold(DAN);
        for (let i = 0; i < 20; i++) await queue(tokenFrom('dead', `a${i}`), TICKET + i);
        await queue(BEN, TICKET + 20);
        for (let i = 0; i < 20; i++) await queue(tokenFrom('dead', `b${i}`), TICKET + 21 + i);
        await queue(CAT, TICKET + 50);
        await server.redis.config('RESETSTAT');
        expect(await leave(DAN)).to.deep.equal(DONE);
        expect(await server.redis.info('commandstats')).to.match(/cmdstat_publish:calls=4,/); // the dead client: twice
        expect([await holder(), await waiting()]).to.deep.equal([reserved(BEN), [CAT]]);
        expect(await pushes()).to.deep.equal([`g ben ${(await turn())[0]}`, 'w cat']);
      });

      for (const clients of [1, 10, 10_000]) {
        it(`${clients} dead clients: drops ${MAX_DROPPED} waiters, reports that there are more, and goes on when asked again`, async () => {
          await hold(DAN);
          await lineUpDead(2 * MAX_DROPPED + 1, clients);
          await queue(BEN, TICKET);
          for (const left of [MAX_DROPPED + 1, 1]) {
            const deleted = left > 1 ? 1 : 0;
            expect(await leave(DAN)).to.deep.equal(script === UNDO ? [deleted, -2, 2] : -1 - deleted);
            expect([await holder(), await server.redis.zcard(QUEUE)]).to.deep.equal([null, left + 1]);
            expect(await turn()).to.deep.equal(['0', '', '']);
            await expectLife(LIFE_MS);
            expect(await pushes()).to.deep.equal([]);
          }
          expect(await leave(DAN)).to.deep.equal(script === UNDO ? [0, -2, 0] : 0);
          expect([await holder(), await waiting()]).to.deep.equal([reserved(BEN), []]);
          expect((await pushes()).map((text) => text.slice(0, 5))).to.deep.equal(['g ben']);
        });
      }

      it('as many as it may drop: the one behind them is handed it; where there is none, nothing is left', async () => {
        await hold(DAN);
        await lineUpDead(MAX_DROPPED, 3);
        await queue(BEN, TICKET);
        expect(await leave(DAN)).to.deep.equal(DONE);
        expect([await holder(), await waiting()]).to.deep.equal([reserved(BEN), []]);
        await hold(DAN);
        await lineUpDead(MAX_DROPPED, 3);
        expect(await leave(DAN)).to.deep.equal(DONE);
        expect(await left()).to.deep.equal([]);
      });

      it('the dead behind the one that is handed the lock: a bounded number is dropped, and the others later', async () => {
        await hold(DAN);
        await lineUpDead(MAX_DROPPED + 10, 2);
        await queue(ANN, 0);
        await queue(BEN, TICKET);
        expect(await leave(DAN)).to.deep.equal(DONE);
        expect([await holder(), await server.redis.zcard(QUEUE)]).to.deep.equal([reserved(ANN), 11]);
        expect((await pushes()).map((text) => text.slice(0, 5))).to.deep.equal(['g ann', 'w ben']);
        await run(CLAIM, WAITED, ANN, HOUR_MS, 0, 0, -1, 1);
        expect(await leave(ANN)).to.deep.equal(DONE);
        expect([await holder(), await waiting()]).to.deep.equal([reserved(BEN), []]);
      });

      it('of several: no more in all, whatever it is done to', async () => {
        const keys = ['x', 'y', 'z'];
        for (const key of keys) {
          await server.redis.set(key, DAN);
          await lineUpDead(MAX_DROPPED - 100, 5, key);
        }
        const all = [...keys, ...keys.map(queueKey), ...keys.map(turnKey)];
        expect(await run(script, all, DAN)).to.deep.equal(script === UNDO ? [3, -2, 2] : -4);
        const left = await Promise.all(keys.map((key) => server.redis.zcard(queueKey(key))));
        expect(left).to.deep.equal([0, MAX_DROPPED - 200, MAX_DROPPED - 100]);
        expect(await server.redis.exists(...keys)).to.equal(0);
      });

      it('of several: what there was no time to look at is left, and reported', async () => {
        const keys = ['x', 'y'];
        for (const [i, key] of keys.entries()) {
          await server.redis.set(key, DAN);
          await lineUpDead(i === 0 ? MAX_DROPPED : 1, 1, key);
        }
        const all = [...keys, ...keys.map(queueKey), ...keys.map(turnKey)];
        expect(await run(script, all, DAN)).to.deep.equal(script === UNDO ? [2, -2, 2] : -3);
        expect(await server.redis.zcard(queueKey('y'))).to.equal(1);
      });

      for (const clients of [1, 3]) {
        it(`${clients} dead clients with 20 waiters: each is sent one push`, async () => {
          await hold(DAN);
          await lineUpDead(20, clients);
          await server.redis.config('RESETSTAT');
          expect(await leave(DAN)).to.deep.equal(DONE);
          const stats = await server.redis.info('commandstats');
          expect(stats).to.match(new RegExp(`cmdstat_publish:calls=${clients},`));
        });
      }

      it('nobody lives: the lock is free, and nothing is left', async () => {
        await hold(DAN);
        for (const token of [ANN, BEN]) await queue(token);
        await listenTo();
        expect(await leave(DAN)).to.deep.equal(DONE);
        expect(await left()).to.deep.equal([]);
      });

      it('one that waits leaves the queue, and nothing else happens while the lock is held', async () => {
        await hold(DAN);
        await queue(ANN);
        await queue(BEN, TICKET + 1);
        const reply = await leave(ANN);
        expect(Array.isArray(reply) ? reply[0] : reply).to.equal(0);
        expect([await holder(), await waiting()]).to.deep.equal([DAN, [BEN]]);
        expect(await pushes()).to.deep.equal([]);
        await leave(BEN);
        await leave(DAN);
        expect(await left()).to.deep.equal([]);
      });

      it('of a vote that has expired: hands over all the same', async () => {
        await hold(DAN);
        await queue(ANN);
        await server.redis.del(KEY);
        await leave(DAN);
        expect([await holder(), await pushes()]).to.deep.equal([
          reserved(ANN),
          [`g ann ${(await turn())[0]}`],
        ]);
      });

      it('beside data: nothing is handed over, and the data stays', async () => {
        await hold(DAN);
        await queue(ANN);
        await queue(BEN);
        await server.redis.del(KEY);
        await putData(server.redis, KEY, 'list');
        await leave(ANN);
        expect([await server.redis.type(KEY), await waiting()]).to.deep.equal(['list', [BEN]]);
        expect(await pushes()).to.deep.equal([]);
      });

      it('of several: all votes go first, then each is handed over by itself', async () => {
        const keys = ['x', 'y', 'z'];
        const all = [...keys, ...keys.map(queueKey), ...keys.map(turnKey)];
        const three = (token: string): Promise<unknown> => run(script, all, token);
        for (const key of keys) await server.redis.set(key, DAN);
        await runLone(lookBy(ANN, { ticket: 1, lifeMs: LIFE_MS }), lookedAt('x'));
        await runLone(lookBy(BEN, { ticket: 1, lifeMs: LIFE_MS }), lookedAt('z'));
        await runLone(lookBy(ANN, { ticket: 2, lifeMs: LIFE_MS }), lookedAt('z'));
        expect(await three(DAN)).to.deep.equal(script === UNDO ? [3, -2, 0] : 3);
        expect(await server.redis.mget(keys)).to.deep.equal([reserved(ANN), null, reserved(BEN)]);
        const heard = (await listener.heard()).map((text) => text.replace(/ \d+ /, ' '));
        expect(heard).to.deep.equal([
          `${pushChannel(ANN)} g ${ANN} x`,
          `${pushChannel(BEN)} g ${BEN} z`,
          `${pushChannel(ANN)} w ${ANN} z`,
        ]);
        const reply = await three(ANN);
        expect(Array.isArray(reply) ? reply[0] : reply).to.equal(1); // of x; it only waits for z
        expect(await server.redis.mget(keys)).to.deep.equal([null, null, reserved(BEN)]);
        expect(await server.redis.exists(queueKey('x'), turnKey('x'), queueKey('z'))).to.equal(0);
      });

      for (const type of [...TYPES.filter((one) => one !== 'zset'), 'string'] as const) {
        it(`a ${type} for a queue: the vote goes, and the ${type} stays`, async () => {
          await hold(DAN);
          await queue(ANN);
          await server.redis.del(QUEUE);
          if (type === 'string') await server.redis.set(QUEUE, 'text');
          else await putData(server.redis, QUEUE, type);
          expect(await leave(DAN)).to.deep.equal(DONE);
          expect([await server.redis.exists(KEY), await server.redis.type(QUEUE)]).to.deep.equal([0, type]);
        });
      }

      for (const type of TYPES) {
        it(`a ${type} for a turn: the vote goes, and what waits is handed it`, async () => {
          await hold(DAN);
          await queue(ANN);
          await server.redis.del(TURN);
          await putData(server.redis, TURN, type);
          expect(await leave(DAN)).to.deep.equal(DONE);
          expect(await holder()).to.equal(reserved(ANN));
        });
      }
    });
  }

  for (const [place, key] of [
    ['lock', KEY],
    ['queue', QUEUE],
    ['turn', TURN],
  ] as const) {
    for (const type of TYPES) {
      if (place === 'queue' && type === 'zset') continue;
      it(`a ${type} for the ${place}: queue {2, 0, 0}, yield 0; nothing is changed`, async () => {
        if (place !== 'lock') await hold(DAN);
        if (place !== 'turn') await server.redis.set(TURN, `7|${DAN}|1`);
        await putData(server.redis, key, type);
        const keys = await server.redis.keys('*');
        expect(await queue(ANN)).to.deep.equal([2, 0, 0]);
        expect(await yieldIt(DAN, 7)).to.equal(0);
        expect(await server.redis.keys('*')).to.have.members(keys);
        expect(await server.redis.type(key)).to.equal(type);
      });
    }
  }

  describe('yield', () => {
    const serialOf = async (token: string, ticket = TICKET): Promise<number> =>
      numbers(await queue(token, ticket))[1] ?? 0;

    it('1: one with an earlier ticket gets the vote, and the token waits again', async () => {
      const serial = await serialOf(BEN);
      await queue(ANN, TICKET - 1);
      await queue(CAT, TICKET + 1);
      await pushes();
      expect(await yieldIt(BEN, serial)).to.equal(1);
      expect([await holder(), await waiting()]).to.deep.equal([reserved(ANN), [BEN, CAT]]);
      const [next, owner, ticket] = await turn();
      expect([owner, ticket]).to.deep.equal([ANN, String(TICKET - 1)]);
      expect(Number(next)).to.be.above(serial);
      expect(await pushes()).to.deep.equal([`g ann ${next}`, 'w ben', 'w cat']); // ben left no look
      await expectLife(LIFE_MS);
    });

    it('1: nobody is before it: it has the vote again, under another serial', async () => {
      const serial = await serialOf(BEN);
      await queue(CAT, TICKET + 1);
      expect(await yieldIt(BEN, serial)).to.equal(1);
      expect([await holder(), await waiting()]).to.deep.equal([reserved(BEN), [CAT]]);
      const [next] = await turn();
      expect(Number(next)).to.be.above(serial);
      expect(await pushes()).to.deep.equal([`g ben ${next}`, 'w cat']);
    });

    it('1: the earlier ones are dead, and so is it: the lock is free', async () => {
      const serial = await serialOf(BEN);
      await queue(ANN, TICKET - 1);
      await listenTo();
      expect(await yieldIt(BEN, serial)).to.equal(1);
      expect(await left()).to.deep.equal([]);
    });

    it('1: for good: it waits no more; otherwise it comes back, however short its place is kept', async () => {
      const serial = await serialOf(BEN);
      await queue(CAT, TICKET + 1);
      expect(await yieldIt(BEN, serial, TICKET, 1)).to.equal(1);
      expect([await holder(), await waiting()]).to.deep.equal([reserved(BEN), [CAT]]);
      const [next = ''] = await turn();
      expect(await yieldIt(BEN, next, TICKET, 0)).to.equal(1);
      expect([await holder(), await waiting()]).to.deep.equal([reserved(CAT), []]);
    });

    it('0: a serial of before, and of one to come; nothing is changed', async () => {
      const first = await serialOf(BEN);
      await queue(ANN, TICKET + 1);
      await yieldIt(BEN, first);
      const [now = ''] = await turn();
      await pushes();
      for (const serial of [first, Number(now) + 1, 0, 'text']) {
        expect(await yieldIt(BEN, serial)).to.equal(0);
      }
      expect([await holder(), await waiting(), (await turn())[0]]).to.deep.equal([reserved(BEN), [ANN], now]);
      expect(await pushes()).to.deep.equal([]);
    });

    it('0: it comes when the claim has been carried out: the vote stays, though the serial is right', async () => {
      const serial = await serialOf(BEN);
      await queue(ANN, TICKET - 1);
      await run(CLAIM, [KEY], BEN, HOUR_MS, 0, 0, -1);
      await pushes();
      expect(await yieldIt(BEN, serial)).to.equal(0);
      expect([await holder(), await waiting()]).to.deep.equal([BEN, [ANN]]);
      expect(await pushes()).to.deep.equal([]);
    });

    it('0: another has the vote, the turn names another, or there is none', async () => {
      const serial = await serialOf(BEN);
      await server.redis.set(KEY, reserved(ANN));
      expect(await yieldIt(ANN, serial)).to.equal(0);
      await hold(ANN);
      expect(await yieldIt(BEN, serial)).to.equal(0);
      expect(await yieldIt(ANN, serial)).to.equal(0);
      await server.redis.del(KEY);
      expect(await yieldIt(BEN, serial)).to.equal(0);
      expect(await server.redis.keys('*')).to.deep.equal([TURN]);
    });
  });

  it('commands that one release runs, with 10,000 dead waiters: no more than with 1,000', async () => {
    const commands = async (count: number): Promise<number> => {
      await hold(DAN);
      await lineUpDead(count, count);
      await server.redis.config('RESETSTAT');
      await release(DAN);
      const stats = await server.redis.info('commandstats');
      return [...stats.matchAll(/cmdstat_(\w+):calls=(\d+)/g)]
        .filter(([, name = '']) => !['eval', 'config|resetstat', 'info'].includes(name))
        .reduce((sum, [, , calls]) => sum + Number(calls), 0);
    };
    const [few, many] = [await commands(1_000), await commands(10_000)];
    expect([few, many - few]).to.deep.equal([few, 0]);
    expect(few).to.be.below(MAX_DROPPED + 20);
  });

  describe('at maxmemory', () => {
    const full = (): Promise<unknown> => server.redis.config('SET', 'maxmemory', '1');
    const message = (promise: Promise<unknown>): Promise<unknown> =>
      promise.catch((error: Error) => error.message);
    afterEach(() => server.redis.config('SET', 'maxmemory', '0'));

    for (const script of [RELEASE, UNDO]) {
      it(`${script.name}: hands over, and leaves`, async () => {
        await hold(DAN);
        for (const [i, token] of [ANN, BEN].entries()) await queue(token, TICKET + i);
        await full();
        await run(script, WAITED, DAN);
        expect([await holder(), await waiting()]).to.deep.equal([reserved(ANN), [BEN]]);
        await run(script, WAITED, BEN);
        await run(script, WAITED, ANN);
        expect(await left()).to.deep.equal([]);
      });
    }

    it('yield: hands over, and queues', async () => {
      const [, serial = 0] = numbers(await queue(BEN));
      await queue(ANN, TICKET - 1);
      await full();
      expect(await yieldIt(BEN, serial)).to.equal(1);
      expect([await holder(), await waiting()]).to.deep.equal([reserved(ANN), [BEN]]);
    });

    it('queue: fails with the error of the server, with nothing done', async () => {
      await full();
      expect(await message(queue(ANN))).to.match(/OOM/);
      await server.redis.config('SET', 'maxmemory', '0');
      await hold(DAN);
      await full();
      expect(await message(queue(ANN))).to.match(/OOM/);
      expect(await server.redis.keys('*')).to.deep.equal([KEY]);
    });
  });

  describe('without rights', () => {
    let other: Redis;
    before(() => {
      other = server.redis.duplicate({ username: 'other', password: 'x', lazyConnect: true });
      other.on('error', () => undefined);
    });
    after(() => other.disconnect());

    const restrict = (right: string): Promise<unknown> =>
      server.redis.call('ACL', 'SETUSER', 'other', 'reset', 'on', '>x', '~*', '&*', '+@all', right);
    /** As a user that may do all but this. */
    const runWithout = async (
      right: string,
      script: Script,
      keys: readonly string[],
      ...args: readonly (string | number)[]
    ): Promise<unknown> => {
      await restrict(right);
      return other.eval(script.source, keys.length, ...keys, ...args);
    };
    const runLoneWithout = async (right: string, entry: LoneEntry): Promise<unknown> => {
      await restrict(right);
      return runLoneOn(other, entry, LOOKED);
    };

    it('those that docs/OPERATION.md names are enough for all of it', async () => {
      await server.redis.call('ACL', 'SETUSER', 'other', ...rightsOf('exclusive'), '>x', '~invoice*');
      const withRights = (script: Script, ...args: readonly (string | number)[]): Promise<unknown> =>
        other.eval(script.source, LOOKED.length, ...LOOKED, ...args);
      const proposal = await server.micros();
      const terms = { lifeMs: LIFE_MS, ttlMs: HOUR_MS, counterMs: HOUR_MS, proposal };
      const ask = (token: string, ticket: number): Promise<unknown> =>
        runLoneOn(other, lookBy(token, { ...terms, ticket }), LOOKED);
      const [code, serial = 0] = numbers(await ask(BEN, TICKET));
      expect(code).to.equal(6);
      await ask(ANN, TICKET - 1);
      await ask(CAT, TICKET + 1);
      const later = await server.micros(); // not before the looks, however long they took
      const yielded = yieldBy(BEN, { ...PLACE, serial, proposal: later });
      expect(await runLoneOn(other, yielded, LOOKED)).to.equal(1);
      expect(await other.eval(INSPECT.source, 4, KEY, QUEUE, LOOKS, COUNTER)).to.deep.include.members([
        reserved(ANN),
        2,
        [BEN, CAT],
      ]);
      expect(await withRights(RELEASE, ANN, later)).to.equal(1);
      expect(await withRights(UNDO, BEN, later)).to.deep.equal([1, -2, 0]);
      expect([await holder(), await server.redis.hkeys(LOOKS)]).to.deep.equal([reserved(CAT), [CAT, TIDIED]]);
      const kinds = (await pushes()).map((text) => text.split(' ').slice(0, 2).join(' '));
      expect(kinds).to.deep.equal(['i ben', 'v ann', 'w ben', 'g ben', 'w cat', 'v cat']); // ben left no look
    });

    for (const right of ['-publish', 'resetchannels']) {
      for (const script of [RELEASE, UNDO]) {
        it(`${script.name}, ${right}: the vote goes, and all stay in the queue, to look again`, async () => {
          await hold(DAN);
          for (const [i, token] of [ANN, BEN].entries()) await queue(token, TICKET + i);
          const reply = await runWithout(right, script, WAITED, DAN);
          expect(Array.isArray(reply) ? reply[0] : reply).to.equal(1);
          expect([await holder(), await waiting()]).to.deep.equal([null, [ANN, BEN]]);
          expect(await turn()).to.deep.equal(['0', '', '']);
          await expectLife(LIFE_MS);
        });
      }

      it(`queue, ${right}: it gets a free lock though others wait, since no push can reach them`, async () => {
        await hold(DAN);
        await queue(ANN);
        await server.redis.del(KEY);
        const reply = await runLoneWithout(right, lookBy(BEN, { ...PLACE, ticket: TICKET + 1 }));
        expect(numbers(reply)[0]).to.equal(1);
        expect([await holder(), await waiting(), (await turn())[1]]).to.deep.equal([
          reserved(BEN),
          [ANN],
          BEN,
        ]);
      });

      it(`queue, ${right}: the owner cannot be asked; it queues all the same`, async () => {
        await queue(BEN);
        const reply = await runLoneWithout(right, lookBy(ANN, { ...PLACE, ticket: TICKET - 1 }));
        expect(numbers(reply).slice(-1)).to.deep.equal([0]);
      });

      it(`yield, ${right}: the vote goes, and it waits again`, async () => {
        const [, serial = 0] = numbers(await queue(BEN));
        await queue(ANN, TICKET - 1);
        expect(await runLoneWithout(right, yieldBy(BEN, { ...PLACE, serial }))).to.equal(1);
        expect([await holder(), await waiting()]).to.deep.equal([null, [ANN, BEN]]);
        expect(await turn()).to.deep.equal(['0', '', '']);
      });
    }

    it('queue, -zcard: it fails with the error of the server, with nothing done', async () => {
      const failure = await runLoneWithout('-zcard', lookBy(ANN, PLACE)).catch(
        (error: Error) => error.message,
      );
      expect(failure).to.be.a('string').that.matches(NO_RIGHT);
      expect(await left()).to.deep.equal([]);
    });

    for (const [right, owner] of [
      ['-zrange', null],
      ['-time', null],
      ['-zrem', reserved(ANN)],
      ['-exists', reserved(ANN)],
      ['-mget', reserved(ANN)],
    ] as const) {
      it(`release, ${right}: the vote goes${owner === null ? '' : ', and is handed over'}; the turn says that somebody waits`, async () => {
        await hold(DAN);
        await queue(ANN);
        expect(await runWithout(right, RELEASE, WAITED, DAN)).to.equal(1);
        expect(await holder()).to.equal(owner);
        expect(await server.redis.exists(TURN)).to.equal(1);
      });
    }
  });

  describe('inspect', () => {
    const ask = async (): Promise<unknown[]> =>
      (await run(INSPECT, [KEY, QUEUE, LOOKS, COUNTER])) as unknown[];
    const inspect = async (): Promise<unknown> => (await ask()).slice(0, 5);

    it(`{…, tickets, counter, us}: those of the first ${SHOWN_WAITERS}, the counter as it is, the clock`, async () => {
      await hold(DAN);
      const tokens = Array.from({ length: SHOWN_WAITERS + 3 }, (_, i) => tokenFrom('ann', String(100 + i)));
      for (const [i, token] of tokens.entries()) await queue(token, TICKET + i);
      const scores = tokens.slice(0, SHOWN_WAITERS).map((token) => server.redis.zscore(QUEUE, token));
      const tickets = (await Promise.all(scores)).map(String);
      expect(new Set(tickets).size).to.equal(SHOWN_WAITERS);
      const before = await server.micros();
      const [tickets1, counter1, us] = (await ask()).slice(5);
      expect([tickets1, counter1]).to.deep.equal([tickets, '']);
      expect(us).to.be.within(before, await server.micros());
      await server.redis.set(COUNTER, '12345');
      expect((await ask())[6]).to.equal('12345');
      await server.redis.del(COUNTER);
      await server.redis.lpush(COUNTER, 'data');
      expect((await ask())[6]).to.equal('');
      expect((await server.without('time', ask)).slice(6)).to.deep.equal(['', 0]);
    });

    it(`{code, ms, owner, waiting, tokens}: the first ${SHOWN_WAITERS} of them, in their order`, async () => {
      await hold(DAN);
      await server.redis.persist(KEY);
      const tokens = Array.from({ length: SHOWN_WAITERS + 3 }, (_, i) => tokenFrom('ann', String(100 + i)));
      for (const [i, token] of tokens.entries()) await queue(token, TICKET + i);
      expect(await inspect()).to.deep.equal([1, -1, DAN, tokens.length, tokens.slice(0, SHOWN_WAITERS)]);
      await server.redis.del(KEY);
      expect(await inspect()).to.deep.equal([0, -2, '', tokens.length, tokens.slice(0, SHOWN_WAITERS)]);
      await putData(server.redis, KEY, 'list');
      expect(await inspect()).to.deep.equal([2, -1, '', tokens.length, tokens.slice(0, SHOWN_WAITERS)]);
    });

    for (const type of TYPES.filter((one) => one !== 'zset')) {
      it(`a ${type} for a queue: nobody waits`, async () => {
        await putData(server.redis, QUEUE, type);
        expect(await inspect()).to.deep.equal([0, -2, '', 0, []]);
      });
    }
  });
});
