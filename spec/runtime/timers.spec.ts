import { expect } from 'chai';
import sinon from 'sinon';
import { type EventLoop, SystemTimers, type Timer } from '../../lib/runtime/clock.js';

const LONGEST_MS = 2 ** 31 - 1;
const KINDS = ['wait', 'deadline', 'background'] as const;

/** Lets what was put off by `setImmediate`, which is real here, run. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The event loop of this process. It counts its own timers: those of the whole process may be another spec's. */
class CountingLoop implements EventLoop {
  readonly #open = new Set<NodeJS.Timeout>();

  /** How many timers were set that have neither fired nor been cleared. */
  get open(): number {
    return this.#open.size;
  }

  now(): number {
    return performance.now();
  }

  setTimeout(callback: () => void, delayMs: number): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#open.delete(timer);
      callback();
    }, delayMs);
    this.#open.add(timer);
    return timer;
  }

  clearTimeout(timer: NodeJS.Timeout | undefined): void {
    if (timer !== undefined) this.#open.delete(timer);
    clearTimeout(timer);
  }

  setImmediate(callback: () => void): void {
    setImmediate(callback);
  }
}

describe('SystemTimers', () => {
  let loop: CountingLoop;
  let clock: sinon.SinonFakeTimers;
  let fired: number;
  const fire = (): void => void fired++;

  beforeEach(() => {
    fired = 0;
    loop = new CountingLoop();
    clock = sinon.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    });
  });
  afterEach(() => clock.restore());

  const set = (kind: (typeof KINDS)[number], delayMs: number, timers = new SystemTimers(loop)): Timer =>
    timers[kind](delayMs, fire);

  for (const kind of KINDS) {
    it(`${kind}: fires once, when the delay is over and not before`, async () => {
      set(kind, 250);
      await clock.tickAsync(249);
      await turn();
      expect(fired).to.equal(0);
      await clock.tickAsync(1);
      await turn();
      expect(fired).to.equal(1);
      await clock.tickAsync(10_000);
      await turn();
      expect([fired, loop.open]).to.deep.equal([1, 0]);
    });

    it(`${kind}: never fires once cancelled; cancelling again, or after it fired, does nothing`, async () => {
      const [early, late] = [set(kind, 250), set(kind, 100)];
      early.cancel();
      early.cancel();
      await clock.tickAsync(1_000);
      await turn();
      expect(fired).to.equal(1);
      late.cancel();
      await clock.tickAsync(1_000);
      await turn();
      expect(fired).to.equal(1);
    });

    it(`${kind}: a delay of 0, or that lies in the past, fires in the next turn of the event loop`, async () => {
      set(kind, 0);
      set(kind, -50);
      expect(fired).to.equal(0);
      await clock.tickAsync(1);
      await turn();
      await clock.tickAsync(1);
      await turn();
      expect(fired).to.equal(2);
    });

    it(`${kind}: a part of a millisecond is never cut off`, async () => {
      set(kind, 10.2);
      await clock.tickAsync(10);
      await turn();
      expect(fired).to.equal(0);
      await clock.tickAsync(1);
      await turn();
      expect(fired).to.equal(1);
    });

    for (const [name, delayMs] of [
      ['2^31 - 1', LONGEST_MS],
      ['2^31', LONGEST_MS + 1],
      ['three times 2^31', 3 * 2 ** 31],
    ] as const) {
      it(`${kind}: ${name} ms takes as long as it says`, async () => {
        set(kind, delayMs);
        await clock.tickAsync(delayMs - 1);
        await turn();
        expect(fired).to.equal(0);
        await clock.tickAsync(1);
        await turn();
        expect(fired).to.equal(1);
        expect(loop.open).to.equal(0);
      });
    }

    it(`${kind}: Infinity never fires, and can be cancelled`, async () => {
      const timer = set(kind, Infinity);
      await clock.tickAsync(5 * LONGEST_MS);
      await turn();
      expect(fired).to.equal(0);
      timer.cancel();
      expect(loop.open).to.equal(0);
    });

    it(`${kind}: a long delay that is cancelled in its second piece stays silent`, async () => {
      const timer = set(kind, 3 * LONGEST_MS);
      await clock.tickAsync(LONGEST_MS + 10);
      timer.cancel();
      await clock.tickAsync(5 * LONGEST_MS);
      await turn();
      expect([fired, loop.open]).to.deep.equal([0, 0]);
    });
  }

  it('deadline: many in any order fire at their instants, each once', async () => {
    const timers = new SystemTimers(loop);
    const delays = [100, 100, 250, 40, 300, 120, 1, 299];
    const instants: number[] = [];
    for (const delayMs of delays) timers.deadline(delayMs, () => instants.push(delayMs));
    for (let ms = 1; ms <= 300; ms++) {
      await clock.tickAsync(1);
      await turn();
      expect(instants.length, `at ${ms}`).to.equal(delays.filter((one) => one <= ms).length);
    }
    expect(instants).to.deep.equal([...delays].sort((a, b) => a - b));
  });

  it('deadline: one real timer for many that are answered, and none left that fires', async () => {
    const timers = new SystemTimers(loop);
    for (let i = 0; i < 5_000; i++) timers.deadline(200, fire).cancel();
    expect(loop.open).to.be.at.most(1);
    await clock.tickAsync(400);
    await turn();
    expect([fired, loop.open]).to.deep.equal([0, 0]);
  });

  it('deadline: the ones behind a cancelled one still fire in time', async () => {
    const timers = new SystemTimers(loop);
    const first = timers.deadline(100, fire);
    await clock.tickAsync(50);
    timers.deadline(100, fire);
    first.cancel();
    await clock.tickAsync(99);
    await turn();
    expect(fired).to.equal(0);
    await clock.tickAsync(1);
    await turn();
    expect(fired).to.equal(1);
  });

  it('deadline: one that is set while another fires is not lost', async () => {
    const timers = new SystemTimers(loop);
    timers.deadline(100, () => {
      fire();
      timers.deadline(100, fire);
    });
    await clock.tickAsync(100);
    await turn();
    await clock.tickAsync(100);
    await turn();
    expect(fired).to.equal(2);
  });

  it('deadline: once all were cancelled, a shorter one fires at its own instant', async () => {
    const timers = new SystemTimers(loop);
    for (const delayMs of [6_000, 9_000])
      timers.deadline(delayMs, () => expect.fail('it was cancelled')).cancel();
    await clock.tickAsync(10);
    timers.deadline(100, fire);
    await clock.tickAsync(99);
    await turn();
    expect(fired).to.equal(0);
    await clock.tickAsync(1);
    await turn();
    expect(fired).to.equal(1);
    await clock.tickAsync(10_000);
    await turn();
    expect([fired, loop.open]).to.deep.equal([1, 0]);
  });

  it('deadline: one that was set before another fires is not put off by one that is set as that fires', async () => {
    const timers = new SystemTimers(loop);
    const at: string[] = [];
    timers.deadline(100, () => {
      at.push(`first ${performance.now()}`);
      timers.deadline(100, () => at.push(`third ${performance.now()}`));
    });
    await clock.tickAsync(50);
    timers.deadline(100, () => at.push(`second ${performance.now()}`));
    for (let ms = 51; ms <= 200; ms++) {
      await clock.tickAsync(1);
      await turn();
    }
    expect(at).to.deep.equal(['first 100', 'second 150', 'third 200']);
  });

  it('deadline: nor by one that is set between the timer and the check phase', async () => {
    const timers = new SystemTimers(loop);
    timers.deadline(100, fire);
    await clock.tickAsync(50);
    timers.deadline(100, fire);
    await turn();
    clock.tick(50); // the timer phase
    timers.deadline(100, fire); // a socket is read
    await turn();
    expect(fired).to.equal(1);
    await clock.tickAsync(50);
    await turn();
    expect(fired).to.equal(2);
    await clock.tickAsync(50);
    await turn();
    expect([fired, loop.open]).to.deep.equal([3, 0]);
  });

  it('deadline: those behind one whose callback throws still fire', async () => {
    const timers = new SystemTimers(loop);
    const uncaught: unknown[] = [];
    const listeners = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.once('uncaughtException', (error) => uncaught.push(error.message));
    timers.deadline(100, () => {
      throw new Error('of the callback');
    });
    timers.deadline(100, fire);
    timers.deadline(150, fire);
    await clock.tickAsync(100);
    await turn();
    await turn();
    for (const listener of listeners) process.on('uncaughtException', listener);
    expect(uncaught).to.deep.equal(['of the callback']);
    await clock.tickAsync(1);
    await turn();
    expect(fired).to.equal(1);
    await clock.tickAsync(49);
    await turn();
    expect([fired, loop.open]).to.deep.equal([2, 0]);
  });

  it('deadline: any mix of lengths, cancelled or not, each fires at its own instant and none twice', async () => {
    const timers = new SystemTimers(loop);
    let draw = 12_345;
    const whole = (below: number): number => (draw = (draw * 48_271) % 2_147_483_647) % below;
    const due: number[] = [];
    const seen: number[] = [];
    const open = new Set<Timer>();
    for (let ms = 0; ms < 20_000; ms++) {
      for (let i = whole(20) === 0 && ms < 19_000 ? whole(4) : 0; i > 0; i--) {
        const delayMs = 1 + whole([5, 40, 900][whole(3)] ?? 1);
        const timer = timers.deadline(delayMs, () => {
          open.delete(timer);
          seen.push(performance.now());
          due.push(ms + delayMs);
        });
        open.add(timer);
      }
      if (whole(30) === 0) {
        for (const timer of open) timer.cancel();
        open.clear();
      }
      await clock.tickAsync(1);
      await turn();
    }
    expect(seen.length).to.be.above(300);
    expect(seen).to.deep.equal(due);
    expect([open.size, loop.open]).to.deep.equal([0, 0]);
  });

  it('deadline: of one length in sequence, no real timer is set or cleared for each', () => {
    const timers = new SystemTimers(loop);
    const [sets, clears] = [sinon.spy(globalThis, 'setTimeout'), sinon.spy(globalThis, 'clearTimeout')];
    try {
      for (let i = 0; i < 500; i++) {
        timers.deadline(200, fire).cancel();
        if (i % 10 === 9) clock.tick(1);
      }
      expect([sets.callCount, clears.callCount]).to.deep.equal([1, 0]);
    } finally {
      sets.restore();
      clears.restore();
    }
  });

  it('deadline: an answer that is read in the turn of the event loop in which it is due cancels it, also if it has a timer of its own', async () => {
    for (const othersMs of [50, 6_000]) {
      const timers = new SystemTimers(loop);
      timers.deadline(othersMs, () => undefined);
      const answered = timers.deadline(100, fire);
      clock.tick(5_000); // a stalled event loop: the timer phase
      answered.cancel();
      await turn();
      expect(fired, `beside one of ${othersMs} ms`).to.equal(0);
    }
  });

  it('deadline: after a stalled event loop, the callback comes after the pending I/O', async () => {
    set('deadline', 100);
    await turn();
    clock.tick(5_000); // all at once: the timer phase
    expect(fired).to.equal(0);
    await turn();
    expect(fired).to.equal(1);
  });

  it('deadline: those that are set in a long turn of the event loop run from its end, and others do not', async () => {
    const timers = new SystemTimers(loop);
    const at: string[] = [];
    const fires = (name: string) => (): void => void at.push(`${name} ${performance.now()}`);
    timers.deadline(100, fires('before'));
    await turn();
    timers.deadline(100, fires('gone')).cancel();
    timers.deadline(100, fires('first'));
    clock.tick(60); // no turn: this code takes so long
    timers.deadline(100, fires('second'));
    await turn();
    timers.deadline(100, fires('short'));
    clock.tick(4);
    for (let ms = 65; ms <= 300; ms++) {
      await clock.tickAsync(1);
      await turn();
    }
    expect(at.toSorted()).to.deep.equal(['before 100', 'first 160', 'second 220', 'short 160']);
  });
});

describe('SystemTimers and the life of the process', () => {
  it('wait keeps it alive; background and deadline do not', () => {
    const timers = new SystemTimers();
    const active = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;
    const before = active();
    const set = [timers.background(1e9, () => undefined), timers.deadline(1e9, () => undefined)];
    set.push(
      timers.background(Infinity, () => undefined),
      timers.deadline(Infinity, () => undefined),
    );
    expect(active()).to.equal(before);
    const wait = timers.wait(1e9, () => undefined);
    expect(active()).to.equal(before + 1);
    for (const timer of [...set, wait]) timer.cancel();
    expect(active()).to.equal(before);
  });
});
