/**
 * A job: at each tick, one process of the fleet runs it.
 *
 * Every process that has the job waits for each tick by the masters' time, and then waits in line for the job's lock. Whoever
 * is handed it reads the job's record under its vote, and runs the tick only if no quorum says that it is begun. Before the
 * run, a quorum notes that it is; after it, that it is done. The lease is released as any other, and the next in line finds
 * the tick done. If the runner dies, the next in line is handed the lock when its votes run out, and finds a tick that was
 * begun and is not done.
 */
import { dateAt } from './date.js';
import type { Cancellation } from '../runtime/cancellation.js';
import { invalidArgument, nullIfTaken, type RedlockError } from '../runtime/errors.js';
import type { Coordination } from '../lease/coordination.js';
import type { Lease } from '../lease/public.js';
import { NO_OPTIONS } from '../input/options.js';
import type { Notes } from '../lease/notes.js';
import { Outages } from '../lease/outages.js';
import { type Plan, planOf } from './due.js';
import { Listening } from './job-events.js';
import { MastersTime } from './masters-time.js';
import { type ResolvedJob, resolveJob, resolveRun } from './options.js';
import type { Job as PublicJob, JobEvents, JobOptions, JobResult, JobRoutine, RunOptions } from './public.js';
import { type Known, nextNotBeforeMs, notBeforeMs, RecordUnderLease, runBefore } from './record.js';
import { type Schedule, scheduleOf, ticksIn } from './schedule.js';
import { toError } from '../redis/server-errors.js';
import { runOf } from './run.js';

/** How long the masters are left alone after they did not tell their time, in ms. */
const ASK_AGAIN_MS = 1_000;
/** A long sleep ends this part of it early, and the masters' time is read again. */
const SLEEP_PART = 0.9;
const SHORT_SLEEP_MS = 1_000;

class Job<T> implements PublicJob<T> {
  readonly name: string;
  readonly #coordination: Coordination;
  readonly #terms: ResolvedJob;
  readonly #schedule: Schedule;
  readonly #routine: JobRoutine<T>;
  readonly #notes: Notes;
  readonly #time: MastersTime;
  readonly #listening = new Listening<T>();
  readonly #stopping = new AbortController();
  #missedUpToMs = 0;
  #loop: Promise<void> | undefined;

  constructor(
    coordination: Coordination,
    name: string,
    parts: { readonly terms: ResolvedJob; readonly schedule: Schedule; readonly routine: JobRoutine<T> },
  ) {
    this.name = name;
    this.#coordination = coordination;
    this.#terms = parts.terms;
    this.#schedule = parts.schedule;
    this.#routine = parts.routine;
    this.#notes = coordination.notesOf(name, 'record');
    this.#time = new MastersTime(coordination);
  }

