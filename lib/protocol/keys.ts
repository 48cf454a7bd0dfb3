/**
 * The names of keys on the masters. A lock's key is its resource's plain name. All other keys of the lock are in the same
 * hash slot, under names that begin with `quorate:` and that no two resources share.
 */
import { publicPart } from '../runtime/random.js';
import { invalidArgument } from '../runtime/errors.js';

export { RESERVED } from '../redis/transport.js';

/** The counter of a lock's fencing tokens. */
export function counterKey(key: string): string {
  return besideOf(key, 'fence');
}

/** The waiters of a lock, of whatever kind: tokens by their tickets. */
export function queueKey(key: string): string {
  return besideOf(key, 'queue');
}

/** The last hand-over of the lock; it exists as long as anybody waits. */
export function turnKey(key: string): string {
  return besideOf(key, 'turn');
}

/** What each waiter's last look asked for. */
export function looksKey(key: string): string {
  return besideOf(key, 'looks');
}

/** The value of the leader that an election's lock makes. */
export function valueKey(key: string): string {
  return besideOf(key, 'value');
}

/** The record of a job: which of its ticks are done. */
export function recordKey(key: string): string {
  return besideOf(key, 'record');
}

/** Exists if clients of other libraries, too, have wanted the lock lately. */
export function foreignKey(key: string): string {
  return besideOf(key, 'foreign');
}

/** The note of one holder of a lock, of whatever kind. @param holder  the fingerprint of its token: always equally long */
export function noteKey(key: string, holder: string): string {
  return `${besideOf(key, 'note')}:${holder}`;
}

/** The record of an instance: who it is. On a cluster, the records of different instances lie in different slots. */
export function clientKey(keyPrefix: string, id: string): string {
  return `quorate:client:${keyPrefix}{${id}}`;
}

/** A key with a hash tag of its own keeps it, under another marker, so that names for `x` and `{x}` never coincide. */
function besideOf(key: string, what: string): string {
  return hashTag(key) === key ? `quorate:${what}:{${key}}` : `quorate:tagged:${what}:${key}`;
}

/** The prefix of the channels on which waiters learn of a hand-over. */
export const PUSH_CHANNELS = 'quorate:push:';

/** The channel of the client that a token belongs to. */
export function pushChannel(token: string): string {
  return PUSH_CHANNELS + publicPart(token);
}

/** The channel that announces an election's leader: one that the rights to push cover. */
export function leaderChannel(key: string): string {
  return `${PUSH_CHANNELS}leader:${key}`;
}

/** The key under which a master lists tokens whose votes are never set again; one for each prefix. */
export function takenKey(keyPrefix: string): string {
  return keyPrefix === '' ? 'quorate:taken' : `quorate:taken:${keyPrefix}`;
}

/** The key under which a master keeps the id of the process that has lost no data; one for each prefix. */
export function markerKey(keyPrefix: string): string {
  return keyPrefix === '' ? 'quorate:guard' : `quorate:guard:${keyPrefix}`;
}

// --- Redis Cluster as one of the masters

interface Master {
  readonly name: string;
  readonly isCluster: boolean;
  readonly keyPrefix: string;
}

/** The part of a key that Redis Cluster hashes: the text between the first `{` and the next `}`, or the whole key. */
export function hashTag(key: string): string {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : key;
}

/**
 * All keys of a call must be in one slot of a cluster, or they cannot be locked together. Names are sure to share a slot only
 * if they have the same hash tag; nothing else is relied on.
 * @throws RedlockError `INVALID_ARGUMENT` if they are in several
 */
export function checkOneSlot(keys: readonly string[], masters: readonly Master[]): void {
  for (const { name, isCluster, keyPrefix } of masters) {
    if (!isCluster) continue;
    const tags = new Set(keys.map((key) => hashTag(keyPrefix + key)));
    if (tags.size <= 1) continue;
    const wanted = `in one slot of ${name}: give them a hash tag in common, as in "{account}:1"`;
    throw invalidArgument('resources', keys.join(', '), wanted);
  }
}
