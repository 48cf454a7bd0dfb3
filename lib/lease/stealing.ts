/** Locks that are taken away from their holders: by somebody who acquires them, or for those that wait. */
import type { StealTerms } from '../input/steal-options.js';
import { type Kind, MUTEX, WRITE } from '../protocol/scope.js';
import type { CallTerms } from '../protocol/terms.js';
import type { Grant } from '../quorum/grant.js';
import type { Coordination } from './coordination.js';
import type { Lease, WriteLease } from './public.js';

/** Acquires an exclusive lock that it takes away. @throws RedlockError as `Redlock.steal` does */
export async function steal(
  coordination: Coordination,
  name: string,
  call: CallTerms,
  signal: AbortSignal | undefined,
  how: StealTerms,
): Promise<Lease> {
  const [rest, taken] = await takeAway(coordination, [name, MUTEX], call, signal, how);
  return coordination.acquire([name], MUTEX, rest, signal, { taken });
}

/** Acquires a read-write lock that it takes away, to write. @throws RedlockError as `ReadWriteLock.steal` does */
export async function stealToWrite(
  coordination: Coordination,
  name: string,
  call: CallTerms,
  signal: AbortSignal | undefined,
  how: StealTerms,
): Promise<WriteLease> {
  const [rest, taken] = await takeAway(coordination, [name, WRITE], call, signal, how);
  return coordination.acquireToWrite(name, rest, signal, { taken });
}

/** For whom a lock is taken away, and how. */
export interface Freeing {
  readonly graceMs: number;
  /** For how long it is kept from everybody after that, in ms. @default 0: it is given to those that wait */
  readonly keepMs?: number | undefined;
}

/** Takes a lock away from its holders, for those that wait or from everybody. @returns whether anybody held it */
export async function free(
  coordination: Coordination,
  [name, kind]: readonly [string, Kind],
  call: CallTerms,
  signal: AbortSignal | undefined,
  { graceMs, keepMs = 0 }: Freeing,
): Promise<boolean> {
  const how = keepMs > 0 ? { graceMs, isClaimed: true, stayMs: keepMs } : { graceMs, isClaimed: false };
  const { votes } = await coordination.oust(name, kind, call, signal, how);
  if (votes !== undefined && keepMs === 0) await giveBack(coordination, votes, call);
  return votes !== undefined;
}

/** @returns what is left of the call, and the votes to claim with: none if it queues behind others, or nobody held the lock */
async function takeAway(
  coordination: Coordination,
  [name, kind]: readonly [string, Kind],
  call: CallTerms,
  signal: AbortSignal | undefined,
  { graceMs, passWaiters }: StealTerms,
): Promise<readonly [CallTerms, Grant | undefined]> {
  const how = { graceMs, isClaimed: passWaiters };
  const { retriedMs, votes } = await coordination.oust(name, kind, call, signal, how);
  const rest = { ...call, waitMs: Math.max(0, call.waitMs - retriedMs) };
  if (votes === undefined || passWaiters) return [rest, votes];
  void giveBack(coordination, votes, call);
  return [rest, undefined];
}

function giveBack({ coordinator }: Coordination, votes: Grant, call: CallTerms): Promise<unknown> {
  return coordinator.release(votes, coordinator.nodeTimeoutFor(call));
}
