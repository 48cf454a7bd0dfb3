/**
 * A client process of a rolling run: a candidate, the jobs, and those who hold locks and wait for them. It starts cold, as
 * a service does: nothing waits until its connections are there.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redlock, RedlockError } from '../../../lib/index.js';
import { nowMs } from '../run/history.js';
import { watchMachine } from './machine.js';
import { type ClientOrder, type FromClient, ORDER } from './messages.js';
import {
  CONTENDERS,
  HELD,
  HOLD_MS,
  HOT,
  LANES,
  LEADER,
  LONG_RUN,
  TICK_EVERY_MS,
  TICKS,
} from './scenarios.js';

const HOT_WAIT_MS = 30_000;

// Ctrl-C reaches the whole process group; the run decides what to do, and without it there is none
process.on('SIGINT', () => undefined);
process.on('disconnect', () => process.exit());

const order = JSON.parse(process.env[ORDER] ?? '{}') as ClientOrder; // the cast: the run wrote it
const redlock = Redlock.connect([...order.urls], { client: order.client, ttlMs: order.ttlMs });

function tell(message: FromClient): void {
  process.send?.(message);
}

function codeOf(error: unknown): string {
  return RedlockError.is(error) ? error.code : String(error);
}

/** Resolves when the lease has ended. */
async function hold(lock: string, fence: number, signal: AbortSignal): Promise<void> {
  tell({ e: 'held', t: nowMs(), lock, fence });
  if (!signal.aborted)
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  tell({ e: 'ended', t: nowMs(), lock, fence, code: codeOf(signal.reason) });
}

async function lead(): Promise<void> {
  const election = redlock.election(LEADER);
  await election.lead(({ signal, fence }) => hold(LEADER, fence, signal), { value: order.client });
}

/** A run that lasts, with the other process in the queue at each tick. */
async function runLong(): Promise<void> {
  await redlock.job(LONG_RUN, { every: TICK_EVERY_MS }, ({ signal, fence }) => hold(LONG_RUN, fence, signal));
}

async function runTicks(): Promise<void> {
  const options = { every: TICK_EVERY_MS, overlap: 'queue' } as const; // on a busy machine, a run may outlast a period
  const job = await redlock.job(TICKS, options, () => sleep(HOLD_MS));
  for (const what of ['started', 'done'] as const)
    job.on(what, ({ scheduledAt }) =>
      tell({ e: 'tick', t: nowMs(), tick: scheduledAt.getTime(), what, why: '' }),
    );
  for (const what of ['missed', 'skipped'] as const)
    job.on(what, ({ scheduledAt, reason }) =>
      tell({ e: 'tick', t: nowMs(), tick: scheduledAt.getTime(), what, why: reason }),
    );
  job.on('failed', ({ scheduledAt, error }) =>
    tell({ e: 'tick', t: nowMs(), tick: scheduledAt.getTime(), what: 'failed', why: String(error) }),
  );
}

/** One of those who want a lock for good. */
async function contend(lock: string): Promise<void> {
  for (;;) {
    try {
      const lease = await redlock.acquire(lock, { renew: true, waitMs: Infinity });
      await hold(lock, lease.fence ?? 0, lease.signal);
    } catch (error) {
      tell({ e: 'refused', t: nowMs(), lock, code: codeOf(error) });
    }
  }
}

async function takeTurns(): Promise<void> {
  for (;;) {
    const askT = nowMs();
    try {
      const lease = await redlock.acquire(HOT, { waitMs: HOT_WAIT_MS });
      const gotT = nowMs();
      await sleep(HOLD_MS);
      tell({ e: 'stay', t: nowMs(), askT, gotT });
      await lease.release();
    } catch (error) {
      tell({ e: 'refused', t: nowMs(), lock: HOT, code: codeOf(error) });
    }
  }
}

redlock.on('lost', ({ resources, cause }) =>
  tell({ e: 'lost', t: nowMs(), lock: resources.join(), text: cause.message }),
);
const contenders = HELD.flatMap((lock) => Array.from({ length: CONTENDERS }, () => contend(lock)));
const lanes = Array.from({ length: LANES }, () => takeTurns());
await Promise.all([lead(), runLong(), runTicks(), watchMachine(tell), ...contenders, ...lanes]);
