/** `quorate up`: local masters for trying things out, until Ctrl-C. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import type { Arguments } from '../arguments.js';
import { EXIT, Failure } from '../failure.js';
import { ask, environmentOver, openClients } from '../library.js';
import { print, printJson } from '../terminal.js';
import { untilInterrupted } from '../until-interrupted.js';

const HOST = '127.0.0.1';
const MASTERS = 3;
const MOST_MASTERS = 32;
const FIRST_PORT = 6_381;
const LAST_PORT = 65_535;
/** A server that ends by itself is noticed within this time. */
const LOOK_MS = 500;
const PROGRAMS = ['redis-server', 'valkey-server'];

export async function up(args: Arguments): Promise<number> {
  const count = args.numberOperand(1, MOST_MASTERS) ?? MASTERS;
  const first = args.count('port', 1, LAST_PORT - MOST_MASTERS) ?? FIRST_PORT;
  const server = findServer(args.text('server') ?? process.env['QUORATE_REDIS_SERVER']);
  const ports = Array.from({ length: count }, (_, i) => first + i);
  for (const port of ports) await checkFree(port);
  const kept = args.text('dir');
  const folder = kept === undefined ? mkdtempSync(join(tmpdir(), 'quorate-up-')) : resolve(kept);
  const masters = ports.map((port) => new LocalMaster(server, port, folder, kept !== undefined));
  try {
    let isTold = false;
    await untilInterrupted(LOOK_MS, async () => {
      if (!isTold) {
        await Promise.all(masters.map((master) => master.answers()));
        tell(args, ports);
        isTold = true;
      }
      const dead = masters.find(({ hasEnded }) => hasEnded);
      if (dead !== undefined)
        throw new Failure(`the master on port ${dead.port} ended by itself`, EXIT.system);
    });
    return EXIT.done;
  } finally {
    await Promise.all(masters.map((master) => master.stop()));
    if (kept === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

function tell(args: Arguments, ports: readonly number[]): void {
  const urls = ports.map((port) => `redis://${HOST}:${port}`);
  if (args.has('json')) return printJson({ nodes: urls });
  print(`export QUORATE_NODES=${urls.join(',')}`);
  print(`# ${ports.length} masters; Ctrl-C ends them`);
}

function findServer(named: string | undefined): string {
  if (named !== undefined && named !== '') {
    if (isProgram(named)) return isAbsolute(named) ? named : resolve(named);
    throw new Failure(`${named} cannot be executed`, EXIT.notExecutable);
  }
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const found = PROGRAMS.flatMap((program) => folders.map((folder) => join(folder, program))).find(isProgram);
  if (found !== undefined) return found;
  throw new Failure(
    'neither redis-server nor valkey-server is on the PATH: install one, or say --server PATH',
    EXIT.notFound,
  );
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Another server there would answer in place of ours. */
function checkFree(port: number): Promise<void> {
  return new Promise((done, fail) => {
    const probe = createServer();
    probe.once('error', () => fail(new Failure(`port ${port} is taken: say --port N`, EXIT.system)));
    probe.listen({ host: HOST, port, exclusive: true }, () => probe.close(() => done()));
  });
}

/** What makes the kernel end a server with us, even when we are killed; nothing where there is no such program. */
function tie(): readonly string[] {
  const args = ['--pdeathsig', 'KILL'];
  return spawnSync('setpriv', [...args, 'true']).status === 0 ? ['setpriv', ...args] : [];
}

class LocalMaster {
  readonly port: number;
  hasEnded = false;
  readonly #child: ChildProcess;
  readonly #gone: Promise<void>;

  constructor(server: string, port: number, root: string, isKept: boolean) {
    this.port = port;
    const folder = join(root, String(port));
    mkdirSync(folder, { recursive: true });
    const durable = isKept ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no'];
    const where = ['--port', String(port), '--bind', HOST, '--dir', folder, '--logfile', join(folder, 'log')];
    const args = [
      ...where,
      '--daemonize',
      'no',
      '--save',
      '',
      '--maxmemory-policy',
      'noeviction',
      ...durable,
    ];
    const [program = server, ...rest] = [...tie(), server, ...args];
    // a session of its own: Ctrl-C reaches us, and we end it
    this.#child = spawn(program, rest, { stdio: 'ignore', detached: true });
    this.#gone = new Promise((resolve) => {
      const end = (): void => {
        this.hasEnded = true;
        resolve();
      };
      this.#child.once('error', end);
      this.#child.once('exit', end);
    });
    process.once('exit', this.#killNow);
  }

  /** Resolves when it does. @throws Failure */
  async answers(): Promise<void> {
    const opened = openClients([`redis://${HOST}:${this.port}`]);
    const { disconnect, transports } = environmentOver(opened.clients, opened.disconnect);
    try {
      const asked = transports.map((transport) => ask(transport, { name: 'ping', args: [] }));
      const ended = this.#gone.then(() => Promise.reject(new Error('it ended')));
      await Promise.race([...asked, ended]);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Failure(`the master on port ${this.port} does not start: ${why}`, EXIT.system);
    } finally {
      disconnect();
    }
  }

  async stop(): Promise<void> {
    process.removeListener('exit', this.#killNow);
    this.#child.kill('SIGTERM');
    await this.#gone;
  }

  readonly #killNow = (): void => void this.#child.kill('SIGKILL');
}
