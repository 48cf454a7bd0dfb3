/**
 * What instances have done, by the counts that they share every 20 s: the difference between two readings belongs to the time
 * between the two writes. Instances measure that time themselves; when a write was is known to within the time
 * between two looks. Of an instance that was idle, the last 20 s before the write: it wrote once it was in use again.
 */
import type { SharedCounts } from '../lease/instance-record.js';
import { REFRESH_MS } from '../lease/record-writer.js';

/** What one instance has done in some time, by the masters' clock. */
export interface Done {
  readonly fromMs: number;
  readonly toMs: number;
  readonly acquired: number;
  readonly lost: number;
  /** How long its calls took, as `telemetry/wait-times.ts` counts them. */
  readonly waits: readonly number[];
}

/** A reading that comes this much later than it should is not late: the clocks differ. */
const LATE_MS = 15_000;
/** The longest time between two writes of an instance that is in use, and how late a write is read, if masters answer. */
const WRITE_MS = REFRESH_MS + 2_000;
const READ_MS = 6_000;
/** How many instances are followed, at most. */
const MOST_FOLLOWED = 2_000;

const NOTHING: SharedCounts = { ageMs: 0, acquired: 0, lost: 0, waits: [] };

interface Last {
  readonly counts: SharedCounts;
  /** When the instance was made, and when it wrote these counts: by the masters' clock, and rather too late. */
  readonly madeAtMs: number;
  readonly writtenAtMs: number;
}

export class Reports {
  readonly #last = new Map<string, Last>();

  /** Whether any instance shares its counts. */
  get isEmpty(): boolean {
    return this.#last.size === 0;
  }

  /** @param counts  undefined if the instance shares none any more @returns what it has done since its last report */
  read(id: string, counts: SharedCounts | undefined, nowMs: number): Done | undefined {
    const last = this.#last.get(id) ?? (counts === undefined ? undefined : newest(counts, nowMs));
    if (counts === undefined || last === undefined) return void this.#last.delete(id);
    if (counts.ageMs <= last.counts.ageMs) return this.#keep(id, last); // it was read before
    const earliest = Math.min(last.madeAtMs, nowMs - counts.ageMs);
    const madeAtMs = nowMs - earliest - counts.ageMs > LATE_MS ? nowMs - counts.ageMs : earliest;
    const writtenAtMs = madeAtMs + counts.ageMs;
    this.#keep(id, { counts, madeAtMs, writtenAtMs });
    return {
      fromMs: writtenAtMs - Math.min(counts.ageMs - last.counts.ageMs, WRITE_MS),
      toMs: writtenAtMs,
      acquired: since(counts.acquired, last.counts.acquired),
      lost: since(counts.lost, last.counts.lost),
      waits: counts.waits.map((count, i) => since(count, last.counts.waits[i] ?? 0)),
    };
  }

  /** Up to when all that was done is known: to the last report of the instance that is next to report. */
  knownUntilMs(nowMs: number): number {
    const stillToComeMs = nowMs - WRITE_MS - READ_MS;
    const last = [...this.#last.values()].map(({ writtenAtMs }) => writtenAtMs);
    return Math.min(nowMs, ...last.filter((atMs) => atMs >= stillToComeMs));
  }

  clear(): void {
    this.#last.clear();
  }

  #keep(id: string, last: Last): undefined {
    this.#last.delete(id);
    const [oldest] = this.#last.keys();
    if (this.#last.size >= MOST_FOLLOWED && oldest !== undefined) this.#last.delete(oldest);
    this.#last.set(id, last);
  }
}

/** Of an instance that is younger than a report, everything is new; of another one, it is not known when it was done. */
function newest(counts: SharedCounts, nowMs: number): Last {
  const madeAtMs = nowMs - counts.ageMs;
  return counts.ageMs <= REFRESH_MS
    ? { counts: NOTHING, madeAtMs, writtenAtMs: madeAtMs }
    : { counts, madeAtMs, writtenAtMs: nowMs };
}

/** A record may hold anything: other programs can write there. */
function since(now: number, before: number): number {
  return Math.max(0, now - before);
}
