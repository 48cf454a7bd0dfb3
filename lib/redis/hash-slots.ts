/**
 * Redis Cluster as one of the masters: all keys of one call must lie in one slot there, or they cannot be locked
 * together. Names share a slot for certain when they carry the same hash tag; nothing else is relied on.
 */
import { invalidArgument } from '../runtime/errors.js';

interface Place {
  readonly name: string;
  readonly isCluster: boolean;
  readonly keyPrefix: string;
}

/** What Redis Cluster hashes of a key: what is between the first `{` and the next `}`, or all of it. */
export function hashTag(key: string): string {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : key;
}

/** @throws RedlockError `INVALID_ARGUMENT` where a cluster would spread the keys over several slots */
export function checkOneSlot(keys: readonly string[], places: readonly Place[]): void {
  for (const { name, isCluster, keyPrefix } of places) {
    if (!isCluster) continue;
    const tags = new Set(keys.map((key) => hashTag(keyPrefix + key)));
    if (tags.size <= 1) continue;
    const wanted = `in one slot of ${name}: give them a hash tag in common, as in "{account}:1"`;
    throw invalidArgument('resources', keys.join(', '), wanted);
  }
}
