/** Masters as processes of this machine: each with a folder, a port and a log of its own. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Master, RestartOptions } from './master.js';
import { find } from '../parts.cjs';
import { atExit } from './at-exit.js';
import { answersPing, ask, freePort, HOST, until } from './wait.js';

const START_TRIES = 5;
const PING_TIMEOUT_MS = 1_000;

type Environment = Readonly<Record<string, string>>;

interface Settings {
  readonly args: readonly string[];
  readonly persist: boolean;
}

export function findServer(): string | undefined {
  return find('redis-server');
}

/** What makes the kernel end a server with us, even when we are killed -9; nothing where `setpriv` cannot do it. */
let tiedToUs: readonly string[] | undefined;
export function tie(): readonly string[] {
  const prefix = ['setpriv', '--pdeathsig', 'KILL'];
  tiedToUs ??= spawnSync('setpriv', [...prefix.slice(1), 'true']).status === 0 ? prefix : [];
  return tiedToUs;
}

export async function startProcesses(
  count: number,
  { environments, ...settings }: Settings & { readonly environments: readonly Environment[] },
): Promise<{ list: Master[]; stop: () => Promise<void> }> {
  const server = findServer();
  if (server === undefined)
    throw new Error(
      'neither redis-server nor valkey-server is on the PATH, and QUORATE_REDIS_SERVER names none',
    );
  const root = mkdtempSync(join(tmpdir(), 'quorate-'));
  const masters = Array.from(
    { length: count },
    (_, i) =>
      new ProcessMaster(`redis-${i + 1}`, server, root, { ...settings, environment: environments[i] ?? {} }),
  );
  const forget = atExit(() => {
    for (const master of masters) master.killNow();
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  });
  const stop = async (): Promise<void> => {
    await Promise.all(masters.map((master) => master.stop()));
    rmSync(root, { recursive: true, force: true });
    forget();
  };
  const started = await Promise.allSettled(masters.map((master) => master.start()));
  const failed = started.find((result) => result.status === 'rejected');
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  return { list: masters, stop };
}

class ProcessMaster implements Master {
  readonly name: string;
  readonly host = HOST;
  readonly #server: string;
  readonly #folder: string;
  readonly #settings: Settings & { readonly environment: Environment };
  #port = 0;
  #child: ChildProcess | undefined; // set while the process lives
  #stopped = false;

  constructor(
    name: string,
    server: string,
    root: string,
    settings: Settings & { readonly environment: Environment },
  ) {
    this.name = name;
    this.#server = server;
    this.#folder = join(root, name);
    this.#settings = settings;
  }

  get port(): number {
    return this.#port;
  }

  /** Where its data are kept beside those it works with. */
  get #checkpoint(): string {
    return `${this.#folder}.checkpoint`;
  }

  get url(): string {
    return `redis://${HOST}:${this.#port}`;
  }

  /** Another program may take the port between our look and the server's bind: then another port is tried. */
  async start(): Promise<void> {
    for (let left = START_TRIES; ; left--) {
      this.#port = await freePort();
      try {
        return await this.#run();
      } catch (error) {
        if (left <= 1 || !/already in use/i.test(String(error))) throw error;
      }
    }
  }

  async kill(): Promise<void> {
    await this.#end();
  }

  async freeze(): Promise<void> {
    const pid = this.#pid('freeze');
    process.kill(pid, 'SIGSTOP');
    await until(`${this.name} to be stopped`, () => isStopped(pid));
  }

  async thaw(): Promise<void> {
    process.kill(this.#pid('thaw'), 'SIGCONT');
    await until(`${this.name} to answer`, () => answersPing(this.#port, PING_TIMEOUT_MS));
  }

  async checkpoint(): Promise<void> {
    if (this.#stopped) throw new Error(`${this.name} was stopped for good`);
    rmSync(this.#checkpoint, { recursive: true, force: true });
    cpSync(this.#folder, this.#checkpoint, { recursive: true });
    return Promise.resolve();
  }

  async restart({ empty = false, stale = false }: RestartOptions = {}): Promise<void> {
    if (this.#stopped) throw new Error(`${this.name} was stopped for good`);
    if (this.#child !== undefined) throw new Error(`${this.name} still runs: kill it before the restart`);
    if (stale && !existsSync(this.#checkpoint))
      throw new Error(`${this.name} has no checkpoint to go back to`);
    if (empty || stale) rmSync(this.#folder, { recursive: true, force: true });
    if (stale) cpSync(this.#checkpoint, this.#folder, { recursive: true });
    await this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#end();
    for (const folder of [this.#folder, this.#checkpoint]) rmSync(folder, { recursive: true, force: true });
  }

  /** For the end of our own process, where nothing can be awaited. SIGKILL also ends a frozen one. */
  killNow(): void {
    this.#child?.kill('SIGKILL');
  }

  #pid(verb: string): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`cannot ${verb} ${this.name}: it does not run`);
    return pid;
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    child.ref(); // it is waited for now
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  async #run(): Promise<void> {
    const child = this.#spawn();
    this.#child = child;
    let failure: string | undefined;
    child.once('error', (error) => {
      this.#child = undefined; // it never ran
      failure = error.message;
    });
    child.once('exit', (code, signal) => {
      this.#child = undefined;
      failure ??= `ended with ${signal ?? `exit code ${code}`}`;
    });
    child.unref(); // a master does not keep the process alive; atExit ends it
    try {
      await until(`${this.name} to answer`, async () => failure !== undefined || (await this.#isUp(child)));
    } catch (error) {
      failure ??= String(error);
    }
    if (failure === undefined) return;
    await this.#end();
    throw new Error(`${this.name} did not start on port ${this.#port}: ${failure}\n${this.#logTail()}`);
  }

  /** Somebody else's server may answer on the port: the one that answers must be the process that was started. */
  async #isUp(child: ChildProcess): Promise<boolean> {
    if (!(await answersPing(this.#port, PING_TIMEOUT_MS))) return false;
    const info = await ask(this.#port, 'INFO server', PING_TIMEOUT_MS).catch(() => '');
    const pid = /process_id:(\d+)/.exec(info)?.[1];
    return pid === undefined ? info.startsWith('-NO') : Number(pid) === child.pid;
  }

  #spawn(): ChildProcess {
    mkdirSync(this.#folder, { recursive: true });
    const log = openSync(join(this.#folder, 'log'), 'a');
    const [program = this.#server, ...args] = [...tie(), this.#server, ...this.#arguments()];
    // detached: a Ctrl-C of the terminal reaches us alone, and we decide when the masters end
    const env = { ...process.env, ...this.#settings.environment };
    const child = spawn(program, args, { stdio: ['ignore', log, log], detached: true, env });
    closeSync(log);
    return child;
  }

  #arguments(): string[] {
    const { args, persist } = this.#settings;
    const durability = persist ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no'];
    const where = [
      '--port',
      `${this.#port}`,
      '--bind',
      HOST,
      '--protected-mode',
      'no',
      '--dir',
      this.#folder,
    ];
    return [...where, '--daemonize', 'no', '--save', '', ...durability, ...args];
  }

  #logTail(): string {
    try {
      return readFileSync(join(this.#folder, 'log'), 'utf8').split('\n').slice(-12).join('\n');
    } catch {
      return '(no log)';
    }
  }
}

/** Where /proc is missing the signal alone has to do. */
function isStopped(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return /^ [Tt]/.test(stat.slice(stat.lastIndexOf(')') + 1));
  } catch {
    return true;
  }
}
