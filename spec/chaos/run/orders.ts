/** Messages between the conductor and its clients. A handle carries a token: it is sent only in this way. */
import type { LeaseHandle } from '../../../lib/index.js';
import type { Mode } from './history.js';

export interface ClientOrder {
  readonly name: string;
  /** The number of its life, from 1. */
  readonly life: number;
  /** Of the library that this program was made with. */
  readonly version: string;
  readonly seed: number;
  readonly urls: readonly string[];
  /** Of exclusive locks. */
  readonly keys: readonly string[];
  readonly keyPrefix: string;
  readonly guardMs: number;
  readonly folder: string;
  /** The server of the timestamp locks. */
  readonly timestampUrl: string;
  /** What becomes of ticks whose runner died; the same for all clients. */
  readonly missed: 'skip' | 'once' | 'all';
  /** The file of redlock 5; undefined where it is not installed. */
  readonly redlock5: string | undefined;
}

/** A lease on its way from one client to another. `from`: its made-up id. */
export interface Offer {
  readonly kind: 'hand-over';
  readonly handle: LeaseHandle;
  readonly mode: Mode | undefined;
  readonly from: string;
}

export type ToClient = Offer | { readonly kind: 'stop' };
/** `answer`: a grant, or a well-founded LOCK_TAKEN. */
export type FromClient =
  Offer | { readonly kind: 'ready' } | { readonly kind: 'answer'; readonly granted: boolean };

/** The environment variable with a client's order: unlike an argument, other users cannot see it. */
export const ORDER = 'QUORATE_CHAOS_ORDER';
