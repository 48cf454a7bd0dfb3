/** The tracing channels, as `node:diagnostics_channel` gives them. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { channel, tracingChannel } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import { expect } from 'chai';
import type { Leading, LeadRoutine } from '../../lib/election/public.js';
import type { Redlock } from '../../lib/redlock.js';
import type { NodeOutcome } from '../../lib/runtime/errors.js';
import type { LeadMessage } from '../../lib/telemetry/channels.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

/** What messages of any channel may have. */
interface AnyMessage {
  readonly redlock: object;
  readonly by?: string;
  readonly kind: string;
  readonly ttlMs?: number;
  readonly tally: readonly NodeOutcome[];
  readonly result?: { readonly fence?: number; readonly remainingMs?: number } | null;
  readonly error?: unknown;
}
const PARTS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const;

interface Trace {
  readonly parts: string[];
  readonly messages: AnyMessage[];
  stop(): void;
}

/** Everything that a channel publishes for an instance. */
function watch(name: 'acquire' | 'extend' | 'lead' | 'release', redlock: Redlock): Trace {
  const parts: string[] = [];
  const messages: AnyMessage[] = [];
  const listeners = PARTS.map((part) => {
    const listener = (given: unknown): void => {
      const message = given as AnyMessage; // published by lib/telemetry
      if (message.redlock !== redlock) return;
      parts.push(part);
      if (!messages.includes(message)) messages.push(message);
    };
    const own = channel(`tracing:quorate:${name}:${part}`);
    own.subscribe(listener);
    return () => own.unsubscribe(listener);
  });
  return { parts, messages, stop: () => listeners.forEach((stop) => stop()) };
}

const WELL = ['start', 'end', 'asyncStart', 'asyncEnd'];
const FAILED = ['start', 'end', 'error', 'asyncStart', 'asyncEnd'];

for (const nodes of [1, 3, 5]) {
  describe(`tracing channels, N=${nodes}`, () => {
    it('acquire: from its start to its end, one message, that of a lease without its token', async () => {
      const { random, redlock } = fakeCluster(nodes);
      const { messages, parts, stop } = watch('acquire', redlock);
      const lease = await redlock.acquire(['b', 'a'], { ttlMs: 5_000, waitMs: 700 });
      stop();
      expect(parts).to.deep.equal(WELL);
      const [message] = messages;
      expect(message).to.deep.include({
        ...{ resources: ['a', 'b'], kind: 'mutex', by: 'acquire', ttlMs: 5_000, waitMs: 700 },
        ...{ attempts: 1, elapsedMs: 0, waited: false, local: false, result: { fence: lease.fence } },
      });
      expect(message?.tally.map(({ outcome }) => outcome)).to.include('granted');
      const text = inspect({ ...message, redlock: undefined }, { depth: null });
      for (const token of random.tokens) expect(text).to.not.contain(token);
    });

    it('acquire: handed over by another lease of the instance: local, no attempts, and no tally', async () => {
      const { redlock, time } = fakeCluster(nodes);
      const holder = await redlock.acquire('r');
      const { messages, stop } = watch('acquire', redlock);
      const wait = redlock.acquire('r');
      await time.advance(10);
      await holder.release();
      const { fence } = await wait;
      stop();
      expect(messages[0]).to.deep.include({
        ...{ attempts: 0, elapsedMs: 10, waited: true, local: true, tally: [], result: { fence } },
      });
    });

    it('acquire: an error is published, with its tally; the call rejects with it', async () => {
      const { redlock, masters, time } = fakeCluster(nodes);
      for (const master of masters) master.set('r', 'another', 60_000);
      const { messages, parts, stop } = watch('acquire', redlock);
      const failed = rejection(redlock.acquire('r', { waitMs: 500, fair: false }));
      await time.advance(1_000);
      const error = await failed;
      stop();
      expect(parts).to.deep.equal(FAILED);
      expect(messages[0]).to.include({ error, waited: true, elapsedMs: 500, attempts: error.attempts });
      expect(messages[0]?.tally).to.deep.equal(error.tally);
    });

    it('tryAcquire that gives null: a result, and no error', async () => {
      const { redlock, masters } = fakeCluster(nodes);
      for (const master of masters) master.set('r', 'another', 60_000);
      const { messages, parts, stop } = watch('acquire', redlock);
      expect(await redlock.tryAcquire('r')).to.equal(null);
      stop();
      expect([parts, messages[0]?.result, messages[0]?.by]).to.deep.equal([WELL, null, 'tryAcquire']);
    });

    it('extend: by the holder, and renewals; a failure with its error', async () => {
      const { redlock, masters, time } = fakeCluster(nodes, { ttlMs: 3_000 });
      const lease = await redlock.acquire('r', { renew: true });
      const { messages, parts, stop } = watch('extend', redlock);
      await lease.extend(4_000);
      await time.advance(1_500);
      expect(parts).to.deep.equal([...WELL, ...WELL]);
      expect(messages.map(({ by, ttlMs }) => [by, ttlMs])).to.deep.equal([
        ...[
          ['extend', 4_000],
          ['renewal', 3_000],
        ],
      ]);
      expect(messages[1]?.result?.remainingMs).to.be.above(2_000);
      for (const master of masters) master.cut();
      const error = await rejection(lease.extend());
      stop();
      expect(parts.slice(-5)).to.deep.equal(FAILED);
      expect(messages.at(-1)?.error).to.equal(error);
    });

    it('release: with the time that it was held', async () => {
      const { redlock, time } = fakeCluster(nodes);
      const lease = await redlock.acquire('r');
      const { messages, parts, stop } = watch('release', redlock);
      await time.advance(800);
      await lease.release();
      stop();
      expect(parts).to.deep.equal(WELL);
      expect(messages[0]).to.deep.include({ resources: ['r'], kind: 'mutex', heldMs: 800 });
    });
  });
}

