/** The request by which tokens are listed whose votes must not be set again: `lua/taken.ts` says what it does. */
import { TAKE } from './lua/taken.js';
import { readCount } from './replies.js';
import { lone, type Request } from './request.js';
import { MUTEX, NO_MARKER, SettledScope } from './scope.js';

/** @param taken  the list's key @param lifeMs  as long as extensions of these leases may come */
export function taking(taken: string, tokens: readonly string[], lifeMs: number): Request {
  const setting = { isFenced: false, marker: undefined, guardMs: NO_MARKER, kind: MUTEX };
  const args = [String(Math.ceil(lifeMs)), ...tokens];
  return lone(TAKE, new SettledScope([taken], setting), '', args, { read: readCount });
}
