/** A job's record under its lease: what is made of the masters' notes, and how often they are asked. */
import { expect } from 'chai';
import type { CallTerms } from '../../lib/protocol/terms.js';
import type { MastersTime } from '../../lib/jobs/masters-time.js';
import {
  nextNotBeforeMs,
  notBeforeMs,
  type Read,
  RecordUnderLease,
  STOPPING_MS,
} from '../../lib/jobs/record.js';
import type { Coordination } from '../../lib/lease/coordination.js';
import type { Notes } from '../../lib/lease/notes.js';
import type { Lease } from '../../lib/lease/public.js';
import { BACK_US } from '../../lib/protocol/lua/stored.js';
import type { Note, NoteReading } from '../../lib/protocol/lone-requests.js';
import { RedlockError } from '../../lib/runtime/errors.js';
import { FakeTime } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const SKEW_MS = BACK_US / 1_000;
const NODE_TIMEOUT_MS = 200;

/** What a master says under the vote. */
function reading(text: string, more: Partial<NoteReading> = {}): NoteReading {
  const isThere = text !== '';
  return {
    ...{ vote: 'own', remainingMs: 9_000, clockUs: 100_000_000, sinceMs: 0, isHolders: false },
    ...{ fence: isThere ? 1 : 0, seq: isThere ? 1 : 0, text, ...more },
  };
}

interface RecordBench {
  readonly time: FakeTime;
  readonly record: RecordUnderLease;
  /** When the masters were asked. */
  readonly asked: number[];
  readonly written: Note[];
  /** The lease is lost from here on. */
  lose(): void;
}

const DONE = { tick: 1, state: 'done', notBeforeMs: 0, fromMs: 0, schedule: 'every 1' } as const;
const failure = (code: RedlockError['code']): RedlockError => new RedlockError(code, `it is ${code}`);

/** Masters that give these answers, the last of them for ever. */
function recordBench(
  answers: readonly (readonly NoteReading[] | RedlockError)[],
  quorum = 2,
  { ttlMs = 3_000, isStopping }: { readonly ttlMs?: number; readonly isStopping?: () => boolean } = {},
): RecordBench {
  const time = new FakeTime();
  const [asked, written]: [number[], Note[]] = [[], []];
  let isLost = false;
  const answer = (): Promise<readonly NoteReading[] | RedlockError> => {
    asked.push(time.now());
    return Promise.resolve(answers[Math.min(asked.length, answers.length) - 1] ?? []);
  };
  const notes = {
    ...{ quorum, resource: 'j' },
    readUnder: (token: string, nodeTimeoutMs: number) => {
      expect([token, nodeTimeoutMs]).to.deep.equal(['token', NODE_TIMEOUT_MS]);
      return answer();
    },
    write: async (token: string, note: Note, nodeTimeoutMs: number) => {
      expect([token, nodeTimeoutMs]).to.deep.equal(['token', NODE_TIMEOUT_MS]);
      written.push(note);
      const result = await answer();
      return RedlockError.is(result) ? result : undefined;
    },
  };
  const lease = {
    ...{ token: 'token', fence: 7, ttlMs },
    assertHeld: () => {
      if (isLost) throw failure('LOCK_LOST');
    },
  };
  const coordinator = { nodeTimeoutFor: () => NODE_TIMEOUT_MS };
  const coordination = { clock: time, timers: time, coordinator };
  const record = new RecordUnderLease(
    coordination as unknown as Coordination, // a record needs no more of these three
    lease as unknown as Lease,
    notes as unknown as Notes,
    {} as CallTerms,
    (tick) => 60_000.5 + tick,
    isStopping,
  );
  return { ...{ time, record, asked, written }, lose: () => (isLost = true) };
}

const read = (readings: readonly NoteReading[], quorum?: number): Promise<Read> =>
  recordBench([readings], quorum).record.read();

