/** The state of a lease. It ends once, and never comes back. */
import { releasedError } from '../quorum/failure.js';
import type { RedlockError } from '../runtime/errors.js';

export type LeaseState =
  | { readonly kind: 'held' }
  | { readonly kind: 'lost'; readonly error: RedlockError }
  | { readonly kind: 'released'; readonly done: Promise<void> };

export const HELD: LeaseState = Object.freeze({ kind: 'held' });
export const GIVEN_AWAY: LeaseState = Object.freeze({ kind: 'released', done: Promise.resolve() });

/** Why it is not held; undefined if it is. */
export function endErrorOf(state: LeaseState, resources: readonly string[]): RedlockError | undefined {
  switch (state.kind) {
    case 'held':
      return undefined;
    case 'lost':
      return state.error;
    case 'released':
      return releasedError(resources);
  }
}
