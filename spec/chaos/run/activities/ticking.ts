/** A job that all clients have, and something that is run once in a time. */
import type { Job, JobRun } from '../../../../lib/index.js';
import { nowMs, type TickState } from '../history.js';
import type { Held, Holding } from '../holding.js';
import { JOB, JOB_EVERY_MS, ONCE, ONCE_FOR_MS } from '../options.js';
import { type ClientContext, mostNodeTimeoutMs } from './context.js';

const TTL_MS = 1_000;
const AT_MOST_FOR_MS = 3_000;
const MISSED_WITHIN_MS = 20_000;
/** Runs stand behind others': how long a claim takes is not looked at. */
const ANY_TIME_MS = 3_600_000;
const ONCE_WAITS = [0, 500] as const;
/** A read and two writes beside the claim. */
const ONCE_STEPS = 4;

/** The job of one instance. */
export class Ticking {
  readonly #context: ClientContext;
  /** Since when the run that comes next may have been claimed. */
  #claimT = nowMs();
  /** The leases of runs, by their fencing tokens: the latest ones. */
  readonly #leases = new Map<number, string>();
  #job: Job<void> | undefined;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  async start(): Promise<void> {
    const { redlock, order } = this.#context;
    const options = {
      every: JOB_EVERY_MS,
      ttlMs: TTL_MS,
      atMostForMs: AT_MOST_FOR_MS,
      missed: order.missed,
      missedWithinMs: MISSED_WITHIN_MS,
    };
    const job = await redlock.job(JOB, options, (run) => this.#run(run));
    job.on('scheduled', () => (this.#claimT = nowMs()));
    for (const state of ['done', 'failed'] as const)
      job.on(state, ({ fence, scheduledAt }) => {
        const lease = this.#leases.get(fence);
        this.#leases.delete(fence);
        if (lease !== undefined) this.#note(lease, scheduledAt, state);
      });
    this.#job = job;
  }

  async stop(): Promise<void> {
    await this.#job?.stop();
  }

  async #run(run: JobRun): Promise<void> {
    const { seeded } = this.#context;
    const fails = seeded.chance(0.05);
    const workMs = seeded.chance(0.15) ? seeded.between(300, 1_500) : seeded.between(2, 60);
    const asked = { how: 'job', keys: [JOB] } as const;
    let holding: Holding | undefined;
    const begin = (op: number): Promise<'held'> => {
      holding = this.#context.hold(heldOf(run, JOB), op, { renew: true });
      return Promise.resolve('held');
    };
    await this.#context.ask(asked, ANY_TIME_MS, begin, this.#claimT);
    if (holding === undefined) throw new Error('it began'); // for the compiler
    this.#leases.set(run.fence, holding.id);
    this.#note(holding.id, run.scheduledAt, 'started');
    await holding.watch(workMs);
    holding.ending();
    holding.ended();
    if (fails) throw new Error('a run that fails');
  }

  #note(lease: string, scheduledAt: Date, state: TickState): void {
    const times = { t: nowMs(), wallMs: Date.now(), tick: scheduledAt.getTime() };
    this.#context.history.note({ e: 'tick', ...times, lease, state });
  }
}

/** A run's lease, as far as it is seen. */
function heldOf(run: JobRun, resource: string): Held {
  return {
    ...{ resources: [resource], ttlMs: TTL_MS, signal: run.signal, fence: run.fence },
    get status() {
      return run.remainingMs() > 0 ? 'held' : 'lost';
    },
    remainingMs: () => run.remainingMs(),
    extend: () => Promise.reject(new Error('a run renews its lease by itself')),
    release: () => Promise.resolve(),
  };
}

export async function runOnce(context: ClientContext): Promise<void> {
  const { history, seeded, redlock } = context;
  const waitMs = seeded.pick(ONCE_WAITS);
  const workMs = seeded.between(2, 100);
  let holding: Holding | undefined;
  const boundMs = waitMs + workMs + ONCE_STEPS * mostNodeTimeoutMs(TTL_MS);
  await context.ask({ how: 'once', keys: [ONCE] }, boundMs, async (op) => {
    let beganT = 0;
    const routine = async (run: JobRun): Promise<void> => {
      beganT = nowMs();
      holding = context.hold(heldOf(run, ONCE), op, { renew: true });
      await holding.watch(workMs);
      holding.ending();
    };
    const result = await redlock.runOnce(ONCE, ONCE_FOR_MS, routine, { waitMs, ttlMs: TTL_MS });
    if (result.executed) history.note({ e: 'once', t: nowMs(), op, beganT });
    else if (result.reason === 'running') return 'taken';
    return 'fine';
  });
  holding?.ended();
}
