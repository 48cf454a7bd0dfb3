/** Looks of waiters, as specs send them by hand. */
import { queueing } from '../../lib/protocol/queue-request.js';
import type { Request } from '../../lib/protocol/request.js';
import type { Scope } from '../../lib/protocol/scope.js';
import { ENTRY } from '../../lib/protocol/lua/entries.js';
import { type LoneEntry, loneEntry } from './lone-entries.js';

/** A look that asks for a reservation. */
export function reserving(scope: Scope, token: string, ticket: number, lifeMs: number): Request {
  return queueing(scope, token, { ticket, lifeMs, sentAtMs: 0, ttlMs: 0, proposal: 0 });
}

/** What a look asks for; without a ttl, a reservation. */
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

/** It as an entry. */
export function lookBy(token: string, look: LookArgs): LoneEntry {
  const { counterMs = 0, guardMs = -1, lifeMs, proposal = 0, sentAtMs = 0, ticket, ttlMs = 0 } = look;
  const place = [ticket, lifeMs, sentAtMs].join('|');
  return loneEntry(ENTRY.queue, token, { ttl: ttlMs, life: counterMs, proposal, place, guard: guardMs });
}

/** A yield's terms. */
export interface YieldArgs {
  readonly serial: number | string;
  readonly ticket: number;
  readonly lifeMs: number;
  readonly proposal?: number;
  /** The key is to rest for the holder of the lock. */
  readonly rests?: boolean;
}

/** It as an entry. */
export function yieldBy(token: string, yielded: YieldArgs): LoneEntry {
  const { lifeMs, proposal = 0, rests = false, serial, ticket } = yielded;
  const place = [serial, ticket, lifeMs, ...(rests ? [1] : [])].join('|');
  return loneEntry(ENTRY.yield, token, { proposal, place });
}
