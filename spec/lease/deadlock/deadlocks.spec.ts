/** Hints of deadlocks, within an instance and between instances, over masters in memory and under virtual time. */
import { expect } from 'chai';
import type { RedlockOptions } from '../../../lib/input/options.js';
import { CHECK_MS } from '../../../lib/lease/deadlock/deadlocks.js';
import { clientKey } from '../../../lib/protocol/keys.js';
import type { Redlock } from '../../../lib/redlock.js';
import { fingerprint } from '../../../lib/redis/transport.js';
import { publicPart } from '../../../lib/runtime/random.js';
import type { RedlockError } from '../../../lib/runtime/errors.js';
import type { DeadlockEvent } from '../../../lib/telemetry/events.js';
import { type Bench, fakeCluster } from '../../support/fake-cluster.js';
import { settle } from '../../support/fake-time.js';

const PROCESS = { host: 'db-1', pid: 4711, version: '1.2.3', startedAtMs: 1_790_000_000_000 };
const OPTIONS = { nodeTimeoutMs: 200, label: 'api-1' } as const;

function bench(nodes = 3, options: RedlockOptions = {}): Bench {
  return fakeCluster(nodes, { ...OPTIONS, ...options }, { process: PROCESS, hasPushes: true });
}

function other(one: Bench, label: string): Redlock {
  return one.other(label, { ...OPTIONS, label }).redlock;
}

function heard(redlock: Redlock): DeadlockEvent[] {
  const events: DeadlockEvent[] = [];
  redlock.on('deadlock', (event) => events.push(event));
  return events;
}

/** Takes one lock, and asks for another in its routine, once there was something else to wait for. */
async function nested(
  redlock: Redlock,
  outer: string,
  inner: string,
  options = {},
): Promise<RedlockError | undefined> {
  try {
    await redlock.using(outer, async () => {
      await settle();
      await redlock.using(inner, options, () => undefined);
    });
    return undefined;
  } catch (error) {
    return error as RedlockError;
  }
}

/** Who waits for what, and holds what. */
const shown = ({ deadlock }: Pick<DeadlockEvent, 'deadlock'>): unknown =>
  deadlock.map(({ holds, label, waitsFor }) => [label, holds.join(), waitsFor]);

const sent = ({ masters }: Bench): number => masters.reduce((sum, { calls }) => sum + calls, 0);

const inspections = ({ masters }: Bench): number =>
  masters.reduce((sum, master) => sum + master.sent.filter(({ kind }) => kind === 'inspect').length, 0);

