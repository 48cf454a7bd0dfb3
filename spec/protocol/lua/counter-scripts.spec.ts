/**
 * What the scripts make of counters, on a real server: every script and every way through it does the same. The server's
 * clock stands still, so that proposals at its very bounds can be shown.
 */
import { expect } from 'chai';
import { queueKey, looksKey, turnKey } from '../../../lib/protocol/keys.js';
import {
  AHEAD_US,
  BACK_US,
  COUNTER_LIFE_MS,
  FENCE_BLOCK,
  HOLDS,
  LAST_FENCE,
} from '../../../lib/protocol/lua/stored.js';
import { ENTRY, SHARED_ENTRY } from '../../../lib/protocol/lua/entries.js';
import { BATCH, CLAIM, RW_CLAIM, SHARED_BATCH } from '../../../lib/protocol/lua/scripts.js';
import type { Script } from '../../../lib/redis/script.js';
import { blockEnd, nextBlock } from '../../support/fence-blocks.js';
import { loneEntry } from '../../support/lone-entries.js';
import { lookBy } from '../../support/looks.js';
import { atInstant, NO_RIGHT, noting, oneServer, putData, type Server, TYPES } from '../../support/server.js';

/** More than 2^53 / 8, as fencing tokens are today, and odd, so that a rounding would show; in the year 2064. */
const NOW = 2_990_000_000_000_001;
/** The end of the last quarantine, where there was one. */
const LEAST = NOW - 1 - BACK_US / 2;
const GUARD_MS = 3_600_000;
const TTL_MS = 600_000;
const LIFE = COUNTER_LIFE_MS;
const COUNTERS = ['c', 'd'];

/** Texts that are no counters. */
const NO_COUNTERS = ['text', '', '-5', '1.5', '1e3', ' 7', '7 ', '0x10', '7\n', '\0'];
/** Counts that no fencing token follows. */
const SPENT = [LAST_FENCE, LAST_FENCE + 1, Number.MAX_SAFE_INTEGER, 2 ** 53]
  .map(String)
  .concat('9007199254740993', '9223372036854775807', '9'.repeat(30), '9'.repeat(400), `00${LAST_FENCE}`);

type Argument = string | number;

/** A way of sending a claim of `a`, or an acceptance by its holder. */
interface Way {
  readonly title: string;
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: (fence: Argument) => readonly Argument[];
  readonly isGuarded?: boolean;
  /** It holds its vote already. */
  readonly isHeld?: boolean;
}

const A_QUEUED = ['a', queueKey('a'), turnKey('a'), 'c'];
const HELD = { isHeld: true } as const;
const GUARDED = { isGuarded: true } as const;

function way(
  title: string,
  script: Script,
  keys: readonly string[],
  args: Way['args'],
  more: Pick<Way, 'isGuarded' | 'isHeld'> = {},
): Way {
  return { title, script, keys, args, ...more };
}

const claimArgs =
  (guard: number, ...more: readonly Argument[]): Way['args'] =>
  (proposal) => ['mine', TTL_MS, LIFE, proposal, guard, ...more];
const batchArgs =
  (guard: number, kind: string, n = 1): Way['args'] =>
  (proposal) => [guard, kind, 1, n, TTL_MS, LIFE, proposal, 'mine'];
const writerArgs =
  (guard: number): Way['args'] =>
  (proposal) => ['mine', 'w', TTL_MS, '', LIFE, proposal, guard];

const writerBatchArgs =
  (guard: number): Way['args'] =>
  (proposal) => [guard, SHARED_ENTRY.claim, 1, 1, 'w', TTL_MS, LIFE, proposal, 'mine', ''];

/** The keys of a writer's claim. */
const OF_WRITER = ['a', queueKey('a'), turnKey('a'), looksKey('a'), 'c'];

