/**
 * Votes that rest for the holder of the lock, on a real server (protocol C3a): the holder's extension asks for them, a
 * yield lets them rest, and only an extension takes the key.
 */
import { expect } from 'chai';
import { Batch } from '../../../lib/node/batch.js';
import { counterKey, pushChannel, queueKey, looksKey, turnKey } from '../../../lib/protocol/keys.js';
import { ENTRY } from '../../../lib/protocol/lua/entries.js';
import { CLAIM, INSPECT, RELEASE, UNDO } from '../../../lib/protocol/lua/scripts.js';
import { RESERVE_MS, REST_MS } from '../../../lib/protocol/lua/waiting.js';
import { extension } from '../../../lib/protocol/request.js';
import { AT_REST, RESERVED_MARK } from '../../../lib/runtime/random.js';
import { tokenFrom } from '../../simulation/world/seeded.js';
import { plainScope } from '../../support/commands.js';
import { loneEntry } from '../../support/lone-entries.js';
import { lookBy, yieldBy } from '../../support/looks.js';
import { oneListener, oneServer } from '../../support/server.js';

const KEY = 'invoice 42';
const OTHER = 'invoice 43';
const WAITED = [KEY, queueKey(KEY), turnKey(KEY)] as const;
const LOOKED = [...WAITED, looksKey(KEY), counterKey(KEY)];
const HOUR_MS = 3_600_000;
const TTL_MS = 600_000;
const [CREATES, KEEPS] = ['1', '0'];

const [ANN, BEN, CAT] = ['ann', 'ben', 'cat'].map((name) => tokenFrom(name, '1')) as [string, string, string];
const marked = (token: string): string => token + RESERVED_MARK;

