/**
 * Heap per held lease: what 10,000 leases that are held at once add to the heap of a process that has done the same
 * kind of work before. Counts what stays reachable, so it waits for all replies and collects garbage several times.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { HoldKind, Session } from './contenders/contender.js';
import type { Memory } from './orders.js';

/** Long enough that no renewal falls into the measure: it would begin at a third. */
const TTL_MS = 60_000;
const IN_FLIGHT = 50;
const WARM_UP = 2_000;
const COLLECTIONS = 6;

export async function measureMemory(session: Session, hold: HoldKind, leases: number): Promise<Memory> {
  const held: unknown[] = new Array(leases).fill(undefined); // the caller's own list is not the lock's memory
  await fill(session, hold, held, Math.min(WARM_UP, leases));
  await releaseAll(session, held);
  const beforeBytes = await usedHeap(session);
  await fill(session, hold, held, leases);
  const afterBytes = await usedHeap(session);
  await releaseAll(session, held);
  await usedHeap(session); // the next measure begins clean
  return { bytesPerLease: (afterBytes - beforeBytes) / leases };
}

async function fill(session: Session, hold: HoldKind, held: unknown[], count: number): Promise<void> {
  await inFlight(count, async (i) => {
    const lease = await session.acquire(`bench:held:${i}`, { ttlMs: TTL_MS, renew: hold.renew });
    if (hold.isWatched) session.watch?.(lease);
    held[i] = lease;
  });
}

async function releaseAll(session: Session, held: unknown[]): Promise<void> {
  await inFlight(held.length, async (i) => {
    const lease = held[i];
    held[i] = undefined;
    if (lease !== undefined) await session.release(lease);
  });
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
