/** Opens the connections of `Redlock.connect`, by the library that is asked for or installed. */
import type { RedisClient } from './client.js';
import { openIoredis } from './ioredis/connect.js';
import { type ClientName, installedClient } from './loading.js';
import { checkList, type Master } from './masters.js';
import { openNodeRedis } from './node-redis/connect.js';

/** Clients that are ours. */
export interface Opened {
  readonly clients: readonly RedisClient[];
  readonly disconnect: () => void;
}

/** @throws RedlockError `INVALID_ARGUMENT` */
export function openClients(masters: readonly Master[], client?: ClientName): Opened {
  checkList(masters);
  return (client ?? installedClient()) === 'ioredis' ? byIoredis(masters) : openNodeRedis(masters);
}

function byIoredis(masters: readonly Master[]): Opened {
  const clients = openIoredis(masters);
  return {
    clients,
    disconnect: () => {
      for (const client of clients) client.disconnect();
    },
  };
}
