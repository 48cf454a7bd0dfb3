import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import sinon from 'sinon';
import type { Lease } from '../../lib/lease/public.js';
import type { RedlockOptions } from '../../lib/input/options.js';
import type { Redlock } from '../../lib/redlock.js';
import {
  type Clock,
  type MemoryMaster,
  MemoryMasters,
  type MemoryMastersOptions,
  type Timers,
} from '../../lib/testing/index.js';
import { wide } from '../support/breadth.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { rejection, thrown, until } from '../support/rejection.js';

const SIZES = wide([1, 3, 5], [3]);
const LONG = { ttlMs: 600_000 } as const;
const ONE_ATTEMPT = { waitMs: 0 } as const;
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;

interface Bench {
  readonly masters: MemoryMasters;
  readonly time: FakeTime;
  readonly one: Redlock;
  readonly other: Redlock;
  /** As many as can be missed. */
  readonly minority: readonly MemoryMaster[];
  /** One more. */
  readonly majority: readonly MemoryMaster[];
}

const opened: Pick<Bench, 'masters' | 'time'>[] = [];

/** An instance that is open keeps the process of the specs alive. */
async function closeAll(): Promise<void> {
  for (const { masters, time } of opened.splice(0)) {
    for (const master of masters.list) master.latencyMs = 0;
    await settled(time, masters.close());
  }
}

/** Two clients of N masters, in a time that moves only when a spec says so. */
function bench(nodes: number, options: RedlockOptions = LONG): Bench {
  const time = new FakeTime();
  const masters = new MemoryMasters(nodes, { clock: time, timers: time });
  opened.push({ masters, time });
  const spare = nodes - quorumOf(nodes);
  return {
    masters,
    time,
    one: masters.redlock(options),
    other: masters.redlock(options),
    minority: masters.list.slice(0, spare),
    majority: masters.list.slice(0, spare + 1),
  };
}

/** Lets time pass until it has settled. */
async function settled<T>(time: FakeTime, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const end = (): void => void (isSettled = true);
  promise.then(end, end);
  await settle();
  for (let turn = 0; !isSettled && turn < 2_000; turn++) await time.advance(10);
  if (!isSettled) throw new Error('it is still pending after 20 s');
  return promise;
}

async function code(time: FakeTime, call: Promise<unknown>): Promise<string> {
  return (await settled(time, rejection(call))).code;
}

const PROGRAMS = new URL('./programs.ts', import.meta.url);
const FAILING_TEST = new URL('./failing-test.ts', import.meta.url);

/** Runs a program of this folder to its own end: its exit code, and what it said. */
async function run(url: URL, ...args: readonly string[]): Promise<[number | null, string]> {
  const program = fileURLToPath(url);
  // the reporter of node:test depends on who runs it
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const child = spawn(process.execPath, ['--import', 'tsx', '--test-reporter=tap', program, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 20_000,
    killSignal: 'SIGKILL',
  });
  let text = '';
  child.stdout.on('data', (piece: Buffer) => (text += piece.toString()));
  const [status] = (await once(child, 'close')) as [number | null];
  return [status, text];
}

const FAULTS: readonly (readonly [string, (master: MemoryMaster) => Promise<void> | void])[] = [
  ['killed', (master) => master.kill()],
  ['frozen', (master) => master.freeze()],
];

