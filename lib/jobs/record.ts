/**
 * A job's record: up to which instant its ticks are done, and when the next run may begin. It is the note of the job's lock:
 * written and read under the vote, by quorum. So the holder of the lock knows what every earlier holder has written with
 * success, and no earlier holder can write any more.
 */
import type { Coordination } from '../lease/coordination.js';
import type { Lease } from '../lease/public.js';
import type { Notes } from '../lease/notes.js';
import { RedlockError } from '../runtime/errors.js';
import { BACK_US } from '../protocol/lua/stored.js';
import type { Note, NoteReading } from '../protocol/lone-requests.js';
import type { CallTerms } from '../protocol/terms.js';
import { medianOf } from '../runtime/statistics.js';
import type { MastersTime } from './masters-time.js';

/** The latest record. Instants are in ms of the masters' time. */
export interface JobRecord {
  /** Ticks up to this instant are begun. */
  readonly tick: number;
  /** Of the run of that tick. */
  readonly state: 'started' | 'done';
  /** No run begins before. */
  readonly notBeforeMs: number;
  /** When the job of that schedule came into being: earlier ticks are nobody's. */
  readonly fromMs: number;
  /** The schedule of the job that wrote it, in words; undefined if that is not known, or without a schedule. */
  readonly schedule: string | undefined;
}

/** What a quorum knows under the vote. */
export interface Known {
  readonly record: JobRecord | undefined;
  /** The masters may have forgotten what was written before this instant; 0 if they have forgotten nothing. */
  readonly sinceMs: number;
  /** The median of the masters' clocks, and their bounds. */
  readonly nowMs: number;
  readonly earliestMs: number;
  readonly latestMs: number;
  /** Some masters have forgotten what a quorum knows. */
  readonly isPartial: boolean;
  /** The masters have no record: one that is here is what the process remembers. */
  readonly isGone: boolean;
  /** The record was written by a job of another schedule. */
  readonly isOther: boolean;
}

/** What a quorum says under the vote: what it knows, before it is compared with what the process knows. */
export interface Read extends Omit<Known, 'isGone' | 'isOther'> {
  /** The fencing token under which the record was written; 0 without one. */
  readonly fence: number;
}

/** How far the masters' clocks may be apart, in ms, when an instant of one is compared with that of another. */
const SKEW_MS = BACK_US / 1_000;
/** A read or write that fails is tried again while the lease is held, for one ttl at most; the pauses grow, in ms. */
const [TRY_AGAIN_MS, SLOWEST_TRY_MS] = [20, 1_000];
/** How long it is tried again once the schedule is ending. */
export const STOPPING_MS = 5_000;

const LETTERS = { started: 's', done: 'd' } as const;
/** Version, tick, state, not before; in the second version also when the schedule came into being, and its text. */
const FORM = /^2\|(\d{1,16})\|([sd])\|(\d{1,16})\|(\d{1,16})\|(.*)$/s;
const FIRST_FORM = /^1\|(\d{1,16})\|([sd])\|(\d{1,16})$/;

export class RecordUnderLease {
  readonly #coordination: Coordination;
  readonly #notes: Notes;
  readonly #lease: Lease;
  readonly #call: CallTerms;
  readonly #lifeOf: (tick: number) => number;
  readonly #isStopping: (() => boolean) | undefined;
  #seq = 0;

  /** @param isStopping  whether the schedule is ending: its end waits for what is written, but not for a ttl */
  constructor(
    coordination: Coordination,
    lease: Lease,
    notes: Notes,
    call: CallTerms,
    lifeOf: (tick: number) => number,
    isStopping?: () => boolean,
  ) {
    this.#coordination = coordination;
    this.#lease = lease;
    this.#notes = notes;
    this.#call = call;
    this.#lifeOf = lifeOf;
    this.#isStopping = isStopping;
  }

