/** Jobs of several clients over masters in memory, under virtual time; what they did is written down. */
import type { RedlockOptions } from '../../lib/input/options.js';
import type { Job, JobEvents, JobOptions, JobRun } from '../../lib/jobs/public.js';
import type { Redlock } from '../../lib/redlock.js';
import { type Bench, fakeCluster } from './fake-cluster.js';
import { WALL_US } from './fake-master.js';

const JOB_TERMS: RedlockOptions = { ttlMs: 3_000, nodeTimeoutMs: 200 };

export interface JobBench extends Bench {
  /** What happened, as `client event tick reason`; ticks count from the beginning. */
  readonly told: string[];
  /** Ticks that were run, in order. */
  readonly ran: number[];
  /** A client with that job; the routine may be left out. */
  client(name: string, options: JobOptions, routine?: (run: JobRun) => unknown): Promise<Client>;
  /** The number of a tick. */
  numberOf(run: { readonly scheduledAt: Date }): number;
  /** Lets virtual time pass, in a routine. */
  pass(ms: number): Promise<void>;
}

export interface Client {
  readonly redlock: Redlock;
  readonly job: Job<unknown>;
}

const EVENTS = ['scheduled', 'started', 'done', 'failed', 'skipped', 'missed'] as const;

/** Masters whose clocks show whole seconds at the beginning; ticks are counted in periods from there. */
export function jobBench(nodes: number, everyMs: number, options: RedlockOptions = JOB_TERMS): JobBench {
  const bench = fakeCluster(nodes, options, { hasPushes: true });
  const [told, ran]: [string[], number[]] = [[], []];
  const firstMs = WALL_US / 1_000 + 1_000;
  const numberOf = ({ scheduledAt }: { readonly scheduledAt: Date }): number =>
    (scheduledAt.getTime() - firstMs) / everyMs;
  return {
    ...bench,
    ...{ told, ran, numberOf },
    pass: (ms) => new Promise((resolve) => void bench.time.wait(ms, resolve)),
    async client(name, terms, routine = () => undefined) {
      const { redlock } = bench.other(name);
      const job = await redlock.job('j', terms, (run) => {
        ran.push(numberOf(run));
        return routine(run);
      });
      for (const event of EVENTS) {
        job.on(event, (what: JobEvents<unknown>[typeof event]) => {
          const reason = 'reason' in what ? ` ${what.reason}` : '';
          if (event !== 'scheduled') told.push(`${name} ${event} ${numberOf(what)}${reason}`);
        });
      }
      job.on('otherSchedule', ({ other, own }) => told.push(`${name} has ${own}, and there is ${other}`));
      return { redlock, job };
    },
  };
}
