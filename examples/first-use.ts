/**
 * First use: connect, acquire, do something, release.
 *
 *   node --import tsx examples/first-use.ts
 */
import assert from 'node:assert/strict';
import { Redlock, RedlockError } from '../lib/index.js'; // you write: from 'quorate'
import { exampleMasters, keyPrefix } from './shared/masters.js';

await using masters = await exampleMasters();

// One url for each master. They must be independent: no replicas of each other. One master works as well.
await using redlock = Redlock.connect(masters.urls, { keyPrefix, ttlMs: 5_000 });

// The usual way: the lock is held, and renewed, while the function runs, and released after it, however it ends.
const total = await redlock.using('invoice:42', async (lease) => {
  console.log(`using: ${lease.resources.join()} is ours for the next ${Math.round(lease.remainingMs())} ms`);
  // lease.signal aborts if the lease is lost on the way; hand it to whatever takes long
  return 19 + 23;
});
assert.equal(total, 42); // `using` returns what the function returned

// By hand. A call right after construction works, too: acquire waits until a quorum is connected.
const lease = await redlock.acquire('invoice:42');
assert.equal(lease.status, 'held');

// Nobody else gets it meanwhile. One attempt:
assert.equal(await redlock.tryAcquire('invoice:42'), null);
console.log('tryAcquire: null, it is taken');

// Or a wait, here of 200 ms. What went wrong is told by the error's code.
try {
  await redlock.acquire('invoice:42', { waitMs: 200 });
  assert.fail('it is taken');
} catch (error) {
  if (!RedlockError.is(error)) throw error;
  assert.equal(error.code, 'LOCK_TAKEN');
  console.log(`acquire: ${error.code} after ${error.attempts} attempts: ${error.message}`);
}

// Right before a change that must not happen twice: is it still ours? This throws if it is not.
lease.assertHeld();
await lease.release();
assert.equal(lease.status, 'released');

// `await using` releases at the end of the block.
{
  await using again = await redlock.acquire('invoice:42');
  console.log(`acquire: ours again (${again.status})`);
}
assert.equal((await redlock.inspect('invoice:42')).state, 'free');
console.log('inspect: free');
