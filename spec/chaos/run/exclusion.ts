/** Exclusion: no two leases of a key are valid at the same time, where one excludes the other. */
import type { FaultKind } from './history.js';
import { believedEnd, type Call, type LeaseSpan, type Violation } from './model.js';
import { LEADER } from './options.js';
import type { Weather } from './weather.js';

const DOWN: ReadonlySet<FaultKind> = new Set(['kill', 'stop']);

/** `leases` of one key ordered by their grants: each is compared with the earlier ones that last longer. */
export function overlaps(leases: readonly LeaseSpan[], weather: Weather): Violation[] {
  const found: Violation[] = [];
  let held: LeaseSpan[] = [];
  for (const lease of leases) {
    held = held.filter((other) => believedEnd(other) > lease.t);
    if (believedEnd(lease) <= lease.t) continue;
    const rivals = excluded(held, lease).filter((other) => !isUnguarded(other, lease, weather));
    const [longest] = rivals.sort((a, b) => believedEnd(b) - believedEnd(a));
    held.push(lease);
    if (longest === undefined) continue;
    const byMs = Math.min(believedEnd(longest), believedEnd(lease)) - lease.t;
    const text = `${longest.id} and ${lease.id} were valid at the same time for ${byMs.toFixed(3)} ms (${lease.keys.join(', ')})`;
    const kind = lease.keys.includes(LEADER) ? 'two leaders' : 'overlap';
    found.push({ kind, text, places: [longest.place, longest.lastPlace, lease.place] });
  }
  return found;
}

/** Those that must not be held together with it. */
function excluded(held: readonly LeaseSpan[], { call: { mode } }: LeaseSpan): LeaseSpan[] {
  if (mode === undefined || mode === 'write' || mode === 'unfenced') return [...held];
  if (mode === 'read') return held.filter(({ call }) => call.mode !== 'read');
  const taken = held.reduce((sum, { call }) => sum + permitsOf(call.mode), 0);
  return taken + mode.permits > mode.of ? [...held] : [];
}

/** Whoever holds a semaphore in another way leaves no room. */
function permitsOf(mode: Call['mode']): number {
  return typeof mode === 'object' ? mode.permits : Infinity;
}

/**
 * The restart guard keeps this library's claims from masters that have forgotten votes. Another library claims there all
 * the same: what it was granted, when a master had lost data since the earlier lease was claimed, is not held against
 * either.
 */
function isUnguarded(earlier: LeaseSpan, later: LeaseSpan, weather: Weather): boolean {
  if (!isForeign(later)) return false;
  return weather.between(earlier.call.t, later.t, DOWN).some(({ how }) => how !== undefined);
}

function isForeign({ call: { kind } }: LeaseSpan): boolean {
  return kind === 'plain' || kind === 'redlock5';
}
