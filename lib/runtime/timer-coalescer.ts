/**
 * Timers for work that may start a little early: where there are many, those that fall due at about the same time fire
 * together, so that what they send goes together. A process that wakes up for a few of them every few milliseconds spends
 * more on waking up, with cold caches, than on the work.
 */
import type { Clock, Timer, Timers } from './clock.js';

/** With fewer timers than this, each fires at its own instant. */
const FEW = 8;
/** More than so many in one slot would be too long about it: the next ones fire earlier. */
const FULL = 2_048;
/**
 * More than so many in one turn would hold the event loop up. Where there is the time, the next ones follow as soon as what
 * those sent is done, while caches are warm and a master is not given more than it takes; so much later at the latest.
 */
const CHUNK = 256;
const PACE_MS = 8;
/** A slot that is as wide as this has the time: its last chunk is late by half of it at most. */
const WIDE_MS = (2 * FULL * PACE_MS) / CHUNK;

/** Runs `fire`, and has what several ask for meanwhile done together; calls back when that is done, if it can tell. */
export type Together = (fire: () => void, onDone: () => void) => void;

/** What is in the wheel at most once at a time. */
export class Due {
  /** @internal */
  slot: Slot | undefined;
  /** @internal */
  previous: Due | undefined;
  /** @internal */
  next: Due | undefined;
  readonly #callback: () => void;

  constructor(callback: () => void) {
    this.#callback = callback;
  }

  run(): void {
    this.#callback();
  }
}

/** Those that fire at one instant; where they are paced, a chunk of them, and the others soon after. */
class Slot {
  readonly atMs: number;
  readonly isPaced: boolean;
  timer: Timer | undefined;
  first: Due | undefined;
  count = 0;
  /** In so many turns some of them have fired. */
  turns = 0;

  constructor(atMs: number, isPaced: boolean) {
    this.atMs = atMs;
    this.isPaced = isPaced;
  }

  add(due: Due): void {
    due.slot = this;
    due.next = this.first;
    if (this.first !== undefined) this.first.previous = due;
    this.first = due;
    this.count++;
  }

  remove(due: Due): void {
    if (due.previous === undefined) this.first = due.next;
    else due.previous.next = due.next;
    if (due.next !== undefined) due.next.previous = due.previous;
    due.slot = undefined;
    due.previous = undefined;
    due.next = undefined;
    this.count--;
  }
}

export class Wheel {
  readonly #clock: Clock;
  readonly #timers: Timers;
  /** By their instants; those that are paced, and the others. */
  readonly #paced = new Map<number, Slot>();
  readonly #prompt = new Map<number, Slot>();
  readonly #together: Together;
  #size = 0;

  constructor(clock: Clock, timers: Timers, together: Together = (fire) => fire()) {
    this.#clock = clock;
    this.#timers = timers;
    this.#together = together;
  }

  /** How many are in it. */
  get size(): number {
    return this.#size;
  }

  /**
   * Fires at that instant, or up to `slackMs` earlier where there are many; earlier still only where too many fall
   * together. Where the slack is wide, the last of many may be late by a few milliseconds.
   */
  add(due: Due, atMs: number, slackMs: number): void {
    this.remove(due);
    const nowMs = this.#clock.earliest();
    const width = this.#size < FEW ? 0 : widthWithin(Math.min(slackMs, (atMs - nowMs) / 2));
    const slot = this.#slotFor(nowMs, Math.max(atMs, nowMs), width);
    slot.add(due);
    this.#size++;
    slot.timer ??= this.#timers.background(Math.ceil(slot.atMs - nowMs), () => this.#fire(slot));
  }

  /** Nothing happens to one that is not in it. */
  remove(due: Due): void {
    const { slot } = due;
    if (slot === undefined) return;
    slot.remove(due);
    this.#size--;
    if (slot.count > 0) return;
    slot.timer?.cancel();
    slot.timer = undefined;
    this.#forget(slot);
  }

  /** Nothing is added to it any more. */
  #forget(slot: Slot): void {
    const slots = slot.isPaced ? this.#paced : this.#prompt;
    if (slots.get(slot.atMs) === slot) slots.delete(slot.atMs);
  }

  #slotFor(nowMs: number, atMs: number, width: number): Slot {
    const isPaced = width >= WIDE_MS;
    if (width === 0) return this.#slotAt(atMs, isPaced);
    const slots = isPaced ? this.#paced : this.#prompt;
    const wantedMs = Math.floor(atMs / width) * width;
    const earliestMs = (nowMs + atMs) / 2;
    for (let slotMs = wantedMs; slotMs > earliestMs; slotMs -= width) {
      if ((slots.get(slotMs)?.count ?? 0) < FULL) return this.#slotAt(slotMs, isPaced);
    }
    return this.#slotAt(wantedMs, isPaced);
  }

  #slotAt(atMs: number, isPaced: boolean): Slot {
    const slots = isPaced ? this.#paced : this.#prompt;
    let slot = slots.get(atMs);
    if (slot === undefined) {
      slot = new Slot(atMs, isPaced);
      slots.set(atMs, slot);
    }
    return slot;
  }

  #fire(slot: Slot): void {
    this.#forget(slot);
    slot.timer = undefined;
    const turn = ++slot.turns;
    const count = slot.isPaced ? Math.min(slot.count, CHUNK) : slot.count;
    const goOn = (): void => {
      if (slot.turns !== turn || slot.timer === undefined) return; // it has gone on, is about to, or nothing is left
      slot.timer.cancel();
      this.#fire(slot);
    };
    if (count === 1) this.#run(slot, count);
    else this.#together(() => this.#run(slot, count), goOn);
    if (slot.count > 0) slot.timer = this.#timers.background(PACE_MS, () => this.#fire(slot));
  }

  #run(slot: Slot, count: number): void {
    for (let left = count; left > 0 && slot.first !== undefined; left--) {
      const due = slot.first;
      slot.remove(due);
      this.#size--;
      due.run();
    }
  }
}

/** Slots are as wide as a power of two, so that they coincide whoever asks; 0 where there is no slack to speak of. */
function widthWithin(slackMs: number): number {
  return slackMs < 1 ? 0 : 2 ** Math.floor(Math.log2(slackMs));
}
