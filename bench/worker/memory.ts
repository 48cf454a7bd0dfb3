/**
 * Heap per held lease: what 10,000 leases that are held at once add to the heap of a process that has done the same
 * kind of work before. Counts what stays reachable, so it waits for all replies and collects garbage several times.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { HoldKind, Kept, Session } from '../contenders/contender.js';
import type { Memory, Renewal, RenewalAsked } from '../orders.js';

/** Long enough that no renewal falls into the measure: it would begin at a third. */
const TTL_MS = 60_000;
const IN_FLIGHT = 50;
const WARM_UP = 2_000;
const COLLECTIONS = 6;

export async function measureMemory(session: Session, hold: HoldKind, leases: number): Promise<Memory> {
  const held: unknown[] = new Array(leases).fill(undefined); // the caller's own list is not the lock's memory
  const take = async (i: number): Promise<void> => {
    const lease = await session.acquire(`bench:held:${i}`, { ttlMs: TTL_MS, renew: hold.renew });
    if (hold.isWatched) session.watch?.(lease);
    held[i] = lease;
  };
  const giveBack = async (i: number): Promise<void> => {
    const lease = held[i];
    held[i] = undefined;
    if (lease !== undefined) await session.release(lease);
  };
  const warmUp = Math.min(WARM_UP, leases);
  await inFlight(warmUp, take);
  await inFlight(warmUp, giveBack);
  const beforeBytes = await usedHeap(session);
  await inFlight(leases, take);
  const afterBytes = await usedHeap(session);
  await inFlight(leases, giveBack);
  await usedHeap(session); // the next measure begins clean
  return { bytesPerLease: (afterBytes - beforeBytes) / leases };
}

/** What it costs to keep so many leases alive, by the library's own renewal. */
export async function measureRenewal(session: Session, asked: RenewalAsked): Promise<Renewal> {
  const { leases, ttlMs, settleMs, durationMs } = asked;
  const kept: (Kept | undefined)[] = Array.from({ length: leases }, () => undefined);
  session.sent(); // counts from here on
  await inFlight(Math.min(WARM_UP, leases), async (i) => {
    const lease = await session.keep?.(`bench:warm:${i}`, ttlMs);
    await lease?.letGo();
  });
  const beforeBytes = await usedHeap(session);
  await inFlight(leases, async (i) => {
    kept[i] = await session.keep?.(`bench:kept:${i}`, ttlMs);
  });
  const afterBytes = await usedHeap(session);
  await pause(settleMs);
  const cpu = process.cpuUsage();
  const sent = session.sent();
  const startMs = performance.now();
  await pause(durationMs);
  const { user, system } = process.cpuUsage(cpu);
  const wallMs = performance.now() - startMs;
  const requests = session.sent() - sent;
  const lost = kept.filter((lease) => lease?.isHeld() === false).length;
  await inFlight(leases, async (i) => {
    await kept[i]?.letGo().catch(() => undefined); // what was lost may say so
    kept[i] = undefined;
  });
  return {
    bytesPerLease: (afterBytes - beforeBytes) / leases,
    corePercent: (user + system) / 10 / wallMs,
    requestsPerTtl: (requests * ttlMs) / wallMs / leases,
    lost,
  };
}

/** Uses names of 16 characters, each once. */
export async function useOnce(
  session: Session,
  { from, count }: { readonly from: number; readonly count: number },
): Promise<void> {
  await inFlight(count, async (i) => {
    const lease = await session.acquire(`bench:once:${String(from + i).padStart(5, '0')}`);
    await session.release(lease);
  });
  await session.settled();
}

async function inFlight(count: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, one));
}

async function usedHeap(session: Session): Promise<number> {
  await session.settled();
  for (let i = 0; i < COLLECTIONS; i++) {
    await pause(20);
    if (gc === undefined) throw new Error('memory is measured with --expose-gc');
    gc();
  }
  return process.memoryUsage().heapUsed;
}