describe('deadlocks: one instance', () => {
  it('N=3: a call that waits for what it holds itself: an event, and a sentence and a property of LOCK_TAKEN', async () => {
    const one = bench();
    const events = heard(one.redlock);
    const call = nested(one.redlock, 'a', 'a');
    await one.time.advance(10); // the inner call has begun
    await one.time.advance(CHECK_MS);
    expect(events, 'after a second').to.deep.equal([]);
    await one.time.advance(CHECK_MS);
    expect(events.map(shown)).to.deep.equal([[['api-1', 'a', 'a']]]);
    expect(events[0]).to.deep.include({ resources: ['a'], kind: 'mutex', by: 'using' });
    expect(events[0]?.deadlock[0]).to.include({ host: 'db-1', pid: 4711 });
    await one.time.advance(10_000);
    const error = await call;
    expect(error?.code).to.equal('LOCK_TAKEN');
    expect(error?.message).to.match(/ It is held by api-1\. Deadlock: you hold "a" yourself\.$/);
    expect(error?.deadlock).to.deep.equal(events[0]?.deadlock);
    expect(error?.toJSON().deadlock).to.deep.equal(error?.deadlock);
    expect(events.length, 'once per call').to.equal(1);
    expect(inspections(one), 'no master is asked').to.equal(0);
  });

  it('N=3: two flows that take two locks in opposite orders', async () => {
    const one = bench();
    const events = heard(one.redlock);
    const calls = [nested(one.redlock, 'a', 'b'), nested(one.redlock, 'b', 'a', { waitMs: 12_000 })];
    await one.time.advance(1);
    await one.time.advance(2 * CHECK_MS);
    expect(events.map(shown)).to.deep.equal([
      [
        ['api-1', 'a', 'b'],
        ['api-1', 'b', 'a'],
      ],
      [
        ['api-1', 'b', 'a'],
        ['api-1', 'a', 'b'],
      ],
    ]);
    await one.time.advance(20_000);
    const [first, second] = await Promise.all(calls);
    expect(first?.message).to.contain(
      'Deadlock: another call of this instance holds "b" and waits for "a"; you hold "a".',
    );
    expect(second, 'it got the lock when the first had given up').to.equal(undefined);
  });

  it('a reader that asks to write; a semaphore whose other permits do not suffice', async () => {
    const one = bench();
    const events = heard(one.redlock);
    const [{ read, write }, semaphore] = [one.redlock.readWriteLock('rw'), one.redlock.semaphore('s', 3)];
    const calls = [
      read.using(() => settle().then(() => write.using(() => undefined))),
      semaphore.using({ permits: 2 }, () =>
        settle().then(() => semaphore.using({ permits: 2 }, () => undefined)),
      ),
    ].map((call) => call.catch((error: unknown) => error as RedlockError));
    await one.time.advance(20_000);
    expect(events.map(({ kind, resources }) => [kind, resources])).to.have.deep.members([
      ['write', ['rw']],
      ['semaphore', ['s']],
    ]);
    const errors = await Promise.all(calls);
    expect(errors[0]?.message).to.contain('Deadlock: you hold "rw" yourself.');
    expect(errors[1]?.message).to.contain('Deadlock: you hold "s" yourself.');
  });

  it('one of several locks, an outer routine’s, a lead’s, and a job’s', async () => {
    const one = bench();
    const events = heard(one.redlock);
    const end = new AbortController();
    const { redlock } = one;
    const ask = (names: string | readonly string[]) => () =>
      settle().then(() => redlock.using(names, { signal: end.signal }, () => undefined));
    const calls = [
      redlock.using(['a', 'b'], () => redlock.using('c', ask(['b', 'z']))),
      redlock.election('e').lead(ask('e'), { signal: end.signal }),
      redlock.runOnce('once', 60_000, ask('once')),
      redlock.mutex('m', { reentrant: true }).using(() => redlock.using('n', ask('m'))),
    ].map((call) => call.catch(() => undefined));
    await one.time.advance(5_000);
    expect(events.map(shown)).to.have.deep.members([
      [['api-1', 'c,a,b', 'b']],
      [['api-1', 'e', 'e']],
      [['api-1', 'once', 'once']],
      [['api-1', 'n,m', 'm']],
    ]);
    end.abort();
    await one.time.advance(5_000);
    await Promise.all(calls);
  });

  it('no circle, no hint: other branches, readers, permits that suffice, routines that are over, plain leases', async () => {
    const one = bench();
    const { redlock } = one;
    const events = heard(redlock);
    const pause = (ms: number): Promise<void> => new Promise((resolve) => void one.time.wait(ms, resolve));
    const forLong = (): Promise<void> => pause(15_000);
    const inner = (name: string): Promise<unknown> => settle().then(() => redlock.using(name, forLong));
    const [rw, semaphore] = [redlock.readWriteLock('rw'), redlock.semaphore('s', 3)];
    const [again, three] = [redlock.readWriteLock('again'), redlock.semaphore('three', 3)];
    const plain = await redlock.acquire('plain', { ttlMs: 60_000 });
    await three.acquire({ permits: 2, ttlMs: 60_000 });
    const calls = [
      // two branches want the same lock: one has it, and works
      redlock.using('a', () => Promise.allSettled([inner('b'), inner('b')])),
      redlock.using('waits for one that works', () => inner('c')),
      redlock.using('c', forLong),
      rw.read.using(() => settle().then(() => rw.read.using(forLong))),
      semaphore.using(() => settle().then(() => semaphore.using({ permits: 2 }, forLong))),
      // others keep these out: a writer that waits, and the holder of two of three permits
      again.read.using(() => pause(1_000).then(() => again.read.acquire({ waitMs: 5_000 }))),
      pause(500).then(() => again.write.acquire({ waitMs: 8_000 })),
      three.using(() => settle().then(() => three.acquire({ waitMs: 5_000 }))),
      // the routine does not wait for it, and is over
      redlock.using('d', () => void settle().then(() => inner('plain').catch(() => undefined))),
      redlock.using('e', () => inner('plain')),
    ].map((call) => call.catch(() => undefined));
    await one.time.advance(60_000);
    await Promise.all(calls);
    await plain.release();
    expect(events).to.deep.equal([]);
  });
});