  /** @throws RedlockError `NO_QUORUM`, `QUARANTINED`, `LOCK_LOST` and others: it cannot be read */
  async read(time?: MastersTime): Promise<Read> {
    const { clock } = this.#coordination;
    let sentAtMs = clock.earliest();
    const readings = await this.#again(() => {
      sentAtMs = clock.earliest();
      return this.#notes.readUnder(this.#lease.token, this.#nodeTimeoutMs);
    });
    const clocksUs = readings.map(({ clockUs }) => clockUs);
    time?.learn(clocksUs, sentAtMs);
    return knownFrom(readings, this.#notes);
  }

  /** @throws RedlockError as above: a quorum may not know it */
  async write(record: JobRecord): Promise<void> {
    const note = this.#noteOf(record);
    await this.#again(
      async () => (await this.#notes.write(this.#lease.token, note, this.#nodeTimeoutMs)) ?? DONE,
    );
  }

  /** Writes it again, so that it lives on. Tried once; never rejects. */
  async rewrite(record: JobRecord): Promise<void> {
    await this.#notes.write(this.#lease.token, this.#noteOf(record), this.#nodeTimeoutMs);
  }

  #noteOf(record: JobRecord): Note {
    const seq = ++this.#seq;
    const lifeMs = Math.ceil(this.#lifeOf(record.tick));
    return { fence: this.#lease.fence ?? 0, seq, text: textOf(record), lifeMs };
  }

  get #nodeTimeoutMs(): number {
    return this.#coordination.coordinator.nodeTimeoutFor(this.#call);
  }

  async #again<T>(attempt: () => Promise<T | RedlockError>): Promise<T> {
    const { clock, timers } = this.#coordination;
    let untilMs = clock.now() + this.#lease.ttlMs;
    for (let tries = 1; ; tries++) {
      this.#lease.assertHeld();
      const result = await attempt();
      if (!RedlockError.is(result)) return result;
      this.#lease.assertHeld(); // why it is not held any more says more
      if (this.#isStopping?.() === true) untilMs = Math.min(untilMs, clock.now() + STOPPING_MS);
      if (clock.now() >= untilMs || result.code === 'LOCK_LOST') throw result;
      const delayMs = Math.min(TRY_AGAIN_MS * tries, SLOWEST_TRY_MS);
      await new Promise<void>((resolve) => void timers.wait(delayMs, resolve));
    }
  }
}

const DONE = 'done';

function whole(ms: number): string {
  return String(Math.max(0, Math.ceil(ms)));
}

/** A record without a schedule, as that of `runOnce`, is written in the form of the first version. */
function textOf({ fromMs, notBeforeMs, schedule, state, tick }: JobRecord): string {
  const first = [whole(tick), LETTERS[state], whole(notBeforeMs)].join('|');
  return schedule === undefined ? `1|${first}` : `2|${first}|${whole(fromMs)}|${schedule}`;
}

/** @param readings  of a quorum at least, each under the reader's vote */
function knownFrom(readings: readonly NoteReading[], { quorum, resource }: Notes): Read {
  const notes = readings.filter(({ fence }) => fence > 0);
  const latest = notes.reduce<NoteReading | undefined>(
    (one, other) =>
      one === undefined || other.fence > one.fence || (other.fence === one.fence && other.seq > one.seq)
        ? other
        : one,
    undefined,
  );
  // any quorum of them will do: take the one that remembers most
  const since = readings.map(({ sinceMs }) => sinceMs).sort((a, b) => a - b);
  const sinceMs = since[quorum - 1] ?? Infinity;
  const clocksMs = readings.map(({ clockUs }) => clockUs / 1_000);
  const nowMs = medianOf(clocksMs);
  return {
    record: latest === undefined ? undefined : parse(latest.text, resource, nowMs),
    fence: latest?.fence ?? 0,
    sinceMs: sinceMs === 0 ? 0 : sinceMs + SKEW_MS,
    nowMs,
    earliestMs: Math.min(...clocksMs),
    latestMs: Math.max(...clocksMs),
    isPartial: sinceMs === 0 && since.some((one) => one > 0),
  };
}

function parse(text: string, resource: string, nowMs: number): JobRecord {
  const [, tickText, letter, notBefore, from, schedule] = FORM.exec(text) ?? FIRST_FORM.exec(text) ?? [];
  if (letter === undefined) {
    const what = `the record of the job ${JSON.stringify(resource)} was written by a later version, or by something else`;
    throw new RedlockError('WRONG_KIND', what, { resources: [resource] });
  }
  const tick = Number(tickText);
  // if a record of the first version has no tick, there was no schedule
  const fromMs = from === undefined ? (tick === 0 ? Math.floor(nowMs) : tick) : Number(from);
  return {
    tick,
    state: letter === 's' ? 'started' : 'done',
    notBeforeMs: Number(notBefore),
    fromMs,
    schedule,
  };
}

/** When a run may begin, considering that masters may have forgotten the last one. */
export function notBeforeMs(
  { record, sinceMs }: Pick<Known, 'record' | 'sinceMs'>,
  atLeastForMs: number,
): number {
  const forgottenMs = sinceMs === 0 || atLeastForMs === 0 ? 0 : sinceMs + atLeastForMs;
  return Math.max(record?.notBeforeMs ?? 0, forgottenMs);
}

/**
 * When the next run may begin, if one begins now. Without a least distance there is no such bound: masters' clocks that are
 * apart would create one.
 */
export function nextNotBeforeMs({ latestMs }: Pick<Known, 'latestMs'>, atLeastForMs: number): number {
  return atLeastForMs === 0 ? 0 : latestMs + atLeastForMs;
}
