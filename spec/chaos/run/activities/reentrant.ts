/** Enters a lock again: by the flow of calls, in parallel branches, by an owner; and keeps another flow out. */
import { AsyncResource } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ReentrantLease, type ReentrantMutex, RedlockError } from '../../../../lib/index.js';
import type { Holding } from '../holding.js';
import { type ClientContext, mostNodeTimeoutMs } from './context.js';
import { drawTerms } from './terms.js';

/** What runs in it belongs to no flow of calls that holds a lock. */
const OUTSIDE = new AsyncResource('chaos outside');

export async function enterAgain(context: ClientContext): Promise<void> {
  const { seeded, redlock } = context;
  const key = seeded.pick(context.order.keys);
  const mutex = redlock.mutex(key, { reentrant: true });
  await (seeded.chance(0.6) ? byFlow(context, mutex, key) : byOwner(context, mutex, key));
}

async function byFlow(context: ClientContext, mutex: ReentrantMutex, key: string): Promise<void> {
  const { seeded } = context;
  const { ttlMs, waiting } = drawTerms(seeded);
  const boundMs = waiting.waitMs + mostNodeTimeoutMs(ttlMs);
  let holding: Holding | undefined;
  await context.ask({ how: 'reentrant', keys: [key] }, boundMs, async (op) => {
    await mutex.using({ ttlMs, ...waiting }, async (lease) => {
      const own = context.hold(lease, op, { renew: true });
      holding = own;
      await Promise.all([1, 2].map(() => branch(context, mutex, { lease, own })));
      if (seeded.chance(0.3)) await OUTSIDE.runInAsyncScope(() => tryFromOutside(context, mutex, key));
      await own.watch(seeded.between(5, ttlMs * 1.2));
      own.ending();
    });
    return 'held';
  });
  holding?.ended();
}

/** Entering again gives the same lease at once, unless it is lost. */
async function branch(
  { seeded }: ClientContext,
  mutex: ReentrantMutex,
  { lease, own }: { readonly lease: ReentrantLease; readonly own: Holding },
): Promise<void> {
  const workMs = seeded.between(2, 40);
  try {
    await mutex.using(async (inner) => {
      if (inner.fence !== lease.fence) own.odd(`entered again with ${inner.fence}, not ${lease.fence}`);
      await sleep(workMs);
    });
  } catch (error) {
    if (!RedlockError.is(error) || error.code !== 'LOCK_LOST') throw error;
    if (own.isHeld) own.odd('it is held, and cannot be entered again');
  }
}

/** Another flow of the same process is anybody else: what it gets is a lease like any other. */
async function tryFromOutside(context: ClientContext, mutex: ReentrantMutex, key: string): Promise<void> {
  const { ttlMs } = drawTerms(context.seeded);
  let holding: Holding | undefined;
  await context.ask({ how: 'try', keys: [key] }, mostNodeTimeoutMs(ttlMs), async (op) => {
    const lease = await mutex.tryAcquire({ ttlMs });
    if (lease === null) return 'taken';
    holding = context.hold(lease, op, { renew: false });
    return 'held';
  });
  await holding?.release();
}

/** The first of two entries leaves, and the lock stays with the second. */
async function byOwner(context: ClientContext, mutex: ReentrantMutex, key: string): Promise<void> {
  const { seeded } = context;
  const { ttlMs, waiting } = drawTerms(seeded);
  const owner = Symbol('chaos owner');
  const boundMs = waiting.waitMs + mostNodeTimeoutMs(ttlMs);
  let holding: Holding | undefined;
  await context.ask({ how: 'reentrant', keys: [key] }, boundMs, async (op) => {
    const first = await mutex.acquire({ owner, ttlMs, ...waiting });
    const last = again(mutex, owner) ?? first;
    holding = context.hold(last, op, { renew: false });
    if (last === first) return 'held'; // it was lost at once
    await first.release();
    if (first.status === 'held') holding.odd('an entry that was left is held');
    if (last.status === 'released') holding.odd('the exit of one entry was that of another');
    return 'held';
  });
  if (holding === undefined) return;
  await holding.watch(seeded.between(5, ttlMs * 0.8));
  await holding.release();
}

function again(mutex: ReentrantMutex, owner: symbol): ReentrantLease | undefined {
  try {
    return mutex.reenter({ owner });
  } catch (error) {
    if (RedlockError.is(error) && error.code === 'LOCK_LOST') return undefined;
    throw error;
  }
}
