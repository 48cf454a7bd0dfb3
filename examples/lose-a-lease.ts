/**
 * Losing a lease on purpose, in two ways, and how its holder learns of it.
 *
 *   node --import tsx examples/lose-a-lease.ts
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { Redlock, RedlockError, type Lease } from '../lib/index.js'; // you write: from 'quorate'
import { exampleMasters, keyPrefix } from './shared/masters.js';

const TTL_MS = 900;

await using masters = await exampleMasters();
await using redlock = Redlock.connect(masters.urls, { keyPrefix, ttlMs: TTL_MS });

await losesItsKeys();
await sleepsTooLong();

/** Somebody flushes the masters, or deletes the keys, and another process comes by. */
async function losesItsKeys(): Promise<void> {
  await using elsewhere = Redlock.connect(masters.urls, { keyPrefix, ttlMs: TTL_MS });
  const lease = await redlock.acquire('nightly', { renew: true });
  await deleteEverywhere('nightly');
  await using other = await elsewhere.acquire('nightly');
  // Two holders! No lock can help it when its masters lose its keys. Nothing tells the first one at once, but its next
  // renewal, after a third of the ttl, is refused; the signal fires then, and by the end of its validity in any case.
  // (Had nobody come by, the renewal would have set the keys again.)
  const startedMs = performance.now();
  await lossOf(lease);
  const lateMs = Math.round(performance.now() - startedMs);
  console.log(`keys deleted, taken by another: the holder knew ${lateMs} ms later, the ttl is ${TTL_MS} ms`);
  assert.ok(lateMs <= TTL_MS);
  expectLost(lease);
  other.assertHeld(); // the loser takes nothing with it
}

/** The process stands still for longer than the ttl: a long computation, a stopped machine. */
async function sleepsTooLong(): Promise<void> {
  const lease = await redlock.acquire('nightly', { renew: true });
  const { signal } = lease; // the one that long work was given
  blockEventLoop(TTL_MS + 100);
  // No timer has fired, no signal yet. Yet these read the clock, and are right at every instant:
  assert.equal(signal.aborted, false);
  expectLost(lease);
  console.log('event loop blocked: assertHeld() knew in the next statement');
  assert.ok(signal.aborted);

  // Others were not kept waiting.
  await using next = await redlock.acquire('nightly');
  assert.equal(next.status, 'held');
  // A release of what is lost does nothing, in particular not to the one who has it now.
  await lease.release();
  next.assertHeld();
}

/** Resolves when the lease's signal fires; its reason is the error that `assertHeld` would throw. */
async function lossOf({ signal }: Lease): Promise<void> {
  // Our long work would be given this signal, and would stop by it.
  if (!signal.aborted) await once(signal, 'abort');
  assert.ok(RedlockError.is(signal.reason));
  assert.equal(signal.reason.code, 'LOCK_LOST');
}

/** Stop here: what follows must not be done by this process any more. */
function expectLost(lease: Lease): void {
  assert.throws(
    () => lease.assertHeld(),
    (error) => RedlockError.is(error) && error.code === 'LOCK_LOST',
  );
  assert.equal(lease.status, 'lost');
  assert.equal(lease.remainingMs(), 0);
}

async function deleteEverywhere(resource: string): Promise<void> {
  const clients = masters.urls.map((url) => new Redis(url));
  await Promise.all(clients.map((client) => client.del(keyPrefix + resource)));
  for (const client of clients) client.disconnect();
}

function blockEventLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
