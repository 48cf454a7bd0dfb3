import { expect } from 'chai';
import sinon from 'sinon';
import { SystemTimers, type Timer } from '../lib/clock.js';

const LONGEST_MS = 2 ** 31 - 1;
const KINDS = ['wait', 'deadline', 'background'] as const;

/** Lets what was put off by `setImmediate`, which is real here, run. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('SystemTimers', () => {
  let clock: sinon.SinonFakeTimers;
  let fired: number;
  const fire = (): void => void fired++;

  beforeEach(() => {
    fired = 0;
    clock = sinon.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    });
  });
  afterEach(() => clock.restore());

  const set = (kind: (typeof KINDS)[number], delayMs: number, timers = new SystemTimers()): Timer =>
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
      expect([fired, clock.countTimers()]).to.deep.equal([1, 0]);
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

    it(`${kind}: a delay of 0, or that lies in the past, fires in the next turn`, async () => {
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
        expect(clock.countTimers()).to.equal(0);
      });
    }

    it(`${kind}: Infinity never fires, and can be cancelled`, async () => {
      const timer = set(kind, Infinity);
      await clock.tickAsync(5 * LONGEST_MS);
      await turn();
      expect(fired).to.equal(0);
      timer.cancel();
      expect(clock.countTimers()).to.equal(0);
    });

    it(`${kind}: a long delay that is cancelled in its second piece stays silent`, async () => {
      const timer = set(kind, 3 * LONGEST_MS);
      await clock.tickAsync(LONGEST_MS + 10);
      timer.cancel();
      await clock.tickAsync(5 * LONGEST_MS);
      await turn();
      expect([fired, clock.countTimers()]).to.deep.equal([0, 0]);
    });
  }

  it('deadline: many in any order fire at their instants, each once', async () => {
    const timers = new SystemTimers();
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
    const timers = new SystemTimers();
    for (let i = 0; i < 5_000; i++) timers.deadline(200, fire).cancel();
    expect(clock.countTimers()).to.be.at.most(1);
    await clock.tickAsync(400);
    await turn();
    expect([fired, clock.countTimers()]).to.deep.equal([0, 0]);
  });

  it('deadline: the ones behind a cancelled one still fire in time', async () => {
    const timers = new SystemTimers();
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
    const timers = new SystemTimers();
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

  it('deadline: after a stalled event loop, the callback comes behind the I/O of that turn', async () => {
    set('deadline', 100);
    clock.tick(5_000); // all at once: the timer phase
    expect(fired).to.equal(0);
    await turn();
    expect(fired).to.equal(1);
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
