/**
 * Ending a wait for a lock: by time, by a signal of your own, or by not waiting at all.
 *
 *   node --import tsx examples/cancel-a-wait.ts
 */
import assert from 'node:assert/strict';
import { Redlock, RedlockError, type RedlockErrorCode } from '../lib/index.js'; // you write: from 'quorate'
import { exampleMasters, keyPrefix } from './shared/masters.js';

await using masters = await exampleMasters();
await using redlock = Redlock.connect(masters.urls, { keyPrefix, ttlMs: 5_000 });
await using holder = await redlock.acquire('report', { renew: true });

/** Waits for an acquire that must fail, and tells how it did. */
async function failureOf(acquiring: Promise<unknown>, code: RedlockErrorCode): Promise<RedlockError> {
  const error = await acquiring.then(
    () => assert.fail('the lock is held by another'),
    (reason: unknown) => reason,
  );
  assert.ok(RedlockError.is(error), String(error));
  assert.equal(error.code, code);
  console.log(`${code} after ${Math.round(error.elapsedMs)} ms and ${error.attempts} attempts`);
  return error;
}

// By time: waitMs. The code says why it could not be had: another holds it.
await failureOf(redlock.acquire('report', { waitMs: 150 }), 'LOCK_TAKEN');

// No wait: one attempt.
await failureOf(redlock.acquire('report', { waitMs: 0 }), 'LOCK_TAKEN');
assert.equal(await redlock.tryAcquire('report'), null); // the same, as a value

// By a signal, for example of the request that wanted the report. Its reason is the error's cause.
const request = new AbortController();
const waiting = redlock.acquire('report', { waitMs: Infinity, signal: request.signal });
setTimeout(() => request.abort(new Error('the client went away')), 100);
const aborted = await failureOf(waiting, 'ABORTED');
assert.equal(aborted.cause, request.signal.reason);

// Whoever gave up has left nothing behind: as soon as the holder is done, the lock is free.
await holder.release();
await using lease = await redlock.acquire('report', { signal: AbortSignal.timeout(2_000) });
assert.equal(lease.status, 'held');
console.log('released by its holder: ours now');

// The signal of acquire ends the wait, not the lease: the lease has a signal of its own, for its loss.
assert.equal(lease.signal.aborted, false);
