/** The processes of a rolling run: two clients, and two `quorate run` of which one runs its command. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { atExit } from '../../../scripts/masters/at-exit.js';
import { program } from '../../command/support/program.js';
import { forkTied } from '../run/crew.js';
import { nowMs } from '../run/history.js';
import { type ClientOrder, type FromClient, ORDER, type Told } from './messages.js';
import { CLIENTS, COMMAND } from './scenarios.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** How many `quorate run` ask for the same name. */
const COMMANDS = 2;

/** What one `quorate run` did. */
export interface CommandRun {
  /** When its command said that it runs. */
  begunT: number | undefined;
  endedT: number | undefined;
  /** Its exit code, or the signal that ended it. */
  code: number | string | undefined;
  complaints: string;
}

export interface Programs {
  readonly client: string;
  readonly command: string;
  readonly remove: () => void;
}

/** Within the repository, where the client finds ioredis. */
export async function compilePrograms(): Promise<Programs> {
  mkdirSync(join(ROOT, 'output'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, 'output/rolling-client-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  atExit(remove);
  const client = join(folder, 'client.mjs');
  await build({
    entryPoints: [join(ROOT, 'spec/chaos/rolling/client.ts')],
    outfile: client,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'warning',
  });
  return { client, command: program(), remove };
}

/** All of them start at one instant, cold. */
export class Actors {
  readonly told: Told[] = [];
  readonly #clients: ChildProcess[];
  readonly #commands: CommandProcess[];

  constructor(urls: readonly string[], ttlMs: number, { client, command }: Programs) {
    this.#clients = CLIENTS.map((name) => {
      const order: ClientOrder = { client: name, urls, ttlMs };
      const env = { ...process.env, [ORDER]: JSON.stringify(order) };
      const child = fork(client, [], { ...forkTied(), env });
      child.on('message', (message: FromClient) => this.told.push({ ...message, client: name }));
      atExit(() => child.kill('SIGKILL'));
      return child;
    });
    this.#commands = Array.from({ length: COMMANDS }, () => new CommandProcess(command, urls, ttlMs));
  }

  /** A client that has ended, which none should. */
  get ended(): readonly string[] {
    return CLIENTS.filter(
      (_, i) => this.#clients[i]?.exitCode !== null || this.#clients[i]?.signalCode !== null,
    );
  }

  get commands(): readonly Readonly<CommandRun>[] {
    return this.#commands.flatMap(({ runs }) => runs);
  }

  stop(): void {
    for (const child of this.#clients) child.kill('SIGKILL');
    for (const one of this.#commands) one.stop();
  }
}

/** Of `quorate run`: when it ends, it is begun again, as by whoever looks after services. */
class CommandProcess {
  readonly runs: CommandRun[] = [];
  readonly #begin: () => void;
  #child: ChildProcess | undefined;
  #isStopped = false;

  constructor(command: string, urls: readonly string[], ttlMs: number) {
    // its command ends at once when it is told to: what is left of the ttl is for renewals, as for the other leases
    const terms = ['--wait', 'forever', '--ttl', `${ttlMs}ms`, '--kill-after', '100ms'];
    // it runs as long as its input is open: it ends with this process, whatever happens
    const args = [command, 'run', ...terms, COMMAND, '--', 'sh', '-c', 'echo begun; cat'];
    const env = { ...process.env, HOME: '/nowhere', QUORATE_NODES: urls.join(',') };
    this.#begin = () => {
      const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
      this.#child = child;
      this.#watch(child);
    };
    this.#begin();
    atExit(() => this.stop());
  }

  stop(): void {
    this.#isStopped = true;
    this.#child?.stdin?.destroy();
    this.#child?.kill('SIGKILL');
  }

  #watch(child: ChildProcess): void {
    const run: CommandRun = { begunT: undefined, endedT: undefined, code: undefined, complaints: '' };
    this.runs.push(run);
    child.stdout?.on('data', () => (run.begunT ??= nowMs()));
    child.stderr?.on('data', (chunk: Buffer) => (run.complaints += chunk.toString()));
    child.stdin?.on('error', () => undefined); // it has ended
    child.once('exit', (code, signal) => {
      if (this.#isStopped) return;
      run.endedT = nowMs();
      run.code = signal ?? code ?? undefined;
      this.#begin();
    });
  }
}
