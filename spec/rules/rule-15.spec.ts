import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { SystemClock } from '../../lib/runtime/clock.js';
import type { Lease } from '../../lib/lease/public.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { WALL_US } from '../support/fake-master.js';
import { rejection, thrown } from '../support/rejection.js';

const LIB = new URL('../../lib/', import.meta.url);
/** The one place where the wall clock is read. */
const WALL_CLOCK = 'export const systemWallClock: WallClock = () => Date.now();';
/** A tick of a job is told as a `Date` of that instant: it reads no clock. */
const OF_A_TICK =
  /^export function dateAt\(ms: number\): Date \{\s+return new Date\(Math\.floor\(ms\)\);\s+\}\s*$/;
const TYPE_OF_A_TICK = /(?:readonly scheduledAt: Date;|[(,] ?scheduledAt: Date[,)])/g;
/** Beside timestamp locks: from where it is read to where the first fencing token that is proposed is made of it. */
const OF_FIRST_PROPOSAL = ['quorum/master-clocks.ts', 'redis/environment.ts', 'runtime/clock.ts'];
/** Timestamp locks, which are of it; and `expiration`, which the APIs of other packages have. */
const SHOWS_IT = /^(?:timestamp|faces)\//;
/** Which files name timers, clocks or randomness of the machine. */
const OF_THE_MACHINE = ['runtime/clock.ts', 'runtime/random.ts'];

