/** Masters in containers, for the chaos kit. Their data are in the container's own file system. */
import { buffer } from 'node:stream/consumers';
import type Dockerode from 'dockerode';
import { GenericContainer, Wait } from 'testcontainers';
import { answersPing, freePort, until } from '../../../scripts/masters/wait.js';
import { engine, LABEL, sweep } from '../../containers/support/docker.js';
import type { ChaosServer, ChaosServers, Data } from './masters.js';

const IMAGE = process.env['QUORATE_REDIS_IMAGE'] ?? 'redis:7.4';
const REDIS_PORT = 6379;
const BRIDGE = 'bridge';
/** A port that was just published can stay silent for most of a second. */
const ASK_MS = 2_000;
const UP_MS = 20_000;
const ROOT = '/tmp';
const FOLDER = 'quorate-aof';
const STOP_SECONDS = 10;

export async function startContained(count: number, persist: boolean): Promise<ChaosServers> {
  await sweep();
  const list = await Promise.all(Array.from({ length: count }, () => Contained.start(persist)));
  return { list, stop: sweep };
}

function commandFor(persist: boolean): string[] {
  const durability = persist
    ? ['--appendonly', 'yes', '--appendfsync', 'always', '--appenddirname', FOLDER]
    : ['--appendonly', 'no'];
  return ['redis-server', '--protected-mode', 'no', '--save', '', '--dir', ROOT, ...durability];
}

class Contained implements ChaosServer {
  readonly port: number;
  readonly clock = undefined;
  readonly #docker: Dockerode;
  readonly #container: Dockerode.Container;
  /** Archives of the data: as it began, and at the checkpoint. */
  #empty: Buffer | undefined;
  #stale: Buffer | undefined;

  private constructor(port: number, docker: Dockerode, id: string) {
    this.port = port;
    this.#docker = docker;
    this.#container = docker.getContainer(id);
  }

  /** The host's port is chosen here, since Docker would choose another one when the container starts again. */
  static async start(persist: boolean): Promise<Contained> {
    const port = await freePort();
    const started = await new GenericContainer(IMAGE)
      .withLabels({ [LABEL]: `${process.pid}` })
      .withCommand(commandFor(persist))
      .withExposedPorts({ container: REDIS_PORT, host: port })
      .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
      .start();
    const contained = new Contained(port, await engine(), started.getId());
    await contained.#untilUp();
    if (persist) contained.#empty = await contained.#archive();
    return contained;
  }

  async kill(): Promise<void> {
    await this.#container.kill();
  }

  async stopGently(): Promise<void> {
    await this.#container.stop({ t: STOP_SECONDS });
  }

  async freeze(): Promise<void> {
    await this.#container.pause();
  }

  async thaw(): Promise<void> {
    await this.#container.unpause();
    await this.#untilUp();
  }

  async checkpoint(): Promise<void> {
    this.#stale = await this.#archive();
  }

  /** Files are replaced while it is stopped; the shorter log overwrites the longer one. */
  async restart(data: Data): Promise<void> {
    const archive = data === 'lost' ? this.#empty : this.#stale;
    if (data === 'stale' && archive === undefined) throw new Error('no checkpoint to go back to');
    if (data !== 'kept' && archive !== undefined) await this.#container.putArchive(archive, { path: ROOT });
    await this.#container.start();
    await this.#untilUp();
  }

  async disconnect(): Promise<void> {
    await this.#docker.getNetwork(BRIDGE).disconnect({ Container: this.#container.id, Force: true });
  }

  async reconnect(): Promise<void> {
    await this.#docker.getNetwork(BRIDGE).connect({ Container: this.#container.id });
    await this.#untilUp();
  }

  async #archive(): Promise<Buffer> {
    return await buffer(await this.#container.getArchive({ path: `${ROOT}/${FOLDER}` }));
  }

  async #untilUp(): Promise<void> {
    await until(`port ${this.port} to answer`, () => answersPing(this.port, ASK_MS), UP_MS);
  }
}
