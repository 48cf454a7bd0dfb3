/** Commands without a script on an in-memory master, most of them of timestamp locks. */
import type { Command, PlainCommand } from '../../redis/transport.js';
import { WRONG_TYPE } from './keyspace.js';
import type { Store } from './store.js';
import type { ServerQuestion } from '../../redis/transport.js';

const SETTINGS: Readonly<Record<string, string>> = {
  appendfsync: 'always',
  'io-threads': '1',
  'no-appendfsync-on-rewrite': 'no',
};

const SERVER_ANSWERS: Readonly<Record<ServerQuestion, (store: Store, args: readonly string[]) => unknown>> = {
  time(store) {
    const us = store.micros();
    return [String(Math.floor(us / 1_000_000)), String(us % 1_000_000)];
  },
  ping: () => 'PONG',
  info: (store) =>
    [
      ...['# Server', 'redis_version:7.4.0', 'redis_mode:standalone', `run_id:${store.runId}`],
      ...['# Clients', 'connected_clients:1', 'maxclients:10000'],
      ...['# Memory', 'used_memory:1000000', 'maxmemory:0', 'maxmemory_policy:noeviction'],
      ...['# Persistence', 'aof_enabled:1', 'aof_last_write_status:ok', 'rdb_last_bgsave_status:ok'],
      ...['# Replication', 'role:master', 'connected_slaves:0', '# Cluster', 'cluster_enabled:0', ''],
    ].join('\r\n'),
  config: (_store, [, name = '']) => (SETTINGS[name] === undefined ? [] : [name, SETTINGS[name]]),
  pubsub: (_store, [, ...channels]) => channels.flatMap((channel) => [channel, 0]),
};

const WRONGTYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';

type Plain = (store: Store, args: readonly string[]) => unknown;

/** @throws Error as from a server for a key of another type */
function textOf(store: Store, key: string): string | undefined {
  const text = store.get(key);
  if (text === WRONG_TYPE) throw new Error(WRONGTYPE);
  return text;
}

/** The commands without a script, by name. */
export const PLAIN_COMMANDS: Readonly<Record<PlainCommand, Plain>> = {
  /** SET key text [PX ttl] [NX | XX] */
  set(store, [key = '', text = '', ...options]) {
    const isThere = store.get(key) !== undefined;
    if (options.includes(isThere ? 'NX' : 'XX')) return null;
    const px = options.indexOf('PX');
    store.set(key, text, px < 0 ? 'none' : Number(options[px + 1]));
    return 'OK';
  },
  setnx(store, [key = '', text = '']) {
    if (store.get(key) !== undefined) return 0;
    store.set(key, text, 'none');
    return 1;
  },
  get: (store, [key = '']) => textOf(store, key) ?? null,
  mget: (store, keys) =>
    keys.map((key) => {
      const text = store.get(key);
      return text === undefined || text === WRONG_TYPE ? null : text;
    }),
  getset(store, [key = '', text = '']) {
    const before = textOf(store, key);
    store.set(key, text, 'none');
    return before ?? null;
  },
  del: (store, keys) => keys.filter((key) => store.delete(key)).length,
  ...SERVER_ANSWERS,
};

/** Whether it is a command without a script. */
export function isPlain({ name }: Command): boolean {
  return Object.hasOwn(PLAIN_COMMANDS, name);
}
