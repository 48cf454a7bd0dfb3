/** What a process does under one lease of its job: it reads the record, reports what it finds, and runs what is due. */
import { dateAt } from './date.js';
import type { Coordination } from '../lease/coordination.js';
import type { Lease } from '../lease/public.js';
import type { Notes } from '../lease/notes.js';
import type { RedlockError } from '../runtime/errors.js';
import type { EventHub } from '../runtime/event-hub.js';
import { type Claim, type Plan, planOf, endedMs, lifeMs, REWRITE_MS } from './due.js';
import { MastersTime } from './masters-time.js';
import type { ResolvedJob } from './options.js';
import type { JobEvents, JobResult, JobRoutine, JobRun } from './public.js';
import { type JobRecord, type Known, nextNotBeforeMs, notBeforeMs, RecordUnderLease } from './record.js';
import { type Schedule, ticksIn } from './schedule.js';

/** The least time between two reports of another schedule under the name, in ms. */
const TELL_AGAIN_MS = 3_600_000;

/** What a job does, and when. */
export interface Task<T> extends Omit<ResolvedJob, 'timing'> {
  readonly schedule: Schedule;
  readonly routine: JobRoutine<T>;
}

/** What a lease was taken for, and what went wrong until it was there. */
export interface Errand extends Pick<Claim, 'own' | 'thereMs' | 'elsewhereMs'> {
  readonly outage: RedlockError | undefined;
}

/** How it ended: whether others will be run, and the instant up to which ticks are over. */
export interface Ended {
  readonly hasMore: boolean;
  readonly overMs: number;
}

/** A lease, its record, and what the record says. */
interface Held {
  readonly lease: Lease;
  readonly record: RecordUnderLease;
  readonly known: Known;
}

export class Work<T> {
  readonly time: MastersTime;
  readonly #coordination: Coordination;
  readonly #task: Task<T>;
  readonly #notes: Notes;
  readonly #events: EventHub<JobEvents<T>>;
  readonly #isStopping: () => boolean;
  #missedUpToMs = 0;
  #toldOtherAtMs = -Infinity;
  /** The latest record that was read or written here. */
  #last: JobRecord | undefined;
  /** A run that masters may have noted, and that was not begun. */
  #unbegun: { readonly fence: number; readonly before: JobRecord | undefined } | undefined;

  /** @param isStopping  whether the schedule is ending, by `stop` or by the instance's `close` */
  constructor(
    coordination: Coordination,
    name: string,
    task: Task<T>,
    events: EventHub<JobEvents<T>>,
    isStopping: () => boolean,
  ) {
    this.time = new MastersTime(coordination);
    this.#coordination = coordination;
    this.#task = task;
    this.#notes = coordination.notesOf(name, 'record');
    this.#events = events;
    this.#isStopping = isStopping;
  }

  /** If it throws, no run was begun. */
  async under(lease: Lease, { outage, ...errand }: Errand): Promise<Ended> {
    const { policy, schedule } = this.#task;
    const held = await this.#read(lease);
    const { known, record } = held;
    const plan = planOf({ schedule, policy, ...errand }, known);
    this.#tellOf(plan, outage);
    if (plan.run !== undefined) return this.#runTick(plan.run, plan.hasMore, held);
    const { tick, state } = this.#before(known);
    const notBefore = notBeforeMs(known, policy.atLeastForMs);
    if (plan.over !== undefined) await this.#write(held, { tick: plan.over, state: 'done', notBefore });
    else if (isFirst(known, errand)) await this.#write(held, { tick, state, notBefore });
    else if (known.isPartial && known.record !== undefined) await record.write(known.record);
    return { hasMore: false, overMs: plan.seenMs };
  }

  /** Runs the job outside the schedule. */
  async now(lease: Lease): Promise<JobResult<T>> {
    const { atLeastForMs } = this.#task.policy;
    const held = await this.#read(lease);
    const { known } = held;
    if (known.earliestMs < notBeforeMs(known, atLeastForMs)) return { executed: false, reason: 'too soon' };
    const notBefore = nextNotBeforeMs(known, atLeastForMs);
    const noted = await this.#write(held, { ...this.#before(known), notBefore });
    lease.assertHeld();
    const value = await this.#during(held, noted, dateAt(known.nowMs));
    lease.assertHeld();
    return { executed: true, value };
  }

  async #read(lease: Lease): Promise<Held> {
    const { call } = this.#task;
    const lifeOf = (tick: number): number => this.#lifeMs(tick);
    const [coordination, notes, isStopping] = [this.#coordination, this.#notes, this.#isStopping];
    const record = new RecordUnderLease(coordination, lease, notes, call, lifeOf, isStopping);
    const { fence, ...read } = await record.read(this.time);
    const unbegun = fence === this.#unbegun?.fence ? this.#unbegun : undefined;
    const found = unbegun === undefined ? read.record : unbegun.before;
    const latest = laterOf(this.#last, found);
    this.#last = latest;
    const other = latest?.schedule;
    const isOther = other !== undefined && other !== this.#task.schedule.text;
    if (isOther) this.#tellOfOther(other);
    return { lease, record, known: { ...read, record: latest, isGone: found === undefined, isOther } };
  }

  #lifeMs(tick: number): number {
    const { policy, schedule } = this.#task;
    return lifeMs(schedule, policy.spanMs, { tick, nowMs: this.time.nowMs });
  }

