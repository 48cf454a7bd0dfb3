/** Timestamp locks, on one server of their own. All clients use one ttl and one unit, as that protocol demands. */
import { TimestampLock } from '../../../../lib/timestamp/index.js';
import type { Holding } from '../holding.js';
import { STAMP } from '../options.js';
import type { ClientContext } from './context.js';

const TTL_MS = 1_000;
const NODE_TIMEOUT_MS = 100;
const WAITS = [0, 400, 1_200] as const;

export async function useTimestampLock(context: ClientContext): Promise<void> {
  const { seeded, order } = context;
  const lock = new TimestampLock(context.timestamps, {
    unit: 'ms',
    ttlMs: TTL_MS,
    pollMs: 40,
    nodeTimeoutMs: NODE_TIMEOUT_MS,
  });
  const waitMs = seeded.pick(WAITS);
  const renew = seeded.chance(0.3);
  let holding: Holding | undefined;
  const asked = { how: 'timestamp', keys: [STAMP], mode: 'unfenced' } as const;
  await context.ask(asked, waitMs + NODE_TIMEOUT_MS, async (op) => {
    const lease = await lock.acquire(`${order.keyPrefix}${STAMP}`, { waitMs, renew });
    const { ttlMs, signal } = lease;
    // under the name that stands in the history
    const held = {
      ...{ resources: [STAMP], ttlMs, signal },
      get status() {
        return lease.status;
      },
      remainingMs: () => lease.remainingMs(),
      extend: () => lease.extend(),
      release: () => lease.release(),
    };
    holding = context.hold(held, op, { renew });
    return 'held';
  });
  if (holding === undefined) return;
  await holding.watch(seeded.between(5, seeded.chance(0.25) ? TTL_MS * 1.2 : 150));
  if (seeded.chance(0.3)) await holding.extend();
  await holding.release();
}
