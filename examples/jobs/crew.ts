/** The worker processes: started by fork, heard and struck from here, and gone when `end()` resolves. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FromWorker, ToWorker, WorkerSettings } from './messages.js';

const PROGRAM = fileURLToPath(new URL('worker.ts', import.meta.url));

export class Worker {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #gone: Promise<unknown>;

  constructor(settings: WorkerSettings, hear: (worker: Worker, message: FromWorker) => void) {
    this.name = settings.name;
    // Our own `--import tsx` is inherited. Standard output is kept free for the progress line.
    this.#child = fork(PROGRAM, [JSON.stringify(settings)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#gone = once(this.#child, 'exit').catch(() => undefined);
    // the cast: worker.ts sends nothing else
    this.#child.on('message', (message) => hear(this, message as FromWorker));
    this.#child.on('error', () => undefined); // not started, or not reached: its exit tells
  }

  get isGone(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null || this.#child.pid === undefined;
  }

  /** Undefined while it runs. */
  get ending(): string | undefined {
    if (!this.isGone) return undefined;
    return this.#child.signalCode ?? `exit code ${this.#child.exitCode ?? 'unknown'}`;
  }

  tell(message: ToWorker): void {
    // one that was killed a moment ago cannot be told: no error, its exit follows
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  /** SIGKILL: it cannot say good-bye, nor release what it holds. */
  kill(): Promise<void> {
    this.killNow();
    return this.gone();
  }

  killNow(): void {
    if (!this.isGone) this.#child.kill('SIGKILL');
  }

  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  async gone(): Promise<void> {
    if (!this.isGone) await this.#gone;
  }
}

export class Crew {
  readonly workers: readonly Worker[];

  constructor(settings: readonly WorkerSettings[], hear: (worker: Worker, message: FromWorker) => void) {
    this.workers = settings.map((each) => new Worker(each, hear));
  }

  named(name: string): Worker {
    const worker = this.workers.find((each) => each.name === name);
    if (worker === undefined) throw new Error(`no worker ${name}`);
    return worker;
  }

  tellAll(message: ToWorker): void {
    for (const worker of this.workers) worker.tell(message);
  }

  /** Also for the exit of our own process, where nothing can be awaited. SIGKILL ends a paused one too. */
  killAllNow(): void {
    for (const worker of this.workers) worker.killNow();
  }

  async allGone(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.gone()));
  }
}
