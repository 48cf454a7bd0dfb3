/** Looks of waiters, as specs send them by hand. */
import { queueing } from '../../lib/protocol/queue-request.js';
import type { Request } from '../../lib/protocol/request.js';
import type { Scope } from '../../lib/protocol/scope.js';

/** A look that asks for a reservation. */
export function reserving(scope: Scope, token: string, ticket: number, lifeMs: number): Request {
  return queueing(scope, token, { ticket, lifeMs, sentAtMs: 0, ttlMs: 0, proposal: 0 });
}

/** What a look asks for, as its script is given it; without a ttl, a reservation. */
export interface LookArgs {
  readonly ticket: number;
  readonly lifeMs: number;
  readonly sentAtMs?: number;
  readonly ttlMs?: number;
  /** Of the counter; 0 is no fencing. */
  readonly counterMs?: number;
  readonly proposal?: number;
  readonly guardMs?: number;
}

/** The arguments of QUEUE. */
export function lookArgs(token: string, look: LookArgs): readonly (string | number)[] {
  const { counterMs = 0, guardMs = -1, lifeMs, proposal = 0, sentAtMs = 0, ticket, ttlMs = 0 } = look;
  return [token, [ticket, lifeMs, sentAtMs].join('|'), ttlMs, counterMs, proposal, guardMs];
}

/** A yield's terms, as its script is given them. */
export interface YieldArgs {
  readonly serial: number | string;
  readonly ticket: number;
  readonly lifeMs: number;
  readonly proposal?: number;
  /** The key is to rest for the holder of the lock. */
  readonly rests?: boolean;
}

/** The arguments of YIELD. */
export function yieldArgs(token: string, yielded: YieldArgs): readonly (string | number)[] {
  const { lifeMs, proposal = 0, rests = false, serial, ticket } = yielded;
  return [token, [serial, ticket, lifeMs, ...(rests ? [1] : [])].join('|'), proposal];
}
