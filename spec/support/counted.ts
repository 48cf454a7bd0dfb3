/** Counters of fencing tokens, as masters keep them. */
import { FENCE_BLOCK } from '../../lib/protocol/lua/stored.js';

/** The counter of a master that has accepted that fencing token: the last one of its block. */
export function countedFor(fence: number | undefined): string {
  return String((fence ?? NaN) + FENCE_BLOCK - 1);
}
