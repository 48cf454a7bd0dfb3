/**
 * A job: at each tick, one process of the fleet runs it.
 *
 * Every process that has the job waits for each tick by the masters' time, and then waits in the queue for the job's lock. The
 * process that gets the lock reads the job's record under its vote, and runs the tick only if no quorum says that it is
 * begun. Before the run, a quorum notes that it is begun; after the run, that it is done. The lease is released like any
 * other, and the next in the queue finds the tick done. If the runner dies, the next in the queue gets the lock when the runner's votes
 * run out, and finds a tick that was begun and is not done. If masters fail before a run begins, the process claims again:
 * the tick still has to be run.
 */
import { dateAt } from './date.js';
import type { Cancellation } from '../runtime/cancellation.js';
import { invalidArgument, nullIfTaken, RedlockError } from '../runtime/errors.js';
import type { Coordination } from '../lease/coordination.js';
import { NO_OPTIONS } from '../input/options.js';
import type { MastersTime } from './masters-time.js';
import { resolveJob, resolveRun } from './options.js';
import { EventHub } from '../runtime/event-hub.js';
import { Emitter } from '../runtime/listenable.js';
import type { Job as PublicJob, JobEvents, JobOptions, JobResult, JobRoutine, RunOptions } from './public.js';
import { scheduleOf, ticksIn } from './schedule.js';
import { toError } from '../redis/server-errors.js';
import { type Ended, type Task, Work } from './work.js';
import { Outages } from '../lease/outages.js';
import type { Answers } from '../protocol/tally.js';
import type { Decision } from '../protocol/quorum.js';
import { MUTEX } from '../protocol/scope.js';

const JOB_EVENT_NAMES: readonly (keyof JobEvents<unknown>)[] = [
  ...(['scheduled', 'started', 'done', 'failed', 'skipped', 'missed', 'otherSchedule'] as const),
];

/** How long to wait before asking again masters that did not report their time, in ms. */
const ASK_AGAIN_MS = 1_000;
/** A long sleep ends after this part of it, for another look at the masters' time. */
const SLEEP_PART = 0.9;
const SHORT_SLEEP_MS = 1_000;
/** The time before the next claim after one that failed, in ms; it doubles each time, up to `ASK_AGAIN_MS`. */
const CLAIM_AGAIN_MS = 20;
/** How long a tick waits for masters that say that they cannot take part, in ms: they may be full, or replicas for a while. */
const HOPELESS_MS = 600_000;

/** What a process claims for: a tick, or earlier ticks that were missed. */
interface Pursuit {
  readonly own: number | undefined;
  /** It is there for all ticks after this instant. */
  readonly thereMs: number;
}

class Job<T> extends Emitter<JobEvents<T>> implements PublicJob<T> {
  readonly name: string;
  readonly #coordination: Coordination;
  readonly #task: Task<T>;
  readonly #time: MastersTime;
  readonly #events: EventHub<JobEvents<T>>;
  readonly #work: Work<T>;
  readonly #stopping = new AbortController();
  readonly #cancellation: Cancellation;
  #loop: Promise<void> | undefined;

