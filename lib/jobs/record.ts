/**
 * A job's record: up to which instant its ticks are done, and when the next run may begin. It is the note of the job's lock:
 * written and read under the vote, by quorum. So whoever has the lock knows what every holder before it has written with
 * success, and no earlier holder writes any more.
 */
import type { Coordination } from '../lease/coordination.js';
import type { Lease } from '../lease/public.js';
import type { Notes } from '../lease/notes.js';
import { RedlockError } from '../runtime/errors.js';
import { BACK_US } from '../protocol/lua/fence-bounds.js';
import type { NoteReading } from '../protocol/note-requests.js';
import type { ResolvedCall } from '../input/options.js';
import { medianOf } from '../runtime/statistics.js';
import type { MastersTime } from './masters-time.js';

/** What was written last. Instants are in ms of the masters' time. */
export interface JobRecord {
  /** Ticks up to this instant are begun. */
  readonly tick: number;
  /** Of the run of that tick. */
  readonly state: 'started' | 'done';
  /** No run begins before. */
  readonly notBeforeMs: number;
}

/** What a quorum knows under the vote. */
export interface Known {
  readonly record: JobRecord | undefined;
  /** What was written before this instant may be forgotten; 0 if nothing is. */
  readonly sinceMs: number;
  /** The median of the masters' clocks, and their bounds. */
  readonly nowMs: number;
  readonly earliestMs: number;
  readonly latestMs: number;
  /** Some masters have forgotten what a quorum knows. */
  readonly isPartial: boolean;
}

/** How far the masters' clocks may be apart, in ms, where an instant of one is compared with that of another. */
const SKEW_MS = BACK_US / 1_000;
/** A read or write that fails is tried again this often, while the lease is held. */
const MOST_TRIES = 5;
const TRY_AGAIN_MS = 20;

const LETTERS = { started: 's', done: 'd' } as const;
const FORM = /^1\|(\d{1,16})\|([sd])\|(\d{1,16})$/;

export class RecordUnderLease {
  readonly #coordination: Coordination;
  readonly #notes: Notes;
  readonly #lease: Lease;
  readonly #call: ResolvedCall;
  readonly #lifeMs: number;
  #seq = 0;

  constructor(
    coordination: Coordination,
    lease: Lease,
    terms: { notes: Notes; call: ResolvedCall; lifeMs: number },
  ) {
    this.#coordination = coordination;
    this.#lease = lease;
    this.#notes = terms.notes;
    this.#call = terms.call;
    this.#lifeMs = terms.lifeMs;
  }

  /** @throws RedlockError `NO_QUORUM`, `QUARANTINED`, `LOCK_LOST` and others: it cannot be read */
  async read(time?: MastersTime): Promise<Known> {
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
  async write({ tick, state, notBeforeMs }: JobRecord): Promise<void> {
    const seq = ++this.#seq;
    const text = ['1', whole(tick), LETTERS[state], whole(notBeforeMs)].join('|');
    const note = { fence: this.#lease.fence ?? 0, seq, text, lifeMs: this.#lifeMs };
    await this.#again(
      async () => (await this.#notes.write(this.#lease.token, note, this.#nodeTimeoutMs)) ?? DONE,
    );
  }

  get #nodeTimeoutMs(): number {
    return this.#coordination.nodeTimeoutFor(this.#call);
  }

  async #again<T>(attempt: () => Promise<T | RedlockError>): Promise<T> {
    for (let tries = 1; ; tries++) {
      this.#lease.assertHeld();
      const result = await attempt();
      if (!RedlockError.is(result)) return result;
      this.#lease.assertHeld(); // why it is not held any more says more
      if (tries === MOST_TRIES || result.code === 'LOCK_LOST') throw result;
      await new Promise<void>(
        (resolve) => void this.#coordination.timers.wait(TRY_AGAIN_MS * tries, resolve),
      );
    }
  }
}

const DONE = 'done';

function whole(ms: number): string {
  return String(Math.max(0, Math.ceil(ms)));
}

/** @param readings  of a quorum at least, each under the reader's vote */
function knownFrom(readings: readonly NoteReading[], { quorum, resource }: Notes): Known {
  const notes = readings.filter(({ fence }) => fence > 0);
  const latest = notes.reduce<NoteReading | undefined>(
    (one, other) =>
      one === undefined || other.fence > one.fence || (other.fence === one.fence && other.seq > one.seq)
        ? other
        : one,
    undefined,
  );
  // any quorum of them will do: that which remembers most
  const since = readings.map(({ sinceMs }) => sinceMs).sort((a, b) => a - b);
  const sinceMs = since[quorum - 1] ?? Infinity;
  const clocksMs = readings.map(({ clockUs }) => clockUs / 1_000);
  return {
    record: latest === undefined ? undefined : parse(latest.text, resource),
    sinceMs: sinceMs === 0 ? 0 : sinceMs + SKEW_MS,
    nowMs: medianOf(clocksMs),
    earliestMs: Math.min(...clocksMs),
    latestMs: Math.max(...clocksMs),
    isPartial: sinceMs === 0 && since.some((one) => one > 0),
  };
}

function parse(text: string, resource: string): JobRecord {
  const [, tick, letter, notBefore] = FORM.exec(text) ?? [];
  if (letter === undefined) {
    const what = `the record of the job ${JSON.stringify(resource)} was written by a later version, or by something else`;
    throw new RedlockError('WRONG_KIND', what, { resources: [resource] });
  }
  return { tick: Number(tick), state: letter === 's' ? 'started' : 'done', notBeforeMs: Number(notBefore) };
}

/**
 * The last run, for who writes about something else. What is written hides that the masters may have forgotten what went
 * before: so nothing up to there is to be begun any more.
 */
export function runBefore({ nowMs, record, sinceMs }: Known): Pick<JobRecord, 'tick' | 'state'> {
  const { tick, state } = record ?? { tick: nowMs - 1, state: 'done' };
  return tick < sinceMs ? { tick: sinceMs, state: 'done' } : { tick, state };
}

/** When a run may begin, where the last one may be forgotten. */
export function notBeforeMs({ record, sinceMs }: Known, atLeastForMs: number): number {
  const forgottenMs = sinceMs === 0 || atLeastForMs === 0 ? 0 : sinceMs + atLeastForMs;
  return Math.max(record?.notBeforeMs ?? 0, forgottenMs);
}

/**
 * When the next run may begin, where one begins now. Without a span there is no such bound: masters' clocks that are apart
 * would make one.
 */
export function nextNotBeforeMs({ latestMs }: Known, atLeastForMs: number): number {
  return atLeastForMs === 0 ? 0 : latestMs + atLeastForMs;
}
