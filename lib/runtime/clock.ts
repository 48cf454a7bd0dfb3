/**
 * Time. Only this file, `random.ts` and the ioredis clients of `lib/redis` touch the machine: no other code in lib reads a
 * clock or sets a timer. So the same code runs in production, with a fake clock in the specs, and in the simulation.
 *
 * Assumes that CLOCK_MONOTONIC never jumps back. It stops while a Linux machine is suspended, though keys on the masters
 * go on expiring; so `now()` adds the boot clock's lead over it. Only `systemWallClock` reads the wall clock, for the one
 * kind of lock whose protocol is based on it, and for the fencing token that the first claim proposes.
 *
 * A test may fake `performance` and the timers, before or after this module is loaded: each call looks them up as globals.
 * The boot clock stays real then. Over real masters that is right: while faked time does not move, a lease ends in real time,
 * as its keys do. Masters in memory do not move either, so over them the boot clock is left out.
 */
import { readFileSync, openSync, readSync } from 'node:fs';
import { uptime } from 'node:os';
import { performance as ofThisThread } from 'node:perf_hooks';
import type { Random } from './random.js';

/** A monotonic clock. Instants are in milliseconds from an arbitrary origin; only differences mean anything. */
export interface Clock {
  /** The instant now. It counts the time for which the machine was suspended. For decisions such as "is it still valid?". */
  now(): number;
  /**
   * Like `now()`, but may notice a suspension `RECENT_MS` late. For the acquisition itself: its holder could just as well be
   * suspended right after it, and uses `now()` for its next checks.
   */
  recent(): number;
  /**
   * Like `now()`, but notices a suspension in the current turn of the event loop only in the next turn. For work on many
   * leases in one turn.
   */
  inTurn(): number;
  /** A cheaper reading that is never later than `now()`. For instants *from* which a validity is measured. */
  earliest(): number;
}

/** The time of day, in ms since 1970. It may step, and differs between machines. */
export type WallClock = () => number;

/**
 * The exceptions to rule 15: timestamp locks, which store an instant of this clock on the server, and the fencing tokens that
 * are proposed before a master's clock is known; a master takes its own clock in place of a proposal that is not near it.
 */
export const systemWallClock: WallClock = () => Date.now();

/** How long the event loop has waited for input so far, in ms: the rest of the time, this process was busy. */
export type IdleTime = () => number;

/** Of this thread's event loop. Bound when this module is loaded: a faked `performance` has no `nodeTiming`. */
const { nodeTiming } = ofThisThread;

export const systemIdleTime: IdleTime = () => nodeTiming.idleTime;

/** How long, in ms of running time, `recent()` may miss a suspension: one step of the boot clock. */
export const RECENT_MS = 10;

/** A timer. Cancelling it after it has fired has no effect. */
export interface Timer {
  /** Prevents the callback. */
  cancel(): void;
}

/** Timers. Delays are in milliseconds. They may exceed what `setTimeout` accepts, and may be `Infinity`. */
export interface Timers {
  /** For the waits between attempts. Keeps the process alive. */
  wait(delayMs: number, callback: () => void): Timer;
  /**
   * For answers of masters: cheap to set and to cancel. Calls back after pending I/O: a reply that arrived during a stall of
   * the event loop does not count as silence. If the turn in which the timer is set lasts long, the delay runs from the turn's
   * end, when the requests go out. Does not keep the process alive; the sockets do.
   */
  deadline(delayMs: number, callback: () => void): Timer;
  /** For background work. Never keeps the process alive, and fires in the first timer phase after it is due. */
  background(delayMs: number, callback: () => void): Timer;
}

/**
 * Bound when this module is loaded: a test that fakes timers means those of the code under test. If they are already faked,
 * as in Jest for all tests, promises take their place: nobody fakes those, and a request that becomes ready a little later
 * goes in a call of its own.
 */
const nextTick: (task: () => void) => void = isTickFaked()
  ? (task) => void Promise.resolve().then(task)
  : process.nextTick.bind(process);

/** @sinonjs/fake-timers, on which Sinon, Jest and Vitest are built, leaves its clock on what it fakes. */
function isTickFaked(): boolean {
  // oxlint-disable-next-line typescript/unbound-method -- it is inspected, and not called
  return Object.hasOwn(process.nextTick, 'clock');
}

