/** When the masters' clocks are read by `TIME`, and that nothing depends on it. */
import { expect } from 'chai';
import { Node } from '../../lib/node/node.js';
import { WINDOW } from '../../lib/node/send-window.js';
import { inspection } from '../../lib/protocol/request.js';
import { ClockReadings } from '../../lib/quorum/clock-readings.js';
import { MasterClocks } from '../../lib/quorum/master-clocks.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { IGNORED_ANSWER } from '../../lib/node/sink.js';

const ONE_ATTEMPT = { waitMs: 0 } as const;
const STALE_MS = 10_000;

interface One {
  readonly time: FakeTime;
  readonly master: FakeMaster;
  readonly clocks: MasterClocks;
  readonly readings: ClockReadings;
}

/** One master, and readings that have begun. */
async function begun(prepare: (master: FakeMaster) => unknown = () => undefined): Promise<One> {
  const time = new FakeTime();
  const master = new FakeMaster('m1', time);
  prepare(master);
  const clocks = new MasterClocks(1, time);
  const readings = new ClockReadings([new Node(master, 0, time)], clocks, time);
  readings.begin();
  await settle();
  return { time, master, clocks, readings };
}

const looksAt = ({ masters }: Bench): number[] => masters.map(({ looks }) => looks);

/** A lock is taken and given back. */
async function use({ redlock }: Bench, options: { readonly fencing?: boolean } = {}): Promise<void> {
  await (await redlock.acquire('r', { ...ONE_ATTEMPT, ...options })).release();
  await settle();
}

describe('clock readings: at the beginning', () => {
  it('a master that is connected is asked at once, and its clock is proposed', async () => {
    const { clocks, master } = await begun();
    expect([master.looks, clocks.propose()]).to.deep.equal([1, master.micros()]);
    expect(master.listeners).to.equal(0);
  });

  it('one whose first attempt to connect fails is asked once it is connected', async () => {
    const { clocks, master } = await begun((one) => (one.state = 'opening'));
    for (const next of ['lost', 'opening', 'ready'] as const) {
      expect(master.looks).to.equal(0);
      master.become(next);
      await settle();
    }
    expect([master.looks, clocks.isKnown(0)]).to.deep.equal([1, true]);
  });

  it('an odd reply is no reading', async () => {
    const { clocks } = await begun((master) => (master.call = () => Promise.resolve('odd')));
    expect(clocks.isKnown(0)).to.equal(false);
  });

  for (const state of ['opening', 'lost'] as const) {
    it(`one that is not (${state}) is asked when it becomes ready for the first time, and no more after that`, async () => {
      const { clocks, master } = await begun((one) => (one.state = state));
      master.become('opening');
      await settle();
      expect([master.looks, clocks.isKnown(0), master.listeners]).to.deep.equal([0, false, 1]);
      for (const next of ['ready', 'lost', 'opening', 'ready'] as const) {
        master.become(next);
        await settle();
        expect([master.looks, clocks.isKnown(0), master.listeners]).to.deep.equal([1, true, 0]);
      }
    });
  }

  it('it looks at nothing by which a lazy client is connected', async () => {
    const { master } = await begun((one) => {
      Object.defineProperty(one, 'isReady', { get: () => false });
      Object.defineProperty(one, 'state', {
        get: () => {
          throw new Error('a look at this connects');
        },
      });
    });
    expect([master.looks, master.listeners]).to.deep.equal([0, 1]);
  });

  it('a reading counts from when it was sent, and as of the receipt of its reply', async () => {
    const { clocks, master, time } = await begun((one) => (one.latencyMs = 30));
    expect(clocks.isKnown(0)).to.equal(false);
    await time.advance(30);
    expect(clocks.propose()).to.equal(master.micros()); // it told it at the very end
    expect(clocks.ticket()).to.equal(master.micros() + 15_000); // the middle of the round trip
  });
});

describe('clock readings: a master that is busy', () => {
  it('a reading that had to wait counts from when it went out', async () => {
    const time = new FakeTime();
    const master = new FakeMaster('m1', time);
    const node = new Node(master, 0, time);
    const clocks = new MasterClocks(1, time);
    master.manner = 'freeze';
    for (let i = 0; i < WINDOW; i++) node.send({ request: inspection('r'), sink: IGNORED_ANSWER });
    await settle();
    new ClockReadings([node], clocks, time).begin();
    await time.advance(100);
    expect(master.looks).to.equal(0);
    master.thaw();
    await settle();
    expect([master.looks, clocks.ticket()]).to.deep.equal([1, master.micros()]);
  });
});