describe('deadlocks: while the masters are asked', () => {
  it('N=3: a circle that has come apart meanwhile is none', async () => {
    const one = bench();
    const events = heard(one.redlock);
    await other(one, 'api-2').acquire('elsewhere', { ttlMs: 60_000 });
    const end = new AbortController();
    const calls = [
      nested(one.redlock, 'x', 'elsewhere'),
      nested(one.redlock, 'a', 'b', { signal: end.signal }),
      nested(one.redlock, 'b', 'a'),
    ];
    await one.time.advance(1_990);
    for (const master of one.masters) master.manner = 'freeze';
    await one.time.advance(100);
    end.abort();
    for (const master of one.masters) master.thaw();
    await one.time.advance(30_000);
    await Promise.all(calls);
    expect(events).to.deep.equal([]);
  });
});

describe('deadlocks: several instances', () => {
  for (const labels of [
    ['api-2', 'api-1'],
    ['api-2', 'api-3', 'api-1'],
  ]) {
    it(`N=3, a circle of ${labels.length}: each of them finds it; the error of the first that gives up names the others`, async () => {
      const one = bench();
      const instances = ['api-1', ...labels.slice(0, -1)].map((label) =>
        label === 'api-1' ? one.redlock : other(one, label),
      );
      const events = instances.map(heard);
      const names = ['a', 'b', 'c'].slice(0, labels.length);
      const calls = instances.map((redlock, i) =>
        nested(redlock, names[i] ?? '', names[(i + 1) % names.length] ?? '', { waitMs: 10_000 + 1_000 * i }),
      );
      await one.time.advance(8_000);
      expect(events.map((all) => all.length)).to.deep.equal(instances.map(() => 1));
      const circle = instances.map((_, i) => [
        i === 0 ? 'api-1' : labels[i - 1],
        names[i],
        names[(i + 1) % names.length],
      ]);
      expect(shown(events[0]?.[0] ?? { deadlock: [] })).to.deep.equal(circle);
      await one.time.advance(20_000);
      const facts = circle
        .slice(1)
        .map(([label, held, wanted]) => `${label} holds "${held}" and waits for "${wanted}"`);
      const [first, ...rest] = await Promise.all(calls);
      expect(first?.message).to.contain(`Deadlock: ${facts.join('; ')}; you hold "a".`);
      expect(first?.deadlock?.length).to.equal(labels.length);
      expect(rest.at(-1), 'the circle was open from then on').to.equal(undefined);
    });
  }

  it('the record has what is waited for while it is, and is written at once when the wait is over', async () => {
    const one = bench();
    const holder = other(one, 'api-2');
    const lease = await holder.acquire('b', { ttlMs: 60_000 });
    heard(one.redlock);
    const call = nested(one.redlock, 'a', 'b');
    await one.time.advance(0);
    const key = clientKey('', publicPart(one.random.tokens[0] ?? ''));
    const waits = (): unknown =>
      (JSON.parse(one.masters[0]?.value(key) ?? '{}') as { waits?: unknown }).waits;
    await one.time.advance(CHECK_MS);
    expect(waits(), 'for a second, nothing').to.equal(undefined);
    await one.time.advance(CHECK_MS);
    expect(waits()).to.have.length(1);
    expect(JSON.stringify(waits())).to.contain('"for":["b"]');
    await lease.release();
    await one.time.advance(100);
    expect(waits()).to.equal(undefined);
    await call;
  });

  for (const isAlive of [true, false]) {
    it(`the other instance ${isAlive ? 'writes its record again: a circle' : 'gives no sign of life: none'}`, async () => {
      const one = bench();
      const events = heard(one.redlock);
      const silent = one.other('silent', { ...OPTIONS, label: false });
      const lease = await silent.redlock.acquire('b', { ttlMs: 60_000 });
      const wait = { call: 7, holds: { [fingerprint(lease.token)]: ['b'] }, for: ['a'], kind: 'mutex' };
      let beat = 1;
      const write = (): void => {
        const text = JSON.stringify({ label: 'api-2', beat, waits: [wait] });
        for (const master of one.masters) master.set(clientKey('', publicPart(lease.token)), text, 60_000);
        if (isAlive) beat++;
      };
      const call = nested(one.redlock, 'a', 'b');
      for (let i = 0; i < 12; i++) {
        write();
        await one.time.advance(1_000);
      }
      const error = await call;
      expect(events.length).to.equal(isAlive ? 1 : 0);
      expect(error?.message.includes('Deadlock: api-2 holds "b" and waits for "a"; you hold "a".')).to.equal(
        isAlive,
      );
    });
  }

  it('N=3: a holder of permits that alone keeps nobody out is no part of a circle', async () => {
    const one = bench();
    const [two, three] = [other(one, 'api-2'), other(one, 'api-3')];
    const events = [heard(one.redlock), heard(two)];
    await three.semaphore('s', 3).acquire({ permits: 2, ttlMs: 60_000 });
    const calls = [
      one.redlock.semaphore('s', 3).using(() => settle().then(() => one.redlock.using('b', () => undefined))),
      two.using('b', () => settle().then(() => two.semaphore('s', 3).using(() => undefined))),
    ].map((call) => call.catch(() => undefined));
    await one.time.advance(30_000);
    await Promise.all(calls);
    expect(events).to.deep.equal([[], []]);
  });

  it('an instance without a label writes nothing, and finds what others have written', async () => {
    const one = bench();
    const quiet = one.other('quiet', { ...OPTIONS, label: false });
    const [events, own] = [heard(one.redlock), heard(quiet.redlock)];
    const calls = [nested(one.redlock, 'a', 'b'), nested(quiet.redlock, 'b', 'a')];
    await one.time.advance(8_000);
    expect(one.masters[0]?.value(clientKey('', publicPart(quiet.random.tokens[0] ?? '')))).to.equal(
      undefined,
    );
    expect(events).to.deep.equal([]);
    expect(own.map(shown)).to.deep.equal([
      [
        [undefined, 'b', 'a'],
        ['api-1', 'a', 'b'],
      ],
    ]);
    await one.time.advance(20_000);
    await Promise.all(calls);
  });
});