/** Calls back once everything has run that was deferred by `setImmediate` in this turn of the event loop, or by what it did. */
export function afterImmediates(callback: () => void): void {
  setImmediate(() => setImmediate(callback));
}

/** Calls back once, after the code that runs now and everything that it resolved, and before any I/O. */
export function atEndOfTurn(callback: () => void): void {
  nextTick(callback);
}

/** The longest delay that `setTimeout` accepts; a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;
/** `/proc/uptime` counts in steps of this size. */
const BOOT_STEP_MS = 10;
/** The boot clock must be ahead by more than this to count as a suspension: two of its steps. */
const SUSPENSION_MS = 2 * BOOT_STEP_MS;

/** From this length on, the duration of a turn of the event loop is added to the deadlines that were set in it. */
const LONG_TURN_MS = 5;

const SPACE = 0x20;
const POINT = 0x2e;
const ZERO = 0x30;

/** Milliseconds since boot, suspensions included. */
export type BootClock = () => number;

/** Reads `/proc/uptime` through a descriptor that stays open: 2 µs, where `os.uptime()` takes 7 to 10. */
function procUptime(): BootClock {
  const file = openSync('/proc/uptime', 'r');
  const bytes = Buffer.alloc(32);
  return () => {
    const length = readSync(file, bytes, 0, bytes.length, 0);
    let hundredths = 0;
    for (let i = 0; i < length; i++) {
      const byte = bytes[i];
      if (byte === undefined || byte === SPACE) break;
      if (byte !== POINT) hundredths = hundredths * 10 + (byte - ZERO);
    }
    return hundredths * BOOT_STEP_MS;
  };
}

let ofThisMachine: { readonly clock: BootClock | undefined } | undefined;

/**
 * The boot clock of this machine; undefined where the monotonic clock counts suspensions itself (macOS and Windows).
 * Shared by all instances: it keeps a file open.
 */
export function systemBootClock(): BootClock | undefined {
  ofThisMachine ??= { clock: findBootClock() };
  return ofThisMachine.clock;
}

function findBootClock(): BootClock | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    return /^\d+\.\d\d /.test(readFileSync('/proc/uptime', 'latin1')) ? procUptime() : () => uptime() * 1000;
  } catch {
    return () => uptime() * 1000; // no /proc in this sandbox: the system call gives the same time
  }
}

/** A clock that all processes of this machine share, that never jumps back and that counts suspensions; in ms since boot. */
export function machineNowMs(): number {
  const boot = systemBootClock();
  return boot === undefined ? Number(process.hrtime.bigint()) / 1_000_000 : boot();
}

/**
 * The clock used in production.
 *
 * @param boot  a clock that counts suspensions, in ms; without one, the monotonic clock is used alone
 * @param monotonic  a clock that never jumps back, in ms
 */
export class SystemClock implements Clock {
  readonly #boot: BootClock | undefined;
  readonly #monotonic: () => number;
  readonly #lead: number; // of the boot clock over the monotonic one, when this clock was created
  #suspendedMs = 0;
  #bootReadAtMs = -Infinity;
  #isReadInTurn = false;

  constructor(boot = systemBootClock(), monotonic = () => performance.now()) {
    this.#boot = boot;
    this.#monotonic = monotonic;
    this.#lead = boot === undefined ? 0 : boot() - monotonic();
  }

  now(): number {
    // The boot clock first: a pause of this process between the two readings must not look like a suspension.
    const boot = this.#boot?.();
    const monotonic = this.#monotonic();
    if (boot !== undefined) {
      const aheadMs = boot - monotonic - this.#lead - this.#suspendedMs;
      if (aheadMs > SUSPENSION_MS) this.#suspendedMs += aheadMs + BOOT_STEP_MS;
      this.#bootReadAtMs = monotonic;
    }
    return monotonic + this.#suspendedMs;
  }

  recent(): number {
    const monotonic = this.#monotonic();
    const sinceMs = monotonic - this.#bootReadAtMs; // below 0 if a test has just faked the monotonic clock
    return sinceMs >= 0 && sinceMs < RECENT_MS ? monotonic + this.#suspendedMs : this.now();
  }

