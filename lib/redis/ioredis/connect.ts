/** Connections of our own by ioredis, set up as a lock needs them: no offline queue, and no automatic resending. */
import type { Redis, RedisOptions } from 'ioredis';
import { invalidArgument, withoutPassword } from '../../runtime/errors.js';
import { checkMaster, type Master } from '../masters.js';
import { CONNECT_TIMEOUT_MS, reconnectMs, SILENCE_MS } from '../waits.js';
import { ioredis } from '../loading.js';
import { screen } from './screen.js';

/**
 * A socket that is closed by us is destroyed after this time. ioredis waits that long for one that was never connected as
 * well, and keeps the process alive meanwhile: for two seconds, by its default.
 */
const FAREWELL_MS = 100;

/** ioredis 6 types its clients by this option; replies are read the same way with either value. */
type LegacyReplies = RedisOptions & { replyMapping: 'legacy' };

const LOCK_SETTINGS: LegacyReplies = {
  replyMapping: 'legacy',
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: CONNECT_TIMEOUT_MS,
  socketTimeout: SILENCE_MS,
  disconnectTimeout: FAREWELL_MS,
  connectionName: 'quorate',
  retryStrategy: (times) => reconnectMs(times - 1),
};

/** Opens a client for each master. A master's own options win, except where a lock relies on a setting. */
export function openIoredis(masters: readonly Master[]): Redis[] {
  const settings = masters.map((master, i) => settingsFor(master, `masters[${i}]`));
  const { Redis } = ioredis();
  const clients: Redis[] = [];
  try {
    for (const [url, options] of settings) {
      const client = url === undefined ? new Redis(options) : new Redis(url, options);
      client.on('error', ignore); // unheard, ioredis would print it; tallies name the cause
      screen(client, 'commands');
      clients.push(client);
      checkDatabase(client, url === undefined ? options.db : withoutPassword(url), clients.length - 1);
    }
  } catch (error) {
    for (const client of clients) client.disconnect();
    throw error;
  }
  return clients;
}

function settingsFor(master: Master, place: string): [string | undefined, LegacyReplies] {
  checkMaster(master, place);
  if (typeof master === 'string') return [master, LOCK_SETTINGS];
  const {
    enableOfflineQueue: _queue,
    autoResendUnfulfilledCommands: _resend,
    ...own
  } = master as RedisOptions;
  return [undefined, { ...LOCK_SETTINGS, ...own, replyMapping: 'legacy' }];
}

/** ioredis ignores a database that is not a number, and would use database 0. */
function checkDatabase({ options: { db = 0 } }: Redis, given: unknown, i: number): void {
  if (Number.isSafeInteger(db) && db >= 0) return;
  throw invalidArgument(`masters[${i}]`, given, 'a master whose database is a whole number from 0 on');
}

function ignore(): void {}