describe('tracing channels: what is around', () => {
  it('all calls for a lease, of every lock', async () => {
    const bench = fakeCluster(3);
    const { redlock } = bench;
    const { messages, stop } = watch('acquire', redlock);
    await redlock.using('a', () => undefined);
    await redlock.mutex('b').acquire();
    await redlock.readWriteLock('c').read.tryAcquire();
    await redlock.readWriteLock('d').write.using(() => undefined);
    await redlock.semaphore('e', 2).acquire();
    await redlock.adopt((await bench.other().redlock.acquire('f')).giveAway());
    stop();
    expect(messages.map(({ by, kind }) => `${by} ${kind}`)).to.deep.equal([
      ...[
        'using mutex',
        'acquire mutex',
        'tryAcquire read',
        'using write',
        'acquire semaphore',
        'adopt mutex',
      ],
    ]);
  });

  describe('lead: each leadership, while its routine runs', () => {
    const lead = (redlock: Redlock, routine: LeadRoutine, signal?: AbortSignal): Promise<void> =>
      redlock.election('boss').lead(routine, { signal });
    const untilAborted = ({ signal }: Leading): Promise<void> =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

    it('that is ended, with the reason and its fence; within the stores that are bound to start', async () => {
      const { redlock, time } = fakeCluster(3);
      const { messages, parts, stop } = watch('lead', redlock);
      const storage = new AsyncLocalStorage<string>();
      tracingChannel('quorate:lead').start.bindStore(storage, () => 'led');
      const controller = new AbortController();
      const seen: unknown[] = [];
      const leading = lead(
        redlock,
        async (one) => {
          seen.push(storage.getStore(), one.fence);
          await untilAborted(one);
        },
        controller.signal,
      );
      await time.advance(2_000);
      expect(parts).to.deep.equal(['start', 'end']);
      controller.abort('over');
      await leading;
      tracingChannel('quorate:lead').start.unbindStore(storage);
      stop();
      const [message] = messages;
      const { fence } = message as unknown as LeadMessage; // published by lib/election
      expect([parts, seen]).to.deep.equal([WELL, ['led', fence]]);
      expect(message).to.deep.include({
        resources: ['boss'],
        kind: 'mutex',
        elapsedMs: 2_000,
        reason: 'over',
      });
    });

    it('whose routine throws by itself: the error is published, and lead rejects with it', async () => {
      const { redlock } = fakeCluster(1);
      const { messages, parts, stop } = watch('lead', redlock);
      const failure = new Error('a bug');
      const caught = await lead(redlock, () => {
        throw failure;
      }).catch((error: unknown) => error);
      stop();
      expect([parts, caught]).to.deep.equal([FAILED, failure]);
      expect(messages[0]?.error).to.equal(failure);
    });

    it('that is lost: one message for each, with LOCK_LOST as its reason', async () => {
      const { redlock, masters, time } = fakeCluster(3, { ttlMs: 3_000 });
      const { messages, parts, stop } = watch('lead', redlock);
      const controller = new AbortController();
      const leading = lead(redlock, untilAborted, controller.signal);
      await time.advance(100);
      for (const master of masters) master.set('boss', 'another', 1_000);
      await time.advance(6_000);
      controller.abort();
      await leading;
      stop();
      expect([messages.length, parts]).to.deep.equal([2, [...WELL, ...WELL]]);
      const [{ reason } = {}] = messages as { reason?: unknown }[];
      expect(reason).to.include({ code: 'LOCK_LOST' });
    });
  });

  it('a store that is bound to start is set while an acquisition and a release run', async () => {
    const { redlock, masters } = fakeCluster(1);
    const storage = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    for (const master of masters) {
      const call = master.call.bind(master);
      master.call = (command) => (seen.push(storage.getStore()), call(command));
    }
    for (const name of ['acquire', 'release'] as const)
      tracingChannel(`quorate:${name}`).start.bindStore(storage, () => name);
    await (await redlock.acquire('r')).release();
    for (const name of ['acquire', 'release'] as const)
      tracingChannel(`quorate:${name}`).start.unbindStore(storage);
    await settle();
    expect(seen).to.deep.equal(['acquire', 'release']);
  });

  it('an extension of a lease that is released meanwhile has an end, too', async () => {
    const { redlock, masters, time } = fakeCluster(3);
    const lease = await redlock.acquire('r');
    const { messages, parts, stop } = watch('extend', redlock);
    for (const master of masters) master.manner = 'freeze';
    const failed = rejection(lease.extend());
    void lease.release();
    await time.advance(3_000);
    expect((await failed).code).to.equal('NOT_HELD');
    stop();
    expect([parts.at(-1), messages.length]).to.deep.equal(['asyncEnd', 1]);
  });

  it('a subscriber that throws does not reach the caller', async () => {
    const { redlock } = fakeCluster(3);
    const uncaught: unknown[] = [];
    const before = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => uncaught.push(error)); // where Node sends them
    const start = channel('tracing:quorate:acquire:start');
    const fail = (): never => {
      throw new Error('mine');
    };
    start.subscribe(fail);
    try {
      expect((await redlock.acquire('r')).status).to.equal('held');
      await settle();
    } finally {
      start.unsubscribe(fail);
      process.removeAllListeners('uncaughtException');
      for (const listener of before) process.on('uncaughtException', listener);
    }
    expect(uncaught.map(String)).to.deep.equal(['Error: mine']);
  });
});
