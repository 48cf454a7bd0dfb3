/** The client processes: started, paused, killed, restarted, and ended. */
import { type ChildProcess, fork, type ForkOptions, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { atExit } from '../../../scripts/masters/at-exit.js';
import { PRESENT } from './history.js';
import { type ClientOrder, type FromClient, ORDER, type ToClient } from './orders.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const START_TIMEOUT_MS = 60_000;

/**
 * A client whose conductor was killed -9 ends with it. It sees the channel close; if it is paused at that moment, the
 * kernel ends it, where `setpriv` can ask for that. It does not use tsx: the client is compiled.
 */
let howToFork: ForkOptions | undefined;
export function forkTied(): ForkOptions {
  const tied = ['--pdeathsig', 'KILL'];
  howToFork ??=
    spawnSync('setpriv', [...tied, 'true']).status === 0
      ? { execPath: 'setpriv', execArgv: [...tied, process.execPath] }
      : { execArgv: [] };
  return howToFork;
}

/** The client, made with one version of the library. */
export interface ClientProgram {
  readonly version: string;
  readonly file: string;
}

/** Another version than this tree's: a commit, and the folder of its package. */
export interface Beside {
  readonly commit: string;
  readonly folder: string;
}

/** Both are the same source, each in one file, so that a process starts without a compiler; within the repository, where it finds ioredis. */
export async function compileClients(
  beside?: Beside,
): Promise<{ programs: ClientProgram[]; remove: () => void }> {
  mkdirSync(join(ROOT, 'output'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, 'output/chaos-client-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const forget = atExit(remove);
  const programs = [await compile(PRESENT, join(folder, PRESENT))];
  if (beside !== undefined) {
    const place = join(folder, 'beside');
    cpSync(beside.folder, join(place, 'node_modules/quorate'), { recursive: true });
    // without it, the program would be of this repository's package, and `quorate` would be this tree
    writeFileSync(join(place, 'package.json'), JSON.stringify({ name: 'stranger', private: true }));
    programs.push(await compile(beside.commit.slice(0, 7), place, [AS_STRANGER]));
  }
  return {
    programs,
    remove: () => {
      remove();
      forget();
    },
  };
}

/** The library is imported as a package. */
const AS_STRANGER: Plugin = {
  name: 'as a stranger',
  setup(bundle) {
    bundle.onResolve({ filter: /\/lib\/index\.js$/ }, () => ({ path: 'quorate', external: true }));
  },
};

async function compile(
  version: string,
  folder: string,
  plugins: readonly Plugin[] = [],
): Promise<ClientProgram> {
  const file = join(folder, 'client.mjs');
  await build({
    entryPoints: [join(ROOT, 'spec/chaos/run/client.ts')],
    outfile: file,
    bundle: true,
    packages: 'external',
    plugins: [...plugins],
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'warning',
  });
  return { version, file };
}

export interface CrewNotes {
  message(from: CrewMember, message: FromClient): void;
  /** A process ended. `meant`: we killed it, or asked it to stop and it ended well. */
  exit(client: string, meant: boolean, text: string): void;
}

/** The same for all. */
export type CrewOrder = Omit<ClientOrder, 'name' | 'life' | 'version'>;

export class CrewMember {
  readonly name: string;
  /** When it last had a grant or a well-founded refusal. */
  answeredAtMs = 0;
  readonly #programs: readonly ClientProgram[];
  readonly #order: CrewOrder;
  readonly #notes: CrewNotes;
  #child: ChildProcess | undefined;
  #lives = 0;
  #isReady = false;
  #isPaused = false;
  #isMeantToEnd = false;

  /** @param programs  of its lives, in turn */
  constructor(name: string, programs: readonly ClientProgram[], order: CrewOrder, notes: CrewNotes) {
    this.name = name;
    this.#programs = programs;
    this.#order = order;
    this.#notes = notes;
  }

  get lives(): number {
    return this.#lives;
  }

  /** It can be struck and sent orders; one that is starting is not up yet. */
  get isUp(): boolean {
    return this.#isReady && !this.#isPaused;
  }

  /** Resolves when it is ready, or we killed it before that. @throws Error if it ended by itself */
  async start(): Promise<void> {
    const program = this.#programs[this.#lives % this.#programs.length];
    if (program === undefined) throw new Error(`${this.name} has no program`);
    const { version, file } = program;
    const order: ClientOrder = { ...this.#order, name: this.name, life: ++this.#lives, version };
    this.#isMeantToEnd = false;
    const env = { ...process.env, [ORDER]: JSON.stringify(order) };
    const child = fork(file, [], { ...forkTied(), env });
    this.#child = child;
    const forget = atExit(() => child.kill('SIGKILL'));
    child.once('exit', (code, signal) => {
      forget();
      this.#child = undefined;
      this.#isReady = false;
      const meant = this.#isMeantToEnd && (signal === 'SIGKILL' || code === 0);
      this.#notes.exit(this.name, meant, signal ?? `code ${code}`);
    });
    child.on('error', () => undefined); // an order that came too late for a dead process
    const ready = new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${this.name} did not start`)), START_TIMEOUT_MS);
      const settle = (): void => {
        clearTimeout(timer);
        resolve();
      };
      child.once('exit', (code, signal) => {
        if (this.#isMeantToEnd) return settle();
        clearTimeout(timer);
        reject(new Error(`${this.name} ended before it was ready (${signal ?? `code ${code}`})`));
      });
      child.on('message', (message: FromClient) => {
        if (message.kind !== 'ready') return this.#notes.message(this, message);
        this.#isReady = this.#child === child; // what it sent may arrive after its end
        settle();
      });
    });
    await ready;
  }

  tell(message: ToClient): void {
    if (this.#child?.connected === true) this.#child.send(message, () => undefined);
  }

  pause(): void {
    this.#isPaused = this.#child?.kill('SIGSTOP') ?? false;
  }

  resume(): void {
    this.#isPaused = false;
    this.#child?.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#isMeantToEnd = true;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  /** Asks it to end. @returns whether it did in time */
  async stop(withinMs: number): Promise<boolean> {
    const child = this.#child;
    if (child === undefined) return true;
    this.#isMeantToEnd = true;
    const gone = once(child, 'exit');
    this.tell({ kind: 'stop' });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, withinMs, 'late' as const);
    });
    const first = await Promise.race([gone, late]);
    clearTimeout(timer);
    if (first !== 'late') return true;
    this.#isMeantToEnd = false;
    await this.kill();
    return false;
  }
}
