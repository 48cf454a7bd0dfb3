/** Values of the keys of exclusive locks: whose a vote is, with the mark of a hand-over or without. */
import { RESERVED_MARK } from '../../lib/runtime/random.js';
import type { WRONG_TYPE } from '../../lib/testing/master/keyspace.js';

/** The value of a key that was handed over to a token, and not claimed since. */
export function markedFor(token: string): string {
  return token + RESERVED_MARK;
}

/** Whether a key's value is this token's. */
export function isOf(token: string, owner: string | typeof WRONG_TYPE | undefined): boolean {
  return owner === token || owner === markedFor(token);
}
