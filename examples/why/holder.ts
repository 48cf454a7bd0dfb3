/** The process that is paused: takes a lock in each way, looks whether it holds it, is stopped, and then goes on. */
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { type LateWrite, PAUSE_TTL_MS } from './scenes/pause.js';
import { claimantFor, OUR_WAYS } from './ways.js';

const clients = (process.argv[2] ?? '').split(',').map((url) => new Redis(url));
await Promise.all(clients.map((client) => once(client, 'ready')));
const leases = await Promise.all(
  OUR_WAYS.map(async (way) => {
    const lease = await claimantFor(way, clients, { ttlMs: PAUSE_TTL_MS }).acquire(`pause:lock:${way}`);
    return { way, lease };
  }),
);
for (const { lease } of leases) lease.assertHeld();
await tell('about to write');
process.kill(process.pid, 'SIGSTOP'); // and here time passes, of which this process knows nothing
await tell(
  leases.map(({ way, lease }): LateWrite => ({
    way,
    ...(lease.fence === undefined ? {} : { fence: lease.fence }),
  })),
);

function tell(what: unknown): Promise<void> {
  return new Promise((resolve) => process.send?.(what, () => resolve()));
}