describe('a record under its lease', () => {
  describe('what a quorum knows', () => {
    it('the latest note: the fence decides, and then the seq', async () => {
      const [old, late, last] = ['1|10|d|0', '1|20|s|5', '1|30|d|6'] as const;
      const notes = [
        reading(old, { fence: 1, seq: 9 }),
        reading(last, { fence: 2, seq: 2 }),
        reading(late, { fence: 2, seq: 1 }),
      ];
      for (const readings of [notes, notes.toReversed()])
        expect((await read(readings)).record).to.deep.equal({
          ...{ tick: 30, state: 'done', notBeforeMs: 6, fromMs: 30, schedule: undefined },
        });
      expect((await read([reading(late), reading('')])).record).to.deep.equal({
        ...{ tick: 20, state: 'started', notBeforeMs: 5, fromMs: 20, schedule: undefined },
      });
      expect((await read([reading(''), reading('')])).record).to.equal(undefined);
    });

    it('since when there is that schedule, and which; under which fence it was written', async () => {
      const text = '2|30|d|6|10|cron 0 6 * * 1|3 Europe/Berlin';
      const { fence, record } = await read([reading(text, { fence: 9 }), reading('')]);
      expect([fence, record]).to.deep.equal([
        9,
        {
          ...{ tick: 30, state: 'done', notBeforeMs: 6, fromMs: 10 },
          schedule: 'cron 0 6 * * 1|3 Europe/Berlin',
        },
      ]);
      expect((await read([reading(''), reading('')])).fence).to.equal(0);
    });

    it('of the first version, without a tick: there was no schedule until now', async () => {
      const { record } = await read([reading('1|0|d|6'), reading('')]);
      expect(record).to.include({ tick: 0, fromMs: 100_000 });
    });

    it('the median of the clocks, and their bounds, in ms', async () => {
      const known = await read([5_000, 1_000, 3_000].map((clockUs) => reading('', { clockUs })));
      expect(known).to.include({ nowMs: 3, earliestMs: 1, latestMs: 5 });
    });

    for (const [title, sinceMs, expected] of [
      ['nobody has forgotten', [0, 0, 0], [0, false]],
      ['a minority has forgotten', [0, 9_000, 0], [0, true]],
      ['of a quorum, the one that remembers least', [9_000, 0, 8_000], [8_000 + SKEW_MS, false]],
      ['any quorum will do: that which remembers most', [9_000, 7_000, 8_000], [8_000 + SKEW_MS, false]],
    ] as const) {
      it(`since when it may have been forgotten: ${title}`, async () => {
        const known = await read(sinceMs.map((since) => reading('', { sinceMs: since })));
        expect([known.sinceMs, known.isPartial]).to.deep.equal(expected);
      });
    }

    it('N=1: what that master has forgotten', async () => {
      expect(await read([reading('', { sinceMs: 9_000 })], 1)).to.include({ sinceMs: 9_000 + SKEW_MS });
    });

    for (const text of [
      '3|10|d|0|1|x',
      '2|10|d|0',
      '2|10|d|0|1',
      '1|10|x|0',
      '1|10|d|0|',
      `1|${'1'.repeat(17)}|d|0`,
      '1||d|0',
      'text',
    ]) {
      it(`WRONG_KIND for a note that is no record: ${text}`, async () => {
        const { record } = recordBench([[reading(text), reading('')]]);
        expect(await rejection(record.read())).to.include({ code: 'WRONG_KIND' });
      });
    }

    it('what was read tells the time, from the instant at which the last question was sent', async () => {
      const { record, time } = recordBench([failure('NO_QUORUM'), [reading(''), reading('')]]);
      const learned: unknown[] = [];
      const mastersTime = { learn: (...told: readonly unknown[]) => learned.push(told) };
      const reads = record.read(mastersTime as unknown as MastersTime); // it is told, and not asked
      await time.advance(20);
      await reads;
      expect(learned).to.deep.equal([[[100_000_000, 100_000_000], 1_020]]);
    });
  });

  it('is written in whole ms, rounded up, with a seq that rises, under the fence of its lease', async () => {
    const { record, written } = recordBench([[]]);
    const more = { fromMs: 3.5, schedule: 'every 5' };
    await record.write({ tick: 10.2, state: 'started', notBeforeMs: -5, ...more });
    await record.write({ tick: 11, state: 'done', notBeforeMs: 20.5, ...more, schedule: undefined });
    await record.rewrite({ tick: 12, state: 'done', notBeforeMs: 0, ...more });
    expect(written).to.deep.equal([
      { fence: 7, seq: 1, text: '2|11|s|0|4|every 5', lifeMs: 60_011 },
      { fence: 7, seq: 2, text: '1|11|d|21', lifeMs: 60_012 },
      { fence: 7, seq: 3, text: '2|12|d|0|4|every 5', lifeMs: 60_013 },
    ]);
  });

  it('is written again once, and nobody is told how that went', async () => {
    const { record, asked, time } = recordBench([failure('NO_QUORUM')]);
    await record.rewrite(DONE);
    expect([asked.length, time.pending]).to.deep.equal([1, 0]);
  });

  describe('masters that do not let it', () => {
    for (const stopsAtMs of [0, 60_000])
      it(`the schedule is to end after ${stopsAtMs} ms: it is tried for 5 s more, and not for a ttl`, async () => {
        const bench: RecordBench = recordBench([failure('NO_QUORUM')], 2, {
          ...{ ttlMs: 600_000, isStopping: () => bench.time.now() - 1_000 >= stopsAtMs },
        });
        const { record, time, asked } = bench;
        const failing = rejection(record.write(DONE));
        await time.advance(100_000);
        expect(await failing).to.include({ code: 'NO_QUORUM' });
        // it sees that at its next try, a second later at most
        const lastMs = (asked.at(-1) ?? 0) - 1_000 - stopsAtMs;
        expect(lastMs).to.be.within(STOPPING_MS, STOPPING_MS + 2_000);
      });

    const ways: readonly (readonly [string, (record: RecordUnderLease) => Promise<unknown>])[] = [
      ['read', (record) => record.read()],
      ['write', (record) => record.write(DONE)],
    ];
    for (const [title, way] of ways) {
      it(`${title}: are asked for a ttl, at distances that grow up to a second; then it rejects`, async () => {
        const { record, time, asked } = recordBench([failure('NO_QUORUM')]);
        const failing = rejection(way(record));
        await time.advance(10_000);
        expect(await failing).to.include({ code: 'NO_QUORUM' });
        const at = asked.map((ms) => ms - 1_000);
        expect(at.slice(0, 5)).to.deep.equal([0, 20, 60, 120, 200]);
        expect(at.at(-2)).to.be.below(3_000);
        expect(at.at(-1)).to.be.within(3_000, 3_999);
      });

      it(`${title}: a try at the end of that time, to the ms, is the last`, async () => {
        const { record, time, asked } = recordBench([failure('NO_QUORUM')], 2, { ttlMs: 200 });
        const failing = rejection(way(record));
        await time.advance(10_000);
        expect(await failing).to.include({ code: 'NO_QUORUM' });
        expect(asked.map((ms) => ms - 1_000)).to.deep.equal([0, 20, 60, 120, 200]);
      });

      it(`${title}: one that succeeds in between is enough`, async () => {
        const { record, time, asked } = recordBench([failure('NO_QUORUM'), [reading(''), reading('')]]);
        const done = way(record);
        await time.advance(20);
        await done;
        expect(asked).to.have.lengthOf(2);
      });

      it(`${title}: others have the votes: it rejects at once`, async () => {
        const { record, asked, time } = recordBench([failure('LOCK_LOST')]);
        expect(await rejection(way(record))).to.include({ code: 'LOCK_LOST' });
        expect([asked.length, time.pending]).to.deep.equal([1, 0]);
      });

      it(`${title}: nobody is asked without the lease`, async () => {
        const { record, asked, lose } = recordBench([failure('NO_QUORUM')]);
        lose();
        expect(await rejection(way(record))).to.include({ code: 'LOCK_LOST' });
        expect(asked).to.deep.equal([]);
      });

      it(`${title}: the lease is lost meanwhile: that is the error`, async () => {
        const { record, asked, lose, time } = recordBench([failure('NO_QUORUM')]);
        const failing = rejection(way(record));
        lose();
        expect(await failing).to.include({ code: 'LOCK_LOST' });
        expect([asked.length, time.pending]).to.deep.equal([1, 0]);
      });
    }
  });
});

describe('when a run may begin', () => {
  const known = (record: number | undefined, sinceMs: number): Read => ({
    record: record === undefined ? undefined : { ...DONE, notBeforeMs: record },
    ...{ sinceMs, nowMs: 100, earliestMs: 90, latestMs: 110, isPartial: false, fence: 1 },
  });

  it('when the record says so, and the span after what may be forgotten is over', () => {
    const cases = [
      [known(undefined, 0), 50, 0],
      [known(30, 0), 50, 30],
      [known(30, 20), 50, 70],
      [known(80, 20), 50, 80],
      [known(undefined, 20), 50, 70],
      [known(30, 40), 0, 30],
    ] as const;
    for (const [what, atLeastForMs, ms] of cases) expect(notBeforeMs(what, atLeastForMs)).to.equal(ms);
  });

  it('the next one: the span after the latest of the clocks; without a span, at once', () => {
    expect([nextNotBeforeMs(known(1, 0), 50), nextNotBeforeMs(known(1, 0), 0)]).to.deep.equal([160, 0]);
  });
});
