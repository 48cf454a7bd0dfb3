/**
 * What users of the package write, against what the entries offer: `npm run check -- types` compiles it, under
 * exactOptionalPropertyTypes as the whole project, and the rest runs.
 */
import { expect } from 'chai';
import { Cluster } from 'ioredis';
import * as quorate from '../lib/index.js';
import * as timestamp from '../lib/timestamp/index.js';
import type {
  AcquireOptions,
  AdoptOptions,
  AnyLease,
  AnyMutex,
  BootstrapOptions,
  CloseOptions,
  Lease,
  LeaseHandle,
  Mutex,
  MutexOptions,
  PermitOptions,
  RedlockErrorDetails,
  RedlockOptions,
  ReentrantLease,
  ReentrantMutex,
  ReentrantOptions,
  ResolvedOptions,
  RetryOptions,
  TryAcquireOptions,
  UsingOptions,
  WriteLease,
} from '../lib/index.js';
import type {
  TimestampAcquireOptions,
  TimestampLease,
  TimestampLockOptions,
  TimestampTryOptions,
  TimestampUsingOptions,
} from '../lib/timestamp/index.js';
import type { RedisFenceOptions, SqlFenceOptions } from '../lib/fence/index.js';
import { MemoryMasters, type MemoryMastersOptions } from '../lib/testing/index.js';
import { fakeCluster } from './support/fake-cluster.js';
import { FakeTime } from './support/fake-time.js';
import { rejection } from './support/rejection.js';

const { DEFAULTS, Redlock } = quorate;
const { TimestampLock } = timestamp;

/** Every field of an options type, as undefined. */
type Nothing<Options> = { readonly [Name in keyof Options]-?: undefined };

const NO_RETRY: Nothing<RetryOptions> = { minDelayMs: undefined, maxDelayMs: undefined };
const NO_TRY: Nothing<TryAcquireOptions> = {
  ...{ ttlMs: undefined, nodeTimeoutMs: undefined, renew: undefined, maxHoldMs: undefined },
  ...{ fencing: undefined, localTurns: undefined, note: undefined, signal: undefined },
};
const NO_ACQUIRE: Nothing<AcquireOptions> = {
  ...{ ...NO_TRY, waitMs: undefined, fair: undefined, handOver: undefined, retry: undefined },
};
const NO_OWNER: Nothing<ReentrantOptions> = { ...NO_ACQUIRE, owner: undefined };
const { localTurns: _localTurns, ...NO_WRITE } = NO_ACQUIRE;
const { fencing: _fencing, ...ofReaders } = NO_WRITE;
const NO_PERMITS: Nothing<PermitOptions> = { ...ofReaders, permits: undefined };
const { note: _note, signal: _signal, ...shared } = NO_ACQUIRE;
const NO_INSTANCE: Nothing<RedlockOptions> = {
  ...{ ...shared, driftFactor: undefined, keyPrefix: undefined, maxWaiters: undefined },
  ...{ restartGuardMs: undefined, awaitRelease: undefined, label: undefined },
};
const NO_MUTEX: Nothing<MutexOptions> = { fair: undefined, localTurns: undefined, reentrant: undefined };
const NO_CLOSE: Nothing<CloseOptions> = { drainMs: undefined, releaseHeld: undefined };
const NO_MASTERS: Nothing<MemoryMastersOptions> = { clock: undefined, timers: undefined };

/** Each compiles only where every field of its type takes undefined. */
export const TAKEN: readonly [
  ...[RetryOptions, TryAcquireOptions, AcquireOptions, AdoptOptions, BootstrapOptions],
  ...[ReentrantOptions, PermitOptions, RedlockOptions, MutexOptions, CloseOptions, MemoryMastersOptions],
  ...[RedisFenceOptions, SqlFenceOptions, TimestampTryOptions, TimestampAcquireOptions],
  ...[TimestampLockOptions, RedlockErrorDetails, Pick<LeaseHandle, 'fence' | 'lock'>],
  ...[UsingOptions, TimestampUsingOptions],
] = [
  ...([NO_RETRY, NO_TRY, NO_ACQUIRE, nothing<AdoptOptions>(), nothing<BootstrapOptions>()] as const),
  ...([NO_OWNER, NO_PERMITS, NO_INSTANCE, NO_MUTEX, NO_CLOSE, NO_MASTERS] as const),
  ...([nothing<RedisFenceOptions>(), nothing<SqlFenceOptions>(), nothing<TimestampTryOptions>()] as const),
  ...([nothing<TimestampAcquireOptions>(), nothing<TimestampLockOptions>()] as const),
  ...([nothing<RedlockErrorDetails>(), nothing<Pick<LeaseHandle, 'fence' | 'lock'>>()] as const),
  ...([nothing<UsingOptions>(), nothing<TimestampUsingOptions>()] as const),
];