describe('votes at rest: scripts on a real server', () => {
  const server = oneServer();
  const listener = oneListener(server);
  const { run } = server;

  const put = (value: string, ms = HOUR_MS, key = KEY): Promise<unknown> =>
    server.redis.set(key, value, 'PX', ms);
  const value = (key = KEY): Promise<string | null> => server.redis.get(key);
  const extend = (
    token: string,
    create: string | undefined,
    keys: readonly string[] = [KEY],
  ): Promise<unknown> =>
    server.runLone(loneEntry(ENTRY.extend, token, { ttl: TTL_MS, create: create ?? '' }, keys.length), keys);
  const look = (token: string, ticket: number, ttlMs = TTL_MS): Promise<unknown> =>
    server.runLone(lookBy(token, { ticket, lifeMs: HOUR_MS, ttlMs }), LOOKED);
  const turn = async (): Promise<readonly string[]> =>
    ((await server.redis.get(turnKey(KEY))) ?? '').split('|');
  const rest = async (token: string, ticket = 1, serial?: string): Promise<unknown> => {
    const [last = ''] = await turn();
    const terms = { serial: serial ?? last, ticket, lifeMs: HOUR_MS, rests: true };
    return server.runLone(yieldBy(token, terms), LOOKED);
  };
  const code = (reply: unknown): number => Number(Array.isArray(reply) ? reply[0] : reply);
  const asks = async (): Promise<readonly string[]> =>
    (await listener.heard()).filter((text) => text.includes(' h ')).map((text) => text.replace(/^\S+ /, ''));
  /** A waiter has a vote by its look, and another waits behind it. */
  const hasLoneVote = async (token = ANN): Promise<void> => {
    expect(code(await look(token, 1))).to.equal(6);
    await look(CAT, 3);
  };

  beforeEach(() => listener.listenTo(pushChannel(ANN), pushChannel(CAT)));

  describe('an extension', () => {
    for (const create of [CREATES, KEEPS]) {
      it(`may ${create === CREATES ? '' : 'not '}create: its own vote and its own marked vote are extended`, async () => {
        for (const own of [BEN, marked(BEN)]) {
          await put(own, 60_000);
          expect(await extend(BEN, create)).to.deep.equal([1, 0, 0]);
          expect(await value()).to.equal(BEN);
          expect(await server.redis.pttl(KEY)).to.be.above(TTL_MS - 60_000);
        }
      });
    }

    it('takes a free key and one at rest, of whichever token, if it may create; else neither', async () => {
      for (const before of [undefined, AT_REST]) {
        await (before === undefined ? server.redis.del(KEY) : put(before));
        expect(code(await extend(BEN, KEEPS))).to.equal(0);
        expect(await value()).to.equal(before ?? null);
        expect(await extend(BEN, CREATES)).to.deep.equal([1, 0, 0]);
        expect([await value(), await asks()]).to.deep.equal([BEN, []]);
      }
    });

    it('gives a key that rested no longer a life than any free key', async () => {
      await put(AT_REST, 900);
      await extend(BEN, CREATES);
      expect(await server.redis.pttl(KEY)).to.be.within(TTL_MS - 60_000, TTL_MS);
    });

    it('is refused by a marked vote, asks its waiter, and says so; the vote stays', async () => {
      await put(marked(ANN));
      const reply = await extend(BEN, CREATES);
      expect(reply).to.have.property('2', 2);
      expect([code(reply), await asks(), await value()]).to.deep.equal([0, [`h ${ANN} ${KEY}`], marked(ANN)]);
    });

    for (const [what, owner] of [
      ['a claimed vote', ANN],
      ['a foreign client, also with a mark at the end', `foreign${RESERVED_MARK}`],
    ] as const) {
      it(`asks nobody for ${what}`, async () => {
        await put(owner);
        expect(await extend(BEN, CREATES)).to.have.property('2', 0);
        expect([await asks(), await value()]).to.deep.equal([[], owner]);
      });
    }

    it('that may not create asks nobody', async () => {
      await put(marked(ANN));
      expect(await extend(BEN, KEEPS)).to.have.property('2', 0);
      expect(await asks()).to.deep.equal([]);
    });

    it('says that it asked nobody where nobody listens, and where it may not publish', async () => {
      await put(marked(BEN));
      expect(await extend(ANN, CREATES)).to.have.property('2', 0);
      await put(marked(ANN));
      await server.without('publish', async () => {
        expect(await extend(BEN, CREATES)).to.have.property('2', 0);
      });
    });

    it('of several keys: each marked vote in the way is asked for, and none is extended', async () => {
      await put(BEN, 100_000);
      await put(marked(CAT), HOUR_MS, OTHER);
      const reply = await extend(BEN, CREATES, [KEY, OTHER]);
      expect([code(reply), await asks()]).to.deep.equal([0, [`h ${CAT} ${OTHER}`]]);
      expect(await server.redis.pttl(KEY)).to.be.below(100_001);
    });

    it('with others: for its own vote, one at rest and a marked one', async () => {
      await put(BEN);
      await put(AT_REST, HOUR_MS, OTHER);
      await put(marked(ANN), HOUR_MS, 'third');
      const batch = new Batch();
      for (const key of [KEY, OTHER, 'third'])
        batch.add(extension(plainScope(key), BEN, { ttlMs: TTL_MS, mayCreate: true }));
      const [source = '', ...args] = batch.command(true).args;
      const replies = (await server.redis.call('EVAL', source, ...args)) as readonly unknown[];
      expect(replies.slice(0, 2)).to.deep.equal([1, 1]);
      expect(replies[2]).to.have.property('2', 2);
      expect([await value(OTHER), await asks()]).to.deep.equal([BEN, [`h ${ANN} third`]]);
    });
  });

  describe('a yield with rest', () => {
    it('keeps the key for the holder, hands it to nobody, and keeps the ticket', async () => {
      await hasLoneVote();
      await listener.heard();
      expect(await rest(ANN)).to.equal(1);
      expect([await value(), (await turn()).join('|'), await listener.heard()]).to.deep.equal([
        AT_REST,
        '0||',
        [],
      ]);
      expect(await server.redis.pttl(KEY)).to.be.within(1, REST_MS);
      expect(await server.redis.zrange(queueKey(KEY), '0', '-1')).to.deep.equal([ANN, CAT]);
    });

    it('of a stale serial, of a claimed vote, or sent twice: changes nothing', async () => {
      await hasLoneVote();
      const [serial = ''] = await turn();
      expect(await rest(ANN, 1, '7')).to.equal(0);
      expect(await value()).to.equal(marked(ANN));
      await put(ANN);
      expect(await rest(ANN, 1, serial)).to.equal(0);
      await put(marked(ANN));
      expect([await rest(ANN, 1, serial), await rest(ANN, 1, serial)]).to.deep.equal([1, 0]);
      expect(await value()).to.equal(AT_REST);
    });

    it('at maxmemory: the vote goes first, and then there is room for the rest', async () => {
      await hasLoneVote();
      const [serial = ''] = await turn();
      await server.redis.config('SET', 'maxmemory', '1');
      try {
        expect(await rest(ANN, 1, serial)).to.equal(1);
      } finally {
        await server.redis.config('SET', 'maxmemory', '0');
      }
      expect(await value()).to.equal(AT_REST);
    });
  });

  describe('a key at rest', () => {
    beforeEach(() => put(AT_REST));

    it('is held, by no foreign client, for a claim and a plain claim', async () => {
      const reply = await run(CLAIM, [KEY], BEN, TTL_MS, 0, 0, -1);
      expect(code(reply)).to.equal(0);
      expect(reply).to.have.property('2', 0);
      expect(await server.redis.set(KEY, BEN, 'PX', TTL_MS, 'NX')).to.equal(null);
    });

    it('has a look queue, and asks nobody', async () => {
      const reply = (await look(CAT, 3)) as readonly number[];
      expect([reply[0], reply[3], await listener.heard()]).to.deep.equal([0, 0, []]);
      expect(await value()).to.equal(AT_REST);
    });

    it('refuses an acceptance, and stays after releases, undos and yields', async () => {
      const acceptance = loneEntry(ENTRY.accept, BEN, { fence: 7, life: 60_000 });
      expect(code(await server.runLone(acceptance, [KEY, counterKey(KEY)]))).to.equal(0);
      await look(CAT, 3);
      await run(RELEASE, WAITED, BEN);
      await run(UNDO, WAITED, BEN);
      await rest(BEN);
      expect(await value()).to.equal(AT_REST);
    });

    it('is free for onlookers, and keeps its queue', async () => {
      await look(CAT, 3);
      const seen = await run(INSPECT, [KEY, queueKey(KEY), looksKey(KEY), counterKey(KEY)]);
      expect((seen as unknown[]).slice(0, 5)).to.deep.equal([0, -2, '', 1, [CAT]]);
    });

    it('is claimed by the next look once it is over', async () => {
      await look(CAT, 3);
      await server.redis.del(KEY); // as if it had expired
      expect(code(await look(CAT, 3))).to.equal(6);
    });
  });

  it('rests for as long as a reservation: a look finds the end of either', () => {
    expect(REST_MS).to.equal(RESERVE_MS);
  });
});