  constructor(coordination: Coordination, name: string, task: Task<T>) {
    const events = new EventHub<JobEvents<T>>();
    super(events, JOB_EVENT_NAMES);
    this.name = name;
    this.#events = events;
    this.#coordination = coordination;
    this.#task = task;
    const cancellation = coordination.begin(this.#stopping.signal);
    this.#cancellation = cancellation;
    const isStopping = (): boolean => cancellation.cancelled !== undefined;
    this.#work = new Work(coordination, name, task, events, isStopping);
    this.#time = this.#work.time;
  }

  async run(options: RunOptions = NO_OPTIONS): Promise<JobResult<T>> {
    const call = resolveRun(options, this.#task.call, this.#coordination.terms);
    const lease = await nullIfTaken(
      this.#coordination.acquire([this.name], MUTEX, call, options.signal, { anonymous: true }),
    );
    if (lease === null) return { executed: false, reason: 'running' };
    return this.#coordination.held.during(lease, lease, () => this.#work.now(lease));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Begins the schedule. */
  start(): void {
    const cancellation = this.#cancellation;
    this.#loop = this.#repeat(cancellation).finally(() => this.#coordination.end(cancellation));
  }

  async #repeat(cancellation: Cancellation): Promise<void> {
    const { jitterMs, policy, schedule } = this.#task;
    if (!(await this.#knowTime(cancellation))) return;
    let lastMs = this.#time.nowMs;
    if (policy.missed !== 'skip')
      lastMs = await this.#pursue({ own: undefined, thereMs: lastMs }, cancellation);
    while (await this.#knowTime(cancellation)) {
      const tick = schedule.next(lastMs);
      if (tick === undefined) return;
      this.#events.tell('scheduled', { scheduledAt: dateAt(tick) });
      await this.#sleepUntil(tick + this.#coordination.random.fraction() * jitterMs, cancellation);
      lastMs = Math.max(tick, await this.#pursue({ own: tick, thereMs: tick - 1 }, cancellation));
    }
  }

  /** @returns false if the schedule has ended meanwhile */
  async #knowTime(cancellation: Cancellation): Promise<boolean> {
    while (cancellation.cancelled === undefined) {
      if (await this.#time.refresh()) break;
      await cancellation.sleep(this.#coordination.timers, ASK_AGAIN_MS);
    }
    return cancellation.cancelled === undefined;
  }

  async #sleepUntil(atMs: number, cancellation: Cancellation): Promise<void> {
    const { timers } = this.#coordination;
    for (;;) {
      const leftMs = atMs - this.#time.nowMs;
      if (leftMs <= 0 || cancellation.cancelled !== undefined) return;
      await cancellation.sleep(timers, Math.ceil(leftMs > SHORT_SLEEP_MS ? leftMs * SLEEP_PART : leftMs));
      if (cancellation.cancelled === undefined) await this.#time.refresh();
    }
  }

  /** Runs what is due, one tick under each lease. @returns the instant up to which ticks are over */
  async #pursue(first: Pursuit, cancellation: Cancellation): Promise<number> {
    const { clock, timers } = this.#coordination;
    let [pursuit, overMs] = [first, first.thereMs];
    let failure: RedlockError | undefined;
    const beganAtMs = clock.now();
    for (let [hasMore, delayMs] = [true, CLAIM_AGAIN_MS]; hasMore && cancellation.cancelled === undefined;) {
      try {
        const ended = await this.#claim(pursuit, failure);
        hasMore = ended.hasMore;
        overMs = Math.max(overMs, ended.overMs);
        pursuit = { ...first, own: undefined }; // it knows what became of its own
        delayMs = CLAIM_AGAIN_MS;
      } catch (error) {
        if (cancellation.cancelled !== undefined) break;
        if (!RedlockError.is(error) || this.#isLost(pursuit, error, clock.now() - beganAtMs))
          return Math.max(overMs, this.#giveUp(pursuit, error));
        failure = error;
        await cancellation.sleep(timers, delayMs);
        delayMs = Math.min(2 * delayMs, ASK_AGAIN_MS);
      }
    }
    return overMs;
  }

  async #claim(pursuit: Pursuit, failure: RedlockError | undefined): Promise<Ended> {
    const { call } = this.#task;
    const meanwhile = new Meanwhile(this.#coordination, this.name, call.ttlMs, this.#time);
    const { signal } = this.#stopping;
    const extras = { observer: meanwhile };
    const lease = await this.#coordination.acquire([this.name], MUTEX, call, signal, extras);
    return this.#coordination.held.during(lease, lease, () => {
      const { elsewhereMs, latest: outage = failure } = meanwhile;
      return this.#work.under(lease, { ...pursuit, elsewhereMs, outage });
    });
  }

  /** Whether it is hopeless: masters say why they do not take part, and the next tick has come, or much time has passed. */
  #isLost({ own, thereMs }: Pursuit, { code }: RedlockError, sinceMs: number): boolean {
    if (LASTING.includes(code)) return true;
    const next = this.#task.schedule.next(own ?? thereMs);
    const isNextDue = next !== undefined && next <= this.#time.nowMs;
    return code === 'MISCONFIGURED' && (isNextDue || sinceMs > HOPELESS_MS);
  }

  /** Reports its own tick as skipped, and those that have come since. Without a tick of its own, those are pursued next. */
  #giveUp({ own, thereMs }: Pursuit, error: unknown): number {
    if (own === undefined) return thereMs;
    const { policy, schedule } = this.#task;
    const late = ticksIn(schedule, own, this.#time.nowMs, policy.missedMost);
    const lost = policy.overlap === 'queue' ? [own] : [own, ...late];
    for (const tick of lost)
      this.#events.tell('skipped', {
        scheduledAt: dateAt(tick),
        reason: 'unavailable',
        error: toError(error),
      });
    return Math.max(...lost);
  }
}

/** Errors that time does not mend. */
const LASTING: readonly string[] = ['INVALID_ARGUMENT', 'WRONG_KIND', 'CLOSED', 'ABORTED'];

/** @throws RedlockError `INVALID_ARGUMENT`, `CLOSED` */
export async function jobOf<T>(
  coordination: Coordination,
  name: string,
  options: JobOptions,
  routine: JobRoutine<T>,
): Promise<PublicJob<T>> {
  const { timing, ...terms } = resolveJob(options, coordination.terms);
  if (typeof routine !== 'function') throw invalidArgument('routine', routine, 'a function');
  const schedule = await scheduleOf(timing);
  const job = new Job(coordination, name, { ...terms, schedule, routine });
  job.start();
  return job;
}

/** What a job's claim meets while it waits: outages, and locks on the job's name that no client of this library set. */
class Meanwhile extends Outages {
  readonly #time: MastersTime;
  #elsewhereMs = 0;

  constructor(coordination: Coordination, name: string, ttlMs: number, time: MastersTime) {
    super(coordination, name, ttlMs);
    this.#time = time;
  }

  /** Up to this instant of the masters' time, another program had the name; 0 if none had. */
  get elsewhereMs(): number {
    return this.#elsewhereMs;
  }

  override refused(attempts: number, answers: Answers, decision: Decision): void {
    super.refused(attempts, answers, decision);
    const isForeign = answers.outcomes.some((one) => one?.kind === 'refused' && one.isForeignClient);
    if (isForeign) this.#elsewhereMs = this.#time.nowMs;
  }
}
