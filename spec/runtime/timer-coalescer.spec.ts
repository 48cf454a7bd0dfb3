import { expect } from 'chai';
import { Due, TimerCoalescer } from '../../lib/runtime/timer-coalescer.js';
import { FakeTime } from '../support/fake-time.js';

type Call = () => void;

function callAll(due: readonly Call[]): void {
  for (const call of due) call();
}

function environment() {
  const time = new FakeTime();
  const coalescer = new TimerCoalescer<Call>(time, time, callAll);
  const fired: [number, number][] = [];
  const startMs = time.now();
  const dues: Due<Call>[] = [];
  const add = (inMs: number, slackMs: number): Due<Call> => {
    const index = dues.length;
    const due = new Due(() => void fired.push([index, time.now() - startMs]));
    dues.push(due);
    coalescer.add(due, startMs + inMs, slackMs);
    return due;
  };
  return { time, coalescer, fired, add, startMs };
}

describe('timer coalescer: timers that may be a little early, together', () => {
  it('a few fire at their own instants, each once', async () => {
    const { time, fired, add, coalescer } = environment();
    for (const inMs of [30, 10, 20, 10]) add(inMs, 16);
    await time.advance(100);
    expect(fired.map(([, atMs]) => atMs)).to.deep.equal([10, 10, 20, 30]);
    expect([coalescer.size, time.pending]).to.deep.equal([0, 0]);
  });

  it('many fire in few turns of the event loop, none after it is due, none earlier than its slack', async () => {
    const { time, fired, add } = environment();
    const dueMs = Array.from({ length: 1_000 }, (_, i) => 500 + (i % 250));
    for (const inMs of dueMs) add(inMs, 40);
    await time.advance(2_000);
    expect(fired.length).to.equal(1_000);
    const late = fired.map(([index, atMs]) => atMs - (dueMs[index] ?? 0));
    expect(Math.min(...late)).to.be.at.least(-40);
    expect(Math.max(...late)).to.be.at.most(0);
    expect(new Set(fired.map(([, atMs]) => atMs)).size).to.be.below(250 / 32 + 8 + 2);
  });

  it('too many for one turn of the event loop are spread over the time before, and never to the first half of it', async () => {
    const { time, fired, add } = environment();
    for (let i = 0; i < 10_000; i++) add(3_000, 64);
    await time.advance(4_000);
    const turns = new Map<number, number>();
    for (const [, atMs] of fired) turns.set(atMs, (turns.get(atMs) ?? 0) + 1);
    expect(fired.length).to.equal(10_000);
    expect(Math.max(...turns.values())).to.be.at.most(2_048);
    expect(Math.min(...turns.keys())).to.be.at.least(1_500);
    expect(Math.max(...turns.keys())).to.be.at.most(3_000);
  });

  it('with a wide slack, a turn of the event loop fires some of those that fall together, and the next ones the others', async () => {
    const { time, fired, add, coalescer } = environment();
    for (let i = 0; i < 1_000; i++) add(9_000, 500);
    await time.advance(10_000);
    const turns = new Map<number, number>();
    for (const [, atMs] of fired) turns.set(atMs, (turns.get(atMs) ?? 0) + 1);
    expect([fired.length, coalescer.size, time.pending]).to.deep.equal([1_000, 0, 0]);
    expect(Math.max(...turns.values())).to.be.at.most(256 + 8); // the first few fire at their own instant
    expect(Math.min(...turns.keys())).to.be.at.least(8_500);
    expect(Math.max(...turns.keys())).to.be.at.most(9_064);
  });

  it('timers that are removed while they wait for the next turn of the event loop do not fire, and the last one takes the timer along', async () => {
    const { time, fired, coalescer, startMs } = environment();
    const dues = Array.from({ length: 300 }, (_, i) => new Due(() => void fired.push([i, time.now()])));
    for (const due of dues) coalescer.add(due, startMs + 9_000, 500);
    while (fired.length < 150) await time.advance(1);
    const sofar = fired.length;
    for (const due of dues) coalescer.remove(due);
    expect([coalescer.size, time.pending]).to.deep.equal([0, 0]);
    await time.advance(10_000);
    expect(fired.length).to.equal(sofar);
  });

  describe('with a wide slack, and a callback when the timers that fired together are done', () => {
    /** 1,000 at the same instant; `onDone` gets what is to be called. @returns when how many fired, in ms after the first */
    async function chunks(onDone: (time: FakeTime, done: () => void) => void): Promise<readonly string[]> {
      const time = new FakeTime();
      const turns = new Map<number, number>();
      const startMs = time.now();
      const coalescer = new TimerCoalescer<Call>(time, time, (due, done) => {
        callAll(due);
        onDone(time, done);
      });
      for (let i = 0; i < 8; i++) coalescer.add(new Due(() => undefined), startMs + 90_000, 0); // a few more are many
      for (let i = 0; i < 1_000; i++) {
        const due = new Due(() => void turns.set(time.now(), (turns.get(time.now()) ?? 0) + 1));
        coalescer.add(due, startMs + 9_000, 500);
      }
      await time.advance(10_000);
      expect([coalescer.size, time.pending]).to.deep.equal([8, 1]);
      const [firstMs = 0] = turns.keys();
      return [...turns].map(([atMs, count]) => `${atMs - firstMs}: ${count}`);
    }

    it('the next ones follow at once', async () => {
      const fired = await chunks((time, done) => void time.wait(3, done));
      expect(fired).to.deep.equal(['0: 256', '3: 256', '6: 256', '9: 232']);
    });

    it('one callback counts for each; further ones change nothing', async () => {
      const fired = await chunks((time, done) => [3, 4, 5, 7, 50].map((ms) => time.wait(ms, done)));
      expect(fired).to.deep.equal(['0: 256', '3: 256', '6: 256', '9: 232']);
    });

    it('they wait no longer than they would otherwise', async () => {
      const fired = await chunks((time, done) => void time.wait(9, done));
      expect(fired).to.deep.equal(['0: 256', '8: 256', '16: 256', '24: 232']);
    });

    it('a callback in the same turn of the event loop changes nothing: one turn would do all of them', async () => {
      const fired = await chunks((_, done) => done());
      expect(fired).to.deep.equal(['0: 256', '8: 256', '16: 256', '24: 232']);
    });
  });

  it('those that are due in one turn of the event loop are handed over together', async () => {
    const time = new FakeTime();
    const said: (readonly string[])[] = [];
    const coalescer = new TimerCoalescer<string>(time, time, (names) => void said.push(names));
    for (const [name, inMs] of [
      ['a', 10],
      ['b', 20],
      ['c', 20],
    ] as const)
      coalescer.add(new Due(name), time.now() + inMs, 0);
    await time.advance(30);
    expect(said).to.deep.equal([['a'], ['c', 'b']]);
  });

  it('one that is taken out does not fire, and the last one takes its timer along', async () => {
    const { time, fired, add, coalescer } = environment();
    const [first, second] = [add(10, 0), add(10, 0)];
    coalescer.remove(first);
    expect(time.pending).to.equal(1);
    coalescer.remove(second);
    coalescer.remove(second); // nothing happens
    expect([coalescer.size, time.pending]).to.deep.equal([0, 0]);
    await time.advance(100);
    expect(fired).to.deep.equal([]);
  });

  it('one that is put in again moves; one that puts itself in again as it fires goes round', async () => {
    const { time, coalescer, startMs } = environment();
    const fired: number[] = [];
    const due: Due<Call> = new Due(() => {
      fired.push(time.now() - startMs);
      if (fired.length < 3) coalescer.add(due, time.now() + 10, 0);
    });
    coalescer.add(due, startMs + 5, 0);
    coalescer.add(due, startMs + 10, 0);
    await time.advance(100);
    expect(fired).to.deep.equal([10, 20, 30]);
    expect([coalescer.size, time.pending]).to.deep.equal([0, 0]);
  });

  it('what is handed over is out: to take it out then changes nothing', async () => {
    const { time, coalescer, startMs } = environment();
    const fired: string[] = [];
    const one = new Due(() => {
      fired.push('one');
      coalescer.remove(other);
    });
    const other = new Due(() => void fired.push('other'));
    coalescer.add(other, startMs + 10, 0);
    coalescer.add(one, startMs + 10, 0);
    await time.advance(100);
    expect(fired).to.deep.equal(['one', 'other']);
    expect([coalescer.size, time.pending]).to.deep.equal([0, 0]);
  });

  it('what was due in the past fires in the next timer phase', async () => {
    const { time, fired, add } = environment();
    add(-100, 16);
    await time.advance(0);
    expect(fired).to.deep.equal([[0, 0]]);
  });
});
