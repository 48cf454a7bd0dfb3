/** The request that an attempt sends. */
import type { Watch } from '../protocol/operation.js';
import { type Request, scriptedClaim } from '../protocol/request.js';
import { NO_MARKER, type Scope } from '../protocol/scope.js';
import type { AcquisitionEnvironment, AcquisitionTerms } from './acquisition-terms.js';

/** Only the key is needed, and only yes or no as the answer: `SET key token NX PX ttl` suffices. */
export function isPlain({ guardMs, isFenced, keys, kind }: Scope): boolean {
  return keys.length === 1 && !isFenced && guardMs === NO_MARKER && kind.name === 'mutex';
}

/** @param sentAtMs  the send instant; new counters start from the masters' time at that instant or above */
export function scriptedClaimOf(
  { floor }: AcquisitionEnvironment,
  { scope, ttlMs }: AcquisitionTerms,
  token: string,
  sentAtMs: number,
  watch: Watch | undefined,
): Request {
  return scriptedClaim(scope, token, ttlMs, scope.isFenced ? floor.at(sentAtMs) : 0, watch);
}
