/**
 * No more than three at a time, over all processes; and two permits at once.
 *
 *   node --import tsx examples/a-few-at-a-time.ts
 */
import assert from 'node:assert/strict';
import { Redlock, RedlockError } from '../lib/index.js'; // you write: from 'quorate'
import { exampleMasters, keyPrefix } from './shared/masters.js';

await using masters = await exampleMasters();
await using redlock = Redlock.connect(masters.urls, { keyPrefix, ttlMs: 5_000 });

const exportSlots = redlock.semaphore('exports', 3);
let running = 0;
let most = 0;

async function runExport(name: string, permits: number): Promise<void> {
  await exportSlots.using({ permits }, async (lease) => {
    running += permits;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, 30)); // pass lease.signal on to what takes long
    lease.assertHeld();
    running -= permits;
    console.log(`${name} is done`);
  });
}

// A large one takes two permits: both or none, so that nobody waits with one in hand.
await Promise.all([
  ...[1, 2, 3, 4, 5].map((number) => runExport(`export ${number}`, 1)),
  runExport('the large export', 2),
]);
assert.equal(most, 3);

// All who use the name go by the same number.
await using held = await exportSlots.acquire();
assert.equal(held.fence, undefined); // among several holders no number is the latest
await assert.rejects(
  redlock.semaphore('exports', 4).tryAcquire(),
  (error) => RedlockError.is(error) && error.code === 'WRONG_KIND',
);
console.log('a semaphore of 3 is no semaphore of 4');
