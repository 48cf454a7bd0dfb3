/** Looks of waiters, as specs send them by hand. */
import { queueing } from '../../lib/protocol/queue-request.js';
import type { Request } from '../../lib/protocol/request.js';
import type { Scope } from '../../lib/protocol/scope.js';

/** A look that asks for a reservation. */
export function reserving(scope: Scope, token: string, ticket: number, lifeMs: number): Request {
  return queueing(scope, token, { ticket, lifeMs, sentAtMs: 0, ttlMs: 0, proposal: 0 });
}
