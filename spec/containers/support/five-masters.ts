/** Five Redis containers, and what can go wrong with each: a stall, a crash, a cut cable. */
import type Dockerode from 'dockerode';
import { GenericContainer, Wait } from 'testcontainers';
import { answersPing, ask, freePort, HOST, until } from '../../../scripts/masters/wait.js';
import { engine, LABEL } from './docker.js';

const IMAGE = process.env['QUORATE_REDIS_IMAGE'] ?? 'redis:7.4';
const REDIS_PORT = 6379;
/** A port that was just published can stay silent for most of a second. */
const ASK_MS = 2_000;
const BRIDGE = 'bridge';
const COUNT_VOTES =
  "local n = 0 for _, key in ipairs(redis.call('KEYS', '*')) do if key:sub(1, 8) ~= 'quorate:' then n = n + 1 end end return n";

export class ContainedMaster {
  readonly host = HOST;
  readonly #container: Dockerode.Container;
  readonly #docker: Dockerode;

  private constructor(
    readonly port: number,
    docker: Dockerode,
    id: string,
  ) {
    this.#docker = docker;
    this.#container = docker.getContainer(id);
  }

  /** The port of the host is chosen here, since one that Docker chooses changes when the container starts again. */
  static async start(): Promise<ContainedMaster> {
    const port = await freePort();
    const started = await new GenericContainer(IMAGE)
      .withLabels({ [LABEL]: `${process.pid}` })
      .withCommand(['redis-server', '--protected-mode', 'no', '--save', '', '--appendonly', 'no'])
      .withExposedPorts({ container: REDIS_PORT, host: port })
      .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
      .start();
    const master = new ContainedMaster(port, await engine(), started.getId());
    await master.#untilUp();
    return master;
  }

  async pause(): Promise<void> {
    await this.#container.pause();
  }

  async unpause(): Promise<void> {
    await this.#container.unpause();
    await this.#untilUp();
  }

  /** A crash: what it held is gone, since it keeps nothing on disk. */
  async kill(): Promise<void> {
    await this.#container.kill();
  }

  async start(): Promise<void> {
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

  /** How many locks are on it; counters and markers stand beside them and stay. */
  async votes(): Promise<number> {
    return Number((await ask(this.port, `EVAL "${COUNT_VOTES}" 0`, ASK_MS)).slice(1));
  }

  async #untilUp(): Promise<void> {
    await until(`port ${this.port} to answer`, () => answersPing(this.port, ASK_MS), 20_000);
  }
}
