/** What the clients of small worlds do about a job: they run it at each tick, or do something once. */
import type { Job, JobOptions, JobRun } from '../../../lib/jobs/public.js';
import type { Redlock } from '../../../lib/redlock.js';
import type { TickChecker } from '../coordination/tick-checker.js';
import type { SimulatedClient } from '../world/client.js';
import { WALL_US } from '../world/world.js';
import { TTL_MS } from './deviations.js';
import type { Hands } from './hands.js';
import { type Program, RESOURCE } from './programs.js';
import type { SmallEnding } from './worlds.js';

/** What differs from world to world. */
export type SmallJob = Pick<JobOptions, 'missed' | 'atLeastForMs'>;

/** Longer than a ttl: a runner that died keeps others out of its own tick only. */
export const EVERY_MS = 400;
/** How long after a tick its run is over, with nothing wrong. */
const OVER_MS = 150;
const RUN_MS = 10;
const ONCE_FOR_MS = 800;

/** A runner of the job, whose runs are told to the checker. */
async function runner(
  { client, redlock }: { readonly client: SimulatedClient; readonly redlock: Redlock },
  ticks: TickChecker,
  { atLeastForMs, missed }: SmallJob,
): Promise<Job<void>> {
  const runs = new Map<number, ReturnType<TickChecker['started']>>();
  const run = async (own: JobRun): Promise<void> => {
    runs.set(own.scheduledAt.getTime(), ticks.started(client, own));
    await client.sleep(RUN_MS);
  };
  const job = await redlock.job(RESOURCE, { every: EVERY_MS, ttlMs: TTL_MS, missed, atLeastForMs }, run);
  const ended = (tick: Date, what: 'isDone' | 'hasFailed'): void => {
    const own = runs.get(tick.getTime());
    if (own !== undefined) own[what] = true;
  };
  job.on('done', ({ scheduledAt }) => ended(scheduledAt, 'isDone'));
  job.on('failed', ({ scheduledAt }) => ended(scheduledAt, 'hasFailed'));
  return job;
}

/** How long it is until this many ticks are over. */
function untilMs(nowMs: number, count: number): number {
  return count * EVERY_MS - (nowMs % EVERY_MS) + OVER_MS;
}

/** By the masters' clocks. */
function mastersMs(nowMs: number): number {
  return WALL_US / 1_000 + nowMs;
}

/** Has the job for two ticks. */
export function ticking(terms: SmallJob): Program {
  return async (hands: Hands) => {
    const fromMs = hands.nowMs;
    const job = await runner(hands.player, hands.checkers.ticks, terms);
    await hands.pass(untilMs(fromMs, 2));
    await job.stop();
    if (hands.isGentle && terms.atLeastForMs === 0)
      hands.checkers.ticks.expectAll(mastersMs(fromMs), mastersMs(hands.nowMs) - OVER_MS);
  };
}

/** Does it once, and once again. @param fails  the first run throws, and does not count */
export function once(fails: boolean): Program {
  return async (hands) => {
    let mayFail = fails;
    for (let i = 0; i < 2; i++) {
      let beganMs = 0;
      const routine = async (): Promise<void> => {
        beganMs = hands.nowMs;
        await hands.pass(RUN_MS);
        if (mayFail) throw new Error('a routine that fails');
      };
      const { executed } = await onceBy(hands, routine);
      if (executed) hands.checkers.ticks.succeededOnce(hands.player.client, beganMs, ONCE_FOR_MS);
      mayFail = false;
      await hands.pass(RUN_MS);
    }
  };
}

async function onceBy(hands: Hands, routine: () => Promise<void>): Promise<{ readonly executed: boolean }> {
  try {
    return await hands.redlock.runOnce(RESOURCE, ONCE_FOR_MS, routine, { ttlMs: TTL_MS, waitMs: 2 * TTL_MS });
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('a routine'))) hands.excuse(error);
    return { executed: false };
  }
}

/** With nothing wrong any more, no tick is left out. */
export function tickInTheEnd(terms: SmallJob): SmallEnding {
  return async ({ world }, living, { ticks }) => {
    const pass = (ms: number): Promise<void> => new Promise((resolve) => void world.after(ms, resolve));
    const fromMs = world.nowMs;
    const jobs = await Promise.all(living.map((player) => runner(player, ticks, terms)));
    await pass(untilMs(fromMs, 2));
    // the first may come while a missed one is run
    if (jobs.length > 0) ticks.expectAll(mastersMs(fromMs + EVERY_MS), mastersMs(world.nowMs) - OVER_MS);
    await Promise.all(jobs.map((job) => job.stop()));
  };
}
