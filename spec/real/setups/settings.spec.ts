/** Settings and states of the servers: io-threads, a small busy-reply-threshold, maxmemory, the append-only file, a full disk. */
import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { RedlockOptions } from '../../../lib/input/options.js';
import { Redlock } from '../../../lib/redlock.js';
import type { RedlockError } from '../../../lib/runtime/errors.js';
import { type Masters, startMasters } from '../../../scripts/masters.js';
import { HOST } from '../../../scripts/masters/wait.js';
import { locksOn } from '../../support/commands.js';
import { needs } from '../../support/parts.js';
import { PATIENT } from '../../support/patience.js';
import { byHand, eventually } from '../../support/real.js';
import { rejection } from '../../support/rejection.js';
import { expectPromises, untilAllAnswer } from '../support/promises.js';
import { ServerProcess } from '../support/server-process.js';

const NODES = 3;

/** What a spec opens, and closes after it. */
class Opened {
  readonly #locks: Redlock[] = [];
  readonly #hands: Redis[] = [];

  over(ports: readonly number[], options: RedlockOptions = {}): Redlock {
    const redlock = Redlock.connect(
      ports.map((port) => `redis://${HOST}:${port}`),
      { ...PATIENT, ...options },
    );
    this.#locks.push(redlock);
    return redlock;
  }

  hands(ports: readonly number[]): readonly Redis[] {
    const hands = ports.map((port) => byHand(port));
    this.#hands.push(...hands);
    return hands;
  }

