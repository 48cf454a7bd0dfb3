/** Jobs as users see them. All of them are interfaces: a test can use a fake job. */
import type { Listenable } from '../runtime/listenable.js';

/** What a run of a job gets. */
export interface JobRun {
  /** Aborts when the lock is lost, by the end of its validity at the latest, and when the instance closes. */
  readonly signal: AbortSignal;
  /** The fencing token. Send it with each write: a resource that refuses lower tokens is safe from late runs. */
  readonly fence: number;
  /** The tick of this run, by the masters' time. For `run()` and `runOnce`: when the run began. */
  readonly scheduledAt: Date;
  /** How much validity the lock has left. Milliseconds; 0 if it is lost. */
  remainingMs(): number;
}

/** What a job does. */
export type JobRoutine<T> = (run: JobRun) => Promise<T> | T;

/** Why a call ran nothing: an earlier run has succeeded · the last run began too recently · another run is under way. */
export type NotExecuted = 'done' | 'too soon' | 'running';

/** The result of `job.run` and `runOnce`. */
export type JobResult<T> =
  | {
      /** The routine ran here, and succeeded. */
      readonly executed: true;
      /** What the routine returned. */
      readonly value: T;
    }
  | {
      /** Nothing ran here. */
      readonly executed: false;
      /** Why nothing ran. */
      readonly reason: NotExecuted;
    };

/** The options that all schedules have. */
interface JobTerms {
  /**
   * How long one run may hold the lock. By then its signal has aborted, and others may run. Milliseconds, or `Infinity`.
   * The signal aborts up to a third of the ttl earlier, since the last renewal may come that much earlier. @default Infinity
   */
  readonly atMostForMs?: number | undefined;
  /** The least time from the beginning of one run to the next, by the masters' time. Milliseconds. @default 0 */
  readonly atLeastForMs?: number | undefined;
  /**
   * What happens to ticks that found no process, and to a tick whose runner died. `skip` only reports them; `once` makes up
   * for all of them with one run; `all` runs each, the earliest first. @default 'skip'
   */
  readonly missed?: 'skip' | 'once' | 'all' | undefined;
  /** How far back missed ticks count. Milliseconds. Has no effect with `missed: 'skip'`. @default 3_600_000 */
  readonly missedWithinMs?: number | undefined;
  /** The most missed or queued ticks to run; if there are more, the latest ones run. From 1 to 1,000. @default 100 */
  readonly missedMost?: number | undefined;
  /** What happens to a tick during an earlier tick's run: `skip` drops it, `queue` runs it afterwards. @default 'skip' */
  readonly overlap?: 'skip' | 'queue' | undefined;
  /** Each process waits for a random part of this after each tick before it claims. Milliseconds. @default 0 */
  readonly jitterMs?: number | undefined;
  /** How long a dead runner keeps others out. Milliseconds. @default the instance's `ttlMs`, at most `atMostForMs` */
  readonly ttlMs?: number | undefined;
}

/** A job that runs at multiples of a period. */
export interface EveryOptions extends JobTerms {
  /** The period, in milliseconds. Ticks are its multiples since 1970, by the masters' time. */
  readonly every: number;
}

/** A job that runs by a cron expression. This needs the package `croner`. */
export interface CronOptions extends JobTerms {
  /** The expression, as `croner` reads it: five fields, or six with seconds first. */
  readonly cron: string;
  /** The time zone of the expression, such as `Europe/Berlin`; the same in all processes. @default 'UTC' */
  readonly timeZone?: string | undefined;
}

/** When a job runs, and how. */
export type JobOptions = EveryOptions | CronOptions;

/** Options of `runOnce`. */
export interface RunOnceOptions {
  /** Ends the wait for the lock: the call rejects with `ABORTED`. Has no effect on a run that has begun. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for another run to end. Milliseconds, or `Infinity`. @default the instance's `waitMs` */
  readonly waitMs?: number | undefined;
  /** How long a dead runner keeps others out. Milliseconds. @default the instance's `ttlMs` */
  readonly ttlMs?: number | undefined;
}