  on<Name extends keyof JobEvents<T>>(event: Name, listener: (told: JobEvents<T>[Name]) => void): () => void {
    if (!this.#listening.has(event))
      throw invalidArgument('event', event, `one of ${this.#listening.names.join(', ')}`);
    if (typeof listener !== 'function') throw invalidArgument('listener', listener, 'a function');
    return this.#listening.add(event, listener);
  }

  async run(options: RunOptions = NO_OPTIONS): Promise<JobResult<T>> {
    const call = resolveRun(options, this.#terms.call, this.#coordination.terms);
    const lease = await nullIfTaken(this.#coordination.acquire(this.name, call, options.signal));
    if (lease === null) return { executed: false, reason: 'running' };
    return this.#coordination.run(lease, lease, () => this.#runNow(lease));
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
    const cancellation = this.#coordination.begin(this.#stopping.signal);
    this.#loop = this.#repeat(cancellation).finally(() => this.#coordination.end(cancellation));
  }

  async #repeat(cancellation: Cancellation): Promise<void> {
    const { policy } = this.#terms;
    let lastMs = 0;
    if (policy.missed !== 'skip') lastMs = await this.#pursue(undefined, cancellation);
    for (;;) {
      if (!(await this.#knowTime(cancellation))) return;
      const sinceMs = policy.overlap === 'queue' && lastMs > 0 ? lastMs : Math.max(lastMs, this.#time.nowMs);
      const tick = this.#schedule.next(sinceMs);
      if (tick === undefined) return;
      this.#listening.tell('scheduled', { scheduledAt: dateAt(tick) });
      await this.#sleepUntil(
        tick + this.#coordination.random.fraction() * this.#terms.jitterMs,
        cancellation,
      );
      if (cancellation.cancelled !== undefined) return;
      lastMs = Math.max(tick, await this.#pursue(tick, cancellation));
    }
  }

  /** @returns false when the schedule was ended meanwhile */
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

  /** Runs what is due, a tick under each lease. @returns up to where ticks are over */
  async #pursue(own: number | undefined, cancellation: Cancellation): Promise<number> {
    let overMs = 0;
    for (let hasMore = true; hasMore && cancellation.cancelled === undefined;) {
      hasMore = false;
      try {
        const outages = this.#outages();
        const { call } = this.#terms;
        const lease = await this.#coordination.acquire(this.name, call, this.#stopping.signal, outages);
        const end = await this.#coordination.run(lease, lease, () => this.#work(own, lease, outages.latest));
        hasMore = end.hasMore;
        overMs = Math.max(overMs, end.overMs);
      } catch (error) {
        if (cancellation.cancelled === undefined && own !== undefined)
          this.#listening.tell('skipped', {
            scheduledAt: dateAt(own),
            reason: 'unavailable',
            error: toError(error),
          });
      }
    }
    return overMs;
  }

  async #work(
    own: number | undefined,
    lease: Lease,
    outage: RedlockError | undefined,
  ): Promise<{ readonly hasMore: boolean; readonly overMs: number }> {
    const record = this.#recordUnder(lease);
    const known = await record.read(this.#time);
    const plan = planOf({ schedule: this.#schedule, policy: this.#terms.policy, own }, known);
    this.#tellOf(plan, outage);
    const notBefore = notBeforeMs(known, this.#terms.policy.atLeastForMs);
    if (plan.run !== undefined) return this.#runTick(plan.run, plan.hasMore, { lease, record, known });
    if (plan.over !== undefined)
      await record.write({ tick: plan.over, state: 'done', notBeforeMs: notBefore });
    else if (known.isPartial && known.record !== undefined) await record.write(known.record);
    return { hasMore: false, overMs: plan.over ?? known.record?.tick ?? 0 };
  }

  #tellOf({ skipped, missed }: Plan, outage: RedlockError | undefined): void {
    for (const { tick, reason } of missed) {
      if (reason !== 'interrupted' && tick <= this.#missedUpToMs) continue; // it was told under an earlier lease
      this.#missedUpToMs = Math.max(this.#missedUpToMs, tick);
      this.#listening.tell('missed', { scheduledAt: dateAt(tick), reason });
    }
    for (const { tick, reason } of skipped) {
      // what passed while it waited was dropped for the masters, and not for a run
      const dropped =
        outage === undefined || reason !== 'overlap'
          ? { reason }
          : { reason: 'unavailable' as const, error: outage };
      this.#listening.tell('skipped', { scheduledAt: dateAt(tick), ...dropped });
    }
  }

  /** What it throws before the run means that it was not run. */
  async #runTick(
    tick: number,
    hasMore: boolean,
    {
      lease,
      record,
      known,
    }: { readonly lease: Lease; readonly record: RecordUnderLease; readonly known: Known },
  ): Promise<{ readonly hasMore: boolean; readonly overMs: number }> {
    const scheduledAt = dateAt(tick);
    const fence = lease.fence ?? 0;
    const notBefore = nextNotBeforeMs(known, this.#terms.policy.atLeastForMs);
    await record.write({ tick, state: 'started', notBeforeMs: notBefore });
    lease.assertHeld();
    this.#listening.tell('started', { scheduledAt, fence });
    const beganAtMs = this.#coordination.clock.now();
    let failure: { readonly error: unknown } | undefined;
    let value: { readonly is: T } | undefined;
    try {
      value = { is: await this.#routine(runOf(lease, scheduledAt)) };
    } catch (error) {
      failure = { error };
    }
    const over = this.#overAfter(tick, hasMore);
    try {
      await record.write({ tick: over.at(-1) ?? tick, state: 'done', notBeforeMs: notBefore });
      for (const late of over)
        this.#listening.tell('skipped', { scheduledAt: dateAt(late), reason: 'overlap' });
    } catch (error) {
      failure ??= { error };
    }
    const tookMs = Math.round(this.#coordination.clock.now() - beganAtMs);
    if (failure !== undefined) this.#listening.tell('failed', { scheduledAt, fence, ...failure });
    else if (value !== undefined)
      this.#listening.tell('done', { scheduledAt, fence, value: value.is, tookMs });
    return { hasMore, overMs: over.at(-1) ?? tick };
  }

  /** The ticks that came during a run, where they are dropped. */
  #overAfter(tick: number, hasMore: boolean): readonly number[] {
    const { overlap, missedMost } = this.#terms.policy;
    return hasMore || overlap === 'queue' ? [] : ticksIn(this.#schedule, tick, this.#time.nowMs, missedMost);
  }

  async #runNow(lease: Lease): Promise<JobResult<T>> {
    const { atLeastForMs } = this.#terms.policy;
    const record = this.#recordUnder(lease);
    const known = await record.read(this.#time);
    if (known.earliestMs < notBeforeMs(known, atLeastForMs)) return { executed: false, reason: 'too soon' };
    const notBefore = nextNotBeforeMs(known, atLeastForMs);
    await record.write({ ...runBefore(known), notBeforeMs: notBefore });
    lease.assertHeld();
    const scheduledAt = dateAt(known.nowMs);
    const value = await this.#routine(runOf(lease, scheduledAt));
    lease.assertHeld();
    return { executed: true, value };
  }

  #outages(): Outages {
    const { clock, coordinator } = this.#coordination;
    return new Outages({ coordinator, clock, name: this.name, ttlMs: this.#terms.call.ttlMs });
  }

  #recordUnder(lease: Lease): RecordUnderLease {
    const { call, policy } = this.#terms;
    return new RecordUnderLease(this.#coordination, lease, {
      notes: this.#notes,
      call,
      lifeMs: policy.lifeMs,
    });
  }
}

/** @throws RedlockError `INVALID_ARGUMENT`, `CLOSED` */
export async function jobOf<T>(
  coordination: Coordination,
  name: string,
  options: JobOptions,
  routine: JobRoutine<T>,
): Promise<PublicJob<T>> {
  const terms = resolveJob(options, coordination.terms);
  if (typeof routine !== 'function') throw invalidArgument('routine', routine, 'a function');
  const schedule = await scheduleOf(terms.timing);
  const job = new Job(coordination, name, { terms, schedule, routine });
  job.start();
  return job;
}