  async close(): Promise<void> {
    for (const redlock of this.#locks.splice(0)) await redlock.close({ releaseHeld: true });
    for (const hand of this.#hands.splice(0)) hand.disconnect();
  }
}

async function nothingHeld(hands: readonly Redis[]): Promise<void> {
  for (const hand of hands) await eventually(async () => (await locksOn(hand)).length === 0);
}

async function isVotedByAll(redlock: Redlock, name: string): Promise<boolean> {
  return (await redlock.inspect(name)).nodes.every(({ state }) => state === 'held');
}

/** So many at a time that they share calls; two want each name. */
async function crowd(one: Redlock, other: Redlock, count = 300): Promise<void> {
  const inside = new Set<string>();
  const enter = async (name: string): Promise<void> => {
    expect(inside.has(name), name).to.equal(false);
    inside.add(name);
    await new Promise((resolve) => setImmediate(resolve));
    inside.delete(name);
  };
  const names = Array.from({ length: count }, (_, i) => `r${i}`);
  await Promise.all([one, other].flatMap((lock) => names.map((name) => lock.using(name, () => enter(name)))));
}

describe('set-ups: settings of the servers', function () {
  let masters: Masters | undefined;
  let opened: Opened;
  let spec: AbortController;
  beforeEach(() => {
    opened = new Opened();
    spec = new AbortController();
  });
  afterEach(async () => {
    spec.abort();
    await opened.close();
    await masters?.stop();
    masters = undefined;
  });

  async function start(
    args: readonly string[],
    options: { readonly persist?: boolean } = {},
  ): Promise<number[]> {
    masters = await startMasters(NODES, { backend: 'process', args, ...options });
    return masters.list.map(({ port }) => port);
  }

  it('io-threads 4, with a node timeout that bears them: all that locks do, alone and in a crowd', async () => {
    const ports = await start(['--io-threads', '4']);
    const [one, other] = [opened.over(ports), opened.over(ports)];
    await expectPromises(one, other);
    await crowd(one, other);
    await nothingHeld(opened.hands(ports));
  });

  it('scripts of others that are slower than a busy-reply-threshold of 1 ms: BUSY is met, all are granted, nothing is left', async () => {
    const ports = await start(['--lua-time-limit', '1']); // its name before 7.0, and still an alias
    const [slow, hands] = [opened.hands(ports), opened.hands(ports)];
    const [one, other] = [opened.over(ports), opened.over(ports)];
    await untilAllAnswer(one, other);
    const isMet = async (): Promise<boolean> =>
      (await Promise.all(hands.map(busyReplies))).every((count) => count > 0);
    const slowly = Promise.all(slow.map((redis) => keepBusy(redis, isMet, spec.signal)));
    do await crowd(one, other, 50);
    while (!(await isMet()));
    await slowly;
    await nothingHeld(hands);
    await expectPromises(one, other);
  });

  it('maxmemory reached on two of three: undos and releases go through, and a waiter gets its lock once there is room', async () => {
    const ports = await start([]);
    const hands = opened.hands(ports);
    const [one, other] = [opened.over(ports), opened.over(ports)];
    await untilAllAnswer(one, other);
    const lease = await one.acquire('r');
    await eventually(() => isVotedByAll(one, 'r'));
    const next = other.acquire('r');
    await eventually(async () => (await one.inspect('r')).waiting === 1);
    for (const hand of hands.slice(1)) await hand.config('SET', 'maxmemory', '1');
    const error = await rejection(other.acquire('s', { waitMs: 0 }));
    expect(error.code).to.equal('MISCONFIGURED');
    expect(causesOf(error, /^OOM /)).to.have.lengthOf(2);
    for (const hand of hands) await eventually(async () => (await hand.exists('s')) === 0);
    await lease.extend();
    await lease.release();
    for (const hand of hands) await eventually(async () => (await hand.get('r')) !== lease.token);
    for (const hand of hands.slice(1)) await hand.config('SET', 'maxmemory', '0');
    await (await next).release();
    await expectPromises(one, other);
    await nothingHeld(hands);
  });

  it('all masters are killed at once, and come back with their append-only files: the lease is still held', async () => {
    const ports = await start([], { persist: true });
    const [one, other] = [opened.over(ports), opened.over(ports)];
    await untilAllAnswer(one, other);
    const lease = await one.acquire('r');
    await eventually(() => isVotedByAll(one, 'r'));
    for (const master of masters?.list ?? []) await master.kill();
    for (const master of masters?.list ?? []) await master.restart();
    await eventually(() => isVotedByAll(other, 'r'));
    expect(await other.tryAcquire('r')).to.equal(null);
    await lease.extend();
    const next = other.acquire('r');
    await lease.release();
    expect((await next).fence).to.be.greaterThan(lease.fence ?? Infinity);
    await (await next).release();
    await expectPromises(one, other);
  });
});

/**
 * A file of these servers cannot grow from here on: their writes then fail as on a full disk, with another word for why
 * (`File too large`, not `No space left on device`).
 */
const setFull = ({ pid }: ServerProcess): void => limit(pid, '1');
const setRoomy = ({ pid }: ServerProcess): void => limit(pid, 'unlimited');

function limit(pid: number, size: string): void {
  execFileSync('prlimit', ['--pid', `${pid}`, `--fsize=${size}:`]);
}

describe('set-ups: a full disk under the append-only file', function () {
  let servers: readonly ServerProcess[] = [];
  let opened: Opened;
  before(function () {
    needs(this, 'prlimit');
  });
  beforeEach(() => {
    opened = new Opened();
  });
  afterEach(async () => {
    await opened.close();
    for (const server of servers) await server.stop();
    servers = [];
  });

  async function start(fsync: 'always' | 'everysec'): Promise<readonly number[]> {
    const lines = ['save ""', 'appendonly yes', `appendfsync ${fsync}`, 'auto-aof-rewrite-percentage 0'];
    servers = await Promise.all(Array.from({ length: NODES }, () => ServerProcess.start(lines)));
    return servers.map(({ port }) => port);
  }

  /** A server says so from its next write on, which it keeps in memory. */
  async function fill(server: ServerProcess, hand: Redis | undefined): Promise<void> {
    setFull(server);
    await hand?.set('quorate:fills', '1');
    await eventually(
      async () => (await hand?.info('persistence'))?.includes('aof_last_write_status:err') === true,
    );
  }

  it('appendfsync everysec, two of three: MISCONFIGURED with MISCONF, the lease stays held; with room again, nothing is left', async () => {
    const ports = await start('everysec');
    const hands = opened.hands(ports);
    const [one, other] = [opened.over(ports), opened.over(ports)];
    await untilAllAnswer(one, other);
    const lease = await one.acquire('r');
    await eventually(() => isVotedByAll(one, 'r'));
    for (const i of [1, 2]) await fill(servers[i] as ServerProcess, hands[i]);
    const error = await rejection(other.acquire('s', { waitMs: 0 }));
    expect(error.code).to.equal('MISCONFIGURED');
    expect(causesOf(error, /^MISCONF Errors writing to the AOF/)).to.have.lengthOf(2);
    expect((await rejection(lease.extend())).code).to.equal('MISCONFIGURED');
    expect(lease.status).to.equal('held');
    await lease.release(); // it cannot run on two of them now
    servers.forEach(setRoomy);
    await nothingHeld(hands);
    await expectPromises(one, other);
  });

  it('appendfsync everysec, one of three: costs nothing', async () => {
    const ports = await start('everysec');
    const [one, other] = [opened.over(ports), opened.over(ports)];
    await fill(servers[0] as ServerProcess, opened.hands(ports)[0]);
    await expectPromises(one, other);
  });

  it('appendfsync always: the server ends; one of three costs nothing, and it comes back with its votes', async () => {
    const ports = await start('always');
    const [first] = servers as readonly [ServerProcess];
    const [one, other] = [opened.over(ports), opened.over(ports)];
    await untilAllAnswer(one, other);
    const lease = await one.acquire('r');
    await eventually(() => isVotedByAll(one, 'r'));
    setFull(first);
    await expectPromises(one, other);
    await eventually(() => !first.isRunning);
    await first.run();
    const [hand] = opened.hands(ports);
    expect(await hand?.get('r')).to.equal(lease.token);
    await eventually(() => isVotedByAll(one, 'r'));
    await lease.release();
    await expectPromises(one, other);
  });
});

/** Runs scripts of some 10 ms, until it is enough. The server looks at the time once in 100,000 steps of a script. */
async function keepBusy(redis: Redis, isEnough: () => Promise<boolean>, spec: AbortSignal): Promise<void> {
  const script = 'for i = 1, 3000000 do end';
  while (!spec.aborted && !(await isEnough())) {
    await redis.eval(script, 0).catch(() => undefined); // another script may run
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The causes of missing votes that are such ones. */
function causesOf({ tally }: RedlockError, pattern: RegExp): readonly string[] {
  const causes = tally.flatMap((one) => (one.outcome === 'unknown' ? [one.cause.message] : []));
  return causes.filter((cause) => pattern.test(cause));
}

/** Commands of locks that it answered BUSY: nobody else sends EVALSHA. */
async function busyReplies(hand: Redis): Promise<number> {
  const info = await hand.info('commandstats').catch(() => ''); // BUSY itself
  return Number(/^cmdstat_evalsha:.*\brejected_calls=(\d+)/m.exec(info)?.[1] ?? 0);
}
