/** What an attempt asks the masters for. */
import type { Watch } from '../protocol/operation.js';
import { type Request, scriptedClaim } from '../protocol/request.js';
import { NO_MARKER, type Scope } from '../protocol/scope.js';
import type { AcquisitionEnvironment, AcquisitionTerms } from './acquisition-terms.js';

/** Nothing but the key is asked for, and nothing but yes or no answered: `SET key token NX PX ttl` says it all. */
export function isPlain({ guardMs, isFenced, keys, kind }: Scope): boolean {
  return keys.length === 1 && !isFenced && guardMs === NO_MARKER && kind.name === 'mutex';
}

/** @param sentAtMs  counters begin no lower than the time of that instant */
export function scriptedClaimOf(
  { floor }: AcquisitionEnvironment,
  { scope, ttlMs }: AcquisitionTerms,
  token: string,
  sentAtMs: number,
  watch: Watch | undefined,
): Request {
  return scriptedClaim(scope, token, ttlMs, scope.isFenced ? floor.at(sentAtMs) : 0, watch);
}
