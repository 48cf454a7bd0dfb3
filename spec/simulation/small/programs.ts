/** What the clients of small worlds do. */
import type { AcquireOptions } from '../../../lib/input/options.js';
import type { Lease } from '../../../lib/lease/public.js';
import { WriteLease } from '../../../lib/lease/lease.js';
import type { TakingOptions } from '../../../lib/input/steal-options.js';
import { OUST_STAY_MS } from '../../../lib/coordinator/ousting.js';
import { leaseBehind } from '../../support/insides.js';
import { TTL_MS } from './deviations.js';
import type { Hands, SharedLock } from './hands.js';

/** The resource of all small worlds. */
export const RESOURCE = 'a';

export type Program = (hands: Hands) => Promise<unknown>;

/** Long enough to outwait a lease that nobody releases. */
const WAIT_MS = 2 * TTL_MS;
export const ALONE: AcquireOptions = { ttlMs: TTL_MS, waitMs: WAIT_MS, fair: false };
export const QUEUED: AcquireOptions = { ttlMs: TTL_MS, waitMs: WAIT_MS };
/** The ttl is so long that a vote that nobody undoes would be noticed. */
export const LONG_TTL_MS = 20_000;
export const FOR_LONG: AcquireOptions = {
  ttlMs: LONG_TTL_MS,
  waitMs: WAIT_MS,
  nodeTimeoutMs: TTL_MS / 10,
  fair: false,
};
/** As long as that may take at most: the holder's time, that of a token that stays in its place, and what is asked. */
const STEALING: AcquireOptions = { ...QUEUED, waitMs: WAIT_MS + TTL_MS + 2 * OUST_STAY_MS };
const HOLD_MS = 10;
/** Long enough for whoever was away for longer than a ttl to find somebody else in. */
export const LONG_HOLD_MS = TTL_MS / 3;

/** Acquires, holds for a moment and releases, so many times. */
export function turns(options: AcquireOptions, times: number, holdMs = HOLD_MS): Program {
  return async (hands) => {
    for (let i = 0; i < times; i++) {
      const lease = await hands.acquire(RESOURCE, options);
      await hands.pass(holdMs);
      await hands.release(lease);
    }
  };
}

/** Two callers of one instance: the second one waits for the first, whose extension may still be under way. */
export function together(options: AcquireOptions): Program {
  return async (hands) => {
    const first = await hands.acquire(RESOURCE, options);
    const second = hands.acquire(RESOURCE, options);
    await hands.pass(HOLD_MS);
    const extended = hands.extend(first, options.ttlMs ?? TTL_MS);
    await Promise.resolve(); // it is sent
    await hands.release(first);
    const lease = await second;
    await hands.pass(HOLD_MS);
    await hands.release(lease);
    await extended;
  };
}

/** A lease that is renewed while another waits for it; so short a ttl that a vote is regained soon. */
const STANDING = { ttlMs: 5 * TTL_MS, waitMs: 50 * TTL_MS, renew: true };
/** Longer than a renewal and two seconds after whatever strikes at the beginning. */
const STANDING_MS = 3_300;

/** Holds it for long, or waits for who does, and lets go at once. */
export const standing: Program = async (hands) => {
  const askedAtMs = hands.nowMs;
  const acquire = (): Promise<Lease> => hands.redlock.acquire(RESOURCE, STANDING);
  const lease = await hands.granted([RESOURCE], STANDING, acquire, (granted, beginning) =>
    hands.holds(granted, beginning),
  );
  if (lease === undefined) return;
  const grantedAtMs = hands.nowMs;
  if (grantedAtMs - askedAtMs > STANDING_MS) return hands.release(lease);
  await hands.pass(STANDING_MS);
  hands.mustBeWhole(lease, { ttlMs: STANDING.ttlMs, grantedAtMs });
  await hands.release(lease);
};

/** Comes when a lease that was taken at the beginning is about to run out. */
export const latecomer: Program = async (hands) => {
  await hands.pass(LONG_TTL_MS * 0.9925); // right after the masters' ends of it, if their clocks are fast
  const lease = await hands.acquire(RESOURCE, FOR_LONG);
  await hands.pass(HOLD_MS);
  await hands.release(lease);
};

/** Asks again before it lets go. */
export const again: Program = async (hands) => {
  const first = await hands.acquire(RESOURCE, QUEUED);
  await hands.pass(HOLD_MS);
  const next = hands.acquire(RESOURCE, QUEUED);
  await hands.pass(HOLD_MS);
  await hands.release(first);
  const second = await next;
  await hands.pass(HOLD_MS);
  await hands.release(second);
};

/** Holds for as long as it may, and lets the lease run out. */
export function holdOn(options: AcquireOptions): Program {
  return async (hands) => {
    const lease = await hands.acquire(RESOURCE, options);
    if (lease === undefined) return;
    await hands.pass(1.1 * (options.ttlMs ?? TTL_MS));
    hands.ended(lease, false);
  };
}

/** Extends twice, the second time by less. */
export const extending: Program = async (hands) => {
  const lease = await hands.acquire(RESOURCE, ALONE);
  await hands.pass(TTL_MS * 0.6);
  await hands.extend(lease, TTL_MS);
  await hands.extend(lease, TTL_MS / 2);
  await hands.pass(TTL_MS * 0.7);
  await hands.release(lease);
};