/** The code of all files of lib, without its comments, by their paths; without the page, which runs in a browser. */
function sources(): ReadonlyMap<string, string> {
  const files = readdirSync(LIB, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !path.startsWith('dashboard/page/'),
  );
  return new Map(
    files.map((path) => {
      const code = readFileSync(new URL(path, LIB), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
      return [path.replaceAll('\\', '/'), code];
    }),
  );
}

/** The code that it throws, if it does. */
function codeOf(call: () => void): string | undefined {
  try {
    call();
    return undefined;
  } catch {
    return thrown(call).code;
  }
}

/** One of everything: what was sent and what came of it. */
async function story({ redlock, masters, time, other }: Bench): Promise<string> {
  const lease = await redlock.acquire('r', { ttlMs: 3_000, renew: true });
  const taken = rejection(other().redlock.acquire('r', { waitMs: 2_000 }));
  await time.advance(2_500);
  const { code, attempts, elapsedMs } = await taken;
  const remaining = lease.remainingMs();
  await lease.release();
  const short = await redlock.acquire('r', { ttlMs: 1_000 });
  const events: string[] = [];
  short.signal.addEventListener('abort', () => events.push(`aborted at ${time.now()}`));
  await time.advance(1_500);
  const commands = masters.map(({ sent }) => sent.map(({ command }) => command));
  return JSON.stringify([code, attempts, elapsedMs, remaining, short.status, events, time.now(), commands]);
}

describe('rule 15: nothing about safety depends on Date.now()', () => {
  const realDate = Date;
  afterEach(() => {
    globalThis.Date = realDate;
  });

  /** Every way to the wall clock goes through here. */
  function replaceDate(now: () => number): void {
    class OtherDate extends realDate {
      constructor() {
        super(now());
      }

      static override now = now;
    }
    globalThis.Date = OtherDate as DateConstructor; // the constructor's other forms are not called by lib
  }

  for (const nodes of [1, 2, 3, 4, 5]) {
    it(`N=${nodes}: the same happens when it throws, stops, or jumps`, async () => {
      const expected = await story(fakeCluster(nodes));
      const throwing = (): number => {
        throw new Error('nobody asks for the time of day');
      };
      let calls = 0;
      for (const now of [throwing, () => 0, () => (calls++ % 2 === 0 ? 0 : 4e12)]) {
        replaceDate(now);
        expect(await story(fakeCluster(nodes))).to.equal(expected);
      }
      expect(calls).to.equal(0);
    });
  }

  it("production's clock does not ask for it either", () => {
    replaceDate(() => {
      throw new Error('nobody asks for the time of day');
    });
    const clock = new SystemClock();
    const earliestMs = clock.earliest(); // read first: the process may be kept waiting in between
    expect(clock.now()).to.be.at.least(earliestMs);
  });

  it('it is read in one place: for timestamp locks, whose protocol is based on it, for the first fencing token that is proposed, and for what is shown as `expiration`', () => {
    const naming: string[] = [];
    for (const [path, code] of sources()) {
      const rest = path === 'jobs/date.ts' ? code.trim().replace(OF_A_TICK, '') : code;
      expect(rest.replace(WALL_CLOCK, '').replace(TYPE_OF_A_TICK, ''), path).to.not.match(/\bDate\b/);
      if (!SHOWS_IT.test(path) && /WallClock\b/.test(code)) naming.push(path);
    }
    expect(naming.sort()).to.deep.equal(OF_FIRST_PROPOSAL);
  });

  it('only clock.ts and random.ts name a timer, a clock or randomness of the machine', () => {
    const named = /\b(?:setTimeout|setInterval|setImmediate|performance|hrtime|Math\.random|randomFill)\b/;
    const naming = [...sources()].filter(([, code]) => named.test(code)).map(([path]) => path);
    expect(naming.sort()).to.deep.equal(OF_THE_MACHINE);
  });

  for (const nodes of [1, 3, 5]) {
    it(`N=${nodes}: the first proposal is made of it; once a master's clock is known, nobody asks for it`, async () => {
      let calls = 0;
      const bench = fakeCluster(nodes, {}, { wall: () => ++calls });
      const first = await bench.redlock.acquire('r', { waitMs: 0 }); // before TIME was answered
      expect([calls, first.fence]).to.deep.equal([1, bench.masters[0]?.micros()]); // not near: the master's clock counts
      for (const waitMs of [0, 60_000, 600_000]) {
        await bench.time.advance(waitMs);
        await (await bench.redlock.acquire(`r${waitMs}`, { waitMs: 0 })).release();
      }
      expect(calls).to.equal(1);
    });

    it(`N=${nodes}: the same happens with any: another fencing token at most`, async () => {
      const tell = async (wall?: () => number): Promise<string> => {
        const text = await story(fakeCluster(nodes, {}, wall && { wall }));
        return text.replaceAll(/"60000","\d+"/g, '"60000","a proposal"');
      };
      const expected = await tell();
      for (const wall of [() => 0, () => 4e12, () => -5, () => (WALL_US + 1_000_000) / 1_000])
        expect((await tell(wall)) === expected).to.equal(true); // a text of some 100,000 characters
    });
  }
});

describe('rule 15: nothing about safety depends on a timer that fires on time', () => {
  for (const nodes of [1, 3, 5]) {
    it(`N=${nodes}: no timer fires at all: a quorum that came too late is no lease`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.manner = 'freeze';
      const failed = rejection(redlock.acquire('r', { ttlMs: 1_000, waitMs: 0 }));
      time.stall(988); // one millisecond after the end of validity, drift and all
      for (const master of masters) master.thaw();
      expect((await failed).code).to.equal('VALIDITY_EXPIRED');
    });

    // each is asked alone: one that looks at the clock must not make up for one that does not
    const answers: [string, (lease: Lease) => unknown, unknown, unknown][] = [
      ['status', (lease) => lease.status, 'held', 'lost'],
      ['remainingMs()', (lease) => lease.remainingMs(), 1, 0],
      ['assertHeld()', (lease) => codeOf(() => lease.assertHeld()), undefined, 'LOCK_LOST'],
      ['a signal that is read first', (lease) => lease.signal.aborted, false, true],
    ];
    for (const [name, ask, before, after] of answers) {
      it(`N=${nodes}: no timer fires at all: ${name} is right to the millisecond`, async () => {
        const { redlock, time } = fakeCluster(nodes);
        const leases = await Promise.all(
          ['a', 'b'].map((one) => redlock.acquire(one, { ttlMs: 1_000, renew: true })),
        );
        time.stall(987);
        expect(leases[0] && ask(leases[0])).to.equal(before);
        time.stall(1);
        expect(leases[1] && ask(leases[1])).to.equal(after);
      });
    }

    it(`N=${nodes}: the stall was longer than the ttl: an extension that a quorum still grants does not bring it back`, async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r', { ttlMs: 1_000 });
      for (const master of masters) master.manner = 'freeze';
      const failed = rejection(lease.extend());
      time.stall(990);
      for (const master of masters) master.thaw();
      expect((await failed).code).to.be.oneOf(['VALIDITY_EXPIRED', 'LOCK_LOST']);
      expect(lease.status).to.equal('lost');
    });
  }
});
