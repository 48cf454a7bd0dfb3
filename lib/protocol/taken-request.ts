/** The request by which tokens are listed whose votes must not be set again: `lua/taken.ts` says what it does. */
import { TAKE } from './lua/scripts.js';
import { readCount } from './replies.js';
import { lone, type Request } from './request.js';
import { MUTEX, NO_MARKER, SettledScope } from './scope.js';
import type { Command } from '../redis/transport.js';

/**
 * Always sent with its source: it must not need a second step. @param taken  the list's key @param lifeMs  as long as
 * extensions of these leases may come
 */
export function taking(taken: string, tokens: readonly string[], lifeMs: number): Request {
  const setting = { isFenced: false, marker: undefined, guardMs: NO_MARKER, kind: MUTEX };
  const args = [String(Math.ceil(lifeMs)), ...tokens];
  const alone = (): Command => ({ name: 'eval', args: [TAKE.source, '1', taken, ...args] });
  return lone(TAKE, new SettledScope([taken], setting), '', args, { alone, read: readCount });
}
