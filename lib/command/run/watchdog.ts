/**
 * The watchdog of `quorate run`: a process of its own that starts the command in a process group of its own, and ends that
 * group when the lock cannot be kept. It decides by its own clock, so it also acts when the holder of the lock hangs, is
 * stopped, or is dead. It knows nothing of Redis, and holds no secret.
 *
 * What it cannot do: end what has left the process group (setsid), act while the whole machine is suspended, or name the
 * group if it is killed between starting the command and reporting it. The fencing token closes these gaps.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { machineNowMs, SocketlessTimers, type Timer } from '../../runtime/clock.js';
import type { Bounds, Order, Report } from './orders.js';

/** The time between two looks at a group that is being ended. */
const LOOK_MS = 10;
/** Supervisors send these to all processes of a unit: the watchdog goes on until the command has ended. */
const NOT_FOR_US: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'];

/** Runs until the command has ended. @returns the exit code, which nobody reads */
export async function watch(): Promise<number> {
  if (process.send === undefined) return 1; // called by hand
  for (const signal of NOT_FOR_US) process.on(signal, () => undefined);
  await new Watchdog().done;
  return 0;
}

class Watchdog {
  readonly done: Promise<void>;
  readonly #timers = new SocketlessTimers();
  #finish: () => void = () => undefined;
  #child: ChildProcess | undefined;
  #bounds: Bounds = { termAtMs: Infinity, killAtMs: Infinity };
  #killAfterMs = 0;
  /** TERM was sent by us. */
  #isCut = false;
  #timer: Timer | undefined;

  constructor() {
    this.done = new Promise((resolve) => (this.#finish = resolve));
    process.on('message', (order: Order) => this.#obey(order));
    process.on('disconnect', () => this.#onHolderGone());
  }

  #obey(order: Order): void {
    switch (order.kind) {
      case 'start':
        this.#killAfterMs = order.killAfterMs;
        this.#bounds = order.bounds;
        return this.#start(order.command);
      case 'bounds':
        if (!this.#isCut) this.#bounds = order.bounds;
        return this.#check();
      case 'signal':
        this.#signal(order.signal);
    }
  }

  #start([program = '', ...args]: readonly string[]): void {
    const child = spawn(program, args, { stdio: 'inherit', detached: true });
    this.#child = child;
    child.once('error', (error: Error & { readonly code?: string }) => {
      if (child.pid !== undefined) return; // a signal that could not be sent
      this.#tell({ kind: 'failed', code: error.code ?? '', message: error.message });
      this.#end();
    });
    child.once('exit', (exitCode, signal) => void this.#onExit(exitCode, signal));
    if (child.pid === undefined) return;
    this.#tell({ kind: 'started', group: child.pid });
    this.#check();
  }

  /** Waits for the next deadline. Orders that arrived while this process was stopped are read before it acts. */
  #check(): void {
    this.#timer?.cancel();
    if (this.#child === undefined) return;
    const { termAtMs, killAtMs } = this.#bounds;
    const nextMs = this.#isCut ? killAtMs : Math.min(termAtMs, killAtMs);
    this.#timer = this.#timers.deadline(nextMs - machineNowMs(), () => this.#doDue());
  }

  #doDue(): void {
    const nowMs = machineNowMs();
    if (nowMs >= this.#bounds.killAtMs) {
      this.#isCut = true;
      this.#signal('SIGKILL');
      return;
    }
    if (!this.#isCut && nowMs >= this.#bounds.termAtMs) {
      this.#isCut = true;
      this.#signal('SIGTERM');
      this.#signal('SIGCONT'); // a stopped process would not get TERM
    }
    this.#check();
  }

  /** Nobody extends the lock any more, and nobody waits for the command. */
  #onHolderGone(): void {
    if (this.#child === undefined) return this.#end();
    const nowMs = machineNowMs();
    const killAtMs = Math.min(this.#bounds.killAtMs, nowMs + this.#killAfterMs);
    this.#bounds = { termAtMs: nowMs, killAtMs };
    this.#check();
  }

  /** Where the group is being ended, what the command has left behind ends with it. */
  async #onExit(exitCode: number | null, signal: NodeJS.Signals | null): Promise<void> {
    while (this.#isCut && this.#isAlive()) {
      if (machineNowMs() >= this.#bounds.killAtMs) this.#signal('SIGKILL');
      await new Promise<void>((resolve) => this.#timers.wait(LOOK_MS, resolve));
    }
    this.#tell({ kind: 'ended', exitCode, signal, isCut: this.#isCut });
    this.#end();
  }

  #isAlive(): boolean {
    return this.#signal(0);
  }

  /** To all of the group. @returns whether there is one */
  #signal(signal: NodeJS.Signals | 0): boolean {
    const group = this.#child?.pid;
    if (group === undefined) return false;
    try {
      return process.kill(-group, signal);
    } catch (error) {
      return (error as { readonly code?: string }).code === 'EPERM'; // some may not be signalled: it is there
    }
  }

  #tell(report: Report): void {
    if (process.connected) process.send?.(report, () => undefined);
  }

  #end(): void {
    this.#timer?.cancel();
    this.#child = undefined;
    if (process.connected) process.disconnect();
    this.#finish();
  }
}
