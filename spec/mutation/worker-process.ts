/** A worker as its parent sees it: a process that is started again when it is stuck, or gone. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Bundle } from './bundle.js';
import type { Answer, Order } from './messages.js';

const PROGRAM = fileURLToPath(new URL('worker.ts', import.meta.url));
/** How long it may say nothing as it starts, and while what is right is measured. */
const PATIENCE_MS = 60_000;
/** How long it has for cleaning up before it is killed. */
const GRACE_MS = 1_000;

export class WorkerProcess {
  readonly #bundle: Bundle;
  /** How long one spec may take, in ms; 0: for ever, if something is left that can happen. */
  readonly #specMs: number;
  #child: ChildProcess | undefined;

  constructor(bundle: Bundle, specMs: number) {
    this.#bundle = bundle;
    this.#specMs = specMs;
  }

  /** What it answers; `stuck` if it begins no other spec for that long, or if it ended instead. */
  async order(order: Order, silenceMs = PATIENCE_MS): Promise<Answer | 'stuck'> {
    const child = this.#child ?? (await this.#start());
    child.send(order);
    return this.#hear(child, silenceMs);
  }

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const timer = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
    child.kill('SIGTERM');
    await new Promise((resolve) => child.once('exit', resolve));
    clearTimeout(timer);
  }

  async #start(): Promise<ChildProcess> {
    const { path, packages } = this.#bundle;
    const child = fork(PROGRAM, [path, JSON.stringify(packages), String(this.#specMs)], {
      execArgv: ['--no-warnings', '--import', 'tsx'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#child = child;
    if ((await this.#hear(child, PATIENCE_MS)) === 'stuck') throw new Error('the worker does not start');
    return child;
  }

  async #hear(child: ChildProcess, silenceMs: number): Promise<Answer | 'stuck'> {
    const told = await new Promise<Answer | 'stuck'>((resolve) => {
      const timer = setTimeout(() => end('stuck'), silenceMs);
      const end = (answer: Answer | 'stuck'): void => {
        clearTimeout(timer);
        child.removeAllListeners('message').removeAllListeners('exit');
        resolve(answer);
      };
      child.on('message', (answer: Answer) => (answer.kind === 'going on' ? timer.refresh() : end(answer)));
      child.once('exit', () => end('stuck'));
    });
    if (told === 'stuck') await this.stop();
    return told;
  }
}
