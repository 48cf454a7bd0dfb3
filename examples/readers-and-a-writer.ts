/**
 * Many readers or one writer; and a writer that goes on as a reader.
 *
 *   node --import tsx examples/readers-and-a-writer.ts
 */
import assert from 'node:assert/strict';
import { Redlock, RedlockError } from '../lib/index.js'; // you write: from 'quorate'
import { exampleMasters, keyPrefix } from './shared/masters.js';

await using masters = await exampleMasters();
await using redlock = Redlock.connect(masters.urls, { keyPrefix, ttlMs: 5_000 });

const prices = redlock.readWriteLock('prices');
const table = { apples: 100, pears: 120 };

// Readers do not wait for each other.
let reading = 0;
let most = 0;
const quote = (): Promise<number> =>
  prices.read.using(async () => {
    most = Math.max(most, ++reading);
    await new Promise((resolve) => setTimeout(resolve, 50));
    reading--;
    return table.apples + table.pears;
  });
assert.deepEqual(await Promise.all([quote(), quote(), quote()]), [220, 220, 220]);
console.log(`three quotes, up to ${most} at a time`);

// The writer has nobody beside it. Its fence orders what it writes.
const raised = await prices.write.acquire();
assert.equal(await prices.read.tryAcquire(), null);
table.apples = 110;
await new Promise((resolve) => setTimeout(resolve, 20));
table.pears = 132;
console.log(`prices raised, fence ${raised.fence}`);

// It checks what it wrote together with other readers: no writer comes in between.
await raised.downgrade();
assert.equal(await quote(), 242);
assert.equal(await prices.write.tryAcquire(), null);
await raised.release();

// A reader cannot become a writer: two that both tried would wait for each other for ever.
await using reader = await prices.read.acquire();
const options: object = { from: reader }; // no type allows it
await assert.rejects(
  prices.write.acquire(options),
  (error) => RedlockError.is(error) && error.code === 'INVALID_ARGUMENT',
);
console.log('an upgrade is refused');