const CLAIMS: readonly Way[] = [
  way('alone', CLAIM, ['a', 'c'], claimArgs(-1)),
  way('alone, where no marker is found', CLAIM, ['a', 'c', 'm'], claimArgs(0)),
  way('alone, under a guard', CLAIM, ['a', 'c', 'm'], claimArgs(GUARD_MS), GUARDED),
  way('alone, of its own vote', CLAIM, ['a', 'c'], claimArgs(-1), HELD),
  way('in the queue', CLAIM, A_QUEUED, claimArgs(-1, '1')),
  way('of several', CLAIM, ['a', 'b', 'c', 'd'], claimArgs(-1)),
  way('of several, under a guard', CLAIM, ['a', 'b', 'd', 'c', 'm'], claimArgs(GUARD_MS), GUARDED),
  way('in a batch', BATCH, ['a', 'c'], batchArgs(-1, ENTRY.claim)),
  way('in a batch, under a guard', BATCH, ['a', 'c', 'm'], batchArgs(GUARD_MS, ENTRY.claim), GUARDED),
  way('in a batch, of its own vote', BATCH, ['a', 'c'], batchArgs(-1, ENTRY.claim), HELD),
  way('in a batch, in the queue', BATCH, A_QUEUED, batchArgs(-1, ENTRY.claimQueued)),
  way('in a batch, of several', BATCH, ['a', 'b', 'c', 'd'], batchArgs(-1, ENTRY.claim, 2)),
  way('of a writer', RW_CLAIM, OF_WRITER, writerArgs(-1)),
  way('of a writer, under a guard', RW_CLAIM, [...OF_WRITER, 'm'], writerArgs(GUARD_MS), GUARDED),
  way('of a writer, of its own vote', RW_CLAIM, OF_WRITER, writerArgs(-1), HELD),
  way('of a writer, in a batch', SHARED_BATCH, OF_WRITER, writerBatchArgs(-1)),
  way(
    'of a writer, in a batch, under a guard',
    SHARED_BATCH,
    [...OF_WRITER, 'm'],
    writerBatchArgs(GUARD_MS),
    GUARDED,
  ),
  way('of a writer, in a batch, of its own vote', SHARED_BATCH, OF_WRITER, writerBatchArgs(-1), HELD),
];

/** A look that finds the lock free. */
const LOOK = way('of a look', BATCH, ['a', queueKey('a'), turnKey('a'), looksKey('a'), 'c'], (fence) => {
  const terms = { ticket: 1, lifeMs: LIFE, ttlMs: TTL_MS, counterMs: LIFE, proposal: Number(fence) };
  return lookBy('mine', terms).args;
});

const acceptArgs =
  (guard: number, n = 1): Way['args'] =>
  (fence) =>
    loneEntry(ENTRY.accept, 'mine', { fence, life: LIFE, guard }, n).args;
const writerAcceptArgs =
  (guard: number): Way['args'] =>
  (fence) =>
    loneEntry(SHARED_ENTRY.accept, 'mine', { fence, life: LIFE, guard }).args;

const ACCEPTANCES: readonly Way[] = [
  way('of one', BATCH, ['a', 'c'], acceptArgs(-1)),
  way('of one, under a guard', BATCH, ['a', 'c', 'm'], acceptArgs(GUARD_MS), GUARDED),
  way('of several', BATCH, ['a', 'b', 'c', 'd'], acceptArgs(-1, 2)),
  way('of several, in the other order', BATCH, ['a', 'b', 'd', 'c'], acceptArgs(-1, 2)),
  way('of a writer', SHARED_BATCH, ['a', 'c'], writerAcceptArgs(-1)),
  way('of a writer, under a guard', SHARED_BATCH, ['a', 'c', 'm'], writerAcceptArgs(GUARD_MS), GUARDED),
];

const isBatch = ({ script }: Way): boolean => script === BATCH || script === SHARED_BATCH;
const isOfWriter = ({ script }: Way): boolean => [RW_CLAIM, SHARED_BATCH].includes(script);
const locksOf = ({ keys }: Way): readonly string[] => keys.filter((key) => key === 'a' || key === 'b');
const countersOf = ({ keys }: Way): readonly string[] => keys.filter((key) => COUNTERS.includes(key));

