/** What the conductor and its clients say to each other. A handle carries a token: it goes by this way only. */
import type { LeaseHandle } from '../../../lib/index.js';

export interface ClientOrder {
  readonly name: string;
  /** How many there were of it, this one included. */
  readonly life: number;
  readonly seed: number;
  readonly urls: readonly string[];
  readonly keys: readonly string[];
  readonly keyPrefix: string;
  readonly guardMs: number;
  readonly folder: string;
}

/** A lease on its way from one client to another. `from`: its made-up id. */
export interface HandOver {
  readonly kind: 'hand-over';
  readonly handle: LeaseHandle;
  readonly from: string;
}

export type ToClient = HandOver | { readonly kind: 'stop' };
/** `answer`: a grant, or an honest LOCK_TAKEN. */
export type FromClient =
  HandOver | { readonly kind: 'ready' } | { readonly kind: 'answer'; readonly granted: boolean };

/** The environment variable with a client's order: unlike an argument, other users do not see it. */
export const ORDER = 'QUORATE_CHAOS_ORDER';
