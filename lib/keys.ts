/**
 * The names of what lies on the masters: a lock is its resource's plain name, everything else stands beside it in the
 * same hash slot, under names that begin with `quorate:` and that no two resources share.
 */
import { hashTag } from './slots.js';

/** What all names of ours begin with; a resource must not. */
export const RESERVED = 'quorate:';

/**
 * The counter of a lock's fencing tokens. A key with a hash tag of its own keeps it, under another marker, so that the
 * counters of `x` and `{x}` never meet.
 */
export function counterKey(key: string): string {
  return hashTag(key) === key ? `quorate:fence:{${key}}` : `quorate:tagged:fence:${key}`;
}

/** Where a master keeps under which id it has been running without a loss of data; one for each prefix. */
export function markerKey(keyPrefix: string): string {
  return keyPrefix === '' ? 'quorate:guard' : `quorate:guard:${keyPrefix}`;
}

/** How long counters live after their last use, in ms: longer than clocks are apart, and than the lease they are for. */
export function counterTtlMs(ttlMs: number): number {
  return Math.max(3_600_000, 2 * ttlMs);
}
