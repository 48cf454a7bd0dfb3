/** Blocks of fencing tokens (protocol C4): a token that a master accepts is the first of a block. */
import { FENCE_BLOCK } from '../../lib/protocol/lua/stored.js';

/** The last fencing token of the block: what the counter is then. */
export function blockEnd(fence: number): number {
  return fence + FENCE_BLOCK - 1;
}

/** The same as a master keeps it. */
export function countedFor(fence: number | undefined): string {
  return String(blockEnd(fence ?? NaN));
}

/** The least fencing token behind the block. */
export function nextBlock(fence: number): number {
  return blockEnd(fence) + 1;
}

/** Whether blocks have a token in common. */
export function overlap(fence: number, other: number): boolean {
  return Math.abs(fence - other) < FENCE_BLOCK;
}
