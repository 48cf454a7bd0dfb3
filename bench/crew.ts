/** Worker processes, one for each contender, and the talk with them. */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { ContenderName } from './contenders/index.js';
import type { Answers, Order, Reply } from './orders.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Nothing that the bench orders takes longer; what does is a hang, and ends the run. */
const LONGEST_MS = 120_000;

/**
 * Compiles the worker and the library as they are published. Under tsx each closure would cost a call that gives it its
 * name, and that would be measured.
 */
export async function compileWorker(): Promise<string> {
  const folder = join(ROOT, 'node_modules/.cache/quorate-bench');
  await mkdir(folder, { recursive: true });
  const outfile = join(folder, 'worker.mjs');
  await build({
    entryPoints: [join(ROOT, 'bench/worker.ts')],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
    logLevel: 'warning',
  });
  return outfile;
}

interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class Worker {
  readonly name: ContenderName;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  constructor(name: ContenderName, file: string) {
    this.name = name;
    this.#child = fork(file, [name], { execArgv: ['--expose-gc', '--enable-source-maps'] });
    this.#child.on('message', (reply: Reply) => this.#settle(reply));
    this.#child.on('exit', (code, signal) => this.#fail(new Error(`${name} ended (${signal ?? code})`)));
    this.#child.on('error', (error) => this.#fail(error));
  }

  static async start(name: ContenderName, file: string): Promise<Worker> {
    const worker = new Worker(name, file);
    await worker.#answer(0);
    return worker;
  }

  /** Rejects with what went wrong there, or when it takes too long. */
  async order<O extends Order>(order: O): Promise<Answers[O['kind']]> {
    const id = ++this.#lastId;
    const answer = this.#answer(id);
    this.#child.send({ id, order });
    return (await answer) as Answers[O['kind']]; // the worker answers by the same table
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.disconnect();
    await gone;
  }

  async #answer(id: number): Promise<unknown> {
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject });
        timer = setTimeout(() => reject(new Error(`${this.name} hangs`)), LONGEST_MS);
      });
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  #settle(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id);
    if ('error' in reply) waiting?.reject(new Error(`${this.name}: ${reply.error}`));
    else waiting?.resolve(reply.answer);
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error);
  }
}
