/** What the specs of masters in memory run as processes of their own; each ends by itself, never by `exit`. */
import { once } from 'node:events';
import { MemoryMasters } from '../../lib/testing/index.js';

const masters = new MemoryMasters(3);
const redlock = masters.redlock({ ttlMs: 400 });

const PROGRAMS: Readonly<Record<string, () => Promise<void>>> = {
  /** Timers of leases, of latency and of waits are under way. */
  async close() {
    await redlock.acquire('r', { renew: true, ttlMs: 60_000 });
    for (const master of masters.list) master.latencyMs = 5;
    redlock.acquire('r', { waitMs: Infinity }).catch(() => undefined);
  },

  /** Nothing but our own deadlines ends this call. */
  async frozen() {
    for (const master of masters.list) master.freeze();
    await redlock.acquire('r', { waitMs: 0 }).catch(() => undefined);
  },

  /** A lease that runs out by itself: as with sockets, the process lives to see it. */
  async idle() {
    const { signal } = await redlock.acquire('r');
    await once(signal, 'abort');
  },
};

await PROGRAMS[process.argv[2] ?? '']?.();
await masters.close();
process.stdout.write('closed\n');
