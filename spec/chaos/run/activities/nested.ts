/**
 * A second lock, wanted by the holder of a first one. Clients take them in any order, so that two of them may wait for each
 * other until one's wait ends.
 */
import type { Holding } from '../holding.js';
import { BESIDE } from '../options.js';
import { type ClientContext, mostNodeTimeoutMs } from './context.js';
import { drawTerms } from './terms.js';

const WAITS = [300, 800, 1_500] as const;

export async function nest(context: ClientContext): Promise<void> {
  const { seeded } = context;
  const left = [...context.order.keys, BESIDE];
  const [first, second] = [0, 1].flatMap(() => left.splice(seeded.whole(0, left.length - 1), 1));
  const outer = await take(context, first, true);
  if (outer === undefined) return;
  const inner = await take(context, second, seeded.chance(0.5));
  await (inner ?? outer).watch(seeded.between(10, 150));
  const order = seeded.chance(0.5) ? [inner, outer] : [outer, inner];
  for (const holding of order) await holding?.release();
}

async function take(
  context: ClientContext,
  key: string | undefined,
  renew: boolean,
): Promise<Holding | undefined> {
  if (key === undefined) return undefined;
  const { ttlMs, waiting } = drawTerms(context.seeded, WAITS);
  let holding: Holding | undefined;
  const boundMs = waiting.waitMs + mostNodeTimeoutMs(ttlMs);
  await context.ask({ how: 'nested', keys: [key] }, boundMs, async (op) => {
    const lease = await context.redlock.acquire(key, { ttlMs, renew, ...waiting });
    holding = context.hold(lease, op, { renew });
    return 'held';
  });
  return holding;
}