/** The end of a quarantine of this process, as its marker has it. */
function marker(server: Server, endUs: number): string {
  return `1|${server.runId}|${endUs / 1_000 - GUARD_MS}|${GUARD_MS}`;
}

/** What is there before: `count` at the counter c, 1 at the other one, the guard's marker, and the vote where it has one. */
async function prepare(server: Server, one: Way, count?: string, endUs = 1e12): Promise<void> {
  await server.redis.flushall();
  if (count !== undefined) await server.redis.set('c', count, 'PX', 29_000);
  await server.redis.set('d', 1, 'PX', 29_000);
  if (one.isGuarded === true) await server.redis.set('m', marker(server, endUs));
  const isAcceptance = ACCEPTANCES.includes(one);
  if (one.isHeld !== true && !isAcceptance) return;
  for (const key of locksOf(one)) {
    if (isOfWriter(one)) await server.redis.hset(key, { mine: 'w|9000000000000000|' });
    else await server.redis.set(key, 'mine', 'PX', TTL_MS);
  }
}

/** The reply in its long form. @param us  where the server's clock stands */
async function send(server: Server, one: Way, fence: Argument, us = NOW): Promise<unknown> {
  const sent = await server.run(atInstant(one.script, us), one.keys, ...one.args(fence));
  const reply: unknown = isBatch(one) && Array.isArray(sent) ? sent[0] : sent;
  if (typeof reply !== 'number') return reply;
  return [1, one.script === SHARED_BATCH && reply === 1 ? Number(fence) : reply, 0]; // the token that was put to it
}

/** How much longer, in ms, the second key lives than the first; times stand still in a script. */
async function longer(server: Server, key: string, other: string): Promise<number> {
  const source = "return redis.call('PTTL', KEYS[2]) - redis.call('PTTL', KEYS[1])";
  return Number(await server.redis.eval(source, 2, key, other));
}

/** Its counters are the end of that block, and live until the clock has passed it and for their life then. */
async function expectCounters(server: Server, one: Way, fence: number, note: string): Promise<void> {
  const found = await server.redis.mget(...countersOf(one));
  const end = blockEnd(fence);
  expect(found, note).to.deep.equal(countersOf(one).map(() => String(end)));
  const lifeMs = LIFE + Math.max(0, Math.ceil((end - NOW) / 1_000));
  for (const key of countersOf(one)) {
    if (isOfWriter(one) || ACCEPTANCES.includes(one))
      expect(await server.redis.pttl(key), note).to.be.within(lifeMs - 29_000, lifeMs);
    // a busy machine may stop the server between the vote and the counter
    else expect(await longer(server, 'a', key), note).to.be.closeTo(lifeMs - TTL_MS, 29_000);
  }
}

