/** Locks that clients of other libraries want, too: gaps are left for these, and instances tell each other. */
import { expect } from 'chai';
import { ABOUT_MS, ASK_MS, NOTE_MS } from '../../lib/coordinator/foreign-clients.js';
import { foreignKey } from '../../lib/protocol/keys.js';
import type { Redlock } from '../../lib/redlock.js';
import { kindsSentTo } from '../support/commands.js';
import { all, contendedLately, LONG } from '../support/contended.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';
import { Seeded } from '../simulation/world/seeded.js';

const THEIRS = 'a token of another library';

function take({ masters }: Pick<Bench, 'masters'>, ttlMs = 600_000): void {
  for (const master of masters) master.set('r', THEIRS, ttlMs);
}

function giveBack({ masters }: Pick<Bench, 'masters'>): void {
  for (const master of masters) master.delete('r');
}

/** A lock on which this instance has just found a token of another library. */
async function found(options = {}): Promise<Bench> {
  const bench = fakeCluster(3, { ...LONG, ...options }, { hasPushes: true });
  take(bench);
  await rejection(bench.redlock.acquire('r', { waitMs: 0 }));
  giveBack(bench);
  forget(bench);
  return bench;
}

function forget({ masters }: Pick<Bench, 'masters'>): void {
  for (const master of masters) master.sent.length = 0;
}

function kindsIn({ masters }: Pick<Bench, 'masters'>): Set<string> {
  return new Set(masters.flatMap(kindsSentTo));
}

/** Whether a call that meets another holder queues. */
async function queues(bench: Bench, redlock: Redlock = bench.redlock): Promise<boolean> {
  const holder = await bench.other('holder').redlock.acquire('r', { fair: false });
  forget(bench);
  const wait = redlock.acquire('r');
  await bench.time.advance(50);
  const isQueued = kindsIn(bench).has('queue');
  await holder.release();
  await bench.time.advance(1_000);
  await (await wait).release();
  return isQueued;
}

/** How often notes about foreign clients were written to, or read from, a master. */
function notes(master: FakeMaster, name: 'set' | 'get'): number {
  return master.sent.filter(({ command: { args, name: own } }) => own === name && args[0] === foreignKey('r'))
    .length;
}

