/**
 * What an instance stands on: masters, clock, timers, randomness; and what all its requests have in common.
 */
import { type Clock, SystemClock, SystemTimers, type Timers } from './runtime/clock.js';
import { invalidArgument, type RedlockError, withoutPassword } from './runtime/errors.js';
import { markerKey } from './protocol/keys.js';
import type { ResolvedOptions } from './input/options.js';
import { type Random, SystemRandom } from './runtime/random.js';
import { type Kind, MUTEX, NO_MARKER, type Setting } from './protocol/scope.js';
import {
  checkClient,
  isClient,
  type RedisClient,
  RedisTransport,
  type Transport,
} from './redis/transport.js';

/** What an instance stands on; specs and simulations bring their own. */
export interface RedlockGround {
  readonly transports: readonly Transport[];
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** Closes what the instance owns. */
  readonly disconnect: () => void;
}

export function isGround(over: unknown): over is RedlockGround {
  return typeof over === 'object' && over !== null && 'transports' in over;
}

export function groundOver(clients: readonly RedisClient[], disconnect: () => void): RedlockGround {
  if (!Array.isArray(clients) || clients.length === 0) throw noClients(clients);
  clients.forEach((client: unknown, i) => checkClient(client, `clients[${i}]`, FOR_ADDRESS));
  if (new Set(clients).size < clients.length) {
    throw invalidArgument('clients', clients, 'distinct: the same client is given twice');
  }
  const transports = clients.map((client: RedisClient) => new RedisTransport(client));
  return {
    transports,
    clock: new SystemClock(),
    timers: new SystemTimers(),
    random: new SystemRandom(),
    disconnect: () => {
      for (const transport of transports) transport.close();
      disconnect();
    },
  };
}

const FOR_ADDRESS = 'Redlock.connect takes URLs';

function noClients(given: unknown): RedlockError {
  const wanted = 'a non-empty array of ioredis Redis or Cluster instances';
  if (typeof given === 'string')
    return invalidArgument('clients', withoutPassword(given), wanted, FOR_ADDRESS);
  const hint = isClient(given) ? 'wrap it in an array, new Redlock([client])' : undefined;
  return invalidArgument('clients', given, wanted, hint);
}

/** One server that is listed twice would vote twice; and a cluster has no one process whose restart could be guarded. */
export function checkMasters(transports: readonly Transport[], { restartGuardMs }: ResolvedOptions): void {
  if (transports.length === 0) throw invalidArgument('clients', transports, 'a non-empty array');
  const names = transports.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw invalidArgument('clients', twice, 'distinct masters: this host and port is given twice');
  if (restartGuardMs > 0 && transports.some(({ isCluster }) => isCluster)) {
    throw invalidArgument('restartGuardMs', restartGuardMs, '0 with a Redis Cluster among the masters');
  }
}

export interface Settings {
  readonly fenced: Setting;
  readonly unfenced: Setting;
}

/**
 * A claim by script looks for the marker also where this instance has no guard, since it would void that of others. A
 * plain claim cannot; and on a cluster the marker lies in a slot of its own.
 */
export function settingsFor(
  transports: readonly Transport[],
  { keyPrefix, restartGuardMs: guardMs }: ResolvedOptions,
): Settings {
  const guarded = { marker: markerKey(keyPrefix), guardMs };
  const unguarded = { marker: undefined, guardMs: NO_MARKER };
  const hasCluster = transports.some(({ isCluster }) => isCluster);
  return {
    fenced: { isFenced: true, kind: MUTEX, ...(hasCluster ? unguarded : guarded) },
    unfenced: { isFenced: false, kind: MUTEX, ...(guardMs === 0 ? unguarded : guarded) },
  };
}

/** What the calls for a lock of that kind have in common. Locks that several may hold are claimed by script in any case. */
export function settingOfKind(settings: Settings, kind: Kind, fencing: boolean): Setting {
  const { fenced, unfenced } = settings;
  if (kind.name === 'mutex') return fencing ? fenced : unfenced;
  const { marker, guardMs } = fenced;
  return { isFenced: fencing && kind.name === 'write', marker, guardMs, kind };
}
