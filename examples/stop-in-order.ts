/**
 * Stopping a process in order, as at every deployment: SIGTERM ends the work, not the lock under it.
 *
 *   node --import tsx examples/stop-in-order.ts
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redlock } from '../lib/index.js'; // you write: from 'quorate'
import { exampleMasters, keyPrefix } from './shared/masters.js';

await using masters = await exampleMasters();
const redlock = Redlock.connect(masters.urls, { keyPrefix, ttlMs: 1_000 });

// All that a service needs. Give it less than what your platform gives the process (Kubernetes: 30 s by default).
process.once('SIGTERM', () => void redlock.close({ drainMs: 20_000 }).then(() => console.log('closed')));

await redlock.using('export', async (lease) => {
  for (let page = 1; page <= 100; page++) {
    if (page === 3) process.kill(process.pid, 'SIGTERM'); // here it comes from ourselves
    await sleep(20); // the work on one page
    if (!lease.signal.aborted) continue;
    // CLOSED: time to stop. (LOCK_LOST would mean: stop at once, the lock is another's.) What was begun can be ended:
    // the lease is still held, and renewed for as long as this takes.
    await sleep(1_500);
    lease.assertHeld();
    console.log(`stopped after page ${page}, still holding the lock`);
    return;
  }
  assert.fail('the signal was not seen');
});

await redlock.close(); // joins the close that goes on already
await using next = Redlock.connect(masters.urls, { keyPrefix });
await using lease = await next.acquire('export', { waitMs: 0 });
console.log(`the next process has it: ${lease.status}`);
