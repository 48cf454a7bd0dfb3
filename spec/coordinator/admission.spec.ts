import { expect } from 'chai';
import {
  Admission,
  BREAK_MS,
  FIRST_LIMIT,
  LEAST_LIMIT,
  MOST_LIMIT,
} from '../../lib/coordinator/admission.js';
import { SystemTimers } from '../../lib/runtime/clock.js';
import { FakeTime } from '../support/fake-time.js';

/** Lets in as many as it admits. */
function fill(admission: Admission): number {
  let count = 0;
  while (admission.admits()) count++;
  return count;
}

/** So many that wait, and which of them were let in or turned away, in that order. */
function crowd(admission: Admission, count: number, { waitMs = 60_000, times = 1 } = {}) {
  const time = new FakeTime();
  const said: string[] = [];
  const wait = { timers: time, waitMs, times };
  const applicants = Array.from({ length: count }, (_, i) =>
    admission.wait(wait, (isLetIn) => said.push(`${i} ${isLetIn ? 'in' : 'out'}`)),
  );
  return { time, said, applicants };
}

describe('admission: how many attempts are under way at a time', () => {
  it(`admits ${FIRST_LIMIT} at first, and one for each that leaves`, () => {
    const admission = new Admission(new FakeTime());
    expect(fill(admission)).to.equal(FIRST_LIMIT);
    expect(admission.inside).to.equal(FIRST_LIMIT);
    admission.leave(0);
    admission.leave(0.6);
    expect(fill(admission)).to.equal(2);
  });

  it('lets waiting attempts in, in order, as others leave; none whose wait has ended', () => {
    const admission = new Admission(new FakeTime());
    fill(admission);
    const { said, applicants } = crowd(admission, 5);
    applicants[1]?.end();
    applicants[1]?.end(); // nothing happens
    expect(said).to.deep.equal(['1 out']);
    for (let i = 0; i < 3; i++) admission.leave(0.6);
    expect(said).to.deep.equal(['1 out', '0 in', '2 in', '3 in']);
    applicants[0]?.end(); // it is in
    admission.leave(0.6);
    expect(said.at(-1)).to.equal('4 in');
    expect([admission.inside, admission.admits()]).to.deep.equal([FIRST_LIMIT, false]);
  });

  it('starts anew after a break, and not after a shorter one', () => {
    for (const [idleMs, limit] of [
      [BREAK_MS - 1, FIRST_LIMIT + 3],
      [BREAK_MS, FIRST_LIMIT],
    ] as const) {
      const time = new FakeTime();
      const admission = new Admission(time);
      fill(admission);
      crowd(admission, 10);
      for (let i = 0; i < 3; i++) admission.leave(0); // well in time, while others wait
      while (admission.inside > 0) admission.leave(0.6);
      time.stall(idleMs);
      expect(fill(admission)).to.equal(limit);
      while (admission.inside > 1) admission.leave(0.6);
      time.stall(BREAK_MS);
      expect(fill(admission), 'one is still under way').to.equal(limit - 1);
    }
  });

  it('no attempt waits for longer than its time, or keeps a timer after its wait', async () => {
    const admission = new Admission(new FakeTime());
    fill(admission);
    const { said, time } = crowd(admission, 2, { waitMs: 100 });
    admission.leave(0.6);
    expect([said, time.pending]).to.deep.equal([['0 in'], 1]);
    await time.advance(99);
    expect(said).to.deep.equal(['0 in']);
    await time.advance(1);
    expect([said, time.pending]).to.deep.equal([['0 in', '1 out'], 0]);
  });

  it('waits several times over while others are answered, and once more when they were not', async () => {
    const admission = new Admission(new FakeTime());
    fill(admission);
    const { said, time } = crowd(admission, 1_000, { waitMs: 100, times: 10 });
    await time.advance(100); // nobody has got an answer: that may be this process
    admission.leave(0.6);
    await time.advance(100);
    for (let i = 0; i < 300; i++) admission.leave(1); // time ran out for these: that is no answer
    const letIn = said.length;
    await time.advance(199);
    expect(said.length).to.equal(letIn);
    await time.advance(1);
    expect([said.length, said.at(-1)]).to.deep.equal([1_000, '999 out']);
    expect(time.pending).to.equal(0);
  });

  it('a grant that comes later than it should is an answer, and there is less room all the same', async () => {
    const admission = new Admission(new FakeTime());
    fill(admission);
    const { said, time } = crowd(admission, 1, { waitMs: 100, times: 10 });
    admission.leave(1.5, true);
    expect([admission.answered, said.length]).to.deep.equal([1, 0]);
    for (let i = 1; i < FIRST_LIMIT / 2; i++) admission.leave(0.6);
    expect(said.length).to.equal(0);
    admission.leave(0.6);
    expect([said.length, admission.inside]).to.deep.equal([1, FIRST_LIMIT / 2]);
    await time.advance(0);
  });

  it('but not more often than that', async () => {
    const admission = new Admission(new FakeTime());
    fill(admission);
    const { said, time } = crowd(admission, 100, { waitMs: 100, times: 3 });
    for (let i = 1; i <= 3; i++) {
      admission.leave(0.6);
      await time.advance(99);
      expect(said.length).to.equal(i);
      await time.advance(1);
    }
    expect([said.length, said.at(-1)]).to.deep.equal([100, '99 out']);
  });

  it(`grows by one for each that is granted in half of its time while others wait, up to ${MOST_LIMIT}`, () => {
    const admission = new Admission(new FakeTime());
    fill(admission);
    const { said } = crowd(admission, 5_000);
    admission.leave(0.49);
    expect([said.length, admission.inside]).to.deep.equal([2, FIRST_LIMIT + 1]);
    admission.leave(0.5);
    expect([said.length, admission.inside]).to.deep.equal([3, FIRST_LIMIT + 1]);
    for (let i = 0; i < 2_000; i++) admission.leave(0);
    expect(admission.inside).to.equal(MOST_LIMIT);
  });

  it('does not grow while nobody waits', () => {
    const admission = new Admission(new FakeTime());
    for (let i = 0; i < 1_000; i++) {
      admission.admits();
      admission.leave(0);
    }
    expect(fill(admission)).to.equal(FIRST_LIMIT);
  });

  it(`is halved when one runs out of time, once for all that came in before, and down to ${LEAST_LIMIT}`, () => {
    const admission = new Admission(new FakeTime());
    fill(admission);
    const { said } = crowd(admission, 1_000);
    for (let i = 0; i < FIRST_LIMIT; i++) admission.leave(1);
    expect([said.length, admission.inside]).to.deep.equal([FIRST_LIMIT / 2, FIRST_LIMIT / 2]);
    for (let i = 0; i < 2_000 && said.length < 1_000; i++) admission.leave(1);
    while (admission.inside > 0) admission.leave(1);
    expect(fill(admission)).to.equal(LEAST_LIMIT);
  });

  it('many that leave as soon as they are let in, one after another', () => {
    const admission = new Admission(new FakeTime());
    fill(admission);
    const wait = { timers: new SystemTimers(), waitMs: 1_000, times: 1 };
    let count = 0;
    for (let i = 0; i < 50_000; i++) {
      admission.wait(wait, () => {
        count++;
        admission.leave(0.6);
      });
    }
    admission.leave(0.6);
    expect([count, admission.inside]).to.deep.equal([50_000, FIRST_LIMIT - 1]);
  });

  it('keeps no more attempts whose wait has ended than waiting ones, also while none leaves', () => {
    const admission = new Admission(new FakeTime());
    fill(admission);
    const { said, applicants } = crowd(admission, 3_000);
    for (const applicant of applicants.filter((_, i) => i % 100 !== 0)) {
      applicant.end();
      expect(admission.size).to.be.at.most(2 * (3_000 - said.length) + 1);
    }
    expect(said.length).to.equal(2_970);
    for (let i = 0; i < 30; i++) admission.leave(0.6);
    expect(said.slice(-2)).to.deep.equal(['2800 in', '2900 in']);
    expect(admission.size).to.equal(0);
  });

  it('forgets attempts whose wait has ended', () => {
    const admission = new Admission(new FakeTime());
    fill(admission);
    const { said, applicants } = crowd(admission, 3_000);
    for (const applicant of applicants.slice(0, -1)) applicant.end();
    admission.leave(0.6);
    expect([said.length, said.at(-1)]).to.deep.equal([3_000, '2999 in']);
    admission.leave(0.6);
    expect(admission.admits()).to.equal(true);
  });
});