describe('masters in memory: locks', () => {
  afterEach(closeAll);

  for (const nodes of SIZES) {
    it(`N=${nodes}: one of two instances has it, until it lets go`, async () => {
      const { one, other } = bench(nodes);
      const lease = await one.acquire('r');
      expect(await other.tryAcquire('r')).to.equal(null);
      expect((await rejection(other.acquire('r', ONE_ATTEMPT))).code).to.equal('LOCK_TAKEN');
      await lease.release();
      expect((await other.acquire('r', ONE_ATTEMPT)).status).to.equal('held');
    });

    it(`N=${nodes}: it is free again when the ttl is over, and not before`, async () => {
      const { time, one, other } = bench(nodes, { ttlMs: 1_000 });
      await one.acquire('r');
      await time.advance(999);
      expect(await other.tryAcquire('r')).to.equal(null);
      await time.advance(1);
      expect((await other.tryAcquire('r'))?.status).to.equal('held');
    });

    it(`N=${nodes}: fencing off excludes, and is excluded by, fencing on`, async () => {
      const { one, other } = bench(nodes);
      const lease = await one.acquire('r', { fencing: false });
      expect(lease.fence).to.equal(undefined);
      expect(await other.tryAcquire('r')).to.equal(null);
      await lease.release();
      await other.acquire('r');
      expect(await one.tryAcquire('r', { fencing: false })).to.equal(null);
    });

    it(`N=${nodes}: fencing tokens rise from grant to grant, for any client and whichever masters restart`, async () => {
      const { masters, one, other } = bench(nodes);
      let last = 0;
      for (let round = 0; round < 6; round++) {
        const lease: Lease = await (round % 2 === 0 ? one : other).acquire('r', ONE_ATTEMPT);
        expect(lease.fence).to.be.greaterThan(last);
        last = lease.fence ?? 0;
        await lease.release();
        masters.list[round % nodes]?.restart({ data: 'kept' });
      }
    });

    it(`N=${nodes}: using returns and throws what the routine does, renews, and releases`, async () => {
      const { time, one, other } = bench(nodes, { ttlMs: 1_000 });
      const routine = one.using('r', async (lease) => {
        await time.advance(5_000);
        return [lease.status, await other.tryAcquire('r')];
      });
      expect(await routine).to.deep.equal(['held', null]);
      const wrong = new Error('wrong');
      expect(await other.using('r', () => Promise.reject(wrong)).catch((error: unknown) => error)).to.equal(
        wrong,
      );
      expect((await one.inspect('r')).state).to.equal('free');
    });

    it(`N=${nodes}: a wait ends as soon as the holder lets go`, async () => {
      const { time, one, other } = bench(nodes);
      const lease = await one.acquire('r');
      const waits = other.acquire('r', { waitMs: 5_000 });
      await time.advance(500);
      await lease.release();
      expect((await settled(time, waits)).status).to.equal('held');
    });

    for (const [what, strike] of FAULTS) {
      it(`N=${nodes}, ${nodes - quorumOf(nodes)} ${what}: a quorum is left, and gives locks as before`, async () => {
        const { time, one, other, minority } = bench(nodes);
        for (const master of minority) await strike(master);
        const lease = await one.acquire('r', ONE_ATTEMPT);
        await lease.extend();
        expect(await settled(time, other.tryAcquire('r'))).to.equal(null);
        await settled(time, lease.release());
        expect((await settled(time, other.acquire('r', ONE_ATTEMPT))).status).to.equal('held');
      });

      it(`N=${nodes}, ${nodes - quorumOf(nodes) + 1} ${what}: NO_QUORUM, with each of them unknown`, async () => {
        const { time, one, majority } = bench(nodes);
        for (const master of majority) await strike(master);
        const error = await settled(time, rejection(one.acquire('r', ONE_ATTEMPT)));
        expect(error.code).to.equal('NO_QUORUM');
        const unknown = error.tally.filter(({ outcome }) => outcome === 'unknown').map(({ node }) => node);
        expect(unknown).to.include.members(majority.map(({ name }) => name));
        const [first] = error.tally;
        const cause = first?.outcome === 'unknown' ? first.cause.message : '';
        expect(cause).to.match(what === 'killed' ? /ECONNREFUSED memory-1$/ : /no answer|within/);
      });
    }

    it(`N=${nodes}: a lease is lost while a majority is gone, and its signal fires`, async () => {
      const { time, one, majority } = bench(nodes, { ttlMs: 1_000 });
      const lease = await one.acquire('r', { renew: true });
      const { signal } = lease;
      await time.advance(3_000);
      expect([lease.status, signal.aborted]).to.deep.equal(['held', false]);
      for (const master of majority) await master.kill();
      await time.advance(1_000);
      expect([lease.status, signal.aborted]).to.deep.equal(['lost', true]);
    });

    it(`N=${nodes}, all restarted: taken where the data was kept, given twice where it was lost`, async () => {
      const { masters, one, other } = bench(nodes);
      await one.acquire('r');
      for (const master of masters.list) master.restart({ data: 'kept' });
      expect(await other.tryAcquire('r')).to.equal(null);
      for (const master of masters.list) master.restart({ data: 'lost' });
      expect((await other.tryAcquire('r'))?.status).to.equal('held');
    });

    it(`N=${nodes}, all flushed: the data is gone, the process is the same`, async () => {
      const { masters, one, other } = bench(nodes);
      const runIds = masters.list.map(({ runId }) => runId);
      await one.acquire('r');
      for (const master of masters.list) master.flush();
      expect((await other.tryAcquire('r'))?.status).to.equal('held');
      expect(masters.list.map(({ runId }) => runId)).to.deep.equal(runIds);
    });

    it(`N=${nodes}, restart guard: a master that lost its data gives no vote for its period`, async () => {
      const { masters, time, one } = bench(nodes, { ttlMs: 1_000, restartGuardMs: 5_000 });
      await one.bootstrap();
      const lease = await one.acquire('r', ONE_ATTEMPT);
      for (const master of masters.list) master.restart({ data: 'lost' });
      const error = await rejection(one.acquire('r', { ...ONE_ATTEMPT, localTurns: 0 })); // it holds it still
      expect([error.code, error.remainingMs]).to.deep.equal(['QUARANTINED', 5_000]);
      await lease.release();
      await time.advance(4_999);
      expect(await code(time, one.acquire('r', ONE_ATTEMPT))).to.equal('QUARANTINED');
      await time.advance(1);
      expect((await one.acquire('r', ONE_ATTEMPT)).fence).to.be.greaterThan(lease.fence ?? Infinity);
    });
  }
});