/** Takes it away from whoever holds it, twice. */
export function stealing(how: TakingOptions): Program {
  return async (hands) => {
    for (let i = 0; i < 2; i++) {
      await hands.pass(HOLD_MS);
      const steal = (): Promise<Lease> => hands.redlock.steal(RESOURCE, { ...STEALING, ...how });
      const lease = await hands.granted([RESOURCE], STEALING, steal, (granted, beginning) =>
        hands.holds(granted, beginning),
      );
      await hands.pass(HOLD_MS);
      await hands.release(lease);
    }
  };
}

/** A call with a long node timeout, and then one with a short one. */
export const impatient: Program = async (hands) => {
  await hands.release(await hands.acquire(RESOURCE, { ...ALONE, nodeTimeoutMs: 250 }));
  const lease = await hands.acquire(RESOURCE, { ...ALONE, waitMs: 0, nodeTimeoutMs: 20 });
  await hands.release(lease);
};

/** Several calls in one turn of the event loop. */
export function many(resources: readonly string[], options: AcquireOptions, holdMs: number): Program {
  return async (hands) => {
    const leases = await Promise.all(resources.map((resource) => hands.acquire(resource, options)));
    await hands.pass(holdMs);
    await Promise.all(leases.map((lease) => hands.release(lease)));
  };
}

/** Closes its instance while a routine runs, which stops when it is told to or not. */
export function closing(routine: { readonly listens: boolean; readonly drainMs: number }): Program {
  return async (hands) => {
    let working = Promise.resolve();
    const work = async (lease: Lease): Promise<void> => {
      for (let i = 0; i < 16 && !(routine.listens && lease.signal.aborted); i++) await hands.pass(25);
      if (routine.listens) await hands.pass(TTL_MS * 1.5); // what it takes to stop in order
      if (routine.listens) hands.mustHold(lease, 'a routine stops in time');
      hands.ended(lease, lease.status === 'held');
    };
    const acquire = (): Promise<Lease> =>
      new Promise((resolve, reject) => {
        const options = { ...ALONE, renew: true };
        const begin = (lease: Lease): Promise<void> => {
          resolve(lease);
          return (working = work(lease));
        };
        hands.redlock.using(RESOURCE, options, begin).catch(reject);
      });
    void hands.granted([RESOURCE], ALONE, acquire, (lease, beginning) => {
      hands.holds(lease, beginning);
      hands.worksUnder(lease);
    });
    await hands.pass(50);
    await hands.redlock.close({ drainMs: routine.drainMs });
    await working;
    hands.wasClosed();
  };
}

/** Enters, and enters again when its time may be over. */
export const reentering: Program = async (hands) => {
  const mutex = hands.redlock.mutex(RESOURCE, { reentrant: true });
  const owner = hands.player.client.name;
  const acquire = async (): Promise<Lease> => {
    const outer = await mutex.acquire({ ...ALONE, owner });
    return leaseBehind(outer);
  };
  const lease = await hands.granted([RESOURCE], ALONE, acquire, (one, beginning) =>
    hands.holds(one, beginning),
  );
  if (lease === undefined) return;
  await hands.pass(TTL_MS / 2);
  try {
    mutex.reenter({ owner });
    await hands.pass(HOLD_MS);
  } catch (error) {
    hands.excuse(error);
  }
  await hands.release(lease);
};

/** Acquires a lock that several may hold, holds it for a moment and releases it. */
export function sharedTurn(...locks: readonly SharedLock[]): Program {
  return async (hands) => {
    const leases = await Promise.all(locks.map((lock) => hands.acquireShared(lock, QUEUED)));
    await hands.pass(HOLD_MS);
    for (const lease of leases) await hands.release(lease);
  };
}

/** Takes it away from its readers and its writer. */
export const stealingToWrite: Program = async (hands) => {
  await hands.pass(HOLD_MS / 2);
  const lease = await hands.acquireShared(SHARED.stealing, STEALING);
  await hands.pass(HOLD_MS);
  await hands.release(lease);
};

/** Writes, and goes on as a reader. */
export function downgrading(writing: SharedLock): Program {
  return async (hands) => {
    const lease = await hands.acquireShared(writing, QUEUED);
    await hands.pass(HOLD_MS);
    if (lease instanceof WriteLease && lease.status === 'held')
      await hands.settles(lease, 'downgrade', () => lease.downgrade());
    await hands.pass(HOLD_MS);
    await hands.release(lease);
  };
}

const PERMITS = 2;

export const SHARED = {
  permits: PERMITS,
  onePermit: permits(1),
  allPermits: permits(PERMITS),
  reading: {
    resource: RESOURCE,
    permits: 0,
    acquire: (redlock, options) => redlock.readWriteLock(RESOURCE).read.acquire(options),
  },
  writing: {
    resource: RESOURCE,
    permits: 0,
    acquire: (redlock, options) => redlock.readWriteLock(RESOURCE).write.acquire(options),
  },
  stealing: {
    resource: RESOURCE,
    permits: 0,
    acquire: (redlock, options) => redlock.readWriteLock(RESOURCE).steal(options),
  },
} as const satisfies Readonly<Record<string, SharedLock | number>>;

function permits(count: number): SharedLock {
  return {
    resource: RESOURCE,
    permits: count,
    acquire: (redlock, options) =>
      redlock.semaphore(RESOURCE, PERMITS).acquire({ ...options, permits: count }),
  };
}
