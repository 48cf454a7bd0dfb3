/** The last minute, second by second. */
import { expect } from 'chai';
import { Minute } from '../../lib/dashboard/minute.js';
import type { Done } from '../../lib/dashboard/reports.js';

const AT = 1_000_000;
const LOCKS = { held: 0, waiting: 0 };

const done = (fromMs: number, toMs: number, more: Partial<Done> = {}): Done => ({
  ...{ fromMs: AT + fromMs, toMs: AT + toMs, acquired: 0, lost: 0, waits: [] },
  ...more,
});

describe('the last minute', () => {
  let minute: Minute;
  beforeEach(() => (minute = new Minute()));
  const look = (seconds: number, untilMs: number, ...all: readonly Done[]): void => {
    for (let s = 0; s <= seconds; s++)
      minute.note(AT + s * 1_000, LOCKS, { done: s === seconds ? all : [], untilMs: AT + untilMs });
  };

  it('sixty seconds, the latest last; a second in which nobody looked is empty', () => {
    minute.note(AT, { held: 1, waiting: 0 }, undefined);
    minute.note(AT + 500, { held: 2, waiting: 1 }, undefined);
    minute.note(AT + 3_000, { held: 3, waiting: 0 }, undefined);
    const { at, held, shared, waiting } = minute.shown;
    expect([at, held.length, held.slice(-4)]).to.deep.equal([AT + 3_000, 60, [2, null, null, 3]]);
    expect([waiting.slice(-4), shared]).to.deep.equal([[1, null, null, 0], undefined]);
  });

  it('what was done is spread over the seconds in which it was done, and added up; what is still to come is empty', () => {
    look(5, 4_000, done(0, 4_000, { acquired: 8 }), done(1_500, 3_500, { acquired: 2, lost: 1 }));
    expect(minute.shown.shared?.acquired.slice(-6)).to.deep.equal([2, 2.5, 3, 2.5, null, null]);
    expect(minute.shown.shared?.lost.slice(-6)).to.deep.equal([0, 0.25, 0.5, 0.25, null, null]);
  });

  it('what was done before anybody looked is left out', () => {
    look(1, 1_500, done(-8_000, 2_000, { acquired: 100 }));
    expect(minute.shown.shared?.acquired.slice(-3)).to.deep.equal([null, 10, null]);
  });

  it('waits: what half of them, and 99 of 100, do not exceed, of all instances together', () => {
    const waits = (length: number, count: number): number[] => [...Array.from({ length }, () => 0), count];
    look(3, 4_000, done(0, 2_000, { waits: waits(4, 98) }), done(0, 2_000, { waits: waits(8, 2) }));
    expect(minute.shown.shared?.waitP50.slice(-4)).to.deep.equal([2, 2, null, null]);
    expect(minute.shown.shared?.waitP99.slice(-4)).to.deep.equal([4, 4, null, null]);
  });

  it('keeps sixty seconds and no more', () => {
    for (let s = 0; s < 200; s++) minute.note(AT + s * 1_000, { held: s, waiting: 0 }, undefined);
    expect(minute.shown.held).to.have.length(60);
    expect(minute.shown.held[0]).to.equal(140);
  });
});
