/** Scopes of one instance, as specs of requests need them. */
import type { Kind, Scope } from '../../lib/protocol/scope.js';
import { plainScope } from './commands.js';

export const MARKER = 'quorate:guard';

export function fencedScope(guardMs: number, ...keys: readonly string[]): Scope {
  return { ...plainScope(...keys), isFenced: true, marker: MARKER, guardMs };
}

export function permits(slots: string, wanted = 1, of = 3): Kind {
  return { name: 'semaphore', permits: of, wanted, slots };
}

/** A shared lock under a guard; writers are fenced. */
export function sharedScope(guardMs: number, kind: Kind, name: string): Scope {
  return { ...fencedScope(guardMs, name), kind, isFenced: kind.name === 'write' };
}
