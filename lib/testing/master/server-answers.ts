/**
 * What a master in memory answers to questions about itself: a server as the doctor likes it. Its data are its own, as
 * with a disk that is written to before each answer; a test that restarts it says what becomes of them.
 */
import type { ServerQuestion } from '../../redis/shared-encoding.js';
import type { Store } from './store.js';

const SETTINGS: Readonly<Record<string, string>> = {
  appendfsync: 'always',
  'io-threads': '1',
  'no-appendfsync-on-rewrite': 'no',
};

export const SERVER_ANSWERS: Readonly<
  Record<ServerQuestion, (store: Store, args: readonly string[]) => unknown>
> = {
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