describe('masters in memory: what happens to a master', () => {
  afterEach(closeAll);

  it("kill: requests in flight fail at once, with ioredis's text; the master has not run them", async () => {
    const { masters, one, time } = bench(1);
    const [master] = masters.list;
    master.latencyMs = 5;
    const failed = rejection(one.acquire('r', ONE_ATTEMPT));
    await time.advance(4);
    await master.kill();
    const { code, tally } = await settled(time, failed);
    expect(code).to.equal('NO_QUORUM');
    const [entry] = tally;
    expect(entry?.outcome === 'unknown' && entry.cause.message).to.match(/Connection is closed\.$/);
    master.latencyMs = 0;
    master.restart({ data: 'kept' });
    expect((await one.inspect('r')).state).to.equal('free');
  });

  it('kill: a command that ran, and whose reply is on its way, is unknown: its vote is there after the restart', async () => {
    const { masters, one, other, time } = bench(1);
    const [master] = masters.list;
    await (await one.acquire('warm')).release(); // the master knows the scripts
    master.latencyMs = 5;
    const failed = rejection(one.acquire('r', ONE_ATTEMPT));
    await time.advance(7);
    await master.kill();
    expect((await settled(time, failed)).code).to.equal('NO_QUORUM');
    master.latencyMs = 0;
    master.restart({ data: 'kept' });
    expect((await other.inspect('r')).state).to.equal('held');
  });

  it('kill twice, restart at once: nothing happens to the dead, each process has another run id', async () => {
    const { masters, one } = bench(1);
    const [master] = masters.list;
    const runIds = [master.runId];
    expect(master.state).to.equal('up');
    await master.kill();
    await master.kill();
    expect([master.state, master.runId]).to.deep.equal(['killed', runIds[0]]);
    for (const data of ['kept', 'lost'] as const) {
      master.restart({ data });
      runIds.push(master.runId);
      expect((await one.acquire(data, ONE_ATTEMPT)).status).to.equal('held');
    }
    expect(new Set(runIds).size).to.equal(3);
  });

  it('restart: a call that waits for a connection goes on', async () => {
    const { masters, one, time } = bench(3);
    for (const master of masters.list) await master.kill();
    const ready = one.ready();
    const waits = one.acquire('r', { waitMs: 10_000 });
    await time.advance(1_000);
    for (const master of masters.list) master.restart({ data: 'lost' });
    await settled(time, ready);
    expect((await settled(time, waits)).status).to.equal('held');
  });

  it('restart: scripts are forgotten, and the next claim still gets its vote', async () => {
    const { masters, one } = bench(1);
    await (await one.acquire('r')).release();
    masters.list[0].restart({ data: 'kept' });
    await (await one.acquire('r', ONE_ATTEMPT)).release();
  });

  it('freeze: what two instances sent waits, and runs at the thaw in the order of its arrival', async () => {
    const { masters, one, other, time } = bench(1);
    const [master] = masters.list;
    master.freeze();
    expect(master.state).to.equal('frozen');
    const patient = { waitMs: 0, nodeTimeoutMs: 60_000 } as const;
    const first = one.acquire('r', patient);
    await settle();
    const second = rejection(other.acquire('r', patient));
    await settle();
    master.thaw();
    expect((await settled(time, first)).status).to.equal('held');
    expect((await settled(time, second)).code).to.equal('LOCK_TAKEN');
    master.thaw(); // it is not frozen: nothing happens
    expect(master.state).to.equal('up');
  });

  it('freeze: a claim that was given up is undone behind it, so the thaw leaves no vote', async () => {
    const { masters, one, other, time } = bench(3);
    for (const master of masters.list) master.freeze();
    expect(await code(time, one.acquire('r', ONE_ATTEMPT))).to.equal('NO_QUORUM');
    for (const master of masters.list) master.thaw();
    await settle();
    expect((await other.inspect('r')).state).to.equal('free');
  });

  it('freeze, kill, restart: what waited there is gone with the process', async () => {
    const { masters, one, other, time } = bench(1);
    const [master] = masters.list;
    master.freeze();
    const failed = rejection(one.acquire('r', { waitMs: 0, nodeTimeoutMs: 60_000 }));
    await settle();
    master.restart({ data: 'kept' });
    expect((await settled(time, failed)).code).to.equal('NO_QUORUM');
    master.freeze();
    master.thaw();
    expect([master.state, (await other.inspect('r')).state]).to.deep.equal(['up', 'free']);
  });

  it('flush, freeze: refused of a killed master by name; thaw does nothing there', async () => {
    const [master] = new MemoryMasters(1).list;
    await master.kill();
    for (const call of [() => master.flush(), () => master.freeze()]) {
      const error = thrown(call);
      expect([error.code, error.message]).to.deep.equal([
        'INVALID_ARGUMENT',
        'master must be alive: restart it first; got "memory-1".',
      ]);
    }
    master.thaw();
    expect(master.state).to.equal('killed');
  });

  it('latency 5: a round trip takes 10 ms, and a quorum as long as its slowest master', async () => {
    const { masters, one, time } = bench(3, { ...LONG, fencing: false });
    masters.list.forEach((master, i) => (master.latencyMs = [0, 5, 50][i] ?? 0));
    let isHeld = false;
    const lease = one.acquire('r').then(() => (isHeld = true));
    await time.advance(9);
    expect(isHeld).to.equal(false);
    await time.advance(1);
    expect(isHeld).to.equal(true);
    await lease;
  });

  it('latency 100, then 0 while a claim is on its way: what follows does not overtake it', async () => {
    const { masters, one, other, time } = bench(1, { ...LONG, fencing: false });
    const [master] = masters.list;
    master.latencyMs = 100;
    const failed = rejection(one.acquire('r', { waitMs: 0, nodeTimeoutMs: 10 }));
    master.latencyMs = 0;
    expect((await settled(time, failed)).code).to.equal('NO_QUORUM'); // its undo was sent after 10 ms
    await time.advance(1_000);
    expect((await other.inspect('r')).state).to.equal('free');
  });

  it('latency 1,000, the instance closes: the release that was sent still arrives', async () => {
    const { masters, one, other, time } = bench(3);
    await (await one.acquire('r')).release(); // the masters know the scripts
    await one.acquire('r');
    const [, , slow] = masters.list;
    if (slow !== undefined) slow.latencyMs = 1_000;
    await settled(time, one.close({ releaseHeld: true }));
    await time.advance(1_000);
    if (slow !== undefined) slow.latencyMs = 0;
    expect((await other.inspect('r')).nodes.map(({ state }) => state)).to.deep.equal([
      'free',
      'free',
      'free',
    ]);
  });
});

