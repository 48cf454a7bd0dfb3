/** The masters that `Redlock.connect` is given. */
import { invalidArgument, type RedlockError, withoutPassword } from '../runtime/errors.js';
import { isClient } from './client.js';

/**
 * A master: a URL (`redis://`, `rediss://`; a path such as `/3` selects a database), the path of a socket, or options of the
 * library that opens the connection (`RedisOptions` of ioredis, `RedisClientOptions` of node-redis).
 */
export type Master = string | object;

/** @throws RedlockError `INVALID_ARGUMENT`: no array, or an empty one */
export function checkList(masters: unknown): asserts masters is readonly unknown[] {
  if (!Array.isArray(masters) || masters.length === 0) throw noMasters(masters);
}

/** @throws RedlockError `INVALID_ARGUMENT`: no URL and no options */
export function checkMaster(master: unknown, place: string): asserts master is Master {
  if (typeof master === 'string') {
    if (/^(?:rediss?:\/\/|\/)/.test(master)) return;
    const wanted = 'a redis:// or rediss:// URL, or the path of a socket';
    throw invalidArgument(place, withoutPassword(master), wanted);
  }
  if (typeof master !== 'object' || master === null || Array.isArray(master)) {
    throw invalidArgument(place, master, WANTED);
  }
  // a library would read settings from it, and connect to some other server
  if (isClient(master)) throw invalidArgument(place, master, WANTED, 'new Redlock takes clients');
}

const WANTED = 'a URL or options of a client';

function noMasters(given: unknown): RedlockError {
  const wanted = 'a non-empty array of URLs or of options of a client';
  const hint = 'wrap it in an array';
  if (typeof given === 'string') return invalidArgument('masters', withoutPassword(given), wanted, hint);
  const isOne = typeof given === 'object' && given !== null && !Array.isArray(given);
  return invalidArgument('masters', given, wanted, isOne ? hint : undefined);
}
