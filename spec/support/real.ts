/**
 * Real servers and real clients for specs: ioredis 6 and 5 as their users have them, a one-node Redis Cluster, and child
 * processes that can be paused.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
import { SCRIPTS } from '../../lib/protocol/lua/scripts.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { createClient, createCluster } from 'redis';
import { createClient as createClient5, createCluster as createCluster5 } from 'redis5';
import type { RedisClient } from '../../lib/redis/client.js';
import type { IoredisClient } from '../../lib/redis/ioredis/transport.js';

/** What specs do to a client beside what quorate does. */
export type SpecClient = IoredisClient & { disconnect(): void };
/** The same for any client. */
export type AnyClient = RedisClient & { disconnect(): void };

export interface ClientKind<Client extends AnyClient = SpecClient> {
  readonly name: string;
  /** Options are the client library's own, the same in both versions where specs use them. */
  open(port: number, options?: Record<string, unknown>): Client;
  openCluster(port: number, options?: Record<string, unknown>): Client;
}

const ignore = (): void => undefined;
const HOST = '127.0.0.1';

/** Both versions, each with everything at its defaults unless a spec says otherwise. */
export const CLIENT_KINDS: readonly ClientKind[] = [
  {
    name: 'ioredis 6',
    open: (port, options = {}) => new Redis(port, HOST, options).on('error', ignore),
    openCluster: (port, options = {}) => new Cluster([{ host: HOST, port }], options).on('error', ignore),
  },
  {
    name: 'ioredis 5',
    open: (port, options = {}) => new Redis5(port, HOST, options).on('error', ignore),
    openCluster: (port, options = {}) => new Cluster5([{ host: HOST, port }], options).on('error', ignore),
  },
];

/** What specs use of a client of node-redis, of either version. */
interface NodeRedis {
  readonly isOpen: boolean;
  on(event: 'error', listener: () => void): unknown;
  connect(): Promise<unknown>;
  destroy(): unknown;
}

/** Connects it, as its owner does, and gives it the method of ioredis. */
export function connected(client: NodeRedis): AnyClient {
  client.on('error', ignore);
  client.connect().catch(ignore); // a failure shows in the client's state
  const disconnect = (): void => {
    if (client.isOpen) client.destroy();
  };
  return Object.assign(client as unknown as AnyClient, { disconnect });
}

/**
 * Where a server is, for node-redis. It makes a class of a thousand functions for a client, and keeps that of the last options
 * only, by their JSON: this one is alike for all servers, since clients of several in turn take most of a spec's time otherwise.
 */
export function socketTo(port: number): { host: string; port: number } {
  return Object.defineProperty({ host: HOST, port }, 'toJSON', { value: () => HOST });
}

/** Both versions of node-redis, with everything at its defaults unless a spec says otherwise. */
export const NODE_REDIS_KINDS: readonly ClientKind<AnyClient>[] = [
  {
    name: 'node-redis 6',
    open: (port, options = {}) => connected(createClient({ socket: socketTo(port), ...options })),
    openCluster: (port) => connected(createCluster({ rootNodes: [{ socket: socketTo(port) }] })),
  },
  {
    name: 'node-redis 5',
    open: (port, options = {}) => connected(createClient5({ socket: socketTo(port), ...options })),
    openCluster: (port) => connected(createCluster5({ rootNodes: [{ socket: socketTo(port) }] })),
  },
];

/** Every client that sends commands in order; `unordered.ts` has the others. */
export const ALL_KINDS: readonly ClientKind<AnyClient>[] = [...CLIENT_KINDS, ...NODE_REDIS_KINDS];

/** Whether a client is connected. */
export function isReady(client: AnyClient): boolean {
  return 'status' in client ? client.status === 'ready' : 'isReady' in client && client.isReady;
}

/** A client for what a spec does by hand. */
export function byHand(port: number, options: Record<string, unknown> = {}): Redis {
  return new Redis(port, HOST, options).on('error', ignore);
}

