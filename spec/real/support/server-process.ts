/**
 * A server with a file of settings of its own, for what `startMasters` does not start: a sentinel, which writes into that
 * file, and a server whose files may not grow.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atExit } from '../../../scripts/masters/at-exit.js';
import { findServer, tie } from '../../../scripts/masters/process.js';
import { answersPing, freePort, HOST, until } from '../../../scripts/masters/wait.js';

const PING_TIMEOUT_MS = 1_000;
const START_TRIES = 5;
/** A file that may not grow shall fail its write, as on a full disk, and not end the process by a signal. */
const WITHOUT_SIGNAL = ['sh', '-c', 'trap "" XFSZ; exec "$@"', 'sh'];

export class ServerProcess {
  readonly folder = mkdtempSync(join(tmpdir(), 'quorate-server-'));
  readonly #settings: readonly string[];
  readonly #modes: readonly string[];
  readonly #forget: () => void;
  #port = 0;
  #child: ChildProcess | undefined; // set while the process lives

  private constructor(settings: readonly string[], modes: readonly string[]) {
    this.#settings = settings;
    this.#modes = modes;
    this.#forget = atExit(() => {
      this.#child?.kill('SIGKILL');
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  /** @param settings  lines of its file, beside port, address and folder  @param modes  for example `--sentinel` */
  static async start(settings: readonly string[], ...modes: readonly string[]): Promise<ServerProcess> {
    const server = new ServerProcess(settings, modes);
    for (let left = START_TRIES; ; left--) {
      server.#port = await freePort();
      server.#writeFile();
      try {
        await server.run();
        return server;
      } catch (error) {
        if (left > 1 && /already in use/i.test(String(error))) continue; // somebody was quicker
        await server.stop();
        throw error;
      }
    }
  }

  get port(): number {
    return this.#port;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error('it does not run');
    return this.#child.pid;
  }

  /** Starts it, or starts it again, with the data that it has. */
  async run(): Promise<void> {
    const child = this.#spawn();
    this.#child = child;
    let hasEnded = false;
    const end = (): void => {
      hasEnded = true;
      this.#child = undefined;
    };
    child.once('error', end);
    child.once('exit', end);
    await until('the server to answer', async () => hasEnded || answersPing(this.#port, PING_TIMEOUT_MS));
    if (hasEnded) throw new Error(`the server did not start on port ${this.#port}:\n${this.#log()}`);
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child !== undefined) {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }
    rmSync(this.folder, { recursive: true, force: true });
    this.#forget();
  }

  #writeFile(): void {
    const where = [`port ${this.#port}`, `bind ${HOST}`, `dir ${this.folder}`, 'protected-mode no'];
    writeFileSync(join(this.folder, 'conf'), [...where, ...this.#settings, ''].join('\n'));
  }

  #spawn(): ChildProcess {
    const server = findServer();
    if (server === undefined) throw new Error('neither redis-server nor valkey-server is on the PATH');
    const [program = '', ...args] = [
      ...tie(),
      ...WITHOUT_SIGNAL,
      server,
      join(this.folder, 'conf'),
      ...this.#modes,
    ];
    const log = openSync(join(this.folder, 'log'), 'a');
    const child = spawn(program, args, { stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    return child;
  }

  #log(): string {
    return readFileSync(join(this.folder, 'log'), 'utf8').split('\n').slice(-12).join('\n');
  }
}
