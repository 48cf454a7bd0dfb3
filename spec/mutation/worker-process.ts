/** A worker as its parent sees it: a process that is started again when it is stuck, or gone. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Bundle } from './bundle.js';
import type { Answer, Order } from './messages.js';

const PROGRAM = fileURLToPath(new URL('worker.ts', import.meta.url));
/** What is right may take its time: nothing is said of it. */
const START_MS = 60_000;
/** Whoever says nothing for so long is stuck: a spec takes less than a second. */
const SILENCE_MS = 10_000;
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

  /** What it answers; `stuck` if nothing goes on there, or if it ended instead. */
  async order(order: Order): Promise<Answer | 'stuck'> {
    const child = this.#child ?? (await this.#start());
    child.send(order);
    return this.#hear(child, order.kind === 'measure' ? START_MS : SILENCE_MS);
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
      execArgv: ['--import', 'tsx'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#child = child;
    if ((await this.#hear(child, START_MS)) === 'stuck') throw new Error('the worker does not start');
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
