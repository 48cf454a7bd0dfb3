import { expect } from 'chai';
import { COUNTER_LIFE_MS } from '../../../lib/protocol/lua/stored.js';
import { ENTRY } from '../../../lib/protocol/lua/entries.js';
import { integers } from '../../../lib/protocol/replies.js';
import { BOOTSTRAP, CLAIM, type Script, VOUCH } from '../../../lib/protocol/lua/scripts.js';
import { nextBlock } from '../../support/fence-blocks.js';
import { loneEntry } from '../../support/lone-entries.js';
import { atInstant, clockAt, NO_RIGHT, oneServer, putData, TYPES } from '../../support/server.js';

const HOUR_MS = 3_600_000;
const MARKER = 'marker';
const LIFE = COUNTER_LIFE_MS;
/** When a quarantine began, in ms, and when it ended, in µs: where the counter is, too. */
const BEGAN_MS = 1_000_000;
const COUNT = (BEGAN_MS + HOUR_MS) * 1_000;

describe('scripts on a real server: the guard in them (Redis 7)', () => {
  const server = oneServer();
  const { run } = server;

  type As = (script: Script) => Script;
  const sameAs: As = (script) => script;
  const accept = (fence: number, guard: number, as: As = sameAs): Promise<unknown> =>
    server.runLone(loneEntry(ENTRY.accept, 'mine', { fence, life: LIFE, guard }), ['a', 'c', MARKER], as);
  const extend = (guard: number, as: As = sameAs, { ttl = 60_000, keys = ['a'] } = {}): Promise<unknown> =>
    server.runLone(
      loneEntry(ENTRY.extend, 'mine', { ttl, create: 1, guard }, keys.length),
      [...keys, MARKER],
      as,
    );

  /** Each vote, with a marker and this period, where nothing else is in its way. */
  const voters: [name: string, (period: number, as?: As) => Promise<unknown>, unknown][] = [
    [
      'claim',
      (period, as = sameAs) => run(as(CLAIM), ['a', 'c', MARKER], 'mine', 60_000, LIFE, COUNT, period),
      [1, COUNT + 1, 0],
    ],
    ['accept', (period, as) => accept(COUNT + 1, period, as), [1, COUNT + 1, 0]],
    ['extend', extend, [1, 0, 0]],
    ['vouch', (period, as = sameAs) => run(as(VOUCH), [MARKER], period), [1, 0, 0]],
  ];
  const mark = (since: number | string, period = HOUR_MS, id = server.runId): Promise<unknown> =>
    server.redis.set(MARKER, `1|${id}|${since}|${period}`);
  const marker = (): Promise<string | null> => server.redis.get(MARKER);

  const nowMs = async (): Promise<number> => Math.floor((await server.micros()) / 1_000);
  /** Puts it there, or data of the type of that name, in place of what is; nothing for undefined. */
  const put = async (text: string | undefined): Promise<void> => {
    const type = TYPES.find((one) => one === text);
    await server.redis.del(MARKER);
    if (type !== undefined) await putData(server.redis, MARKER, type);
    else if (text !== undefined) await server.redis.set(MARKER, text);
  };
  /** Of this process, from so long ago. */
  const own = async (agoMs: number): Promise<string> =>
    `1|${server.runId}|${(await nowMs()) - agoMs}|${HOUR_MS}`;
  const unreadable = ['2|id|0|3600000', '1|id|x|3600000', '1||0|3600000', '1|id|0|', 'text', '', ...TYPES];

  for (const [name, vote, granted] of voters) {
    describe(name, () => {
      beforeEach(() => server.redis.mset('a', 'mine', 'c', COUNT));
      const untouched = async (): Promise<void> => {
        expect(await server.redis.mget('a', 'c')).to.deep.equal(['mine', String(COUNT)]);
        expect(await server.redis.pttl('a')).to.equal(-1);
      };

      it(`${JSON.stringify(granted)}: the period of this process is over; the marker stays`, async () => {
        await mark(0);
        expect(await vote(HOUR_MS, clockAt(COUNT))).to.deep.equal(granted);
        expect(await marker()).to.equal(`1|${server.runId}|0|${HOUR_MS}`);
      });

      it(`${JSON.stringify(granted)}: period 0 and no marker; none is made`, async () => {
        expect(await vote(0, clockAt(COUNT))).to.deep.equal(granted);
        expect(await server.redis.exists(MARKER)).to.equal(0);
      });

      it('{-1, period, 0}: no marker, or one of another process, however old: a period begins; nothing else changes', async () => {
        for (const text of [undefined, `1|another|0|${HOUR_MS}`, `1|another|1|${HOUR_MS}`]) {
          await put(text);
          const before = await nowMs();
          expect(await vote(HOUR_MS)).to.deep.equal([-1, HOUR_MS, 0]);
          const [version, id, since, period] = ((await marker()) ?? '').split('|');
          expect([version, id, period]).to.deep.equal(['1', server.runId, String(HOUR_MS)]);
          expect(Number(since)).to.be.within(before, await nowMs());
          expect(await server.redis.pttl(MARKER)).to.equal(-1);
        }
        await untouched();
      });

      it('{-1, ms, 0}: what is left, or a whole period where the clock stepped back behind the marker', async () => {
        for (const [agoMs, leftMs] of [
          [1_000_000, HOUR_MS - 1_000_000],
          [-1_000_000, HOUR_MS],
        ] as const) {
          const text = await own(agoMs);
          await put(text);
          const [code, ms = 0, last] = integers(await vote(HOUR_MS), 3);
          expect([code, last]).to.deep.equal([-1, 0]);
          expect(ms).to.be.within(leftMs - 60_000, leftMs);
          expect((await marker()) === text).to.equal(agoMs > 0);
        }
        await untouched();
      });

      it(`{-1, 1, 0} 1 ms before the end of the period; ${JSON.stringify(granted)} at its end`, async () => {
        await mark(BEGAN_MS);
        const voteAt = (us: number): Promise<unknown> => vote(HOUR_MS, clockAt(us));
        expect(await voteAt(COUNT - 1)).to.deep.equal([-1, 1, 0]);
        expect(await voteAt(COUNT)).to.deep.equal(granted);
      });

      it('a user that may not run what the guard needs is told so; nothing is changed', async () => {
        await mark(0);
        for (const command of ['get', 'info', 'time']) {
          const reply = await server.without(command, () =>
            vote(HOUR_MS).catch((error: Error) => error.message),
          );
          const need = `quorate needs ${command.toUpperCase()} in scripts: `;
          expect(reply, command).to.be.a('string').that.matches(NO_RIGHT).and.includes(need);
        }
        expect(await marker()).to.equal(`1|${server.runId}|0|${HOUR_MS}`);
        await untouched();
      });

      it('{-2, ms, 0}: another period, {-2, 0, 0}: unreadable, for clients with a guard and without; it stays', async () => {
        for (const [text, ms] of [
          [`1|${server.runId}|0|5000`, 5_000] as const,
          ...unreadable.map((one) => [one, 0] as const),
        ]) {
          await put(text);
          const before = await server.redis.dump(MARKER);
          for (const period of [HOUR_MS, 0]) expect(await vote(period), text).to.deep.equal([-2, ms, 0]);
          expect(await server.redis.dump(MARKER), text).to.equal(before);
        }
        await untouched();
      });
    });
  }

  describe('a counter below the end of the last quarantine came back with old data; the server is 1 ms past that end', () => {
    const nowUs = COUNT + 1_000;
    beforeEach(async () => {
      await mark(BEGAN_MS);
      await server.redis.mset('a', 'mine', 'c', COUNT - 3_000_000);
    });
    const claim = (proposal: number): Promise<unknown> =>
      run(atInstant(CLAIM, nowUs), ['a', 'c', MARKER], 'mine', 60_000, LIFE, proposal, HOUR_MS);

    for (const isFree of [false, true]) {
      it(`claim of a lock that ${isFree ? 'is free' : 'it holds'}: no proposal below that end is taken, and the next go on`, async () => {
        for (const [proposal, wanted] of [
          [COUNT - 1, [1, nowUs, nowUs]],
          [COUNT, [1, nextBlock(nowUs), 0]],
        ] as const) {
          if (isFree) await server.redis.del('a');
          expect(await claim(proposal)).to.deep.equal(wanted);
        }
        await server.redis.set('c', COUNT - 3_000_000);
        if (isFree) await server.redis.del('a');
        expect(await claim(COUNT)).to.deep.equal([1, COUNT, 0]);
      });
    }

    it('accept {3, clock, 0}: nothing up to there is accepted', async () => {
      for (const fence of [COUNT - 1, COUNT])
        expect(await accept(fence, HOUR_MS, clockAt(nowUs))).to.deep.equal([3, nowUs, 0]);
      expect(await accept(COUNT + 1, HOUR_MS, clockAt(nowUs))).to.deep.equal([1, COUNT + 1, 0]);
    });

    it('extend: it stays as it is', async () => {
      expect(await extend(HOUR_MS, clockAt(nowUs))).to.deep.equal([1, 0, 0]);
      expect(await server.redis.get('c')).to.equal(String(COUNT - 3_000_000));
    });
  });

  for (const [name, vote] of [
    ['claim', () => run(CLAIM, ['a', 'b', MARKER], 'mine', 60_000, 0, 0, HOUR_MS)],
    ['extend', () => extend(HOUR_MS, sameAs, { keys: ['a', 'b'] })],
  ] as const) {
    it(`${name} without fencing has its marker last as well: {1, 0, 0} and {-1, period, 0}`, async () => {
      expect(await vote()).to.deep.equal([-1, HOUR_MS, 0]);
      expect(await server.redis.exists('a', 'b')).to.equal(0);
      await mark(0);
      expect(await vote()).to.deep.equal([1, 0, 0]);
      expect(await server.redis.mget('a', 'b')).to.deep.equal(['mine', 'mine']);
    });
  }

  it('period −1: no marker is looked for, whatever the last key holds', async () => {
    await putData(server.redis, MARKER, 'list');
    expect(await run(CLAIM, ['a'], 'mine', 60_000, 0, 0, -1)).to.deep.equal([1, 0, 0]);
    expect(await run(CLAIM, ['a', MARKER], 'mine', 60_000, 0, 0, -1)).to.deep.equal([2, 0, 0]); // it is a lock then
  });

  describe('bootstrap', () => {
    const bootstrap = (period: number, force = 0): Promise<unknown> =>
      run(BOOTSTRAP, [MARKER], period, force);

    /** The marker says that a period ended at this very moment. */
    const expectOver = async (before: number): Promise<void> => {
      const [version, id, since, period] = ((await marker()) ?? '').split('|');
      expect([version, id, period]).to.deep.equal(['1', server.runId, String(HOUR_MS)]);
      expect(Number(since) + HOUR_MS).to.be.within(before, (await server.micros()) / 1_000);
    };

    it('{1, 0, 0}: no marker; it votes from now on', async () => {
      const before = await nowMs();
      expect(await bootstrap(HOUR_MS)).to.deep.equal([1, 0, 0]);
      await expectOver(before);
      expect(await run(VOUCH, [MARKER], HOUR_MS)).to.deep.equal([1, 0, 0]);
    });

    it('{0, 0, 0}: it votes already', async () => {
      await mark(17);
      expect(await bootstrap(HOUR_MS)).to.deep.equal([0, 0, 0]);
      expect(await marker()).to.equal(`1|${server.runId}|17|${HOUR_MS}`);
    });

    it('{-1, ms, 0}: quarantined; {-2, ms, 0}: another period, {-2, 0, 0}: unreadable; all stay', async () => {
      for (const [text, code, ms] of [
        [await own(1_000_000), -1, HOUR_MS - 1_000_000] as const,
        [`1|${server.runId}|0|5000`, -2, 5_000] as const,
        ...unreadable.map((one) => [one, -2, 0] as const),
      ]) {
        await put(text);
        const before = await server.redis.dump(MARKER);
        const [first, second = 0, third] = integers(await bootstrap(HOUR_MS), 3);
        expect([first, third], text).to.deep.equal([code, 0]);
        expect(second, text).to.be.within(code === -1 ? ms - 60_000 : ms, ms);
        expect(await server.redis.dump(MARKER), text).to.equal(before);
      }
      await put(`1|another|0|${HOUR_MS}`); // the period of this process begins
      expect(await bootstrap(HOUR_MS)).to.deep.equal([-1, HOUR_MS, 0]);
    });

    it('{1, 0, 0} with force: whatever is there is replaced', async () => {
      for (const text of [`1|${server.runId}|0|5000`, `1|another|0|${HOUR_MS}`, ...unreadable]) {
        await put(text);
        const before = await nowMs();
        expect(await bootstrap(HOUR_MS, 1), text).to.deep.equal([1, 0, 0]);
        await expectOver(before);
      }
    });

    it('{1, 0, 0} with force and period 0: the marker is removed; {0, 0, 0}: there was none', async () => {
      await mark(0, 5_000);
      expect(await bootstrap(0, 1)).to.deep.equal([1, 0, 0]);
      expect(await server.redis.exists(MARKER)).to.equal(0);
      expect(await bootstrap(0, 1)).to.deep.equal([0, 0, 0]);
    });
  });

  it('at maxmemory: a claim, an acceptance, a bootstrap fail, and nothing is half done; an extension goes through', async () => {
    await server.redis.mset('a', 'mine', 'c', COUNT);
    await mark(0);
    await server.redis.config('SET', 'maxmemory', '1');
    try {
      const message = (promise: Promise<unknown>): Promise<unknown> =>
        promise.catch((error: Error) => error.message);
      for (const [name, vote] of voters.slice(0, 2))
        expect(await message(vote(HOUR_MS, clockAt(COUNT))), name).to.match(/OOM/);
      expect(await message(run(BOOTSTRAP, [MARKER], HOUR_MS, 1))).to.match(/OOM/);
      expect(await server.redis.pttl('a')).to.equal(-1);
      await server.redis.pexpire('a', 60_000);
      expect(await extend(HOUR_MS, sameAs, { ttl: HOUR_MS })).to.deep.equal([1, 0, 0]);
      expect(await server.redis.pttl('a')).to.be.above(HOUR_MS / 2);
      expect(await server.redis.get('a')).to.equal('mine');
      expect(await marker()).to.equal(`1|${server.runId}|0|${HOUR_MS}`);
    } finally {
      await server.redis.config('SET', 'maxmemory', '0');
    }
  });
});
