/** The dependencies of an instance: masters, clock, timers, randomness. */
import {
  type IdleTime,
  SystemClock,
  SystemTimers,
  systemIdleTime,
  systemWallClock,
  type Timers,
  type WallClock,
  type Runtime,
} from '../runtime/clock.js';
import { invalidArgument, type RedlockError, withoutPassword } from '../runtime/errors.js';
import { openClients } from './connect.js';
import type { ClientName } from './loading.js';
import type { Master } from './masters.js';
import { SystemRandom } from '../runtime/random.js';
import { type ThisProcess, thisProcess } from '../runtime/this-process.js';
import { checkClient, isClient, type RedisClient, transportOver } from './client.js';
import type { Transport } from './transport.js';

/** What an instance runs on; specs and simulations bring their own. */
export interface Environment extends Runtime {
  readonly transports: readonly Transport[];
  /** For the fencing tokens that are proposed before a master's clock is known. @default none are */
  readonly wall?: WallClock;
  /** Knows when this process was too busy to measure a round trip. @default it never is */
  readonly idle?: IdleTime;
  /** This process, as others see it. @default unknown: the instance has no name, and does not look for those of others */
  readonly process?: ThisProcess;
  /** For the end of a lease whose holder listens for it, and that is not renewed. @default timers */
  readonly leaseTimers?: Timers;
  /** Closes what the instance owns. */
  readonly disconnect: () => void;
}

export function isEnvironment(over: unknown): over is Environment {
  return typeof over === 'object' && over !== null && 'transports' in over;
}

export function environmentOver(clients: readonly RedisClient[], disconnect: () => void): Environment {
  if (!Array.isArray(clients) || clients.length === 0) throw noClients(clients);
  clients.forEach((client: unknown, i) => checkClient(client, `clients[${i}]`, FOR_ADDRESS));
  if (new Set(clients).size < clients.length) {
    throw invalidArgument('clients', clients, 'distinct: the same client is given twice');
  }
  const transports = clients.map((client: RedisClient) => transportOver(client));
  return {
    transports,
    clock: new SystemClock(),
    timers: new SystemTimers(),
    random: new SystemRandom(),
    wall: systemWallClock,
    idle: systemIdleTime,
    process: thisProcess(systemWallClock),
    disconnect: () => {
      for (const transport of transports) transport.close();
      disconnect();
    },
  };
}

/** Opens connections, passes them to `make`, and closes them again if it throws. */
export function overConnections<T>(
  masters: readonly Master[],
  client: ClientName | undefined,
  make: (environment: Environment) => T,
): T {
  const { clients, disconnect } = openClients(masters, client);
  try {
    return make(environmentOver(clients, disconnect));
  } catch (error) {
    disconnect();
    throw error;
  }
}

const FOR_ADDRESS = 'Redlock.connect takes URLs';

function noClients(given: unknown): RedlockError {
  const wanted = 'a non-empty array of clients of ioredis, node-redis or Valkey GLIDE';
  if (typeof given === 'string')
    return invalidArgument('clients', withoutPassword(given), wanted, FOR_ADDRESS);
  const hint = isClient(given) ? 'wrap it in an array, new Redlock([client])' : undefined;
  return invalidArgument('clients', given, wanted, hint);
}

/** One server that is listed twice would vote twice; and a cluster has no one process whose restart could be guarded. */
export function checkMasters(transports: readonly Transport[], restartGuardMs: number): void {
  if (transports.length === 0) throw invalidArgument('clients', transports, 'a non-empty array');
  const names = transports.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw invalidArgument('clients', twice, 'distinct masters: this host and port is given twice');
  if (restartGuardMs > 0 && transports.some(({ isCluster }) => isCluster)) {
    throw invalidArgument('restartGuardMs', restartGuardMs, '0 with a Redis Cluster among the masters');
  }
}