describe('masters in memory: instances', () => {
  afterEach(closeAll);

  it('close: releases what they hold, refuses new ones, the same promise each time', async () => {
    const { masters, one, other, time } = bench(3);
    const leases = [await one.acquire('a', { renew: true }), await other.acquire('b', { renew: true })];
    const closing = masters.close();
    expect(masters.close()).to.equal(closing);
    await settled(time, closing);
    expect(leases.map(({ status }) => status)).to.deep.equal(['released', 'released']);
    expect(time.pending).to.equal(0);
    expect((await rejection(one.acquire('a'))).code).to.equal('CLOSED');
    expect(thrown(() => masters.redlock()).code).to.equal('CLOSED');
  });

  it('close of one instance: the others go on', async () => {
    const { one, other } = bench(3);
    await one.acquire('r');
    await one.close({ releaseHeld: true });
    expect((await other.acquire('r', ONE_ATTEMPT)).status).to.equal('held');
  });

  it('close with a majority frozen or killed: it comes to its end', async () => {
    for (const [, strike] of FAULTS) {
      const { masters, one, majority, time } = bench(3, { ttlMs: 1_000 });
      await one.acquire('r', { renew: true });
      for (const master of majority) await strike(master);
      await settled(time, masters.close());
    }
  });

  it('two sets of masters know nothing of each other', async () => {
    const [first, second] = [bench(3), bench(3)];
    await first.one.acquire('r');
    expect((await second.one.acquire('r', ONE_ATTEMPT)).status).to.equal('held');
  });

  it('real time: a lock is taken, waited for and handed on, with await using', async () => {
    await using masters = new MemoryMasters(3);
    masters.list.forEach((master) => (master.latencyMs = 1));
    const [one, other] = [masters.redlock(LONG), masters.redlock(LONG)];
    const lease = await one.acquire('r');
    const waits = other.acquire('r', { waitMs: Infinity });
    await lease.release();
    expect((await waits).status).to.equal('held');
  });

  it('real time: who stands still for longer than its node timeout while a reply is on its way has the reply', async () => {
    await using masters = new MemoryMasters(3);
    masters.list.forEach((master) => (master.latencyMs = 1));
    const redlock = masters.redlock({ ...LONG, nodeTimeoutMs: 30 });
    await (await redlock.acquire('r')).release(); // the masters know the scripts
    const acquiring = redlock.acquire('r', { waitMs: 0 });
    await new Promise(setImmediate); // the claim is under way
    const endMs = performance.now() + 100;
    while (performance.now() < endMs);
    expect((await acquiring).status).to.equal('held');
  });

  for (const how of ['close', 'frozen', 'waiting', 'idle']) {
    it(`a process (${how}) lives as long as a call is under way, and ends by itself after close`, async () => {
      expect(await run(PROGRAMS, how)).to.deep.equal([0, 'closed']);
    });
  }

  it('a process that leaves instances, leases and a routine open ends by itself, in order', async () => {
    expect(await run(PROGRAMS, 'leftOpen')).to.deep.equal([0, 'left open']);
  });

  it('a failed test that leaves its masters open does not keep its runner alive', async () => {
    const [status, text] = await run(FAILING_TEST);
    expect(status).to.equal(1);
    expect(text).to.match(/^# fail 1$/m);
  });
});

describe('masters in memory: faked timers', () => {
  afterEach(() => sinon.restore());

  it('sinon at its defaults: leases run out, renew and wait as the fake clock goes on', async () => {
    const clock = sinon.useFakeTimers();
    const masters = new MemoryMasters(3);
    const [one, other] = [masters.redlock({ ttlMs: 10_000 }), masters.redlock({ ttlMs: 10_000 })];
    const lease = await one.acquire('r'); // no tick is needed
    const started = lease.remainingMs();
    await clock.tickAsync(4_000);
    expect(started - lease.remainingMs()).to.equal(4_000);
    const waits = other.acquire('r', { renew: true, waitMs: 20_000 });
    await clock.tickAsync(6_500);
    const second = await waits;
    expect([lease.status, second.status]).to.deep.equal(['lost', 'held']);
    await clock.tickAsync(60_000);
    expect(second.status).to.equal('held');
    for (const master of masters.list) await master.kill();
    await clock.tickAsync(10_000);
    expect(second.status).to.equal('lost');
    await masters.close();
  });

  it('sinon, what docs/TESTING.md says to fake and no more: a frozen majority, latency', async () => {
    const toFake = ['performance', 'setTimeout', 'clearTimeout', 'setImmediate'] as const;
    const clock = sinon.useFakeTimers({ toFake: [...toFake] });
    const masters = new MemoryMasters(3);
    const one = masters.redlock({ ttlMs: 1_000 });
    for (const master of masters.list) master.freeze();
    const failed = rejection(one.acquire('r', ONE_ATTEMPT));
    await clock.tickAsync(251); // the node timeout of a first attempt, and the immediate after it
    expect((await failed).code).to.equal('NO_QUORUM');
    for (const master of masters.list) {
      master.thaw();
      master.latencyMs = 5;
    }
    const held = one.acquire('r', { waitMs: 0, fencing: false });
    await clock.tickAsync(10);
    expect((await held).status).to.equal('held');
    const closing = masters.close();
    await clock.tickAsync(20); // the release by its digest, and again with its source
    await closing;
  });

  it('what Jest fakes (nextTick and queueMicrotask as well): a lock needs no tick, and runs out by ticks', async () => {
    const timers = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const;
    const rest = ['setImmediate', 'clearImmediate', 'performance', 'hrtime', 'Date'] as const;
    const clock = sinon.useFakeTimers({ toFake: [...timers, ...rest, 'nextTick', 'queueMicrotask'] });
    const masters = new MemoryMasters(3);
    const [one, other] = [masters.redlock({ ttlMs: 1_000 }), masters.redlock({ ttlMs: 1_000 })];
    const told: string[] = [];
    one.on('acquired', ({ resources }) => told.push(...resources));
    const lease = await one.acquire('r');
    expect(await other.tryAcquire('r')).to.equal(null);
    expect(told).to.deep.equal(['r']);
    await clock.tickAsync(1_000);
    expect([lease.status, (await other.acquire('r')).status]).to.deep.equal(['lost', 'held']);
    await masters.close();
  });

  it('a fake clock that stops while real time goes on: no lease expires', async () => {
    sinon.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
    const masters = new MemoryMasters(3);
    const lease = await masters.redlock({ ttlMs: 50 }).acquire('r');
    const endMs = Date.now() + 60; // real: more than the ttl
    await until(() => Date.now() >= endMs);
    expect(lease.status).to.equal('held');
    await masters.close();
  });
});

describe('masters in memory: wrong input', () => {
  for (const count of [0, -1, 1.5, 100, NaN, Infinity, '3' as unknown as number]) {
    it(`${JSON.stringify(count)} (${String(count)}) masters: refused`, () => {
      const error = thrown(() => new MemoryMasters(count));
      expect([error.code, error.message]).to.deep.equal([
        'INVALID_ARGUMENT',
        `count must be a whole number from 1 to 99; got ${typeof count === 'string' ? '"3"' : String(count)}.`,
      ]);
    });
  }

  it('1 and 99 masters, each with a name of its own', () => {
    expect(new MemoryMasters(1).list.map(({ name }) => name)).to.deep.equal(['memory-1']);
    expect(new Set(new MemoryMasters(99).list.map(({ name }) => name)).size).to.equal(99);
  });

  it('options: unknown names, a clock without timers or the other way round, null', () => {
    const time = new FakeTime();
    const refused: readonly (readonly [unknown, RegExp])[] = [
      [{ nodes: 3 }, /^nodes \(3\) is not an option here\. Known: clock, timers\.$/],
      [{ clock: time }, /^timers must be .*; got undefined\.$/],
      [{ timers: time }, /^clock must be .*; got undefined\.$/],
      [{ clock: { now: () => 0 } as Clock, timers: time }, /^clock must be /],
      [{ clock: time, timers: { wait: () => undefined } as unknown as Timers }, /^timers must be /],
      [null, /^options must be an object; got null\.$/],
    ];
    for (const [options, message] of refused) {
      const error = thrown(() => new MemoryMasters(3, options as MemoryMastersOptions));
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message).to.match(message);
    }
  });

  it('latency: below 0, infinite or no number is refused, and what was set stays', () => {
    const [master] = new MemoryMasters(1).list;
    master.latencyMs = 5;
    for (const wrong of [-1, NaN, Infinity, '5' as unknown as number]) {
      expect(thrown(() => (master.latencyMs = wrong)).message).to.match(
        /^latencyMs must be a number of milli/,
      );
    }
    expect(master.latencyMs).to.equal(5);
  });

  it('restart: refused without a word on the data, and nothing happens', () => {
    const [master] = new MemoryMasters(1).list;
    const { runId } = master;
    for (const wrong of [{}, { data: 'old' }, { data: 'lost', now: true }, undefined]) {
      expect(thrown(() => master.restart(wrong as { data: 'lost' })).code).to.equal('INVALID_ARGUMENT');
    }
    expect(master.runId).to.equal(runId);
  });

  it('redlock: the options of an instance are checked, and a refused one is not kept', async () => {
    const masters = new MemoryMasters(3);
    expect(thrown(() => masters.redlock({ ttl: 5 } as RedlockOptions)).code).to.equal('INVALID_ARGUMENT');
    await masters.close();
  });
});
