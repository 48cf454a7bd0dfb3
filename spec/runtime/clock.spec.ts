import { expect } from 'chai';
import {
  RECENT_MS,
  SystemClock,
  systemBootClock,
  systemIdleTime,
  SystemTimers,
} from '../../lib/runtime/clock.js';

/** A machine: both clocks go on while it runs, only the boot clock, in its steps, while it is suspended. */
class Machine {
  #runMs = 5_000;
  #bootMs = 77_777_003;
  reads = 0;
  /** Runs right after each reading of the boot clock: the process may pause there. */
  between: () => void = () => undefined;

  run(ms: number): void {
    this.#runMs += ms;
    this.#bootMs += ms;
  }

  suspend(ms: number): void {
    this.#bootMs += ms;
  }

  readonly boot = (): number => {
    this.reads++;
    const reading = Math.floor(this.#bootMs / 10) * 10;
    this.between();
    return reading;
  };

  readonly monotonic = (): number => this.#runMs;

  /** A test takes the monotonic clock over, or gives it back; the boot clock is nobody's. */
  fake(runMs: number): void {
    this.#runMs = runMs;
  }
}

function machine(): { machine: Machine; clock: SystemClock } {
  const one = new Machine();
  return { machine: one, clock: new SystemClock(one.boot, one.monotonic) };
}

describe('SystemClock', () => {
  it('goes with the monotonic clock while the machine runs: the 10 ms steps of the boot clock never show', () => {
    for (let phase = 0; phase < 10; phase++) {
      const { machine: one, clock } = machine();
      one.run(phase + 0.3);
      for (let elapsed = 0; elapsed < 200; elapsed++) {
        expect(clock.now()).to.equal(one.monotonic());
        one.run(0.7);
      }
    }
  });

  it('wherever in a step the clock was made', () => {
    for (let phase = 0; phase < 10; phase++) {
      const one = new Machine();
      one.run(phase);
      const clock = new SystemClock(one.boot, one.monotonic);
      for (let elapsed = 0; elapsed < 50; elapsed++) {
        expect(clock.now()).to.equal(one.monotonic());
        one.run(1);
      }
    }
  });

  it('adds a suspension of the machine, and never less than it was', () => {
    for (const suspendedMs of [100, 1_000, 60_000, 86_400_000]) {
      const { machine: one, clock } = machine();
      const before = clock.now();
      one.run(3);
      one.suspend(suspendedMs);
      const elapsed = clock.now() - before;
      expect(elapsed).to.be.at.least(3 + suspendedMs);
      expect(elapsed).to.be.at.most(3 + suspendedMs + 20);
    }
  });

  it('adds each suspension once', () => {
    const { machine: one, clock } = machine();
    const before = clock.now();
    for (let times = 0; times < 10; times++) {
      one.suspend(1_000);
      clock.now();
      clock.now();
    }
    const elapsed = clock.now() - before;
    expect(elapsed).to.be.at.least(10_000);
    expect(elapsed).to.be.at.most(10_200);
  });

  it('goes on at the pace of the monotonic clock after a suspension', () => {
    const { machine: one, clock } = machine();
    one.suspend(5_000);
    const before = clock.now();
    for (let elapsed = 0; elapsed <= 300; elapsed++) {
      expect(clock.now() - before).to.be.closeTo(elapsed, 1e-6);
      one.run(1);
    }
  });

  it('a pause of the process between the two readings is no suspension', () => {
    const { machine: one, clock } = machine();
    const before = clock.now();
    one.between = () => one.run(5_000);
    expect(clock.now() - before).to.equal(5_000);
    one.between = () => undefined;
    expect(clock.now() - before).to.equal(5_000);
  });

  it('a pause between the readings of the constructor hides no later suspension', () => {
    const one = new Machine();
    one.between = () => one.run(5_000);
    const clock = new SystemClock(one.boot, one.monotonic);
    one.between = () => undefined;
    const before = clock.now();
    one.run(40);
    one.suspend(40);
    expect(clock.now() - before).to.be.at.least(80);
  });

  it('never jumps back, whatever is mixed: pauses, suspensions, a boot clock that falls behind', () => {
    const { machine: one, clock } = machine();
    const moves = [1, 9, 11, 25, 100, 0];
    let last = clock.now();
    for (let step = 0; step < 2_000; step++) {
      const ms = moves[step % moves.length] ?? 0;
      if (step % 7 === 0) one.suspend(ms);
      else if (step % 11 === 0)
        one.suspend(-ms); // adjusted
      else one.run(ms);
      for (const reading of [clock.earliest(), clock.recent(), clock.now()]) {
        expect(reading).to.be.at.least(last);
        last = reading;
      }
    }
  });

  it('earliest() is never later than now(), and does not read the boot clock', () => {
    const { machine: one, clock } = machine();
    const reads = one.reads;
    one.suspend(10_000);
    const earliest = clock.earliest();
    expect(one.reads).to.equal(reads);
    expect(earliest).to.be.at.most(clock.now());
    expect(clock.earliest()).to.equal(clock.now()); // known by now
  });

  it(`recent() reads the boot clock once in ${RECENT_MS} ms of running time, and knows a suspension by then`, () => {
    const { machine: one, clock } = machine();
    const before = clock.now();
    const reads = one.reads;
    one.run(RECENT_MS - 1);
    one.suspend(10_000);
    expect(clock.recent() - before).to.equal(RECENT_MS - 1);
    expect(one.reads).to.equal(reads);
    one.run(1);
    expect(clock.recent() - before).to.be.at.least(10_000 + RECENT_MS);
  });

  it('without a boot clock it is the monotonic clock as it is', () => {
    let nowMs = 3;
    const clock = new SystemClock(undefined, () => nowMs);
    nowMs = 17;
    expect(clock.earliest()).to.equal(17);
  });

  it('the boot clock of this machine goes forward and agrees with the monotonic one within its steps', () => {
    const boot = systemBootClock();
    if (process.platform !== 'linux') return void expect(boot).to.equal(undefined);
    if (boot === undefined) throw new Error('Linux has one');
    const clock = new SystemClock(boot);
    const [first, second] = [boot(), boot()];
    expect(second).to.be.at.least(first);
    expect(clock.now()).to.be.at.least(clock.earliest() - 20);
  });
});

describe('time that a test fakes', () => {
  const { performance, setTimeout } = globalThis;

  afterEach(() => Object.assign(globalThis, { performance, setTimeout }));

  /** What Sinon, Jest and Vitest do: others that had it already, from `node:perf_hooks` say, keep the real one. */
  const fake = (over: object): void => void Object.assign(globalThis, over);

  it('`performance` is looked up at each call: one that is replaced after the import is read', () => {
    let nowMs = 1_000;
    const clock = new SystemClock(() => 0);
    fake({ performance: { now: () => nowMs } });
    expect([clock.earliest(), new SystemClock(() => 0).now()]).to.deep.equal([1_000, 1_000]);
    nowMs += 5_000;
    expect([clock.earliest(), new SystemClock(() => 0).recent()]).to.deep.equal([6_000, 6_000]);
  });

  it('so are the timers, and a deadline is over by the clock that is faked with them', () => {
    let nowMs = 0;
    const set: (() => void)[] = [];
    const faked = (callback: () => void): object => ({ unref: () => set.push(callback) });
    const { setImmediate } = globalThis;
    fake({
      performance: { now: () => nowMs },
      setTimeout: faked,
      setImmediate: (callback: () => void) => callback(),
    });
    try {
      const over: string[] = [];
      const timers = new SystemTimers();
      timers.deadline(100, () => over.push('deadline'));
      timers.background(50, () => over.push('background'));
      expect(set).to.have.length(2);
      for (const callback of set.splice(0)) callback();
      expect(over).to.deep.equal(['background']); // the timers fired, and by the clock nothing is over
      nowMs = 100;
      for (const callback of set.splice(0)) callback();
      expect(over).to.deep.equal(['background', 'deadline']);
    } finally {
      fake({ setImmediate });
    }
  });

  it('faked before this is loaded, as in Jest for all tests: the end of a turn comes without a tick', async () => {
    const { nextTick } = process;
    const clock = {}; // what @sinonjs/fake-timers leaves on what it fakes
    Object.assign(process, { nextTick: Object.assign(() => undefined, { clock }) });
    try {
      const path = '../../lib/runtime/clock.js?faked';
      const { atEndOfTurn } = (await import(path)) as { atEndOfTurn: (callback: () => void) => void };
      let isOver = false;
      atEndOfTurn(() => (isOver = true));
      await new Promise((resolve) => setImmediate(resolve));
      expect(isOver).to.equal(true);
    } finally {
      Object.assign(process, { nextTick });
    }
  });

  it('the monotonic clock stands still, the boot clock goes on: time goes on, as on real masters', () => {
    const { machine: one, clock } = machine();
    const before = clock.now();
    one.suspend(30_000); // which looks the same
    expect(clock.now() - before).to.be.within(30_000, 30_020);
  });

  it('the monotonic clock is put on, the boot clock is not: time goes on by that much', () => {
    const { machine: one, clock } = machine();
    const before = clock.now();
    one.run(30_000);
    one.suspend(-30_000);
    for (const reading of [clock.earliest(), clock.recent(), clock.now()])
      expect(reading - before).to.equal(30_000);
  });

  it('the monotonic clock begins anew at 0: time goes on from where it was, whatever is asked for first', () => {
    for (const read of ['now', 'recent'] as const) {
      const { machine: one, clock } = machine();
      const before = clock.now();
      one.fake(0);
      expect(clock[read]() - before).to.be.within(0, 20);
      one.run(40);
      expect(clock[read]() - before).to.be.within(40, 60);
    }
  });

  it('and is given back later: time never jumps back', () => {
    const { machine: one, clock } = machine();
    one.fake(0);
    const before = clock.now();
    one.fake(6_000);
    for (const reading of [clock.recent(), clock.now()]) expect(reading).to.be.at.least(before);
  });

  it('the boot clock is put on, or says nothing at all: a suspension, or none', () => {
    const { machine: one, clock } = machine();
    const before = clock.now();
    one.suspend(5_000);
    expect(clock.now() - before).to.be.at.least(5_000);
    const mocked = new SystemClock(() => NaN, one.monotonic); // `os.uptime` of an automatic mock
    expect([mocked.now(), mocked.recent()]).to.deep.equal([one.monotonic(), one.monotonic()]);
  });
});

describe('how long the event loop has waited', () => {
  it('not while this process is busy, and while it waits for a timer', async () => {
    const before = systemIdleTime();
    const untilMs = performance.now() + 20;
    while (performance.now() < untilMs);
    expect(systemIdleTime()).to.equal(before);
    // on a busy machine a timer may be due when it is first looked at, and then nothing was waited for
    do await new Promise((resolve) => setTimeout(resolve, 20));
    while (systemIdleTime() === before);
    expect(systemIdleTime()).to.be.above(before);
  });
});
