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

  /** Who waits in the queue gets it when the other's lease runs out; nothing else happens meanwhile. */
  async waiting() {
    const other = masters.redlock({ ttlMs: 400 });
    for (const master of masters.list) master.latencyMs = 5;
    await other.acquire('r');
    await redlock.acquire('r', { waitMs: Infinity });
  },

  /** All that a test can leave behind when it fails: renewed and heard leases, a routine that goes on, faults. */
  async leftOpen() {
    const { signal } = await redlock.acquire('a', { renew: true });
    signal.addEventListener('abort', () => undefined);
    void redlock.using('b', () => new Promise(() => undefined));
    await new Promise<void>((resolve) => setTimeout(resolve, 300)); // past the first renewals
    await masters.list[0].kill();
    masters.list[1]?.freeze();
    masters.list[1]?.thaw();
  },

  /** A lease that runs out by itself: as with sockets, the process lives to see it. */
  async idle() {
    const { signal } = await redlock.acquire('r');
    await once(signal, 'abort');
  },
};

const name = process.argv[2] ?? '';
await PROGRAMS[name]?.();
if (name !== 'leftOpen') await masters.close();
process.stdout.write(name === 'leftOpen' ? 'left open' : 'closed');
