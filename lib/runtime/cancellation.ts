/**
 * Ends a wait from outside: by the caller's `AbortSignal`, or by `close()`.
 *
 * However many waits share a signal, it gets one listener: Node warns at the eleventh, and each costs memory.
 */

import type { Timers } from './clock.js';

/** Why a wait was ended. */
export type Cancelled = { readonly code: 'ABORTED'; readonly cause: unknown } | { readonly code: 'CLOSED' };

/** Bounded by the waits under way; a signal's entry is removed with the last of them. */
const waitsBySignal = new WeakMap<AbortSignal, Set<Cancellation>>();

function listen(this: AbortSignal): void {
  const waits = waitsBySignal.get(this);
  waitsBySignal.delete(this);
  if (waits === undefined) return;
  const why: Cancelled = { code: 'ABORTED', cause: this.reason };
  for (const wait of waits) wait.cancel(why);
}

/** One wait of one caller. Call `dispose` when the wait is over. */
export class Cancellation {
  /** Set once the wait was ended from outside. */
  cancelled: Cancelled | undefined;
  /** Links in the instance's list of calls under way. */
  previous: Cancellation | undefined;
  next: Cancellation | undefined;
  readonly #signal: AbortSignal | undefined;
  /** Called once, when the wait is ended from outside. */
  #onCancel: ((why: Cancelled) => void) | undefined;

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
    if (signal === undefined) return;
    if (signal.aborted) {
      this.cancelled = { code: 'ABORTED', cause: signal.reason };
      return;
    }
    const waits = waitsBySignal.get(signal);
    if (waits !== undefined) {
      waits.add(this);
      return;
    }
    waitsBySignal.set(signal, new Set([this]));
    signal.addEventListener('abort', listen, { once: true });
  }

  cancel(why: Cancelled): void {
    if (this.cancelled !== undefined) return;
    this.cancelled = why;
    this.#onCancel?.(why);
  }

  /** Calls back once, when the wait is ended from outside; at once if it already was. Never after `dispose`. */
  listen(onCancel: (why: Cancelled) => void): void {
    this.#onCancel = onCancel;
    if (this.cancelled !== undefined) onCancel(this.cancelled);
  }

  /** Listens while `step` is under way, in place of the current listener. Settles as `step` does. */
  async during<T>(onCancel: (why: Cancelled) => void, step: Promise<T>): Promise<T> {
    const before = this.#onCancel;
    this.listen(onCancel);
    try {
      return await step;
    } finally {
      if (this.#onCancel === onCancel) this.#onCancel = before;
    }
  }

  /** Resolves after that time, or as soon as the wait is ended from outside. */
  async sleep(timers: Timers, delayMs: number): Promise<void> {
    if (this.cancelled !== undefined) return;
    let wake = (): void => undefined;
    const slept = new Promise<void>((resolve) => (wake = resolve));
    const timer = timers.wait(delayMs, wake);
    await this.during(wake, slept);
    timer.cancel();
  }

  dispose(): void {
    this.#onCancel = undefined;
    const signal = this.#signal;
    if (signal === undefined) return;
    const waits = waitsBySignal.get(signal);
    if (waits === undefined || !waits.delete(this) || waits.size > 0) return;
    waitsBySignal.delete(signal);
    signal.removeEventListener('abort', listen);
  }
}
