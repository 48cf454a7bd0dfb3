/** Something to watch: jobs that take a lock each, of which some compete, some are long, one is refused and one is lost now and then. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Redlock, RedlockError } from '../../lib/index.js';

const JOBS = 6;
const ROUND_MS = 100;
/** Longer than a third of the ttl: it is renewed. */
const LONG_MS = 1_500;
/** Each so many rounds, a lease is left to run out. */
const LOST_EACH = 20;

export async function work(redlock: Redlock, stop: AbortSignal): Promise<void> {
  await Promise.all(Array.from({ length: JOBS }, (_, job) => repeat(redlock, job, stop)));
}

async function repeat(redlock: Redlock, job: number, stop: AbortSignal): Promise<void> {
  for (let round = 0; !stop.aborted; round++) {
    try {
      await once(redlock, job, round);
    } catch (error) {
      if (!RedlockError.is(error)) throw error; // what the locks could not give is in the metrics
    }
    await sleep(ROUND_MS, undefined, { signal: stop }).catch(() => undefined);
  }
}

async function once(redlock: Redlock, job: number, round: number): Promise<void> {
  if (job === 0) return redlock.using('report:all', () => sleep(LONG_MS));
  if (job === 2) await redlock.using('report:all', { waitMs: 0 }, () => undefined); // is refused while job 0 works
  if (job === 1 && round % LOST_EACH === 0) await redlock.acquire(`lost:${round}`, { ttlMs: 200 });
  await redlock.using(`invoice:${round % 2}`, () => sleep(ROUND_MS));
}
