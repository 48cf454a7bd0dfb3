import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { SystemClock } from '../../lib/runtime/clock.js';
import type { Lease } from '../../lib/lease/public.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { rejection, thrown } from '../support/rejection.js';

const LIB = new URL('../../lib/', import.meta.url);
/** The one place where the wall clock is read. */
const OF_TIMESTAMP_LOCKS = 'export const systemWallClock: WallClock = () => Date.now();';

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
  const commands = masters.map(({ sent }) => sent);
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

  it('no file of lib names it but for timestamp locks, whose protocol is based on it; and only clock.ts, random.ts and the transport name a timer, a clock or randomness', () => {
    const environment: Record<string, RegExp> = {
      'clock.ts': /setTimeout|performance/,
      'random.ts': /Math\.random|randomFill/,
    };
    for (const file of readdirSync(LIB).filter((name) => name.endsWith('.ts'))) {
      const code = readFileSync(new URL(file, LIB), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
      const others = file === 'clock.ts' ? code.replace(OF_TIMESTAMP_LOCKS, '') : code;
      expect(others, file).to.not.match(/\bDate\b/);
      if (!/^(?:clock|timestamp-\w+)\.ts$/.test(file)) expect(code, file).to.not.match(/\bWallClock\b/i);
      if (environment[file] !== undefined) continue;
      expect(code, file).to.not.match(
        /\b(?:setTimeout|setInterval|setImmediate|performance|hrtime|Math\.random)\b/,
      );
    }
  });
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