  inTurn(): number {
    if (this.#isReadInTurn) return this.#monotonic() + this.#suspendedMs;
    this.#isReadInTurn = true;
    atEndOfTurn(this.#endTurn);
    return this.now();
  }

  readonly #endTurn = (): void => {
    this.#isReadInTurn = false;
  };

  earliest(): number {
    return this.#monotonic() + this.#suspendedMs;
  }
}

/** The result of `setTimeout`. */
export interface LoopTimer {
  /** Makes it not keep the process alive. */
  unref(): unknown;
}

/**
 * What timers are built on: the event loop of a process. The simulation provides its own, so that the timers below run in
 * it unchanged.
 */
export interface EventLoop {
  /** The monotonic clock, in ms. */
  now(): number;
  /** Accepts whole milliseconds from 1 to 2^31 - 1. */
  setTimeout(callback: () => void, delayMs: number): LoopTimer;
  clearTimeout(timer: LoopTimer | undefined): void;
  /** Calls back after pending I/O was handled. */
  setImmediate(callback: () => void): void;
}

/** The event loop of this process. */
const NODE_LOOP: EventLoop = {
  now: () => performance.now(),
  setTimeout: (callback, delayMs) => setTimeout(callback, delayMs),
  clearTimeout: (timer: NodeJS.Timeout | undefined) => clearTimeout(timer),
  setImmediate: (callback) => void setImmediate(callback),
};

interface TimerKind {
  /** It keeps the process alive. */
  readonly keepsAlive: boolean;
  /** It calls back after pending I/O was handled. */
  readonly isAfterInput: boolean;
}

const WAIT: TimerKind = { keepsAlive: true, isAfterInput: false };
const DEADLINE: TimerKind = { keepsAlive: false, isAfterInput: true };
const BACKGROUND: TimerKind = { keepsAlive: false, isAfterInput: false };
const LONE_DEADLINE: TimerKind = { keepsAlive: true, isAfterInput: true };

class SystemTimer implements Timer {
  /** Undefined once it was cancelled or has called back. */
  #handle: LoopTimer | undefined;
  #leftMs: number;
  readonly #callback: () => void;
  readonly #kind: TimerKind;
  readonly #loop: EventLoop;

  constructor(loop: EventLoop, kind: TimerKind, delayMs: number, callback: () => void) {
    this.#loop = loop;
    this.#kind = kind;
    this.#leftMs = Math.max(delayMs, 0);
    this.#callback = callback;
    this.#arm();
  }

  cancel(): void {
    this.#loop.clearTimeout(this.#handle);
    this.#handle = undefined;
  }

