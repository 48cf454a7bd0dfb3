/**
 * Connections of our own, set up as a lock needs them: no offline queue, no automatic resending, and a reconnection
 * within two seconds after a master is back.
 */
import { Redis, type RedisOptions } from 'ioredis';
import { invalidArgument, type RedlockError, withoutPassword } from '../runtime/errors.js';
import { screen } from './screen.js';
import { isClient } from './transport.js';

/** A master: a URL (`redis://`, `rediss://`; a path such as `/3` selects a database), or options of ioredis. */
export type Master = string | RedisOptions;

const CONNECT_TIMEOUT_MS = 2_000;
const RECONNECT_FIRST_MS = 50;
const RECONNECT_LAST_MS = 2_000;
/** A connection is closed after this time without an answer: a cut network is noticed sooner than by TCP. */
const SILENCE_MS = 10_000;

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
  retryStrategy: (times) => Math.min(RECONNECT_FIRST_MS * 2 ** Math.min(times - 1, 10), RECONNECT_LAST_MS),
};

/** Opens a client for each master. A master's own options win, except where a lock relies on a setting. */
export function openClients(masters: readonly Master[]): Redis[] {
  if (!Array.isArray(masters) || masters.length === 0) throw noMasters(masters);
  const settings = masters.map((master, i) => settingsFor(master, `masters[${i}]`));
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

function settingsFor(master: unknown, place: string): [string | undefined, LegacyReplies] {
  if (typeof master === 'string') {
    if (!/^(?:rediss?:\/\/|\/)/.test(master)) {
      const wanted = 'a redis:// or rediss:// URL, or the path of a socket';
      throw invalidArgument(place, withoutPassword(master), wanted);
    }
    return [master, LOCK_SETTINGS];
  }
  if (typeof master !== 'object' || master === null || Array.isArray(master)) {
    throw invalidArgument(place, master, 'a URL or ioredis options');
  }
  // ioredis would read settings from it, and connect to some other server
  if (isClient(master)) {
    throw invalidArgument(place, master, 'a URL or ioredis options', 'new Redlock takes clients');
  }
  const {
    enableOfflineQueue: _queue,
    autoResendUnfulfilledCommands: _resend,
    ...own
  } = master as RedisOptions;
  return [undefined, { ...LOCK_SETTINGS, ...own, replyMapping: 'legacy' }];
}

function noMasters(given: unknown): RedlockError {
  const wanted = 'a non-empty array of URLs or ioredis options';
  const hint = 'wrap it in an array';
  if (typeof given === 'string') return invalidArgument('masters', withoutPassword(given), wanted, hint);
  const isOne = typeof given === 'object' && given !== null && !Array.isArray(given);
  return invalidArgument('masters', given, wanted, isOne ? hint : undefined);
}

/** ioredis ignores a database that is not a number, and would use database 0. */
function checkDatabase({ options: { db = 0 } }: Redis, given: unknown, i: number): void {
  if (Number.isSafeInteger(db) && db >= 0) return;
  throw invalidArgument(`masters[${i}]`, given, 'a master whose database is a whole number from 0 on');
}

function ignore(): void {}
