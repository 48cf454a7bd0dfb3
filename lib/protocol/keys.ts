/**
 * The names of what lies on the masters: a lock is its resource's plain name, everything else stands beside it in the
 * same hash slot, under names that begin with `quorate:` and that no two resources share.
 */
import { publicPart } from '../runtime/random.js';
import { hashTag } from '../redis/hash-slots.js';

/** What all names of ours begin with; a resource must not. */
export const RESERVED = 'quorate:';

/** The counter of a lock's fencing tokens. */
export function counterKey(key: string): string {
  return besideOf(key, 'fence');
}

/** Who waits for a lock: tokens by their tickets. */
export function queueKey(key: string): string {
  return besideOf(key, 'queue');
}

/** Whom the lock was handed to last, for as long as anybody waits. */
export function turnKey(key: string): string {
  return besideOf(key, 'turn');
}

/**
 * Before a lock that several may hold: an exclusive lock of its own, with a queue, on which those who wait for the other one
 * stand in line. Who has it is next.
 */
export function gateKey(key: string): string {
  return besideOf(key, 'gate');
}

/** A key with a hash tag of its own keeps it, under another marker, so that what stands beside `x` and `{x}` never meets. */
function besideOf(key: string, what: string): string {
  return hashTag(key) === key ? `quorate:${what}:{${key}}` : `quorate:tagged:${what}:${key}`;
}

/** What the channels begin with by which clients are told that it is their turn. */
export const PUSH_CHANNELS = 'quorate:push:';

/** The channel of the client that a token belongs to. */
export function pushChannel(token: string): string {
  return PUSH_CHANNELS + publicPart(token);
}

/** Where a master keeps under which id it has been running without a loss of data; one for each prefix. */
export function markerKey(keyPrefix: string): string {
  return keyPrefix === '' ? 'quorate:guard' : `quorate:guard:${keyPrefix}`;
}

/** How long counters live after their last use, in ms: longer than clocks are apart, and than the lease they are for. */
export function counterTtlMs(ttlMs: number): number {
  return Math.max(3_600_000, 2 * ttlMs);
}
