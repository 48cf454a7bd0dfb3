/** The last minute, second by second. */
import { expect } from 'chai';
import { Minute } from '../../lib/dashboard/minute.js';

const AT = 1_000_000;

describe('the last minute', () => {
  it('sixty seconds, the latest last; a second in which nobody looked is empty', () => {
    const minute = new Minute();
    minute.note(AT, { held: 1, waiting: 0 }, undefined);
    minute.note(AT + 500, { held: 2, waiting: 1 }, undefined);
    minute.note(AT + 3_000, { held: 3, waiting: 0 }, undefined);
    const { at, held, shared, waiting } = minute.shown;
    expect([at, held.length, held.slice(-4)]).to.deep.equal([AT + 3_000, 60, [2, null, null, 3]]);
    expect([waiting.slice(-4), shared]).to.deep.equal([[1, null, null, 0], undefined]);
  });

  it('counts: what came since the last look, and not what came while nobody looked', () => {
    const minute = new Minute();
    const locks = { held: 0, waiting: 0 };
    minute.note(AT, locks, { acquired: 100, lost: 5 });
    minute.note(AT + 500, locks, { acquired: 103, lost: 5 });
    minute.note(AT + 1_000, locks, { acquired: 110, lost: 6 });
    minute.pause();
    minute.note(AT + 2_000, locks, { acquired: 900, lost: 60 });
    expect(minute.shown.shared?.acquired.slice(-3)).to.deep.equal([3, 7, 0]);
    expect(minute.shown.shared?.lost.slice(-3)).to.deep.equal([0, 1, 0]);
  });

  it('waits: half of them, and 99 of 100, take no longer', () => {
    const minute = new Minute();
    for (let ms = 1; ms <= 100; ms++) minute.waited(ms);
    minute.note(AT, { held: 0, waiting: 0 }, { acquired: 100, lost: 0 });
    minute.note(AT + 1_000, { held: 0, waiting: 0 }, { acquired: 100, lost: 0 });
    expect(minute.shown.shared?.waitP50.slice(-2)).to.deep.equal([50, null]);
    expect(minute.shown.shared?.waitP99.slice(-2)).to.deep.equal([99, null]);
  });

  it('keeps sixty seconds and no more', () => {
    const minute = new Minute();
    for (let s = 0; s < 200; s++) minute.note(AT + s * 1_000, { held: s, waiting: 0 }, undefined);
    expect(minute.shown.held).to.have.length(60);
    expect(minute.shown.held[0]).to.equal(140);
  });
});
