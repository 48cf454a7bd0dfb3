/** A command under a watchdog, as the holder of the lock sees it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { machineNowMs, SystemTimers } from '../../runtime/clock.js';
import { EXIT, Failure } from '../failure.js';
import { type Bounds, type Order, type Report, WATCHDOG } from './orders.js';

/** How it ended. */
export type Ending = Extract<Report, { kind: 'ended' }>;

/** A command, and how it starts and ends. */
export interface Launch {
  readonly command: readonly string[];
  readonly killAfterMs: number;
  /** Whether it reads our standard input. @default true */
  readonly hasInput?: boolean;
  /** More of its environment. @default nothing */
  readonly env?: NodeJS.ProcessEnv;
}

const LOOK_MS = 10;

export class CommandGroup {
  /** Resolves when it has ended. @throws Failure: it could not be run, or its watchdog died */
  readonly ended: Promise<Ending>;
  readonly #watchdog: ChildProcess;
  readonly #killAfterMs: number;
  #group: number | undefined;

  constructor({ command, env, hasInput = true, killAfterMs }: Launch, bounds: Bounds) {
    this.#killAfterMs = killAfterMs;
    const [, program = ''] = process.argv;
    // a session of its own: neither the terminal's signals nor those for our group reach it
    this.#watchdog = spawn(process.execPath, [...process.execArgv, program, WATCHDOG], {
      stdio: [hasInput ? 'inherit' : 'ignore', 'inherit', 'inherit', 'ipc'],
      detached: true,
      env,
    });
    this.ended = new Promise((resolve, reject) => {
      this.#watchdog.on('message', (report: Report) => {
        // leave a group that has ended alone: what the command left behind runs on
        this.#group = report.kind === 'started' ? report.group : undefined;
        if (report.kind === 'ended') resolve(report);
        else if (report.kind === 'failed') reject(cannotRun(command[0] ?? '', report));
      });
      this.#watchdog.once('error', (error) => reject(new Failure(error.message, EXIT.system)));
      // 'exit' may come before the watchdog's last report; the end of its channel comes after it
      this.#watchdog.once('disconnect', () => void this.#onWatchdogGone().then(reject));
    });
    this.#tell({ kind: 'start', command, bounds, killAfterMs });
  }

  /** When it has to end, as far as is known now. */
  set bounds(bounds: Bounds) {
    this.#tell({ kind: 'bounds', bounds });
  }

  signal(signal: NodeJS.Signals): void {
    this.#tell({ kind: 'signal', signal });
  }

  #tell(order: Order): void {
    if (this.#watchdog.connected) this.#watchdog.send(order, () => undefined);
  }

  /** Somebody ended it; or it has reported everything, and then this changes nothing. */
  async #onWatchdogGone(): Promise<Failure> {
    const timers = new SystemTimers();
    const killAtMs = machineNowMs() + this.#killAfterMs;
    this.#kill('SIGTERM');
    while (this.#kill(0)) {
      if (machineNowMs() >= killAtMs) this.#kill('SIGKILL');
      await new Promise<void>((resolve) => timers.wait(LOOK_MS, resolve));
    }
    return new Failure('the watchdog died, so the command was ended', EXIT.system);
  }

  #kill(signal: NodeJS.Signals | 0): boolean {
    if (this.#group === undefined) return false;
    try {
      return process.kill(-this.#group, signal);
    } catch {
      return false;
    }
  }
}

function cannotRun(
  program: string,
  { code, message }: { readonly code: string; readonly message: string },
): Failure {
  if (code === 'ENOENT') return new Failure(`${program}: not found`, EXIT.notFound);
  if (code === 'EACCES' || code === 'ENOEXEC')
    return new Failure(`${program}: cannot be executed (${code})`, EXIT.notExecutable);
  return new Failure(`${program}: ${message}`, EXIT.notExecutable);
}