/**
 * Loads all scripts. Then a claim leaves a vote on each master: without, one that is late to answer that it does not know
 * the script gets none, since the claim has its quorum by then.
 */
export async function loadScripts(hands: readonly Redis[]): Promise<void> {
  for (const hand of hands) for (const { source } of SCRIPTS) await hand.script('LOAD', source);
}

/** How many slots a Redis Cluster has. */
const SLOTS = 16_384;

/** A Redis Cluster of so many shards, each one server without a replica and with an equal part of the slots. */
export async function startCluster(shards = 1): Promise<Masters> {
  const masters = await startMasters(shards, {
    backend: 'process',
    args: ['--cluster-enabled', 'yes', '--cluster-announce-ip', HOST],
  });
  const hands = masters.list.map(({ port }) => byHand(port));
  try {
    await Promise.all(hands.map((hand, i) => addSlots(hand, i, shards)));
    for (const { port } of masters.list) await hands[0]?.call('CLUSTER', 'MEET', HOST, port);
    await eventually(async () =>
      (await Promise.all(hands.map((hand) => isWhole(hand, shards)))).every(Boolean),
    );
  } finally {
    for (const hand of hands) hand.disconnect();
  }
  return masters;
}

/** One by one: ADDSLOTSRANGE is 7.0's. */
async function addSlots(hand: Redis, i: number, shards: number): Promise<void> {
  const [first, end] = [Math.ceil((i * SLOTS) / shards), Math.ceil(((i + 1) * SLOTS) / shards)];
  await hand.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
  await hand.call('CLUSTER', 'ADDSLOTS', ...Array.from({ length: end - first }, (_, at) => first + at));
}

async function isWhole(hand: Redis, shards: number): Promise<boolean> {
  const info = String(await hand.call('CLUSTER', 'INFO'));
  const isKnown =
    info.includes(`cluster_known_nodes:${shards}\r`) && info.includes(`cluster_size:${shards}\r`);
  return isKnown && info.includes('cluster_state:ok');
}

/** Asks again, a turn of the event loop later each time, until it is so; mocha's timeout is the bound. */
export async function eventually(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await turn();
}

function turn(ms = 2): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const PROGRAMS = fileURLToPath(new URL('programs.ts', import.meta.url));

/** A process of its own that runs one of spec/support/programs.ts. */
export class Program {
  readonly process: ChildProcess;
  readonly #connections: Interface;
  readonly #said: string[] = [];

  constructor(name: string, ...args: readonly string[]) {
    this.process = spawn(process.execPath, ['--import', 'tsx', PROGRAMS, name, ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    if (this.process.stdout === null) throw new Error('its output is a pipe');
    this.#connections = createInterface({ input: this.process.stdout });
    this.#connections.on('line', (line) => this.#said.push(line));
  }

  /** What it wrote so far, line by line. */
  get said(): readonly string[] {
    return this.#said;
  }

  /** Waits for a line that begins so. */
  async says(beginning: string): Promise<string> {
    for (;;) {
      const line = this.#said.find((one) => one.startsWith(beginning));
      if (line !== undefined) return line;
      if (this.process.exitCode !== null)
        throw new Error(`it ended without saying ${beginning}: ${this.#said.join('; ')}`);
      await Promise.race([once(this.#connections, 'line'), once(this.process, 'exit')]);
    }
  }

  /** Waits for its end; the exit code, or the signal that ended it. */
  async ends(): Promise<number | string> {
    if (this.process.exitCode === null && this.process.signalCode === null) await once(this.process, 'close');
    return this.process.exitCode ?? this.process.signalCode ?? 'unknown';
  }

  /** It reads a line. */
  tell(line: string): void {
    this.process.stdin?.write(`${line}\n`);
  }

  kill(): void {
    this.process.kill('SIGKILL');
  }
}