describe('clock readings: behind a claim', () => {
  it('asks again what was not told for 10 s, one at a time', async () => {
    const { clocks, master, readings, time } = await begun();
    const claim = async (passMs: number): Promise<number> => {
      await time.advance(passMs);
      readings.refresh();
      await settle();
      return master.looks;
    };
    expect([await claim(0), await claim(STALE_MS - 1_001), await claim(1_000)]).to.deep.equal([1, 1, 1]);
    master.manner = 'freeze';
    expect([await claim(1), await claim(5_000), await claim(60_000)]).to.deep.equal([1, 2, 2]);
    master.thaw();
    await settle();
    expect([clocks.isStale(0), await claim(STALE_MS - 1), await claim(1_000)]).to.deep.equal([false, 2, 3]);
  });

  it('looks at them once a second at most', async () => {
    const { master, readings, time } = await begun((one) => (one.mayTellTime = false));
    for (const [passMs, looks] of [
      [0, 2],
      [0, 2],
      [999, 2],
      [1, 3],
      [1_000, 4],
    ] as const) {
      await time.advance(passMs);
      readings.refresh();
      await settle();
      expect(master.looks).to.equal(looks);
    }
  });

  it('asks nobody who is not connected, or is silent', async () => {
    const { master, readings, time } = await begun();
    for (const state of ['opening', 'lost'] as const) {
      master.become(state);
      await time.advance(STALE_MS);
      readings.refresh();
      await settle();
      expect(master.looks).to.equal(1);
    }
    const silent = await begun();
    const node = new Node(silent.master, 0, silent.time);
    const readingsThere = new ClockReadings([node], silent.clocks, silent.time);
    await silent.time.advance(STALE_MS);
    node.markSilent();
    readingsThere.refresh();
    expect(silent.master.looks).to.equal(1);
  });

  it('asks again after one that was lost with its connection, or answered oddly', async () => {
    const { clocks, master, readings, time } = await begun((one) => (one.manner = 'freeze'));
    expect(master.looks).to.equal(1);
    master.cut();
    master.manner = 'answer';
    master.become('ready');
    const call = master.call.bind(master);
    master.call = async (command) => {
      await call(command);
      return ['no', 'time'];
    };
    await time.advance(1_000);
    readings.refresh();
    await settle();
    expect([master.looks, clocks.isKnown(0)]).to.deep.equal([2, false]);
    Reflect.deleteProperty(master, 'call');
    await time.advance(1_000);
    readings.refresh();
    await settle();
    expect([master.looks, clocks.isKnown(0)]).to.deep.equal([3, true]);
  });
});

describe('clock readings: close', () => {
  it('no listener is left, and who is connected later is not asked', async () => {
    const { master, readings } = await begun((one) => (one.state = 'opening'));
    readings.close();
    expect(master.listeners).to.equal(0);
    master.become('ready');
    await settle();
    expect(master.looks).to.equal(0);
  });
});

describe('clock readings: an instance', () => {
  for (const nodes of [1, 2, 3, 4, 5]) {
    const all = (looks: number): number[] => new Array<number>(nodes).fill(looks);
    const off = { fencing: false } as const;

    it(`N=${nodes}: one TIME for each master at the beginning, and one behind the first claim after 10 s`, async () => {
      const bench = fakeCluster(nodes);
      await settle();
      for (let turn = 0; turn < 5; turn++) await use(bench);
      expect(looksAt(bench)).to.deep.equal(all(1));
      await bench.time.advance(STALE_MS);
      for (let turn = 0; turn < 5; turn++) await use(bench);
      expect(looksAt(bench)).to.deep.equal(all(2));
    });

    it(`N=${nodes}: none without fencing; where a call is fenced all the same, behind its claim`, async () => {
      const bench = fakeCluster(nodes, off);
      await use(bench);
      await bench.time.advance(STALE_MS);
      await use(bench);
      expect([looksAt(bench), bench.masters.map(({ listeners }) => listeners)]).to.deep.equal([
        all(0),
        all(0),
      ]);
      const lease = await bench.redlock.acquire('f', { ...ONE_ATTEMPT, fencing: true });
      await settle();
      expect([looksAt(bench), lease.fence]).to.deep.equal([all(1), bench.masters[0]?.micros()]);
    });

    it(`N=${nodes}: calls without fencing are not followed by any`, async () => {
      const bench = fakeCluster(nodes);
      await bench.time.advance(3 * STALE_MS);
      await use(bench, off);
      expect(looksAt(bench)).to.deep.equal(all(1));
    });

    it(`N=${nodes}: a user who may not read the clock: locks are granted as before, in one round trip where clocks agree`, async () => {
      const bench = fakeCluster(nodes);
      for (const master of bench.masters) master.mayTellTime = false;
      const { redlock } = bench.other();
      const fences: number[] = [];
      for (let turn = 0; turn < 5; turn++) {
        await bench.time.advance(3 * STALE_MS);
        const lease = await redlock.acquire('r', ONE_ATTEMPT);
        fences.push(lease.fence ?? NaN);
        await lease.release();
      }
      expect(fences).to.deep.equal([...fences].sort((a, b) => a - b));
      expect(new Set(fences).size).to.equal(5);
      await redlock.close();
    });

    it(`N=${nodes}: a TIME that nobody answers holds up neither a claim nor close`, async () => {
      const bench = fakeCluster(nodes);
      await settle();
      const calls = bench.masters.map((master) => master.call.bind(master));
      for (const [i, master] of bench.masters.entries()) {
        master.call = (command) =>
          command.name === 'time' ? new Promise(() => undefined) : (calls[i]?.(command) ?? Promise.reject());
      }
      await bench.time.advance(STALE_MS);
      const held = await bench.redlock.acquire('r', ONE_ATTEMPT);
      const other = await bench.redlock.acquire('other', ONE_ATTEMPT);
      expect([held.status, other.status]).to.deep.equal(['held', 'held']);
      let isClosed = false;
      void bench.redlock.close({ releaseHeld: true }).then(() => (isClosed = true));
      await bench.time.advance(10_000);
      expect(isClosed).to.equal(true);
    });

    it(`N=${nodes}: close: no listener is left at masters that were never connected`, async () => {
      const bench = fakeCluster(nodes);
      const later = fakeCluster(nodes);
      for (const master of later.masters) master.state = 'opening';
      const { redlock } = later.other();
      expect(later.masters.map(({ listeners }) => listeners)).to.deep.equal(all(1));
      await Promise.all([
        redlock.close(),
        later.redlock.close(),
        bench.redlock.close(),
        later.time.advance(10_000),
      ]);
      expect([...later.masters, ...bench.masters].map(({ listeners }) => listeners)).to.deep.equal([
        ...all(0),
        ...all(0),
      ]);
    });
  }
});
