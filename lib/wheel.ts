/**
 * Timers for work that may start a little late: where there are many, those that fall due at about the same time fire in
 * one turn, so that what they send goes together; and no more of them than a turn can well take.
 */
import type { Clock, Timer, Timers } from './clock.js';

/** With fewer timers than this, each fires at its own instant. */
const FEW = 64;
/** More than so many in one slot would hold the event loop up: the next ones fire earlier. */
const FULL = 512;

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

/** Those that fire at one instant. */
class Slot {
  readonly atMs: number;
  timer: Timer | undefined;
  first: Due | undefined;
  count = 0;

  constructor(atMs: number) {
    this.atMs = atMs;
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
  readonly #slots = new Map<number, Slot>();
  #size = 0;

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
  }

  /** How many are in it. */
  get size(): number {
    return this.#size;
  }

  /** Fires at that instant, or up to `slackMs` later where there are many; earlier only where too many fall together. */
  add(due: Due, atMs: number, slackMs: number): void {
    this.remove(due);
    const nowMs = this.#clock.earliest();
    const slot = this.#slotFor(nowMs, Math.max(atMs, nowMs), this.#size < FEW ? 0 : slackMs);
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
    this.#slots.delete(slot.atMs);
  }

  #slotFor(nowMs: number, atMs: number, slackMs: number): Slot {
    if (slackMs < 1) return this.#slotAt(atMs);
    const width = 2 ** Math.floor(Math.log2(slackMs));
    const wantedMs = Math.ceil(atMs / width) * width;
    const earliestMs = (nowMs + atMs) / 2;
    for (let slotMs = wantedMs; slotMs > earliestMs; slotMs -= width) {
      if ((this.#slots.get(slotMs)?.count ?? 0) < FULL) return this.#slotAt(slotMs);
    }
    return this.#slotAt(wantedMs);
  }

  #slotAt(atMs: number): Slot {
    let slot = this.#slots.get(atMs);
    if (slot === undefined) {
      slot = new Slot(atMs);
      this.#slots.set(atMs, slot);
    }
    return slot;
  }

  #fire(slot: Slot): void {
    this.#slots.delete(slot.atMs);
    slot.timer = undefined;
    for (let due = slot.first; due !== undefined; due = slot.first) {
      slot.remove(due);
      this.#size--;
      due.run();
    }
  }
}
