import { expect } from 'chai';
import { Due, Wheel } from '../../lib/runtime/timer-coalescer.js';
import { FakeTime } from '../support/fake-time.js';

function ground() {
  const time = new FakeTime();
  const wheel = new Wheel(time, time);
  const fired: [number, number][] = [];
  const startMs = time.now();
  const dues: Due[] = [];
  const add = (inMs: number, slackMs: number): Due => {
    const index = dues.length;
    const due = new Due(() => fired.push([index, time.now() - startMs]));
    dues.push(due);
    wheel.add(due, startMs + inMs, slackMs);
    return due;
  };
  return { time, wheel, fired, add, startMs };
}

describe('wheel: timers that may be a little early, together', () => {
  it('a few fire at their own instants, each once', async () => {
    const { time, fired, add, wheel } = ground();
    for (const inMs of [30, 10, 20, 10]) add(inMs, 16);
    await time.advance(100);
    expect(fired.map(([, atMs]) => atMs)).to.deep.equal([10, 10, 20, 30]);
    expect([wheel.size, time.pending]).to.deep.equal([0, 0]);
  });

  it('many fire in few turns, none after it is due, none earlier than its slack', async () => {
    const { time, fired, add } = ground();
    const dueMs = Array.from({ length: 1_000 }, (_, i) => 500 + (i % 250));
    for (const inMs of dueMs) add(inMs, 40);
    await time.advance(2_000);
    expect(fired.length).to.equal(1_000);
    const late = fired.map(([index, atMs]) => atMs - (dueMs[index] ?? 0));
    expect(Math.min(...late)).to.be.at.least(-40);
    expect(Math.max(...late)).to.be.at.most(0);
    expect(new Set(fired.map(([, atMs]) => atMs)).size).to.be.below(250 / 32 + 8 + 2);
  });

  it('too many for one turn are spread over the time before, and never to the first half of it', async () => {
    const { time, fired, add } = ground();
    for (let i = 0; i < 10_000; i++) add(3_000, 64);
    await time.advance(4_000);
    const turns = new Map<number, number>();
    for (const [, atMs] of fired) turns.set(atMs, (turns.get(atMs) ?? 0) + 1);
    expect(fired.length).to.equal(10_000);
    expect(Math.max(...turns.values())).to.be.at.most(2_048);
    expect(Math.min(...turns.keys())).to.be.at.least(1_500);
    expect(Math.max(...turns.keys())).to.be.at.most(3_000);
  });

  it('where there is the time, a turn fires some of those that fall together, and the next ones the others', async () => {
    const { time, fired, add, wheel } = ground();
    for (let i = 0; i < 1_000; i++) add(9_000, 500);
    await time.advance(10_000);
    const turns = new Map<number, number>();
    for (const [, atMs] of fired) turns.set(atMs, (turns.get(atMs) ?? 0) + 1);
    expect([fired.length, wheel.size, time.pending]).to.deep.equal([1_000, 0, 0]);
    expect(Math.max(...turns.values())).to.be.at.most(256 + 8); // the first few fire at their own instant
    expect(Math.min(...turns.keys())).to.be.at.least(8_500);
    expect(Math.max(...turns.keys())).to.be.at.most(9_064);
  });

  it('what is taken out of those that wait for the next turn does not fire, and the last one takes the timer along', async () => {
    const { time, fired, wheel, startMs } = ground();
    const dues = Array.from({ length: 300 }, (_, i) => new Due(() => fired.push([i, time.now()])));
    for (const due of dues) wheel.add(due, startMs + 9_000, 500);
    while (fired.length < 150) await time.advance(1);
    const sofar = fired.length;
    for (const due of dues) wheel.remove(due);
    expect([wheel.size, time.pending]).to.deep.equal([0, 0]);
    await time.advance(10_000);
    expect(fired.length).to.equal(sofar);
  });

  describe('where there is the time, and it is told when what fired together is done', () => {
    /** 1,000 at the same instant; `onDone` gets what is to be called. @returns when how many fired, in ms after the first */
    async function chunks(onDone: (time: FakeTime, done: () => void) => void): Promise<readonly string[]> {
      const time = new FakeTime();
      const turns = new Map<number, number>();
      const startMs = time.now();
      const wheel = new Wheel(time, time, (fire, done) => {
        fire();
        onDone(time, done);
      });
      for (let i = 0; i < 8; i++) wheel.add(new Due(() => undefined), startMs + 90_000, 0); // a few more are many
      for (let i = 0; i < 1_000; i++) {
        const due = new Due(() => turns.set(time.now(), (turns.get(time.now()) ?? 0) + 1));
        wheel.add(due, startMs + 9_000, 500);
      }
      await time.advance(10_000);
      expect([wheel.size, time.pending]).to.deep.equal([8, 1]);
      const [firstMs = 0] = turns.keys();
      return [...turns].map(([atMs, count]) => `${atMs - firstMs}: ${count}`);
    }

    it('the next ones follow at once', async () => {
      const fired = await chunks((time, done) => void time.wait(3, done));
      expect(fired).to.deep.equal(['0: 256', '3: 256', '6: 256', '9: 232']);
    });

    it('it is told once for each; told again, nothing follows sooner', async () => {
      const fired = await chunks((time, done) => [3, 4, 5, 7, 50].map((ms) => time.wait(ms, done)));
      expect(fired).to.deep.equal(['0: 256', '3: 256', '6: 256', '9: 232']);
    });

    it('they wait no longer than they would otherwise', async () => {
      const fired = await chunks((time, done) => void time.wait(9, done));
      expect(fired).to.deep.equal(['0: 256', '8: 256', '16: 256', '24: 232']);
    });

    it('what is told in the same turn changes nothing: one turn would do all of them', async () => {
      const fired = await chunks((_, done) => done());
      expect(fired).to.deep.equal(['0: 256', '8: 256', '16: 256', '24: 232']);
    });
  });

  it('those that fire in one turn fire together; one by itself does not', async () => {
    const time = new FakeTime();
    const said: string[] = [];
    const wheel = new Wheel(time, time, (fire) => {
      said.push('begin');
      fire();
      said.push('end');
    });
    for (const [name, inMs] of [
      ['a', 10],
      ['b', 20],
      ['c', 20],
    ] as const)
      wheel.add(new Due(() => said.push(name)), time.now() + inMs, 0);
    await time.advance(30);
    expect(said).to.deep.equal(['a', 'begin', 'c', 'b', 'end']);
  });

  it('one that is taken out does not fire, and the last one takes its timer along', async () => {
    const { time, fired, add, wheel } = ground();
    const [first, second] = [add(10, 0), add(10, 0)];
    wheel.remove(first);
    expect(time.pending).to.equal(1);
    wheel.remove(second);
    wheel.remove(second); // nothing happens
    expect([wheel.size, time.pending]).to.deep.equal([0, 0]);
    await time.advance(100);
    expect(fired).to.deep.equal([]);
  });

  it('one that is put in again moves; one that puts itself in again as it fires goes round', async () => {
    const { time, wheel, startMs } = ground();
    const fired: number[] = [];
    const due: Due = new Due(() => {
      fired.push(time.now() - startMs);
      if (fired.length < 3) wheel.add(due, time.now() + 10, 0);
    });
    wheel.add(due, startMs + 5, 0);
    wheel.add(due, startMs + 10, 0);
    await time.advance(100);
    expect(fired).to.deep.equal([10, 20, 30]);
    expect([wheel.size, time.pending]).to.deep.equal([0, 0]);
  });

  it('one that another takes out in the same turn does not fire', async () => {
    const { time, wheel, startMs } = ground();
    const fired: string[] = [];
    const one = new Due(() => {
      fired.push('one');
      wheel.remove(other);
    });
    const other = new Due(() => fired.push('other'));
    wheel.add(other, startMs + 10, 0);
    wheel.add(one, startMs + 10, 0);
    await time.advance(100);
    expect(fired).to.deep.equal(['one']);
    expect([wheel.size, time.pending]).to.deep.equal([0, 0]);
  });

  it('what was due in the past fires in the next timer phase', async () => {
    const { time, fired, add } = ground();
    add(-100, 16);
    await time.advance(0);
    expect(fired).to.deep.equal([[0, 0]]);
  });
});
