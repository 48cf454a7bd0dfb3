/** The command as it is built, run as a process of its own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from '../../support/real.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Within the repository, so that it finds ioredis; one for each process that runs specs. */
const FOLDER = join(ROOT, `output/spec-command-${process.pid}`);

let built: string | undefined;

/** Its path; built once. */
export function program(): string {
  if (built !== undefined) return built;
  const { status, stderr } = spawnSync(process.execPath, ['scripts/build.mjs', '--code', FOLDER], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the build failed: ${stderr}`);
  process.once('exit', () => rmSync(FOLDER, { recursive: true, force: true }));
  built = join(FOLDER, 'command.cjs');
  return built;
}

/** What it is run with beside its arguments. */
export interface RunOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What it reads; nothing where it is left out. */
  readonly input?: string;
  /** Whether its masters answer, sooner or later. @default true */
  readonly hasMasters?: boolean;
}

/** What came of a run. */
export interface Outcome {
  readonly code: number | string;
  readonly out: string;
  readonly complaints: string;
}

/** No quorum of the masters has answered in time, and nothing was done. */
const NO_QUORUM = 69;

const LEFT_BEHIND_MS = 1_000;

/** A run under way. */
export class Running {
  readonly process: ChildProcess;
  out = '';
  complaints = '';
  readonly #closed: Promise<unknown>;
  readonly #silent: Promise<unknown>;

  constructor(args: readonly string[], { env = {}, input }: RunOptions = {}) {
    const { QUORATE_NODES: _nodes, ...rest } = process.env;
    this.process = spawn(process.execPath, [program(), ...args], {
      env: { ...rest, HOME: '/nowhere', ...env },
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    this.process.stdout?.on('data', (chunk: Buffer) => (this.out += chunk.toString()));
    this.process.stderr?.on('data', (chunk: Buffer) => (this.complaints += chunk.toString()));
    if (input !== undefined) this.process.stdin?.end(input);
    this.#closed = once(this.process, 'exit');
    this.#silent = once(this.process, 'close');
  }

  /** Waits for a text on its output. */
  async says(text: string): Promise<void> {
    await eventually(() => {
      if (this.out.includes(text)) return true;
      const { exitCode } = this.process;
      if (exitCode !== null)
        throw new Error(`it ended with ${exitCode}, and said ${this.out} ${this.complaints}`);
      return false;
    });
  }

  /** Waits for its end, and for what it wrote last. @returns its exit code, or the signal that ended it */
  async ends(): Promise<number | string> {
    if (this.process.exitCode === null && this.process.signalCode === null) await this.#closed;
    // its exit may be seen before its last words; what it left behind may hold its output open
    await Promise.race([this.#silent, sleep(LEFT_BEHIND_MS, undefined, { ref: false })]);
    return this.process.exitCode ?? this.process.signalCode ?? 'unknown';
  }
}

/** Runs it to its end; again, where its masters are there and were too slow for its own deadlines. */
export async function quorate(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  for (;;) {
    const outcome = await runOnce(args, options);
    const wasSlow = outcome.code === NO_QUORUM || /\bunknown\b/.test(outcome.out);
    if (!wasSlow || options.hasMasters === false) return outcome;
  }
}

async function runOnce(args: readonly string[], options: RunOptions): Promise<Outcome> {
  const running = new Running(args, options);
  const isOpen = (stream: NodeJS.ReadableStream | null): boolean => stream?.readable === true;
  const code = await running.ends();
  await eventually(() => !isOpen(running.process.stdout) && !isOpen(running.process.stderr));
  return { code, out: running.out, complaints: running.complaints };
}

/** Whether a process of that number runs; a dead one that nobody has waited for does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.trim() !== '' && !stdout.trim().startsWith('Z');
}
