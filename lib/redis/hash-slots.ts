/**
 * Redis Cluster as one of the masters: all keys of a call must be in one slot, or they cannot be locked together. Names
 * are sure to share a slot only if they have the same hash tag; nothing else is relied on.
 */
import { invalidArgument } from '../runtime/errors.js';

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

/** @throws RedlockError `INVALID_ARGUMENT` if the keys are in several slots of a cluster */
export function checkOneSlot(keys: readonly string[], masters: readonly Master[]): void {
  for (const { name, isCluster, keyPrefix } of masters) {
    if (!isCluster) continue;
    const tags = new Set(keys.map((key) => hashTag(keyPrefix + key)));
    if (tags.size <= 1) continue;
    const wanted = `in one slot of ${name}: give them a hash tag in common, as in "{account}:1"`;
    throw invalidArgument('resources', keys.join(', '), wanted);
  }
}