  async #write(
    { known, record }: Held,
    { notBefore, state, tick }: Pick<JobRecord, 'tick' | 'state'> & { readonly notBefore: number },
  ): Promise<JobRecord> {
    const { text: schedule } = this.#task.schedule;
    const fromMs = known.record === undefined || known.isOther ? known.nowMs : known.record.fromMs;
    const written = { tick, state, notBeforeMs: notBefore, fromMs, schedule };
    await record.write(written);
    if (state === 'done') this.#last = written;
    return written;
  }

  /**
   * The last run, for a record that is written for another reason. Without a record, no tick counts as run whose record would
   * still be there. A new record hides that the masters may have forgotten earlier ones: so nothing up to that instant is begun.
   */
  #before({ nowMs, record, sinceMs }: Known): Pick<JobRecord, 'tick' | 'state'> {
    const { spanMs } = this.#task.policy;
    const { tick, state } = record ?? { tick: endedMs(spanMs, nowMs), state: 'done' };
    return tick < sinceMs ? { tick: sinceMs, state: 'done' } : { tick, state };
  }

  #tellOf({ skipped, missed }: Plan, outage: RedlockError | undefined): void {
    for (const { tick, reason } of missed) {
      if (reason !== 'interrupted' && tick <= this.#missedUpToMs) continue; // it was reported under an earlier lease
      this.#missedUpToMs = Math.max(this.#missedUpToMs, tick);
      this.#events.tell('missed', { scheduledAt: dateAt(tick), reason });
    }
    for (const { tick, reason } of skipped) {
      // the masters, and not a run, are the reason why ticks were dropped that passed while it waited
      const dropped =
        outage === undefined || reason !== 'overlap'
          ? { reason }
          : { reason: 'unavailable' as const, error: outage };
      this.#events.tell('skipped', { scheduledAt: dateAt(tick), ...dropped });
    }
  }

  #tellOfOther(other: string): void {
    const nowMs = this.#coordination.clock.now();
    if (nowMs - this.#toldOtherAtMs < TELL_AGAIN_MS) return;
    this.#toldOtherAtMs = nowMs;
    this.#events.tell('otherSchedule', { own: this.#task.schedule.text, other });
  }

  /** If it throws, the run was not begun. */
  async #runTick(tick: number, hasMore: boolean, held: Held): Promise<Ended> {
    const { known, lease } = held;
    const { fence = 0 } = lease;
    const notBefore = nextNotBeforeMs(known, this.#task.policy.atLeastForMs);
    this.#unbegun = { fence, before: known.record };
    const noted = await this.#write(held, { tick, state: 'started', notBefore });
    lease.assertHeld();
    this.#unbegun = undefined;
    this.#last = noted;
    return this.#run(noted, hasMore, held);
  }

  async #run(noted: JobRecord, hasMore: boolean, held: Held): Promise<Ended> {
    const { clock } = this.#coordination;
    const { fence = 0 } = held.lease;
    const { tick, notBeforeMs: notBefore } = noted;
    const scheduledAt = dateAt(tick);
    this.#events.tell('started', { scheduledAt, fence });
    const beganAtMs = clock.now();
    let end: { readonly value: T } | { readonly error: unknown };
    try {
      end = { value: await this.#during(held, noted, scheduledAt) };
    } catch (error) {
      end = { error };
    }
    const over = this.#overAfter(tick, hasMore);
    try {
      await this.#write(held, { tick: over.at(-1) ?? tick, state: 'done', notBefore });
      for (const late of over) this.#events.tell('skipped', { scheduledAt: dateAt(late), reason: 'overlap' });
    } catch (error) {
      if ('value' in end) end = { error };
    }
    const tookMs = Math.round(clock.now() - beganAtMs);
    if ('error' in end) this.#events.tell('failed', { scheduledAt, fence, ...end });
    else this.#events.tell('done', { scheduledAt, fence, tookMs, ...end });
    return { hasMore, overMs: over.at(-1) ?? tick };
  }

  /** Runs the routine, and writes its record again and again meanwhile: others have to find it if the runner dies. */
  async #during({ lease, record }: Held, noted: JobRecord, scheduledAt: Date): Promise<T> {
    const { timers } = this.#coordination;
    const again = (): void => {
      void record.rewrite(noted);
      timer = timers.background(REWRITE_MS, again);
    };
    let timer = timers.background(REWRITE_MS, again);
    try {
      return await this.#task.routine(runOf(lease, scheduledAt));
    } finally {
      timer.cancel();
    }
  }

  /** The ticks that came during a run, if they are dropped. */
  #overAfter(tick: number, hasMore: boolean): readonly number[] {
    const { overlap, missedMost } = this.#task.policy;
    const { schedule } = this.#task;
    return hasMore || overlap === 'queue' ? [] : ticksIn(schedule, tick, this.time.nowMs, missedMost);
  }
}

/** The record that was read; or the remembered one, if the masters have lost it: its run is over. */
function laterOf(remembered: JobRecord | undefined, found: JobRecord | undefined): JobRecord | undefined {
  if (remembered === undefined || (found !== undefined && found.tick >= remembered.tick)) return found;
  const notBeforeMs = Math.max(remembered.notBeforeMs, found?.notBeforeMs ?? 0);
  return { ...remembered, state: 'done', notBeforeMs };
}

/** The job of that schedule exists from here on: processes that come later need to know which ticks were missed. */
function isFirst({ isOther, record }: Known, { own }: Pick<Errand, 'own'>): boolean {
  return own === undefined && (record === undefined || isOther);
}

export function runOf(lease: Lease, scheduledAt: JobRun['scheduledAt']): JobRun {
  const { signal, fence = 0 } = lease;
  return { signal, fence, scheduledAt, remainingMs: () => lease.remainingMs() };
}