describe('deadlocks: what they cost', () => {
  it('N=3: calls that do not wait for a second send the same, nested or not', async () => {
    const counts: number[] = [];
    for (const isNested of [true, false]) {
      const one = bench();
      heard(one.redlock);
      const first = await one.redlock.acquire('record');
      await one.time.advance(10);
      const before = sent(one);
      for (let i = 0; i < 20; i++) {
        if (isNested) await nested(one.redlock, `a${i}`, `b${i}`);
        else {
          await using _a = await one.redlock.acquire(`a${i}`);
          await using _b = await one.redlock.acquire(`b${i}`);
        }
      }
      await one.time.advance(5 * CHECK_MS);
      counts.push(sent(one) - before);
      await first.release();
    }
    expect(counts[0]).to.equal(counts[1]);
  });

  it('no timer is left', async () => {
    const one = bench();
    heard(one.redlock);
    await nested(one.redlock, 'a', 'b');
    const closing = one.redlock.close();
    await one.time.advance(1_000);
    await closing;
    expect(one.time.pending).to.equal(0);
  });

  it('nobody listens: what a routine calls at once is known; the rest, once a call has waited for long in vain', async () => {
    const one = bench();
    const { redlock } = one;
    const atOnce = redlock
      .using('a', () => redlock.using('a', () => undefined))
      .catch((error: unknown) => error as RedlockError);
    await one.time.advance(11_000);
    expect((await atOnce)?.deadlock?.length).to.equal(1);
    const later = nested(redlock, 'a', 'a');
    await one.time.advance(30_000);
    expect((await later)?.deadlock?.length).to.equal(1);
  });
});