/** Options of `job.run`. */
export interface RunOptions {
  /** Ends the wait for the lock: the call rejects with `ABORTED`. Has no effect on a run that has begun. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for another run to end. Milliseconds, or `Infinity`. @default the instance's `waitMs` */
  readonly waitMs?: number | undefined;
}

/** Why this process waited for a tick but did not run it. */
export type SkipReason =
  /** Another process has run the tick, or has reported why it did not. */
  | 'done'
  /** The tick came during a run. */
  | 'overlap'
  /** The tick came less than `atLeastForMs` after the beginning of the last run. */
  | 'too soon'
  /** This process could not get the lock, or could not read or write the record: `error` says why. */
  | 'unavailable'
  /** When the tick came, another program, which does not use this library, had locked the name: it may have run the tick. */
  | 'elsewhere';

/** Why a tick was missed. */
export type MissReason =
  /** Nobody began its run. */
  | 'not started'
  /** The process that began its run died, or lost the lock, before the end. */
  | 'interrupted'
  /** Masters may have forgotten whether it was run, or a job with another schedule has overwritten the record. */
  | 'unknown';

/** The events of a job, by name. */
export interface JobEvents<T> {
  /** This process waits for a tick. */
  readonly scheduled: {
    /** The tick, by the masters' time. */
    readonly scheduledAt: Date;
  };
  /** The run of a tick begins here. */
  readonly started: {
    /** The tick. */
    readonly scheduledAt: Date;
    /** The fencing token of the run. */
    readonly fence: number;
  };
  /** A run has succeeded here, and a quorum of masters has recorded it. */
  readonly done: {
    /** The tick. */
    readonly scheduledAt: Date;
    /** The fencing token of the run. */
    readonly fence: number;
    /** What the routine returned. */
    readonly value: T;
    /** How long the run took. Milliseconds. */
    readonly tookMs: number;
  };
  /** A run has failed here: the routine threw, or no quorum of masters recorded its end. */
  readonly failed: {
    /** The tick. */
    readonly scheduledAt: Date;
    /** The fencing token of the run. */
    readonly fence: number;
    /** What was thrown. */
    readonly error: unknown;
  };
  /** A tick was not run here. */
  readonly skipped: {
    /** The tick. */
    readonly scheduledAt: Date;
    /** Why this process did not run it. */
    readonly reason: SkipReason;
    /** For `unavailable`: what went wrong. */
    readonly error?: Error;
  };
  /** Nobody ran a tick to its end. With `missed: 'once'` or `'all'`, a run may follow. */
  readonly missed: {
    /** The tick. */
    readonly scheduledAt: Date;
    /** Why the tick was missed. */
    readonly reason: MissReason;
  };
  /** A job with another schedule has the same name, or had it before this one. Emitted once an hour at most. */
  readonly otherSchedule: {
    /** The schedule of this job, such as `every 60000` or `cron 0 6 * * * Europe/Berlin`; 200 characters at most. */
    readonly own: string;
    /** The schedule of the other job. */
    readonly other: string;
  };
}

/**
 * A job that one process at a time runs, at each tick of its schedule.
 *
 * @example
 * ```ts
 * const job = await redlock.job('report', { cron: '0 6 * * *', timeZone: 'Europe/Berlin' }, async ({ signal }) => {
 *   await run({ signal });
 * });
 * job.on('failed', ({ scheduledAt, error }) => print(`${scheduledAt.toISOString()} ${String(error)}`));
 * process.once('SIGTERM', () => void job.stop());
 * ```
 */
export interface Job<T> extends AsyncDisposable, Listenable<JobEvents<T>> {
  /** The job's name, without `keyPrefix`. */
  readonly name: string;

  /**
   * Runs the job now, outside the schedule but under the same lock, unless it is too soon (`atLeastForMs`). No tick counts as
   * run.
   *
   * @throws RedlockError as `redlock.acquire` does, except `LOCK_TAKEN` · what the routine throws · `LOCK_LOST`, `NO_QUORUM`:
   *   the routine may have run, and no quorum recorded that
   */
  run(options?: RunOptions): Promise<JobResult<T>>;

  /**
   * Ends the schedule in this process. Waits for a run that is under way, and does not abort it. If no quorum of masters
   * records the end of that run within 5 s, the run counts as `failed`. Never rejects.
   */
  stop(): Promise<void>;
}