describe('a lock on which a token of another library was found', () => {
  it('is not queued for, until ten minutes have passed since', async () => {
    const bench = await found();
    expect(await queues(bench)).to.equal(false);
    await bench.time.advance(ABOUT_MS - 60_000);
    expect(await queues(bench)).to.equal(false);
    await bench.time.advance(60_000);
    expect(await queues(bench)).to.equal(true);
  });

  it('another lock is queued for as before', async () => {
    const bench = await found();
    const holder = await bench.other().redlock.acquire('s');
    const wait = bench.redlock.acquire('s');
    await bench.time.advance(50);
    expect(kindsIn(bench)).to.include('queue');
    await holder.release();
    await (await wait).release();
  });

  it('is handed on to nobody: each call asks the masters for itself', async () => {
    const bench = await found();
    const first = await bench.redlock.acquire('r');
    const second = bench.redlock.acquire('r');
    await settle();
    await first.release();
    await bench.time.advance(300);
    await (await second).release();
    expect(bench.redlock.stats().counts.localHandOvers).to.equal(0);
    expect(kindsIn(bench)).to.not.include('queue');
  });

  it('those that waited in a local line then ask for themselves', async () => {
    const bench = fakeCluster(3, LONG, { hasPushes: true });
    const first = await bench.redlock.acquire('r');
    const others = [bench.redlock.acquire('r'), bench.redlock.acquire('r')];
    await settle();
    take(bench); // the vote was lost, and another library has it
    await rejection(bench.redlock.acquire('r', { waitMs: 0, localTurns: 0 }));
    await settle();
    const before = kindsSentTo(bench.masters[0] as FakeMaster).filter((kind) => kind === 'claim').length;
    expect(before).to.be.at.least(1 + 1 + others.length);
    giveBack(bench);
    await bench.time.advance(1_000);
    const leases = Promise.all(others.map(async (one) => (await one).release()));
    await bench.time.advance(1_000);
    await leases;
    await first.release();
  });

  it('a later call does not pass one that has yet to ask for the first time, either', async () => {
    const bench = await found();
    take(bench);
    const first = new AbortController();
    const failed = rejection(bench.redlock.acquire('r', { signal: first.signal }));
    await bench.time.advance(10);
    const second = bench.redlock.acquire('r');
    await settle();
    first.abort();
    await failed;
    giveBack(bench);
    forget(bench);
    const third = bench.redlock.acquire('r');
    await settle();
    expect(kindsIn(bench)).to.deep.equal(new Set());
    await bench.time.advance(300);
    await (await second).release();
    await bench.time.advance(300);
    await (await third).release();
  });

  it('a pause in front of the first attempt is none: its error counts those that were made', async () => {
    const bench = await found();
    take(bench);
    const early = rejection(bench.redlock.acquire('r', { waitMs: 1_000 }));
    await bench.time.advance(10);
    const late = rejection(bench.redlock.acquire('r', { waitMs: 100 }));
    await bench.time.advance(100);
    expect((await late).attempts).to.equal(1);
    await bench.time.advance(1_000);
    await early;
  });

  it('a call that pauses first asks all masters then, as any call does', async () => {
    const bench = await found();
    take(bench);
    const early = rejection(bench.redlock.acquire('r', { waitMs: 1_000 }));
    await bench.time.advance(10);
    const controller = new AbortController();
    const late = rejection(bench.redlock.acquire('r', { signal: controller.signal }));
    await bench.time.advance(300);
    controller.abort();
    const { tally } = await late;
    expect(tally.filter(({ outcome }) => outcome === 'refused').length).to.be.at.least(2);
    await bench.time.advance(1_000);
    await early;
  });

  it('a later call does not pass those that poll: it pauses as well', async () => {
    const bench = await found();
    take(bench);
    const early = bench.redlock.acquire('r');
    await bench.time.advance(10);
    giveBack(bench);
    forget(bench);
    const late = bench.redlock.acquire('r');
    await settle();
    expect(kindsIn(bench)).to.deep.equal(new Set());
    const attempt = await bench.redlock.tryAcquire('r'); // it cannot wait
    expect(attempt).to.not.equal(null);
    await attempt?.release();
    await bench.time.advance(300);
    await (await early).release();
    await bench.time.advance(300);
    const { fence } = await late;
    expect(fence).to.be.a('number');
    await (await late).release();
  });

  for (const [which, options] of [
    ['one that is not fair', { fair: false }],
    ['one that may not wait, since maxWaiters do', {}],
  ] as const)
    it(`${which} asks at once, though others poll`, async () => {
      const bench = await found({ maxWaiters: 'fair' in options ? 100 : 1 });
      take(bench);
      const early = bench.redlock.acquire('r');
      await bench.time.advance(10);
      giveBack(bench);
      const lease = await bench.redlock.acquire('r', options);
      await lease.release();
      await bench.time.advance(300);
      await (await early).release();
    });

  it('those that poll keep nobody waiting once they have given up', async () => {
    const bench = await found();
    take(bench);
    const early = rejection(bench.redlock.acquire('r', { waitMs: 500 }));
    await bench.time.advance(500);
    await early;
    giveBack(bench);
    await (await bench.redlock.acquire('r')).release();
  });

  it('pauses do not grow, and are 250 ms at most, unless the caller wants longer ones', async () => {
    for (const [retry, mostMs] of [
      [{ minDelayMs: 10, maxDelayMs: 60_000 }, 250],
      [{ minDelayMs: 10, maxDelayMs: 90 }, 90],
      [{ minDelayMs: 400, maxDelayMs: 400 }, 400],
    ] as const) {
      const bench = await found({ retry });
      bench.random.fractionValue = 0.999_999;
      take(bench);
      const wait = bench.redlock.acquire('r');
      await bench.time.advance(20_000);
      giveBack(bench);
      forget(bench);
      await bench.time.advance(mostMs + 1);
      expect(kindsIn(bench)).to.include('claim');
      await (await wait).release();
    }
  });
});

