/**
 * Handing a lease to another process: one accepts the order and locks it, another one works on it.
 *
 *   node --import tsx examples/hand-over.ts
 */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Redlock, type LeaseHandle } from '../lib/index.js'; // you write: from 'quorate'
import { exampleMasters, keyPrefix } from './shared/masters.js';

interface Parcel {
  readonly handle: LeaseHandle;
  readonly urls: readonly string[];
  readonly keyPrefix: string;
}

if (process.argv[2] === 'receiver') await receive();
else await give();

async function give(): Promise<void> {
  await using masters = await exampleMasters();
  await using redlock = Redlock.connect(masters.urls, { keyPrefix });
  const lease = await redlock.acquire('order:7', { ttlMs: 15_000, renew: true });
  console.log(`giver    ${process.pid}: locked order:7`);

  // From here on this process holds nothing and renews nothing. The handle carries the token: whoever has it has the
  // lock, so send it only where you would send a password.
  const handle = lease.giveAway();
  assert.equal(lease.status, 'released');

  const receiver = fork(fileURLToPath(import.meta.url), ['receiver']);
  receiver.send({ handle, urls: masters.urls, keyPrefix } satisfies Parcel);
  assert.equal(await redlock.tryAcquire('order:7'), null); // it is locked without a gap

  const [code] = (await once(receiver, 'exit')) as [number | null]; // what the event is documented to carry
  assert.equal(code, 0);
  assert.equal((await redlock.inspect('order:7')).state, 'free'); // the receiver released it
  console.log(`giver    ${process.pid}: order:7 is free again`);
}

async function receive(): Promise<void> {
  // the cast: give() sends nothing else
  const [parcel] = (await once(process, 'message')) as [Parcel];
  await using redlock = Redlock.connect(parcel.urls, { keyPrefix: parcel.keyPrefix });

  // Takes the lease over by extending it on a quorum. If it ran out on the way, this throws LOCK_LOST: a key that is
  // gone is not set again, since another may have worked on the order meanwhile.
  const lease = await redlock.adopt(parcel.handle, { renew: true });
  assert.deepEqual(lease.resources, ['order:7']);
  console.log(
    `receiver ${process.pid}: adopted order:7, ${Math.round(lease.remainingMs())} ms left, renewed`,
  );
  lease.assertHeld();
  await lease.release();
  process.disconnect();
}
