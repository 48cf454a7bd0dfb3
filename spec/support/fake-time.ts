/**
 * Virtual time: a clock and timers that move only when a spec says so. Nothing waits for real.
 */
import type { Clock, Timer, Timers } from '../../lib/runtime/clock.js';

interface Pending {
  readonly atMs: number;
  readonly order: number;
  readonly callback: () => void;
}

export class FakeTime implements Clock, Timers {
  #nowMs = 1_000;
  #order = 0;
  #pending: Pending[] = [];
  #stalledMs = 0;

  now(): number {
    return this.#nowMs;
  }

  recent(): number {
    return this.#nowMs;
  }

  inTurn(): number {
    return this.#nowMs;
  }

  earliest(): number {
    return this.#nowMs;
  }

  /** Timers that are set and have not fired. */
  get pending(): number {
    return this.#pending.length;
  }

  wait(delayMs: number, callback: () => void): Timer {
    return this.#set(delayMs, callback);
  }

  deadline(delayMs: number, callback: () => void): Timer {
    return this.#set(delayMs, callback);
  }

  background(delayMs: number, callback: () => void): Timer {
    return this.#set(delayMs, callback);
  }

  /** Moves on by that much, firing what is due in order, and lets all promises settle in between. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs;
    await settle();
    for (;;) {
      const next = this.#next();
      if (next === undefined || next.atMs > untilMs) break;
      this.#pending = this.#pending.filter((one) => one !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.callback();
      await settle();
    }
    this.#nowMs = untilMs;
    await settle();
  }

  /** The clock goes on while no timer fires: a stalled event loop, a suspended machine. */
  stall(byMs: number): void {
    this.#nowMs += byMs;
    this.#stalledMs += byMs;
  }

  /** How long the event loop has waited, or might have. */
  idleMs(): number {
    return this.#nowMs - this.#stalledMs;
  }

  #set(delayMs: number, callback: () => void): Timer {
    const one: Pending = { atMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, callback };
    this.#pending.push(one);
    return {
      cancel: () => {
        this.#pending = this.#pending.filter((other) => other !== one);
      },
    };
  }

  #next(): Pending | undefined {
    let first: Pending | undefined;
    for (const one of this.#pending) {
      if (
        first === undefined ||
        one.atMs < first.atMs ||
        (one.atMs === first.atMs && one.order < first.order)
      )
        first = one;
    }
    return first;
  }
}

/** Lets every promise that can settle do so. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}
