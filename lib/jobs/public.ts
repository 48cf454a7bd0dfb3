/** Jobs as users see them. All of them are interfaces, so that a test can use a fake job. */
import type { Listenable } from '../runtime/listenable.js';

/** What a run of a job gets. */
export interface JobRun {
  /** Aborts when the lock is lost, by the end of its validity at the latest; also when the instance is to close. */
  readonly signal: AbortSignal;
  /** The fencing token. Send it along with each effect: a resource that refuses lower tokens is safe from late runs. */
  readonly fence: number;
  /** The tick that this run is for, by the masters' time. For `run()` and `runOnce`: when the run began. */
  readonly scheduledAt: Date;
  /** How much validity the lock has left. Milliseconds; 0 when it is lost. */
  remainingMs(): number;
}

/** What a job does. */
export type JobRoutine<T> = (run: JobRun) => Promise<T> | T;

/** Why nothing was run: it is done already · the last run was too recent · another run is under way. */
export type NotExecuted = 'done' | 'too soon' | 'running';

/** What became of a call. */
export type JobResult<T> =
  | {
      /** It was run here, and it succeeded. */
      readonly executed: true;
      /** What the routine returned. */
      readonly value: T;
    }
  | {
      /** Nothing was run here. */
      readonly executed: false;
      /** Why not. */
      readonly reason: NotExecuted;
    };

/** The options that all schedules have. */
interface JobTerms {
  /**
   * How long one run may hold the lock: by then its signal has aborted, and others may run. Milliseconds, or `Infinity`.
   * The signal aborts up to a third of the ttl earlier, since the lease is then not renewed any more. @default Infinity
   */
  readonly atMostForMs?: number | undefined;
  /** No run begins sooner than this after the beginning of the last one, by the masters' time. Milliseconds. @default 0 */
  readonly atLeastForMs?: number | undefined;
  /**
   * What becomes of ticks that no process was there for, and of a tick whose runner died: `skip` lists them; `once` makes up
   * for all of them with one run; `all` runs each, the earliest first. @default 'skip'
   */
  readonly missed?: 'skip' | 'once' | 'all' | undefined;
  /** How far back missed ticks are wanted. Milliseconds. Has no effect with `missed: 'skip'`. @default 3_600_000 */
  readonly missedWithinMs?: number | undefined;
  /** How many missed or queued ticks to run at most; the latest ones are run. From 1 to 1,000. @default 100 */
  readonly missedMost?: number | undefined;
  /** What becomes of a tick that comes while an earlier one is run: it is dropped, or run after it. @default 'skip' */
  readonly overlap?: 'skip' | 'queue' | undefined;
  /** Each process waits for a random part of this after each tick before it claims. Milliseconds. @default 0 */
  readonly jitterMs?: number | undefined;
  /** How long a runner that died keeps others out. Milliseconds. @default that of the instance, `atMostForMs` at most */
  readonly ttlMs?: number | undefined;
}

/** A job that runs at multiples of a period. */
export interface EveryOptions extends JobTerms {
  /** The period, in milliseconds. Ticks are its multiples since 1970, by the masters' time. */
  readonly every: number;
}

/** A job that runs by a cron expression. The package `croner` has to be installed. */
export interface CronOptions extends JobTerms {
  /** The expression, with five fields, or six with seconds first: see croner. */
  readonly cron: string;
  /** The time zone of the expression, as `Europe/Berlin`; the same in all processes. @default 'UTC' */
  readonly timeZone?: string | undefined;
}

/** When a job runs, and how. */
export type JobOptions = EveryOptions | CronOptions;

/** Options of `once`. */
export interface RunOnceOptions {
  /** Ends the wait for the lock: the call rejects with `ABORTED`. Has no effect on a run. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for a run that is under way. Milliseconds, or `Infinity`. @default that of the instance */
  readonly waitMs?: number | undefined;
  /** How long a runner that died keeps others out. Milliseconds. @default that of the instance */
  readonly ttlMs?: number | undefined;
}

/** Options of `job.run`. */
export interface RunOptions {
  /** Ends the wait for the lock: the call rejects with `ABORTED`. Has no effect on a run. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for a run that is under way. Milliseconds, or `Infinity`. @default that of the instance */
  readonly waitMs?: number | undefined;
}

/** Why a tick was not run by this process, though it was there. */
export type SkipReason =
  /** Another process has run it, or has reported why it is not run. */
  | 'done'
  /** A run was under way when it came. */
  | 'overlap'
  /** Less than `atLeastForMs` after the beginning of the last run. */
  | 'too soon'
  /** The masters did not let it claim, read or write. */
  | 'unavailable'
  /** When it came, a lock was on the name that no client of this library set: another program may have run it. */
  | 'elsewhere';

/** Why a tick was missed. */
export type MissReason =
  /** Nobody began it. */
  | 'not started'
  /** The process that began it died, or lost the lock, before it was done. */
  | 'interrupted'
  /** Masters may have forgotten whether it was run, or a job of another schedule has overwritten that. */
  | 'unknown';

/** The events of a job, by name. */
export interface JobEvents<T> {
  /** This process waits for that tick. */
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
  /** A run has succeeded here, and a quorum of masters knows. */
  readonly done: {
    /** The tick. */
    readonly scheduledAt: Date;
    /** The fencing token of the run. */
    readonly fence: number;
    /** What the routine returned. */
    readonly value: T;
    /** How long it took. Milliseconds. */
    readonly tookMs: number;
  };
  /** A run has failed here: the routine threw, or the masters could not record that it is done. */
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
    /** Why not. */
    readonly reason: SkipReason;
    /** For `unavailable`: what went wrong. */
    readonly error?: Error;
  };
  /** A tick was not run by anybody, or not to its end. With `missed: 'once'` or `'all'`, a run may follow. */
  readonly missed: {
    /** The tick. */
    readonly scheduledAt: Date;
    /** Why. */
    readonly reason: MissReason;
  };
  /** A job of another schedule has the same name, or had it before this one. Reported once an hour at most. */
  readonly otherSchedule: {
    /** The schedule of this one, as `every 60000` or `cron 0 6 * * * Europe/Berlin`; 200 letters at most. */
    readonly own: string;
    /** That of the other. */
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
   * Runs the job now, outside the schedule: under the same lock, and not before `atLeastForMs` is over. No tick counts as run.
   *
   * @throws RedlockError as `redlock.acquire` does, but for `LOCK_TAKEN`; as the routine does · `LOCK_LOST`, `NO_QUORUM`: it
   *   was run, and the masters could not record that
   */
  run(options?: RunOptions): Promise<JobResult<T>>;

  /**
   * Ends the schedule here. Waits for a run that is under way, and does not abort it. Where no quorum of masters answers, its
   * end is written for 5 s at most, and the run counts as `failed`. Never rejects.
   */
  stop(): Promise<void>;
}
