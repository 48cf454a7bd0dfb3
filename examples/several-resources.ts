/**
 * Several resources in one lease: all of them or none.
 *
 *   node --import tsx examples/several-resources.ts
 */
import assert from 'node:assert/strict';
import { Redlock, RedlockError } from '../lib/index.js'; // you write: from 'quorate'
import { exampleMasters, keyPrefix } from './shared/masters.js';

await using masters = await exampleMasters();
await using redlock = Redlock.connect(masters.urls, { keyPrefix, ttlMs: 5_000 });

const balance = new Map([
  ['account:1', 100],
  ['account:2', 100],
  ['account:3', 100],
]);

/** Moves money; nobody else touches either account meanwhile. */
async function transfer(from: string, to: string, amount: number): Promise<void> {
  await redlock.using([from, to], async (lease) => {
    const [before, other] = [balance.get(from) ?? 0, balance.get(to) ?? 0];
    await new Promise((resolve) => setTimeout(resolve, 20)); // time for others to interfere, if they could
    lease.assertHeld();
    balance.set(from, before - amount);
    balance.set(to, other + amount);
    console.log(`moved ${amount} from ${from} to ${to}, locked as ${lease.resources.join(' + ')}`);
  });
}

// In a circle, all at once: with a lock for each account this is how a deadlock is made. Here every attempt asks for
// both accounts, and one that does not get both gives back what it got.
await Promise.all([
  transfer('account:1', 'account:2', 10),
  transfer('account:2', 'account:3', 20),
  transfer('account:3', 'account:1', 30),
]);
assert.deepEqual(Object.fromEntries(balance), { 'account:1': 120, 'account:2': 90, 'account:3': 90 });

// All or none: while account:2 is held, nothing is left locked of account:1 either.
await using held = await redlock.acquire('account:2');
assert.deepEqual(held.resources, ['account:2']);
await assert.rejects(
  redlock.acquire(['account:1', 'account:2'], { waitMs: 100 }),
  (error) => RedlockError.is(error) && error.code === 'LOCK_TAKEN',
);
assert.equal((await redlock.inspect('account:1')).state, 'free');
console.log('account:2 is held by another: account:1 stays free');

// Order does not matter; the same name twice is a mistake that is told before anything is sent.
await assert.rejects(
  redlock.acquire(['account:1', 'account:1']),
  (error) => RedlockError.is(error) && error.code === 'INVALID_ARGUMENT',
);
