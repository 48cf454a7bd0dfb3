/**
 * Real masters behind proxies, with all their faults: one interface over `redis-server` processes and over containers. A
 * missing engine is an error.
 */
import { startMasters } from '../../../scripts/masters.js';
import { ask } from '../../../scripts/masters/wait.js';
import { MasterClock } from './clock.js';
import { startContained } from './contained.js';
import { type Direction, Proxy } from './proxy.js';

export type Data = 'kept' | 'lost' | 'stale';
export type ChaosBackend = 'process' | 'container';

export interface ChaosMaster {
  readonly name: string;
  /** The proxy's port, for clients. */
  readonly port: number;
  readonly url: string;
  /** The server's own port, to look at it without the proxy. */
  readonly directPort: number;
  readonly proxy: Proxy;
  /** At once, like a power cut; connections break. */
  kill(): Promise<void>;
  stopGently(): Promise<void>;
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** Saves its data for a restart with `stale` data. */
  checkpoint(): Promise<void>;
  /** After kill or stop; resolves when it answers. */
  restart(data: Data): Promise<void>;
  /** Bytes are swallowed, connections stay open; nothing gets through. */
  cut(direction?: Direction | 'both'): void;
  /** Pushes are swallowed, everything else gets through: only waiters notice. */
  cutPushes(): void;
  /** Existing connections are closed, new ones refused. */
  unplug(): Promise<void>;
  /** Takes no more data: it answers OOM to what would store some. */
  fill(): Promise<void>;
  empty(): Promise<void>;
  /** Its clock; undefined where it is the machine's. */
  readonly clock: MasterClock | undefined;
  /** Undoes cuts, delays, unplug and traps. Connections that lost bytes are closed, since replies are matched by order. */
  heal(): Promise<void>;
}

export interface ChaosMasters extends AsyncDisposable {
  readonly list: readonly ChaosMaster[];
  readonly urls: readonly string[];
  stop(): Promise<void>;
}

export interface ChaosOptions {
  /** @default 'process' */
  readonly backend?: ChaosBackend;
  /** Every write is on disk before it is answered. Without it, only `lost` is accurate after a crash. @default true */
  readonly persist?: boolean;
  /** Each server has a clock that can be changed (backend `process`, with libfaketime). @default false */
  readonly clocks?: boolean;
  /** Of the masters. @default m1, m2 and so on */
  readonly names?: readonly string[];
}

/** The part of a master that a backend provides; the proxy does the rest. */
export interface ChaosServer {
  readonly port: number;
  readonly clock: MasterClock | undefined;
  kill(): Promise<void>;
  stopGently(): Promise<void>;
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  checkpoint(): Promise<void>;
  restart(data: Data): Promise<void>;
  /** Disconnects it from the network, if the backend has one. */
  disconnect(): Promise<void>;
  reconnect(): Promise<void>;
}

export interface ChaosServers {
  readonly list: readonly ChaosServer[];
  readonly stop: () => Promise<void>;
}

export async function startChaosMasters(count: number, options: ChaosOptions = {}): Promise<ChaosMasters> {
  const { backend = 'process', persist = true, clocks = false, names = [] } = options;
  const servers = await (backend === 'process'
    ? startProcesses(count, { persist, clocks })
    : startContained(count, persist));
  const list: ProxiedMaster[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(list.map(({ proxy }) => proxy.stop()));
    await servers.stop();
  };
  try {
    for (const [i, server] of servers.list.entries())
      list.push(await ProxiedMaster.start(names[i] ?? `m${i + 1}`, server, persist));
  } catch (error) {
    await stop();
    throw error;
  }
  return { list, urls: list.map(({ url }) => url), stop, [Symbol.asyncDispose]: stop };
}

const SHUTDOWN_MS = 10_000;
const SETTING_MS = 5_000;

async function startProcesses(
  count: number,
  { persist, clocks }: { readonly persist: boolean; readonly clocks: boolean },
): Promise<ChaosServers> {
  const faked = clocks ? Array.from({ length: count }, () => new MasterClock()) : [];
  const environments = faked.map((clock) => clock.environment);
  const masters = await startMasters(count, { backend: 'process', persist, environments });
  const list = masters.list.map((master, i): ChaosServer => ({
    port: master.port,
    clock: faked[i],
    kill: () => master.kill(),
    // does what SIGTERM does, and closes our connection when it is over
    stopGently: async () => {
      await ask(master.port, 'SHUTDOWN NOSAVE', SHUTDOWN_MS).catch(() => undefined);
      await master.kill();
    },
    freeze: () => master.freeze(),
    thaw: () => master.thaw(),
    checkpoint: () => master.checkpoint(),
    restart: (data) => master.restart({ empty: data === 'lost', stale: data === 'stale' }),
    disconnect: () => Promise.resolve(),
    reconnect: () => Promise.resolve(),
  }));
  const stop = async (): Promise<void> => {
    for (const clock of faked) clock.remove();
    await masters.stop();
  };
  return { list, stop };
}

class ProxiedMaster implements ChaosMaster {
  readonly name: string;
  readonly proxy: Proxy;
  readonly #server: ChaosServer;
  readonly #persist: boolean;
  #isUnplugged = false;

  private constructor(name: string, server: ChaosServer, proxy: Proxy, persist: boolean) {
    this.name = name;
    this.#server = server;
    this.proxy = proxy;
    this.#persist = persist;
  }

  static async start(name: string, server: ChaosServer, persist: boolean): Promise<ProxiedMaster> {
    const proxy = await Proxy.start(() => server.port, server);
    return new ProxiedMaster(name, server, proxy, persist);
  }

  get port(): number {
    return this.proxy.port;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get directPort(): number {
    return this.#server.port;
  }

  get clock(): MasterClock | undefined {
    return this.#server.clock;
  }

  kill = (): Promise<void> => this.#server.kill();
  stopGently = (): Promise<void> => this.#server.stopGently();
  freeze = (): Promise<void> => this.#server.freeze();
  thaw = (): Promise<void> => this.#server.thaw();
  checkpoint = (): Promise<void> => this.#server.checkpoint();

  fill = (): Promise<void> => this.#limitMemory(1);
  empty = (): Promise<void> => this.#limitMemory(0);

  async restart(data: Data): Promise<void> {
    if (data !== 'lost' && !this.#persist)
      throw new Error(
        `${this.name} keeps nothing on disk: start it with persist to restart it with ${data} data`,
      );
    await this.#server.restart(data);
  }

  cut(direction: Direction | 'both' = 'both'): void {
    this.proxy.cut(direction);
  }

  cutPushes(): void {
    this.proxy.cutPushes();
  }

  async unplug(): Promise<void> {
    this.#isUnplugged = true;
    await this.#server.disconnect();
    await this.proxy.unplug();
  }

  async heal(): Promise<void> {
    if (this.#isUnplugged) await this.#server.reconnect();
    this.#isUnplugged = false;
    await this.proxy.heal();
  }

  /** @param bytes  0 for no limit */
  async #limitMemory(bytes: number): Promise<void> {
    const reply = await ask(this.directPort, `CONFIG SET maxmemory ${bytes}`, SETTING_MS);
    if (!reply.startsWith('+OK')) throw new Error(`${this.name} takes no limit of memory: ${reply.trim()}`);
  }
}