describe('counters in scripts on a real server', () => {
  const server = oneServer();

  const PROPOSALS: readonly (readonly [title: string, proposal: number, isTaken: boolean])[] = [
    ['the clock', NOW, true],
    ['40 ms behind', NOW - 40_000, true],
    ['as far behind as may be', NOW - BACK_US, true],
    ['further behind', NOW - BACK_US - 1, false],
    ['as far ahead as may be', NOW + AHEAD_US, true],
    ['further ahead', NOW + AHEAD_US + 1, false],
    ['far ahead', NOW + 60_000_000, false],
    ['none', 0, false],
  ];

  for (const one of CLAIMS) {
    describe(`a claim ${one.title}`, () => {
      for (const [title, proposal, isTaken] of PROPOSALS) {
        const base = isTaken ? proposal : NOW;

        it(`proposes ${title}: ${isTaken ? 'taken' : 'the clock instead, and told'}; all counters get the block from max(count + 1, that)`, async () => {
          const counts = ['0', '00', '007', '7', base - BACK_US, base - 1, base, base + 1, `0${base}`];
          for (const count of [undefined, ...counts, NOW + 30_000_000, LAST_FENCE - 1]) {
            const note = `count ${count}`;
            await prepare(server, one, count?.toString());
            const fence = Math.max(Number(count ?? 0) + 1, base);
            expect(await send(server, one, proposal), note).to.deep.equal([1, fence, isTaken ? 0 : NOW]);
            await expectCounters(server, one, fence, note);
            expect(await server.redis.exists(...locksOf(one)), note).to.equal(locksOf(one).length);
          }
        });
      }

      it('never gives a fencing token twice: the next is above the block', async () => {
        await prepare(server, one);
        for (const fence of [NOW, nextBlock(NOW), nextBlock(nextBlock(NOW))]) {
          expect(await send(server, one, NOW)).to.deep.equal([1, fence, 0]);
          if (one.isHeld !== true) await server.redis.del(...locksOf(one));
        }
      });

      if (one.isGuarded === true)
        it('takes a proposal from the end of the last quarantine on, and below that its clock', async () => {
          for (const [proposal, wanted] of [
            [LEAST, [1, LEAST, 0]],
            [LEAST - 1, [1, NOW, NOW]],
          ] as const) {
            await prepare(server, one, String(LEAST - BACK_US), LEAST);
            expect(await send(server, one, proposal)).to.deep.equal(wanted);
            await expectCounters(server, one, wanted[1], String(proposal));
          }
        });

      it('is refused with {2, 4, 0} for what is no counter, and for a spent one: it stays, and no vote is left', async () => {
        for (const text of [...NO_COUNTERS, ...SPENT]) {
          for (const proposal of [NOW, 0]) {
            await prepare(server, one, text);
            expect(await send(server, one, proposal), text).to.deep.equal([2, HOLDS.counter, 0]);
            expect(await server.redis.get('c'), text).to.equal(text);
            expect(await server.redis.get('d'), text).to.equal('1');
            expect(await server.redis.exists(...locksOf(one)), text).to.equal(one.isHeld === true ? 1 : 0);
          }
        }
      });

      for (const type of TYPES) {
        it(`is refused with {2, 4, 0} for a ${type}: it stays, and no vote is left`, async () => {
          await prepare(server, one);
          await putData(server.redis, 'c', type);
          await server.redis.pexpire('c', 29_000);
          const before = await server.redis.dump('c');
          expect(await send(server, one, NOW)).to.deep.equal([2, HOLDS.counter, 0]);
          expect(await server.redis.dump('c')).to.equal(before);
          expect(await server.redis.pttl('c')).to.be.within(1, 29_000);
          expect(await server.redis.exists(...locksOf(one))).to.equal(one.isHeld === true ? 1 : 0);
        });
      }

      for (const command of ['time', 'get'] as const) {
        it(`fails where ${command} is not allowed: no vote is left, and no counter is changed`, async () => {
          await prepare(server, one, '7');
          await server.redis.set('d', 7, 'PX', 29_000);
          const reply = await server.without(command, () =>
            server
              .run(one.script, one.keys, ...one.args(NOW))
              .then((all) => (isBatch(one) && Array.isArray(all) ? (all[0] as unknown) : all))
              .catch((error: Error) => error.message),
          );
          const isShort = command === 'get' && one.title === 'alone'; // it needs none
          const isBare = isBatch(one) && one.title === 'in a batch' && command === 'get';
          if (isShort || isBare) {
            expect(Number(Array.isArray(reply) ? reply[1] : reply)).to.be.above(7);
            return;
          }
          expect(reply, String(reply)).to.be.a('string').that.matches(NO_RIGHT);
          if (command === 'time') expect(reply).to.match(/quorate needs TIME in scripts: /);
          expect(await server.redis.mget(...countersOf(one))).to.deep.equal(countersOf(one).map(() => '7'));
          expect(await server.redis.exists(...locksOf(one))).to.equal(one.isHeld === true ? 1 : 0);
        });
      }
    });
  }

  /** The fencing token whose block ends at the clock. */
  const ENDS_NOW = NOW - FENCE_BLOCK + 1;
  /** Where the block ends; what is proposed and counted, and how much longer than its life the counter is to live, in ms. */
  const LIVES: readonly (readonly [title: string, proposal: number, count: number, extraMs: number])[] = [
    ['at the clock', ENDS_NOW, 7, 0],
    ['a µs ahead', ENDS_NOW + 1, 7, 1],
    ['1 ms ahead', ENDS_NOW + 1_000, 7, 1],
    ['1.001 ms ahead', ENDS_NOW + 1_001, 7, 2],
    ['behind', ENDS_NOW - 5_000, 7, 0],
    ['behind, and raised to a count that is behind', ENDS_NOW - 5_000, ENDS_NOW - 4_001, 0],
    ['raised to a count at the clock', ENDS_NOW, ENDS_NOW - 1, 0],
    ['raised to a count a µs ahead', ENDS_NOW, ENDS_NOW, 1],
    ['raised to a count ahead', ENDS_NOW, ENDS_NOW + 7_000, 8],
  ];

  it('a counter lives for its life after the clock has passed the end of its block: to the ms, rounded up', async () => {
    for (const one of [...CLAIMS, LOOK]) {
      for (const [title, proposal, count, extraMs] of LIVES) {
        await prepare(server, one, String(count));
        const { keys, script } = one;
        await server.run(atInstant(noting(script), NOW), keys, ...one.args(proposal));
        const sets = await server.redis.lrange('sets', 0, -1);
        const last = sets.findLast((set) => set.startsWith('c '));
        expect(last?.split(' PX ')[1]?.split(' ')[0], `${one.title}: ${title}`).to.equal(`${LIFE + extraMs}`);
      }
    }
  });

  it('what a claim of one free lock puts back: a spent counter lives on, anything else has no expiry', async () => {
    for (const one of CLAIMS) {
      const isPutBack = !isOfWriter(one) && one.isHeld !== true && !/queue|several/.test(one.title);
      for (const before of [String(LAST_FENCE), 'text']) {
        await prepare(server, one, before);
        await send(server, one, NOW);
        const left = await server.redis.pttl('c');
        if (!isPutBack)
          expect(left, one.title).to.be.within(1, 29_000); // the long way leaves it alone
        else if (before === 'text') expect(left, one.title).to.equal(-1);
        else expect(left, one.title).to.be.within(29_001, 60_000);
      }
    }
  });

  it('several get one fencing token above all their counts, in any order', async () => {
    for (const counts of [
      [NOW + 7, NOW + 9, NOW + 8],
      [NOW + 9, NOW + 8, NOW + 7],
      [7, NOW + 8, NOW + 9],
      [NOW + 9, NOW + 9, NOW + 9],
    ]) {
      await server.redis.flushall();
      for (const [i, count] of counts.entries()) await server.redis.set(`c${i}`, count);
      const keys = ['x', 'y', 'z', 'c0', 'c1', 'c2'];
      const reply = await server.run(atInstant(CLAIM, NOW), keys, ...claimArgs(-1)(NOW));
      expect(reply).to.deep.equal([1, NOW + 10, 0]);
      const end = String(blockEnd(NOW + 10));
      expect(await server.redis.mget('c0', 'c1', 'c2')).to.deep.equal(counts.map(() => end));
    }
  });

  /** What such a master accepts; `from` of its counter, or of its clock. */
  const TOKENS: readonly (readonly [
    title: string,
    fence: number,
    count: number | undefined,
    isTaken: boolean,
  ])[] = [
    ['the clock, by a missing counter', NOW, undefined, true],
    ['BACK behind the clock', NOW - BACK_US, undefined, true],
    ['further behind', NOW - BACK_US - 1, undefined, false],
    ['a life of counters ahead of the clock', NOW + LIFE * 1_000, undefined, true],
    ['further ahead', NOW + LIFE * 1_000 + 1, undefined, false],
    ['one above the count', NOW + 8, NOW + 7, true],
    ['the count', NOW + 7, NOW + 7, false],
    ['one below the count', NOW + 6, NOW + 7, false],
    ['one above a count that is behind', NOW - 6, NOW - 7, true],
    ['such a count', NOW - 7, NOW - 7, false],
    ['above a 0', NOW, 0, true],
    ['far above a low count, and too far behind the clock', NOW - 2 * BACK_US, 7, false],
    // old data: the count is from before what was lost, and the acceptance came late (protocol A2, CE3)
    ['between an old count and a lost one', NOW - BACK_US - 6, NOW - 10 * BACK_US, false],
    ['the last there is', LAST_FENCE, LAST_FENCE - 1, false],
  ];

  for (const one of ACCEPTANCES) {
    describe(`an acceptance ${one.title}`, () => {
      for (const [title, fence, count, isTaken] of TOKENS) {
        it(`${title}: ${isTaken ? '{1, fence, 0}' : '{3, max(count, clock), 0}, and nothing is changed'}`, async () => {
          for (const sent of [fence, String(fence)]) {
            await prepare(server, one, count?.toString());
            const least = Math.max(count ?? 0, NOW);
            expect(await send(server, one, sent)).to.deep.equal(isTaken ? [1, fence, 0] : [3, least, 0]);
            if (isTaken) {
              await expectCounters(server, one, fence, title);
              const reached = Math.max(blockEnd(fence), NOW);
              for (const again of [sent, blockEnd(fence)])
                expect(await send(server, one, again)).to.deep.equal([3, reached, 0]); // T-A9
              continue;
            }
            expect(await server.redis.get('c')).to.equal(count?.toString() ?? null);
            expect(await server.redis.get('d')).to.equal('1');
            const left = await server.redis.pttl('c');
            if (count !== undefined) expect(left).to.be.within(1, 29_000);
          }
        });
      }

      if (one.isGuarded === true)
        it('only what is above the end of the last quarantine', async () => {
          for (const [fence, wanted] of [
            [LEAST + 1, [1, LEAST + 1, 0]],
            [LEAST, [3, NOW, 0]],
            [LEAST - 1, [3, NOW, 0]],
          ] as const) {
            await prepare(server, one, String(LEAST - BACK_US), LEAST);
            expect(await send(server, one, fence)).to.deep.equal(wanted);
          }
        });

      it('{2, 4, 0} for what is no counter, and for a spent one: nothing is changed', async () => {
        for (const text of [...NO_COUNTERS, ...SPENT]) {
          await prepare(server, one, text);
          expect(await send(server, one, NOW), text).to.deep.equal([2, HOLDS.counter, 0]);
          expect(await server.redis.mget('c', 'd'), text).to.deep.equal([text, '1']);
          expect(await server.redis.pttl('c'), text).to.be.within(1, 29_000);
        }
      });

      it('{2, 4, 0} for data of another type, which stays', async () => {
        for (const type of TYPES) {
          await prepare(server, one);
          await putData(server.redis, 'c', type);
          const before = await server.redis.dump('c');
          expect(await send(server, one, NOW), type).to.deep.equal([2, HOLDS.counter, 0]);
          expect(await server.redis.dump('c'), type).to.equal(before);
          expect(await server.redis.get('d'), type).to.equal('1');
        }
      });

      it('fails where the clock may not be read, and changes nothing', async () => {
        await prepare(server, one, '7');
        const reply = await server.without('time', () =>
          server
            .run(one.script, one.keys, ...one.args(NOW))
            .then((all) => (Array.isArray(all) ? (all[0] as unknown) : all))
            .catch((error: Error) => error.message),
        );
        expect(reply)
          .to.match(/quorate needs TIME in scripts: /)
          .and.match(NO_RIGHT);
        expect(await server.redis.mget('c', 'd')).to.deep.equal(['7', '1']);
      });
    });
  }
});