/** For the compiler: nobody reads it. */
function nothing<Options>(): Nothing<Options> {
  return {} as Nothing<Options>; // every field of it is undefined
}

/** A lease of a user's own, as a test of theirs has it. */
function fakeLease(): Lease {
  return {
    ...{ resources: ['r'], ttlMs: 1_000, status: 'held', token: 't', fence: 7 },
    signal: new AbortController().signal,
    remainingMs: () => 1_000,
    assertHeld: () => undefined,
    extend: () => Promise.resolve(),
    release: () => Promise.resolve(),
    giveAway: () => ({ version: 1, resources: ['r'], token: 't', ttlMs: 1_000, fence: 7 }),
    toJSON: () => ({}),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Never run: what it says is for the compiler. */
export async function compiled(redlock: quorate.Redlock, flag: boolean, signal?: AbortSignal): Promise<void> {
  // @ts-expect-error a lease is a type: nobody constructs one
  void new quorate.Lease();
  // @ts-expect-error nor asks whether something is an instance of it
  void (redlock instanceof quorate.WriteLease);
  // @ts-expect-error an environment is not for users
  void new Redlock({ transports: [] });
  const lease: Lease = await redlock.acquire('a', { signal });
  // @ts-expect-error the instance's list of leases is its own
  void lease.next;
  // @ts-expect-error and so is the end of validity by its clock
  void lease.validUntilMs;
  // @ts-expect-error what a lease locks does not change
  lease.ttlMs = 5;
  const writer: WriteLease = await redlock.readWriteLock('a').write.acquire({ signal });
  const any: readonly AnyLease[] = [lease, writer];
  void any;

  const plain: Mutex = redlock.mutex('a');
  const alsoPlain: Mutex = redlock.mutex('a', { reentrant: false, fair: undefined });
  const reentrant: ReentrantMutex = redlock.mutex('a', { reentrant: true });
  const either: AnyMutex = redlock.mutex('a', { reentrant: flag });
  // @ts-expect-error it may be one that cannot be entered again
  either.reenter();
  const held: Lease | ReentrantLease = await either.acquire({ signal });
  held.assertHeld();
  void (await either.using({ signal }, ({ fence }) => fence));
  for (const mutex of [plain, alsoPlain, reentrant, either]) await mutex.inspect();

  // @ts-expect-error frozen
  redlock.options.retry.minDelayMs = 5;
  void new Redlock([], redlock.options); // what is in force can be given to another
  const timestamp: TimestampLease = await new TimestampLock(fakeClient()).acquire('a', { signal });
  // @ts-expect-error the protocol knows no fence
  void timestamp.fence;
}

function fakeClient(): quorate.RedisClient {
  throw new Error('compiled only');
}

describe('the public surface', () => {
  it('quorate exports these values, and no class of a lease', () => {
    expect(Object.keys(quorate).sort()).to.deep.equal([...['DEFAULTS', 'Redlock', 'RedlockError']]);
    expect(Object.keys(timestamp).sort()).to.deep.equal([
      ...['RedlockError', 'TIMESTAMP_DEFAULTS', 'TimestampLock'],
    ]);
  });

  it('a fake lease serves where a lease is asked for', () => {
    const work = ({ fence }: Lease): number | undefined => fence;
    expect(work(fakeLease())).to.equal(7);
  });

  it('the names that logs show are the public ones', async () => {
    await using masters = new MemoryMasters(1);
    const redlock = masters.redlock();
    const leases = [
      await redlock.acquire('a'),
      await redlock.readWriteLock('b').write.acquire(),
      await redlock.mutex('c', { reentrant: true }).acquire(),
    ];
    expect(leases.map(({ constructor }) => constructor.name)).to.deep.equal([
      ...['Lease', 'WriteLease', 'ReentrantLease'],
    ]);
  });
});

describe('options: undefined is the same as left out', () => {
  it('of an instance, of masters in memory, of close', async () => {
    const masters = new MemoryMasters(3, NO_MASTERS);
    const redlock = masters.redlock(NO_INSTANCE);
    expect(redlock.options).to.deep.equal(masters.redlock().options);
    expect(masters.redlock({ retry: NO_RETRY }).options).to.deep.equal(redlock.options);
    await redlock.close(NO_CLOSE);
    await masters.close();
  });

  it('of each call: the instance’s own hold, and `using` renews', async () => {
    const { redlock, time } = fakeCluster(3, { ttlMs: 1_000 });
    expect((await redlock.acquire('a', NO_ACQUIRE)).ttlMs).to.equal(1_000);
    expect((await redlock.tryAcquire('b', NO_TRY))?.fence).to.be.a('number');
    expect((await redlock.semaphore('c', 2).tryAcquire({ permits: undefined }))?.status).to.equal('held');
    const work = async (lease: AnyLease): Promise<string> => {
      await time.advance(5_000);
      return lease.status;
    };
    const ends = [
      await redlock.using('d', NO_ACQUIRE, work),
      await redlock.mutex('e', NO_MUTEX).using(NO_ACQUIRE, work),
      await redlock.mutex('f', { reentrant: true }).using(NO_OWNER, work),
      await redlock.readWriteLock('g').write.using(NO_WRITE, work),
      await redlock.semaphore('h', 2).using(NO_PERMITS, work),
    ];
    expect(ends).to.deep.equal(['held', 'held', 'held', 'held', 'held']);
  });
});

describe('mutex with a flag', () => {
  for (const reentrant of [true, false]) {
    it(`reentrant: ${reentrant}`, async () => {
      await using masters = new MemoryMasters(3);
      const mutex = masters.redlock().mutex('r', { reentrant });
      const inner = mutex.using(async () => mutex.using({ waitMs: 0 }, () => 'entered again'));
      if (reentrant) expect(await inner).to.equal('entered again');
      else expect((await rejection(inner)).code).to.equal('LOCK_TAKEN');
    });
  }
});

describe('redlock.options: what is in force', () => {
  const { minDelayMs, maxDelayMs, drainMs: _drainMs, onLoss: _onLoss, ...rest } = DEFAULTS;
  // a fake cluster does not know its process
  const defaults: ResolvedOptions = { ...rest, label: false, retry: { minDelayMs, maxDelayMs } };

  it('without options: the defaults, with the longest node timeout of the ttl', () => {
    expect(fakeCluster(3).redlock.options).to.deep.equal(defaults);
    expect(fakeCluster(3, { ttlMs: 500 }).redlock.options.nodeTimeoutMs).to.equal(125);
    expect(fakeCluster(3, { ttlMs: 500, nodeTimeoutMs: 7 }).redlock.options.nodeTimeoutMs).to.equal(7);
  });

  it('what was given, in the shape in which it was given', () => {
    const given = {
      ...{ ttlMs: 5_000, waitMs: Infinity, nodeTimeoutMs: 70, renew: true, maxHoldMs: 60_000 },
      ...{
        fencing: false,
        fair: false,
        handOver: 'reserve' as const,
        localTurns: 5,
        retry: { minDelayMs: 1, maxDelayMs: 2 },
      },
      ...{ driftFactor: 0.5, keyPrefix: 'app:', restartGuardMs: 60_000, maxWaiters: 7 },
      awaitRelease: false,
      label: 'api-3',
    };
    const { options } = fakeCluster(3, given).redlock;
    expect(options).to.deep.equal(given);
    expect(fakeCluster(3, options).redlock.options).to.deep.equal(given);
  });

  it('a call with another ttl has the node timeout of that ttl, whatever is shown', async () => {
    const time = new FakeTime();
    const masters = new MemoryMasters(3, { clock: time, timers: time });
    const redlock = masters.redlock({ ttlMs: 30_000 });
    for (const master of masters.list) master.freeze();
    const failed = rejection(redlock.acquire('r', { ttlMs: 100, waitMs: 0 }));
    await time.advance(25);
    expect([(await failed).code, redlock.options.nodeTimeoutMs]).to.deep.equal(['NO_QUORUM', 980]);
  });

  it('frozen, retry as well', () => {
    const { options } = fakeCluster(3).redlock;
    expect([Object.isFrozen(options), Object.isFrozen(options.retry)]).to.deep.equal([true, true]);
  });

  it('a lock of its own, or a call, changes nothing of it', async () => {
    const { redlock } = fakeCluster(3);
    await redlock.mutex('r', { fair: false }).acquire({ ttlMs: 5_000 });
    expect(redlock.options).to.deep.equal(defaults);
  });

  it('a Redis Cluster among the masters: nobody queues, whatever was asked for', () => {
    const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
    try {
      expect(new Redlock([cluster], { fair: true }).options.fair).to.equal(false);
    } finally {
      cluster.disconnect();
    }
  });
});
