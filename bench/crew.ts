/** Worker processes, one for each contender, and the talk with them. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { compile } from './compile.js';
import { type ClientName, DEFAULT_CLIENT } from './contenders/connection.js';
import type { ContenderName } from './contenders/index.js';
import type { Answers, Order, Reply } from './orders.js';

/** For an order that measures nothing. */
const SHORT_MS = 15_000;

/** Compiles the worker, the library included. */
export function compileWorker(entry: 'main' | 'profile' | 'lasting' = 'main'): Promise<string> {
  const module = fileURLToPath(new URL(`worker/${entry}.ts`, import.meta.url));
  return compile(module, entry === 'main' ? 'worker' : entry);
}

/** What a contender did wrong: a line of the report, and not the end of the run. */
export class Trouble extends Error {}

interface Limit {
  /** @default 15 s */
  readonly capMs?: number;
  /** How long the work itself is meant to take. @default 0 */
  readonly durationMs?: number;
}

interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

export interface WorkerOptions {
  /** Of Node. */
  readonly flags?: readonly string[];
  /** @default ioredis */
  readonly client?: ClientName;
}

export class Worker {
  readonly name: ContenderName;
  readonly #onUncaught: (what: string) => void;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #ended: string | undefined;

  constructor(
    name: ContenderName,
    file: string,
    onUncaught: (what: string) => void,
    { flags = [], client = DEFAULT_CLIENT }: WorkerOptions = {},
  ) {
    this.name = name;
    this.#onUncaught = onUncaught;
    const execArgv = ['--expose-gc', '--enable-source-maps', ...flags];
    this.#child = fork(file, [name, client], { execArgv });
    this.#child.on('message', (reply: Reply) => this.#settle(reply));
    this.#child.on('exit', (code, signal) => this.#end(`its process ended (${signal ?? code})`));
    this.#child.on('error', (error) => this.#end(error.message));
  }

  static async start(...given: ConstructorParameters<typeof Worker>): Promise<Worker> {
    const worker = new Worker(...given);
    await worker.#answer(0, {});
    return worker;
  }

  get isAlive(): boolean {
    return this.#ended === undefined;
  }

  /**
   * @param limit what takes longer than `durationMs`, by more than `capMs`, hangs: then the process is killed
   * @throws Trouble with what went wrong there
   */
  async order<O extends Order>(order: O, limit: Limit = {}): Promise<Answers[O['kind']]> {
    if (this.#ended !== undefined) throw new Trouble(this.#ended);
    const id = ++this.#lastId;
    const answer = this.#answer(id, limit);
    this.#child.send({ id, order }, (error) => {
      if (error !== null) this.#waiting.get(id)?.reject(new Trouble(error.message));
    });
    return (await answer) as Answers[O['kind']]; // the worker answers by the same table
  }

  /** Stops its clock: it keeps its connections and does nothing any more. */
  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL'); // nothing of it is needed any more, and what hangs does not end by itself
    await gone;
  }

  async #answer(id: number, { capMs = SHORT_MS, durationMs = 0 }: Limit): Promise<unknown> {
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject });
        timer = setTimeout(() => {
          this.#end(`hangs (> ${Math.round(capMs / 100) / 10} s)`);
          void this.stop();
        }, durationMs + capMs);
      });
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  #settle(reply: Reply): void {
    if ('uncaught' in reply) {
      this.#onUncaught(reply.uncaught);
      return;
    }
    const waiting = this.#waiting.get(reply.id);
    if ('error' in reply) waiting?.reject(new Trouble(reply.error));
    else waiting?.resolve(reply.answer);
  }

  #end(why: string): void {
    this.#ended ??= why;
    for (const { reject } of this.#waiting.values()) reject(new Trouble(this.#ended));
  }
}

/** The workers of a scenario: started when they are first needed, and again where one hung. */
export class Team {
  readonly #file: string;
  readonly #onUncaught: (name: ContenderName, what: string) => void;
  readonly #options: WorkerOptions;
  readonly #workers = new Map<string, Worker>();
  readonly #sessions = new WeakMap<Worker, Set<string>>();

  /**
   * @param onUncaught is told of rejections and exceptions that nobody caught
   * @param options of each worker
   */
  constructor(
    file: string,
    onUncaught: (name: ContenderName, what: string) => void,
    options: WorkerOptions = {},
  ) {
    this.#file = file;
    this.#onUncaught = onUncaught;
    this.#options = options;
  }

  /** @param copy tells several processes of one contender apart */
  async worker(name: ContenderName, copy = 0): Promise<Worker> {
    const key = `${name}/${copy}`;
    const known = this.#workers.get(key);
    if (known?.isAlive === true) return known;
    const onUncaught = (what: string): void => this.#onUncaught(name, what);
    const worker = await Worker.start(name, this.#file, onUncaught, this.#options);
    this.#workers.set(key, worker);
    return worker;
  }

  /** The worker with a session over these masters. @param copy tells several processes of one contender apart */
  async opened(name: ContenderName, session: string, urls: readonly string[], copy = 0): Promise<Worker> {
    const worker = await this.worker(name, copy);
    const sessions = this.#sessions.get(worker) ?? new Set();
    this.#sessions.set(worker, sessions);
    if (!sessions.has(session)) {
      await worker.order({ kind: 'open', session, urls });
      sessions.add(session);
    }
    return worker;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop()));
    this.#workers.clear();
  }
}