  /** Waits in pieces that `setTimeout` accepts. */
  #arm(): void {
    const piece = Math.min(this.#leftMs, LONGEST_MS);
    this.#leftMs -= piece;
    const handle = this.#loop.setTimeout(() => this.#fire(), Math.ceil(piece));
    if (!this.#kind.keepsAlive) handle.unref();
    this.#handle = handle;
  }

  #fire(): void {
    if (this.#leftMs > 0) this.#arm();
    else if (this.#kind.isAfterInput) this.#loop.setImmediate(() => this.#end());
    else this.#end();
  }

  #end(): void {
    if (this.#handle === undefined) return; // an answer in the same round of I/O cancelled it
    this.#handle = undefined;
    this.#callback();
  }
}

/** A deadline in the queue. */
class Deadline implements Timer {
  atMs: number;
  /** The turn of the event loop in which it was set. */
  readonly turn: number;
  readonly callback: () => void;
  previous: Deadline | undefined;
  next: Deadline | undefined;
  readonly #queue: DeadlineQueue;

  constructor(atMs: number, turn: number, callback: () => void, queue: DeadlineQueue) {
    this.atMs = atMs;
    this.turn = turn;
    this.callback = callback;
    this.#queue = queue;
  }

  cancel(): void {
    this.#queue.remove(this);
  }
}

/**
 * Deadlines ordered by their instants, with one real timer for all. An answer cancels nearly every deadline: a timer for
 * each would cost more than anything else that an acquisition does here.
 */
class DeadlineQueue {
  #first: Deadline | undefined;
  #last: Deadline | undefined;
  #handle: LoopTimer | undefined;
  /**
   * When the real timer is due: never later than the first deadline. It stays set when all deadlines are cancelled, and is in
   * the past from the moment it fires until the search for due deadlines.
   */
  #checksAtMs = Infinity;
  /** Counts the turns of the event loop in which deadlines are set. */
  #turn = 0;
  /** When the first deadline of this turn was set; undefined until then. */
  #turnSinceMs: number | undefined;
  readonly #loop: EventLoop;

  constructor(loop: EventLoop) {
    this.#loop = loop;
  }

  /** @returns undefined for a deadline before the last one: it needs a timer of its own */
  add(delayMs: number, callback: () => void): Timer | undefined {
    const nowMs = this.#loop.now();
    const atMs = nowMs + delayMs;
    const last = this.#last;
    if (last !== undefined && atMs < last.atMs) return undefined;
    if (this.#turnSinceMs === undefined) this.#beginTurn(nowMs);
    const deadline = new Deadline(atMs, this.#turn, callback, this);
    deadline.previous = last;
    if (last === undefined) this.#first = deadline;
    else last.next = deadline;
    this.#last = deadline;
    if (atMs < this.#checksAtMs) this.#arm(atMs, delayMs);
    return deadline;
  }

  /** No effect if it has been removed already. */
  remove(deadline: Deadline): void {
    const { previous, next } = deadline;
    if (previous === undefined && this.#first !== deadline) return;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    deadline.previous = undefined; // once old, a dead one would keep live ones from early collection
    deadline.next = undefined;
  }

  #beginTurn(nowMs: number): void {
    this.#turnSinceMs = nowMs;
    atEndOfTurn(this.#endTurn);
  }

  /** Requests that are sent in a long turn go to the masters at its end: only from then on can they answer. */
  readonly #endTurn = (): void => {
    const spentMs = this.#loop.now() - (this.#turnSinceMs ?? Infinity);
    const turn = this.#turn++;
    this.#turnSinceMs = undefined;
    if (spentMs < LONG_TURN_MS) return;
    for (let one = this.#last; one?.turn === turn; one = one.previous) one.atMs += spentMs;
  };

  #arm(atMs: number, delayMs: number): void {
    if (this.#handle !== undefined) this.#loop.clearTimeout(this.#handle);
    this.#checksAtMs = atMs;
    this.#handle = this.#loop.setTimeout(() => this.#fire(), Math.ceil(Math.max(delayMs, 0)));
    this.#handle.unref();
  }

  #fire(): void {
    this.#handle = undefined;
    // Timers run before sockets are read; the check phase comes after.
    this.#loop.setImmediate(() => this.#check());
  }

  #check(): void {
    const nowMs = this.#loop.now();
    try {
      for (let next = this.#first; next !== undefined && next.atMs <= nowMs; next = this.#first) {
        this.remove(next);
        next.callback();
      }
    } finally {
      this.#checksAtMs = Infinity;
      const first = this.#first;
      if (first !== undefined) this.#arm(first.atMs, first.atMs - nowMs);
    }
  }
}

/** The timers used in production. */
export class SystemTimers implements Timers {
  readonly #loop: EventLoop;
  readonly #deadlines: DeadlineQueue;

  constructor(loop = NODE_LOOP) {
    this.#loop = loop;
    this.#deadlines = new DeadlineQueue(loop);
  }

  wait(delayMs: number, callback: () => void): Timer {
    return new SystemTimer(this.#loop, WAIT, delayMs, callback);
  }

  deadline(delayMs: number, callback: () => void): Timer {
    const added = delayMs > LONGEST_MS ? undefined : this.#deadlines.add(delayMs, callback);
    return added ?? new SystemTimer(this.#loop, DEADLINE, delayMs, callback);
  }

  background(delayMs: number, callback: () => void): Timer {
    return new SystemTimer(this.#loop, BACKGROUND, delayMs, callback);
  }
}

/**
 * Timers for masters without sockets that would keep the process alive during a call: deadlines keep it alive, so that the
 * call can end.
 */
export class SocketlessTimers extends SystemTimers {
  override deadline(delayMs: number, callback: () => void): Timer {
    return new SystemTimer(NODE_LOOP, LONE_DEADLINE, delayMs, callback);
  }
}

/** The same timers, but those for background work keep the process alive as well. */
export function awaitingAll(timers: Timers): Timers {
  return {
    wait: (delayMs, callback) => timers.wait(delayMs, callback),
    deadline: (delayMs, callback) => timers.deadline(delayMs, callback),
    background: (delayMs, callback) => timers.wait(delayMs, callback),
  };
}

/** Time and chance; specs and simulations bring their own. */
export interface Runtime {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
}
