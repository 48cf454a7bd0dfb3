/**
 * A client's process: clocks with a rate of their own, an event loop under the production timers, and the faults of a
 * process. It may be paused (by garbage collection or SIGSTOP: input waits, clocks go on), suspended with its machine
 * (the monotonic clock stops, the boot clock goes on), or crash.
 */
import {
  type Clock,
  type EventLoop,
  SystemClock,
  SystemTimers,
  type Timer,
  type Timers,
} from '../../../lib/runtime/clock.js';
import type { Event, Lane, World } from './world.js';

/** The order in which a process that goes on handles what came in meanwhile, as in an event loop. */
const Turn = { timers: 0, sockets: 1, check: 2 } as const;
type Turn = (typeof Turn)[keyof typeof Turn];

interface Held {
  readonly turn: Turn;
  readonly run: () => void;
}

/** The boot clock of Linux counts in steps of 10 ms. */
const BOOT_STEP_MS = 10;
/** The longest delay that `setTimeout` accepts; it turns a longer one into 1 ms. */
const LONGEST_MS = 2 ** 31 - 1;

/** A timer of the event loop. */
class LoopTimer {
  /** The event with which it fires; another one after a suspension. */
  event: Event | undefined;
  isSet = true;

  unref(): void {} // the world ends when a run is over
}

export class SimulatedClient implements Timers {
  readonly name: string;
  readonly clock: Clock;
  isAlive = true;
  /** Its process is paused, or its machine is suspended. */
  isPaused = false;
  /** How far its wall clock is ahead: timestamp locks read that clock, and the first claims propose it. */
  wallStepMs = 0;
  onCrash: () => void = () => undefined;
  /** Timers that somebody waits for. */
  pending = 0;
  /** Timers of its event loop: those above, and the ones that the production timers keep set. */
  armed = 0;
  readonly #world: World;
  readonly #rate: number;
  readonly #timers: Timers;
  readonly #lane: Lane;
  #pausedMs = 0;
  #pausedSinceMs: number | undefined;
  #suspendedMs = 0;
  #suspendedSinceMs: number | undefined;
  #held: Held[] = [];
  /** How much of what it held is still to be handled, now that it has gone on. */
  #backlog = 0;

  /** @param rate  how fast its clocks run, in ms per true ms */
  constructor(name: string, world: World, rate: number) {
    this.name = name;
    this.#world = world;
    this.#rate = rate;
    this.#lane = { kind: 'timer', client: name, server: '' };
    this.clock = new SystemClock(
      () => this.bootMs(),
      () => this.monotonicMs(),
    );
    this.#timers = new SystemTimers(this.#eventLoop());
  }

  /** For how long its machine was suspended so far, by true time. */
  get suspendedMs(): number {
    return this.#suspendedMs;
  }

  get isSuspended(): boolean {
    return this.#suspendedSinceMs !== undefined;
  }

  /** How long it has been running: its monotonic clock without the pauses. */
  ranMs(): number {
    const pauseMs = this.#pausedSinceMs === undefined ? 0 : this.#world.nowMs - this.#pausedSinceMs;
    return this.#rate * (this.#world.nowMs - this.#pausedMs - pauseMs);
  }

  /** Stops while the machine is suspended. */
  monotonicMs(): number {
    const untilMs = this.#suspendedSinceMs ?? this.#world.nowMs;
    return this.#rate * (untilMs - this.#suspendedMs);
  }

  bootMs(): number {
    return Math.floor((this.#rate * this.#world.nowMs) / BOOT_STEP_MS) * BOOT_STEP_MS;
  }

  /** The result of `Date.now()`, since the beginning of the run. */
  wallMs(): number {
    return this.#rate * this.#world.nowMs + this.wallStepMs;
  }

  wait(delayMs: number, callback: () => void): Timer {
    return this.#counted(callback, (counted) => this.#timers.wait(delayMs, counted));
  }

  deadline(delayMs: number, callback: () => void): Timer {
    return this.#counted(callback, (counted) => this.#timers.deadline(delayMs, counted));
  }

  background(delayMs: number, callback: () => void): Timer {
    return this.#counted(callback, (counted) => this.#timers.background(delayMs, counted));
  }

  /** Resolves after this many ms of its own running time. */
  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.wait(delayMs, resolve));
  }

  /** Input from outside: handled now, when the process goes on, or never. */
  hear(run: () => void): void {
    this.#deliver(run, Turn.sockets);
  }

  pause(): void {
    this.isPaused = true;
    this.#pausedSinceMs ??= this.#world.nowMs;
  }

  /** Suspends the machine: the process is paused, and its monotonic clock stops. */
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
    for (const one of held) this.#handleSoon(one);
  }

  crash(): void {
    this.isAlive = false;
    this.#held = [];
    this.onCrash();
  }

  #counted(callback: () => void, set: (counted: () => void) => Timer): Timer {
    let isPending = true;
    this.pending++;
    const end = (): void => {
      if (isPending) this.pending--;
      isPending = false;
    };
    const timer = set(() => {
      end();
      callback();
    });
    return {
      cancel: () => {
        end();
        timer.cancel();
      },
    };
  }

  #eventLoop(): EventLoop {
    return {
      now: () => this.monotonicMs(),
      setTimeout: (callback, delayMs) => this.#setTimeout(callback, delayMs),
      clearTimeout: (timer: LoopTimer | undefined) => this.#clear(timer),
      setImmediate: (callback) => void this.#world.after(0, () => this.#deliver(callback, Turn.check)),
    };
  }

  #setTimeout(callback: () => void, delayMs: number): LoopTimer {
    const timer = new LoopTimer();
    this.armed++;
    const taken = delayMs >= 1 && delayMs <= LONGEST_MS ? Math.trunc(delayMs) : 1;
    const dueMs = this.monotonicMs() + taken;
    const schedule = (): void => {
      const leftMs = dueMs - this.monotonicMs();
      const due = (): void => this.#deliver(fire, Turn.timers);
      timer.event = this.#world.after(leftMs / this.#rate, due, true, this.#lane);
    };
    const fire = (): void => {
      if (!timer.isSet) return;
      if (dueMs - this.monotonicMs() > 1e-6) return schedule(); // the machine was suspended meanwhile
      this.#clear(timer);
      callback();
    };
    schedule();
    return timer;
  }

  #clear(timer: LoopTimer | undefined): void {
    if (timer?.isSet !== true) return;
    timer.isSet = false;
    if (timer.event !== undefined) timer.event.isCancelled = true;
    this.armed--;
  }

  /** What comes in while a backlog is handled waits behind it: no message overtakes one that came in before. */
  #deliver(run: () => void, turn: Turn): void {
    if (this.#backlog > 0) this.#handleSoon({ run, turn });
    else this.#handle({ run, turn });
  }

  /** In an event of its own, behind the rest of the backlog. */
  #handleSoon(one: Held): void {
    this.#backlog++;
    this.#world.after(0, () => {
      this.#backlog--;
      this.#handle(one);
    });
  }

  #handle(one: Held): void {
    if (!this.isAlive) return;
    if (this.isPaused) this.#held.push(one);
    else one.run();
  }
}
