/** Masters as services of docker-compose.redlock.yml, in a project of their own: for machines without a Redis server. */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Master, RestartOptions } from './master.js';
import { atExit } from './at-exit.js';
import { answersPing, freePort, HOST, until } from './wait.js';

const FILE = join(dirname(fileURLToPath(import.meta.url)), '../../docker-compose.redlock.yml');
const MOST = 5; // services in the file
const PING_TIMEOUT_MS = 1_000; // a port that was just published can be silent for most of a second
const START_TIMEOUT_MS = 60_000;

const run = promisify(execFile);

/** For one container: several times faster than compose, which looks at the whole project each time. */
async function docker(...args: readonly string[]): Promise<string> {
  return (await run('docker', args)).stdout.trim();
}

interface Settings {
  readonly args: readonly string[];
  readonly persist: boolean;
}

export async function startComposed(
  count: number,
  settings: Settings,
): Promise<{ list: Master[]; stop: () => Promise<void> }> {
  if (count > MOST) throw new RangeError(`the compose file has ${MOST} masters, ${count} were asked for`);
  if (settings.args.length > 0) throw new RangeError('more server arguments need the process backend');
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  const project = new Project(ports);
  await project.findCommand();
  const masters = ports.map(
    (port, i) => new ComposedMaster(project, `redis-${i + 1}`, port, settings.persist),
  );
  const release = tieToUs(project);
  const stop = async (): Promise<void> => {
    await project.compose('down', '--volumes', '--timeout', '0');
    release();
  };
  try {
    await project.compose('up', '-d', ...masters.map((master) => master.name));
    await Promise.all(masters.map((master) => master.untilUp()));
  } catch (error) {
    await stop().catch(() => undefined); // the first error is the one to tell
    throw error;
  }
  return { list: masters, stop };
}

/** One run of the compose file: its unique name, its ports, and the command that serves it. */
class Project {
  readonly name = `quorate-${process.pid}-${randomBytes(4).toString('hex')}`;
  readonly env: NodeJS.ProcessEnv;
  #command: readonly string[] = [];

  constructor(ports: readonly number[]) {
    const chosen = ports.map((port, i): [string, string] => [`QUORATE_PORT_${i + 1}`, `${port}`]);
    this.env = { ...process.env, ...Object.fromEntries(chosen) };
  }

  /** Compose 2 is a plug-in of docker, compose 1 a program of its own. */
  async findCommand(): Promise<void> {
    for (const command of [['docker', 'compose'], ['docker-compose']] as const) {
      const [program, ...args] = command;
      try {
        await run(program, [...args, 'version']);
        this.#command = command;
        return;
      } catch {
        // try the next one
      }
    }
    throw new Error('no Redis server on the PATH, and neither docker compose nor docker-compose answers');
  }

  line(...args: readonly string[]): readonly [string, ...string[]] {
    const [program = 'docker-compose', ...rest] = this.#command;
    return [program, ...rest, '--project-name', this.name, '--file', FILE, ...args];
  }

  containerOf(service: string): Promise<string> {
    const label = 'label=com.docker.compose';
    const filters = [`${label}.project=${this.name}`, `${label}.service=${service}`];
    return docker('ps', '--all', '--quiet', ...filters.flatMap((filter) => ['--filter', filter]));
  }

  async compose(...args: readonly string[]): Promise<void> {
    const [program, ...rest] = this.line(...args);
    await run(program, rest, { env: this.env });
  }
}

/**
 * Takes the project down when we end without a `stop()`: at once at an exit that we see, and through a watcher that waits
 * for the end of its input when we are killed -9.
 */
function tieToUs(project: Project): () => void {
  const [program, ...args] = project.line('down', '--volumes', '--timeout', '0');
  const watcher = spawn('sh', ['-c', 'cat >/dev/null; exec "$@"', 'sh', program, ...args], {
    stdio: ['pipe', 'ignore', 'ignore'],
    env: project.env,
    detached: true,
  });
  watcher.unref();
  const forget = atExit(() => {
    watcher.kill('SIGKILL');
    spawnSync(program, args, { env: project.env, stdio: 'ignore' });
  });
  return () => {
    watcher.kill('SIGKILL');
    forget();
  };
}

class ComposedMaster implements Master {
  readonly name: string;
  readonly host = HOST;
  readonly port: number;
  readonly url: string;
  readonly #project: Project;
  readonly #persist: boolean;
  #container = ''; // its id; another one after a restart without data
  #state: 'runs' | 'dead' | 'stopped' = 'runs';

  constructor(project: Project, name: string, port: number, persist: boolean) {
    this.#project = project;
    this.name = name;
    this.port = port;
    this.url = `redis://${HOST}:${port}`;
    this.#persist = persist;
  }

  async untilUp(): Promise<void> {
    await until(`${this.name} to answer`, () => answersPing(this.port, PING_TIMEOUT_MS), START_TIMEOUT_MS);
    this.#container = await this.#project.containerOf(this.name);
  }

  async kill(): Promise<void> {
    if (this.#state !== 'runs') return;
    await docker('kill', this.#container);
    this.#state = 'dead';
  }

  async freeze(): Promise<void> {
    await docker('pause', this.#container);
  }

  async thaw(): Promise<void> {
    await docker('unpause', this.#container);
    await this.untilUp();
  }

  checkpoint(): Promise<void> {
    return Promise.reject(new RangeError('a checkpoint needs the process backend'));
  }

  async restart(options: RestartOptions = {}): Promise<void> {
    if (options.stale === true) throw new RangeError('a checkpoint needs the process backend');
    if (this.#state !== 'dead') throw new Error(`cannot restart ${this.name}: kill it first`);
    if (options.empty === true || !this.#persist) {
      await this.#remove();
      await this.#project.compose('up', '-d', this.name);
    } else {
      await docker('start', this.#container);
    }
    await this.untilUp();
    this.#state = 'runs';
  }

  async stop(): Promise<void> {
    if (this.#state === 'stopped') return;
    await this.#remove();
    this.#state = 'stopped';
  }

  async #remove(): Promise<void> {
    await docker('rm', '--force', '--volumes', this.#container);
    await docker('volume', 'rm', '--force', `${this.#project.name}_${this.name}`);
  }
}
