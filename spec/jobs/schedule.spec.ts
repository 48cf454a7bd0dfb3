/** Schedules and the ticks in a span: pure. */
import { expect } from 'chai';
import { type Schedule, scheduleOf, ticksIn } from '../../lib/jobs/schedule.js';
import { rejection } from '../support/rejection.js';

/** A tick at each multiple; counts how often it was asked. */
function each(everyMs: number): Schedule & { asked: number } {
  const next = (afterMs: number): number => (Math.floor(afterMs / everyMs) + 1) * everyMs;
  return {
    text: `every ${everyMs}`,
    asked: 0,
    next(afterMs) {
      this.asked++;
      return next(afterMs);
    },
  };
}

describe('a schedule in words', () => {
  it('names its period, or its expression and time zone, of 200 letters at most', async () => {
    expect((await scheduleOf({ every: 5 })).text).to.equal('every 5');
    const cron = { cron: '0 6 * * *', timeZone: 'Europe/Berlin' };
    expect((await scheduleOf(cron)).text).to.equal('cron 0 6 * * * Europe/Berlin');
    const long = Array.from({ length: 60 }, (_, i) => String(i)).join(',');
    const text = (await scheduleOf({ cron: `${long} ${long} * * * *`, timeZone: 'UTC' })).text;
    expect(text).to.have.lengthOf(200);
  });
});

describe('the ticks in a span', () => {
  const cases: readonly (readonly [
    title: string,
    span: readonly [number, number],
    most: number,
    number[],
  ])[] = [
    ['after its beginning, and up to its end', [10, 40], 9, [20, 30, 40]],
    ['none', [10, 19], 9, []],
    ['the latest, if there are more than are wanted', [0, 40], 2, [30, 40]],
    ['the latest, if there are many more', [0, 1_000], 3, [980, 990, 1_000]],
    ['as many as are wanted', [0, 40], 4, [10, 20, 30, 40]],
  ];
  for (const [title, [afterMs, toMs], most, ticks] of cases) {
    it(title, () => expect(ticksIn(each(10), afterMs, toMs, most)).to.deep.equal(ticks));
  }

  it('a schedule that has ended: those that it had', () => {
    const once: Schedule = { text: 'once', next: (afterMs) => (afterMs < 20 ? 20 : undefined) };
    expect(ticksIn(once, 0, 40, 9)).to.deep.equal([20]);
  });

  it('millions of them: the latest, after few steps, of the last half of what is left each time', () => {
    const schedule = each(1);
    expect(ticksIn(schedule, 0, 10_000_000, 3)).to.deep.equal([9_999_998, 9_999_999, 10_000_000]);
    expect(schedule.asked).to.be.below(150_000);
  });

  it('more than one look goes through: those of the first half do not count, those of the second do', () => {
    expect(ticksIn(each(1), 0, 20_000, 15_000))
      .to.have.lengthOf(5_000)
      .and.include.members([15_001, 20_000]);
    expect(ticksIn(each(1), 0, 9_999, 15_000)).to.have.lengthOf(9_999);
  });
});

describe('schedules', () => {
  it('every: multiples of the period since 1970, each after the one before', async () => {
    const schedule = await scheduleOf({ every: 250 });
    expect([0, 249, 250, 251].map((ms) => schedule.next(ms))).to.deep.equal([250, 250, 500, 500]);
  });

  it('cron: none any more after the last', async () => {
    const schedule = await scheduleOf({ cron: '0 0 0 1 1 * 2030', timeZone: 'UTC' });
    const tick = schedule.next(0);
    expect(tick).to.equal(Date.UTC(2030, 0, 1));
    expect(schedule.next(tick ?? 0)).to.equal(undefined);
  });

  describe('no cron expression: the field and its value are named, and no stack', () => {
    const wrong: readonly (readonly [cron: string, text: string])[] = [
      ['61 * * * *', 'whose minute cannot be "61".'],
      ['0 99 * * * *', 'whose minute cannot be "99".'],
      ['* * * 13 *', 'whose month cannot be "13".'], // croner says 12
      ['0 6 * * 9', 'whose day of the week cannot be "9".'],
      ['a * * * *', 'whose minute cannot be "a".'],
      ['*/0 * * * *', 'whose minute cannot be "*/0" (Syntax error, illegal stepping: 0).'],
      ['60 61 * * * *', 'whose second cannot be "60".'],
      ['0 0 0 1 13 * 2030', 'whose month cannot be "13".'],
      ['0 0 0 1 1 * 2030 *', 'which has 8 fields in place of five, or six with seconds first.'],
      ['* * *', 'which has 3 fields in place of five, or six with seconds first.'],
      ['', 'which has 0 fields in place of five, or six with seconds first.'],
      ['@soon', 'which has 1 field in place of five, or six with seconds first.'],
    ];
    for (const [cron, text] of wrong) {
      it(`${JSON.stringify(cron)}: ${text}`, async () => {
        const { code, message } = await rejection(scheduleOf({ cron, timeZone: 'UTC' }));
        expect(code).to.equal('INVALID_ARGUMENT');
        expect(message).to.equal(`cron must be a cron expression; got ${JSON.stringify(cron)}, ${text}`);
      });
    }
  });
});