describe('what instances tell each other of clients of other libraries', () => {
  /** Others hold it more often than not, in this instance and in another one. */
  async function contended(): Promise<{ readonly bench: Bench; readonly other: Redlock }> {
    const line = await contendedLately(3);
    await line.lease.release();
    return { bench: line, other: line.other('late').redlock };
  }

  it('one that finds a token on a lock that was held before notes it on all masters, once a minute', async () => {
    const { bench } = await contended();
    take(bench);
    for (let seconds = 0; seconds < NOTE_MS / 1_000; seconds += 5) {
      await rejection(bench.redlock.acquire('r', { waitMs: 0 }));
      await bench.time.advance(5_000);
    }
    expect(bench.masters.map((master) => notes(master, 'set'))).to.deep.equal(all(bench, 1));
    expect(
      bench.masters.map((master) => master.ttlMs(foreignKey('r')) > ABOUT_MS - NOTE_MS - 1),
    ).to.deep.equal(all(bench, true));
  });

  it('one that keeps meeting others asks one master, every ten seconds at most, and believes the note while it is there', async () => {
    const bench = await contendedLately(3);
    let { lease } = bench;
    const others = bench.other('others').redlock;
    const asked = (): number => bench.masters.reduce((sum, master) => sum + notes(master, 'get'), 0);
    const before = asked();
    /** Others hold it, and hand it over after a second. @returns whether it was queued for */
    const meet = async (): Promise<boolean> => {
      const from = bench.masters.map(({ sent }) => sent.length);
      const wait = bench.redlock.acquire('r');
      await bench.time.advance(1_000);
      await lease.release();
      await bench.time.advance(300);
      const queued = bench.masters.some((master, i) => kindsSentTo(master).slice(from[i]).includes('queue'));
      await (await wait).release();
      lease = await others.acquire('r');
      return queued;
    };
    for (let times = 0; times < 6; times++) expect(await meet()).to.equal(true);
    expect(asked() - before).to.be.at.most(2);
    for (const master of bench.masters) master.set(foreignKey('r'), '1', 20_000);
    for (let times = 0; times < 12; times++) await meet(); // one of these asks again
    expect(await meet()).to.equal(false);
    await bench.time.advance(20_000 + 3 * ASK_MS);
    expect(await meet()).to.equal(true);
  });
});

describe('what instances tell each other of clients of other libraries: a lock that several may hold', () => {
  it('nothing, and they ask nothing: other libraries have no such locks', async () => {
    const { masters, other, redlock, time } = fakeCluster(3);
    await other('others').redlock.readWriteLock('r').write.acquire({ ttlMs: 600_000 });
    for (let times = 0; times < 5; times++) {
      await rejection(redlock.readWriteLock('r').read.acquire({ waitMs: 0 }));
      await time.advance(1_000);
    }
    expect(masters.map((master) => notes(master, 'get') + notes(master, 'set'))).to.deep.equal([0, 0, 0]);
  });
});

describe('shares of a lock that is always wanted', () => {
  /** As redlock 5 does it: a pause of 200 ± 100 ms after each refusal. @returns its turns */
  async function oldProgram({ masters, time }: Bench, seeded: Seeded, untilMs: number): Promise<number> {
    let turns = 0;
    while (time.now() < untilMs) {
      if (masters.every((master) => master.value('r') === undefined)) {
        take({ masters }, 10_000);
        await sleep(time, 20);
        giveBack({ masters });
        turns++;
        await sleep(time, 25 + 50 * seeded.next());
      } else {
        await sleep(time, 100 + 200 * seeded.next());
      }
    }
    return turns;
  }

  for (const lanes of [1, 20]) {
    it(`two programs of redlock beside two of quorate with ${lanes} callers each: they get half of their share at least`, async () => {
      const bench = fakeCluster(3, LONG, { hasPushes: true });
      const seeded = new Seeded('shares');
      bench.random.fraction = () => seeded.next();
      const untilMs = bench.time.now() + 60_000;
      let turns = 0;
      const lane = async (redlock: Redlock): Promise<void> => {
        while (bench.time.now() < untilMs) {
          await redlock.using('r', async () => {
            turns++;
            await sleep(bench.time, 20);
          });
          await sleep(bench.time, 25 + 50 * seeded.next());
        }
      };
      const old = [1, 2].map(() => oldProgram(bench, seeded, untilMs));
      while (bench.masters[0]?.value('r') === undefined) await bench.time.advance(1); // or quorate would not find it
      const instances = [bench.redlock, bench.other('second').redlock];
      const lanesOf = instances.flatMap((redlock) => Array.from({ length: lanes }, () => lane(redlock)));
      await bench.time.advance(80_000);
      await Promise.all(lanesOf);
      const theirs = (await Promise.all(old)).reduce((sum, count) => sum + count, 0);
      const share = (turns + theirs) * (2 / (2 + 2 * lanes));
      expect(theirs, `of ${turns + theirs} turns`).to.be.at.least(share / 2);
      expect(turns).to.be.at.least((turns + theirs - share) / 2);
    });
  }
});

function sleep(time: Bench['time'], ms: number): Promise<void> {
  return new Promise((resolve) => time.wait(ms, resolve));
}
