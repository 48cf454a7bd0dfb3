/**
 * Timers for work that may start a little early. If there are many, those that are due at about the same time fire together,
 * so that their requests are sent together. Waking up every few milliseconds for a few of them, with cold caches, would cost
 * more than the work.
 */
import type { Clock, Timer, Timers } from './clock.js';

/** With fewer timers than this, each fires at its own instant. */
const FEW = 8;
/** The timers of one bucket. More would take too long at once, so further ones fire earlier. */
const FULL = 2_048;
/**
 * The timers of one turn of the event loop in a paced bucket: more would block the loop. The next chunk follows as soon
 * as the requests of this one are done, while caches are warm and the masters are not overloaded, and after `PACE_MS` at
 * the latest.
 */
const CHUNK = 256;
const PACE_MS = 8;
/** A bucket at least this wide is paced: its last chunk is late by at most half of the width. */
const WIDE_MS = (2 * FULL * PACE_MS) / CHUNK;

/** Handles the subjects that are due. Calls back when that is done, if it knows. */
export type OnDue<Subject> = (due: readonly Subject[], onDone: () => void) => void;

/** A timer for a subject; it is set for at most one instant at a time. */
export class Due<Subject> {
  readonly subject: Subject;
  /** @internal */
  bucket: Bucket<Subject> | undefined;
  /** @internal */
  previous: Due<Subject> | undefined;
  /** @internal */
  next: Due<Subject> | undefined;

  constructor(subject: Subject) {
    this.subject = subject;
  }
}

/**
 * The timers of one instant. In a paced bucket a first chunk of them fires at that instant, and the others soon after.
 */
class Bucket<Subject> {
  readonly atMs: number;
  readonly isPaced: boolean;
  timer: Timer | undefined;
  first: Due<Subject> | undefined;
  count = 0;
  /** In how many turns of the event loop some of its timers have fired. */
  turns = 0;

  constructor(atMs: number, isPaced: boolean) {
    this.atMs = atMs;
    this.isPaced = isPaced;
  }

  add(due: Due<Subject>): void {
    due.bucket = this;
    due.next = this.first;
    if (this.first !== undefined) this.first.previous = due;
    this.first = due;
    this.count++;
  }

  remove(due: Due<Subject>): void {
    if (due.previous === undefined) this.first = due.next;
    else due.previous.next = due.next;
    if (due.next !== undefined) due.next.previous = due.previous;
    due.bucket = undefined;
    due.previous = undefined;
    due.next = undefined;
    this.count--;
  }
}

export class TimerCoalescer<Subject> {
  readonly #clock: Clock;
  readonly #timers: Timers;
  /** Buckets by their instants: the paced ones, and the others. */
  readonly #paced = new Map<number, Bucket<Subject>>();
  readonly #prompt = new Map<number, Bucket<Subject>>();
  readonly #onDue: OnDue<Subject>;
  #size = 0;

  constructor(clock: Clock, timers: Timers, onDue: OnDue<Subject>) {
    this.#clock = clock;
    this.#timers = timers;
    this.#onDue = onDue;
  }

  /** How many timers are set. */
  get size(): number {
    return this.#size;
  }

  /**
   * Fires at that instant, or up to `slackMs` earlier if there are many timers; even earlier only if too many fall
   * together. With a wide slack, the last of many may be late by a few milliseconds.
   */
  add(due: Due<Subject>, atMs: number, slackMs: number): void {
    this.remove(due);
    const nowMs = this.#clock.earliest();
    const width = this.#size < FEW ? 0 : widthWithin(Math.min(slackMs, (atMs - nowMs) / 2));
    const bucket = this.#bucketFor(nowMs, Math.max(atMs, nowMs), width);
    bucket.add(due);
    this.#size++;
    bucket.timer ??= this.#timers.background(Math.ceil(bucket.atMs - nowMs), () => this.#fire(bucket));
  }

  /** No effect if it is not set. */
  remove(due: Due<Subject>): void {
    const { bucket } = due;
    if (bucket === undefined) return;
    bucket.remove(due);
    this.#size--;
    if (bucket.count > 0) return;
    bucket.timer?.cancel();
    bucket.timer = undefined;
    this.#forget(bucket);
  }

  /** No timer is added to the bucket from now on. */
  #forget(bucket: Bucket<Subject>): void {
    const buckets = bucket.isPaced ? this.#paced : this.#prompt;
    if (buckets.get(bucket.atMs) === bucket) buckets.delete(bucket.atMs);
  }

  #bucketFor(nowMs: number, atMs: number, width: number): Bucket<Subject> {
    const isPaced = width >= WIDE_MS;
    if (width === 0) return this.#bucketAt(atMs, isPaced);
    const buckets = isPaced ? this.#paced : this.#prompt;
    const wantedMs = Math.floor(atMs / width) * width;
    const earliestMs = (nowMs + atMs) / 2;
    for (let bucketMs = wantedMs; bucketMs > earliestMs; bucketMs -= width) {
      if ((buckets.get(bucketMs)?.count ?? 0) < FULL) return this.#bucketAt(bucketMs, isPaced);
    }
    return this.#bucketAt(wantedMs, isPaced);
  }

  #bucketAt(atMs: number, isPaced: boolean): Bucket<Subject> {
    const buckets = isPaced ? this.#paced : this.#prompt;
    let bucket = buckets.get(atMs);
    if (bucket === undefined) {
      bucket = new Bucket<Subject>(atMs, isPaced);
      buckets.set(atMs, bucket);
    }
    return bucket;
  }

  #fire(bucket: Bucket<Subject>): void {
    this.#forget(bucket);
    bucket.timer = undefined;
    const turn = ++bucket.turns;
    const count = bucket.isPaced ? Math.min(bucket.count, CHUNK) : bucket.count;
    const goOn = (): void => {
      if (bucket.turns !== turn || bucket.timer === undefined) return; // the next chunk is already on its way, or nothing is left
      bucket.timer.cancel();
      this.#fire(bucket);
    };
    this.#onDue(this.#take(bucket, count), goOn);
    if (bucket.count > 0) bucket.timer = this.#timers.background(PACE_MS, () => this.#fire(bucket));
  }

  #take(bucket: Bucket<Subject>, count: number): readonly Subject[] {
    const taken: Subject[] = [];
    for (let left = count; left > 0 && bucket.first !== undefined; left--) {
      const due = bucket.first;
      bucket.remove(due);
      this.#size--;
      taken.push(due.subject);
    }
    return taken;
  }
}

/** Widths are powers of two, so that buckets coincide for different slacks; 0 if there is next to no slack. */
function widthWithin(slackMs: number): number {
  return slackMs < 1 ? 0 : 2 ** Math.floor(Math.log2(slackMs));
}
