/**
 * A client's process: clocks that run at a rate of their own, timers, and the faults of a process. It is paused (by a
 * collector of garbage, by SIGSTOP: what comes in waits, clocks go on), suspended with its machine (the monotonic clock
 * stands still, the boot clock goes on), or it crashes.
 */
import { type Clock, SystemClock, type Timer, type Timers } from '../clock.js';
import type { World } from './world.js';

/** In which order a process that goes on handles what came in meanwhile: as an event loop does. */
const Turn = { timers: 0, sockets: 1, check: 2 } as const;
type Turn = (typeof Turn)[keyof typeof Turn];

interface Held {
  readonly turn: Turn;
  readonly run: () => void;
}

/** The boot clock of Linux counts in steps of 10 ms. */
const BOOT_STEP_MS = 10;

export class SimulatedClient implements Timers {
  readonly name: string;
  readonly clock: Clock;
  isAlive = true;
  /** Its machine stands still, or its process does. */
  isPaused = false;
  /** What its wall clock is ahead; nothing of ours reads that. */
  wallStepMs = 0;
  /** Timers that are set and have not fired. */
  pending = 0;
  readonly #world: World;
  readonly #rate: number;
  #pausedMs = 0;
  #pausedSinceMs: number | undefined;
  #suspendedMs = 0;
  #suspendedSinceMs: number | undefined;
  #held: Held[] = [];

  /** @param rate  how fast its clocks run, in ms per true ms */
  constructor(name: string, world: World, rate: number) {
    this.name = name;
    this.#world = world;
    this.#rate = rate;
    this.clock = new SystemClock(
      () => this.bootMs(),
      () => this.monotonicMs(),
    );
  }

  get isSuspended(): boolean {
    return this.#suspendedSinceMs !== undefined;
  }

  /** How long it has been running: its monotonic clock without the pauses. */
  ranMs(): number {
    const pauseMs = this.#pausedSinceMs === undefined ? 0 : this.#world.nowMs - this.#pausedSinceMs;
    return this.#rate * (this.#world.nowMs - this.#pausedMs - pauseMs);
  }

  /** Stands still while the machine is suspended. */
  monotonicMs(): number {
    const untilMs = this.#suspendedSinceMs ?? this.#world.nowMs;
    return this.#rate * (untilMs - this.#suspendedMs);
  }

  bootMs(): number {
    return Math.floor((this.#rate * this.#world.nowMs) / BOOT_STEP_MS) * BOOT_STEP_MS;
  }

  /** What `Date.now()` would say. */
  wallMs(): number {
    return this.#rate * this.#world.nowMs + this.wallStepMs;
  }

  wait(delayMs: number, callback: () => void): Timer {
    return this.#set(delayMs, callback, Turn.timers);
  }

  deadline(delayMs: number, callback: () => void): Timer {
    return this.#set(delayMs, callback, Turn.check);
  }

  background(delayMs: number, callback: () => void): Timer {
    return this.#set(delayMs, callback, Turn.timers);
  }

  /** Resolves after so many ms of its own running time. */
  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.wait(delayMs, resolve));
  }

  /** Something comes in from outside: now, when the process goes on, or never. */
  hear(run: () => void): void {
    this.#deliver(run, Turn.sockets);
  }

  pause(): void {
    this.isPaused = true;
    this.#pausedSinceMs ??= this.#world.nowMs;
  }

  /** The whole machine: paused, and its monotonic clock stands still. */
  suspend(): void {
    this.pause();
    this.#suspendedSinceMs ??= this.#world.nowMs;
  }

  goOn(): void {
    if (this.#suspendedSinceMs !== undefined) {
      this.#suspendedMs += this.#world.nowMs - this.#suspendedSinceMs;
      this.#suspendedSinceMs = undefined;
    }
    if (this.#pausedSinceMs !== undefined) this.#pausedMs += this.#world.nowMs - this.#pausedSinceMs;
    this.#pausedSinceMs = undefined;
    this.isPaused = false;
    const held = this.#held.splice(0).sort((one, other) => one.turn - other.turn);
    for (const { run, turn } of held) this.#world.after(0, () => this.#deliver(run, turn));
  }

  crash(): void {
    this.isAlive = false;
    this.#held = [];
  }

  #set(delayMs: number, callback: () => void, turn: Turn): Timer {
    if (delayMs === Infinity) return { cancel: () => undefined };
    let isSet = true;
    this.pending++;
    const unset = (): void => {
      if (isSet) this.pending--;
      isSet = false;
    };
    const dueMs = this.monotonicMs() + Math.ceil(Math.max(delayMs, 0));
    const fire = (): void => {
      if (!isSet) return;
      const leftMs = dueMs - this.monotonicMs();
      if (leftMs > 1e-6) {
        event = this.#world.after(leftMs / this.#rate, arrive); // the machine was suspended meanwhile
        return;
      }
      unset();
      callback();
    };
    const arrive = (): void => this.#deliver(fire, turn);
    let event = this.#world.after((dueMs - this.monotonicMs()) / this.#rate, arrive);
    return {
      cancel: () => {
        unset();
        event.isCancelled = true;
      },
    };
  }

  #deliver(run: () => void, turn: Turn): void {
    if (!this.isAlive) return;
    if (this.isPaused) this.#held.push({ turn, run });
    else run();
  }
}
