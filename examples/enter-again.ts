/**
 * Functions that each take the lock they need, and call each other.
 *
 *   node --import tsx examples/enter-again.ts
 */
import assert from 'node:assert/strict';
import { Redlock, RedlockError } from '../lib/index.js'; // you write: from 'quorate'
import { exampleMasters, keyPrefix } from './shared/masters.js';

await using masters = await exampleMasters();
await using redlock = Redlock.connect(masters.urls, { keyPrefix, ttlMs: 5_000 });

const account = redlock.mutex('account:1', { reentrant: true });
let balance = 0;

async function book(amount: number): Promise<void> {
  await account.using((lease) => {
    lease.assertHeld();
    balance += amount;
  });
}

/** Both bookings or none that another could see in between: it holds the lock, and `book` enters it again. */
async function transfer(): Promise<void> {
  await account.using(async () => {
    await book(-10);
    await book(10);
  });
}

await book(100);
await Promise.all([transfer(), transfer()]); // two flows: one after the other
assert.equal(balance, 100);
console.log('booked, one flow at a time');

// Where the flow of calls does not tell who holds, an owner does: here, one job over two requests.
const job = { id: 7 };
const first = await account.acquire({ owner: job });
const second = await account.acquire({ owner: job }); // sends nothing
assert.equal(second.fence, first.fence);
await first.release();
assert.equal(second.status, 'held');
await second.release(); // the last exit gives it back

assert.throws(
  () => account.reenter({ owner: job }),
  (error) => RedlockError.is(error) && error.code === 'NOT_HELD',
);
console.log('entered twice by its owner, and given back once');
