/** What locks do in every set-up: one routine, so that each set-up's spec shows the same. */
import { expect } from 'chai';
import type { Redlock } from '../../../lib/redlock.js';
import { LONGER_MS } from '../../support/patience.js';
import { eventually } from '../../support/real.js';

export interface Promised {
  /** Whether waiters queue on the masters; a Redis Cluster has no queues. @default true */
  readonly hasQueue?: boolean;
  /** Before each name: it gives them a hash tag. @default '' */
  readonly tag?: string;
}

/** Every master answers: a claim is not sent to one that is still connecting once the others are a quorum. */
export async function untilAllAnswer(...locks: readonly Redlock[]): Promise<void> {
  for (const redlock of locks) {
    await eventually(async () =>
      (await redlock.inspect('nobody-has-it')).nodes.every(({ state }) => state === 'free'),
    );
  }
}

/**
 * Two instances, as two processes would have them: one holds, extends and is asked about, the other is kept out, waits and
 * is let in. Nothing is held afterwards.
 */
export async function expectPromises(
  one: Redlock,
  other: Redlock,
  { hasQueue = true, tag = '' }: Promised = {},
): Promise<void> {
  const [a, b] = [`${tag}promised-a`, `${tag}promised-b`];
  const several = await one.acquire([a, b]);
  await several.extend(LONGER_MS);
  expect(await other.tryAcquire(b)).to.equal(null);
  expect((await other.inspect(a)).state).to.equal('held');
  const next = other.acquire(a);
  if (hasQueue) await eventually(async () => (await one.inspect(a)).waiting === 1);
  await several.release();
  const lease = await next;
  expect(lease.fence).to.be.greaterThan(several.fence ?? Infinity);
  const adopted = await one.adopt(lease.giveAway());
  expect(await other.tryAcquire(a)).to.equal(null);
  await adopted.release();
  expect(await other.using(b, () => 'ran')).to.equal('ran');
  await expectShared(one, other, tag);
  for (const name of [a, b]) await eventually(async () => (await one.inspect(name)).state === 'free');
}

async function expectShared(one: Redlock, other: Redlock, tag: string): Promise<void> {
  const [mine, theirs] = [one.readWriteLock(`${tag}promised-rw`), other.readWriteLock(`${tag}promised-rw`)];
  const readers = [await mine.read.acquire(), await theirs.read.acquire()];
  expect(await theirs.write.tryAcquire()).to.equal(null);
  const writing = theirs.write.acquire();
  for (const reader of readers) await reader.release();
  await (await writing).release();
  const [permits, same] = [one.semaphore(`${tag}promised-s`, 2), other.semaphore(`${tag}promised-s`, 2)];
  const both = await permits.acquire({ permits: 2 });
  expect(await same.tryAcquire()).to.equal(null);
  await both.release();
  await (await same.acquire()).release();
}
