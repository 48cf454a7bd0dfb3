/** Closes the instance in the middle of its work, and goes on with a new one. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Holding } from '../holding.js';
import { HAS, type ClientContext, mostNodeTimeoutMs } from './context.js';
import { lead } from './leading.js';
import { drawTerms } from './terms.js';

const DRAINS = [50, 300, 1_000] as const;
const WAIT_MS = 3_000;

/** Resolves when the old instance has closed; `reopen` runs then. */
export async function closeAndReopen(context: ClientContext, reopen: () => Promise<void>): Promise<void> {
  const { seeded, redlock } = context;
  const works = [workThrough(context), workThrough(context), wait(context)];
  if (HAS.elections && seeded.chance(0.4)) works.push(lead(context, seeded.between(500, 1_500), 'closing'));
  const byHand = await takeByHand(context);
  await sleep(seeded.between(5, 300));
  const drainMs = seeded.pick(DRAINS);
  const releaseHeld = seeded.chance(0.5);
  // whoever has its leases released relies on them no longer
  if (releaseHeld) byHand?.ending();
  await context.ask({ how: 'close', keys: [] }, drainMs + mostNodeTimeoutMs(Infinity), async () => {
    await redlock.close({ drainMs, releaseHeld });
    return 'fine';
  });
  if (releaseHeld) byHand?.ended();
  context.renew();
  await reopen();
  await Promise.all(works);
  if (releaseHeld || byHand === undefined) return;
  await byHand.watch(seeded.between(10, 400)); // it is held to its end, by nobody's renewal
  await byHand.release();
}

/** A routine that goes on for a while when its signal has aborted: its lease is not freed under it. */
async function workThrough(context: ClientContext): Promise<void> {
  const { seeded, redlock } = context;
  const { ttlMs, waiting } = drawTerms(seeded);
  const key = seeded.pick(context.order.keys);
  const workMs = seeded.between(50, 1_500);
  let holding: Holding | undefined;
  const boundMs = waiting.waitMs + mostNodeTimeoutMs(ttlMs);
  await context.ask({ how: 'closing', keys: [key] }, boundMs, async (op) => {
    await redlock.using(key, { ttlMs, ...waiting }, async (lease) => {
      holding = context.hold(lease, op, { renew: true });
      await holding.watch(workMs);
      holding.ending();
    });
    return 'held';
  });
  holding?.ended();
}

/** Mostly it is still waiting when the instance closes. */
async function wait(context: ClientContext): Promise<void> {
  const { seeded, redlock } = context;
  const { ttlMs, waiting } = drawTerms(seeded);
  const key = seeded.pick(context.order.keys);
  await context.ask({ how: 'closing', keys: [key] }, WAIT_MS + mostNodeTimeoutMs(ttlMs), async (op) => {
    await redlock.using(key, { ttlMs, ...waiting, waitMs: WAIT_MS }, async (lease) => {
      const holding = context.hold(lease, op, { renew: true });
      await holding.watch(20);
      holding.ending();
      holding.ended();
    });
    return 'held';
  });
}

async function takeByHand(context: ClientContext): Promise<Holding | undefined> {
  const { seeded, redlock } = context;
  const { ttlMs } = drawTerms(seeded);
  const key = seeded.pick(context.order.keys);
  let holding: Holding | undefined;
  await context.ask({ how: 'closing', keys: [key] }, mostNodeTimeoutMs(ttlMs), async (op) => {
    const lease = await redlock.tryAcquire(key, { ttlMs });
    if (lease === null) return 'taken';
    holding = context.hold(lease, op, { renew: false });
    return 'held';
  });
  return holding;
}
