/** Between the run and its client processes. All instants are CLOCK_MONOTONIC, as in a history. */
import type { ClientName } from '../../../lib/index.js';

export interface ClientOrder {
  /** Its library, and its name. */
  readonly client: ClientName;
  readonly urls: readonly string[];
  readonly ttlMs: number;
}

/** The environment variable with a client's order. */
export const ORDER = 'QUORATE_ROLLING_ORDER';

export type FromClient =
  /** A lasting lease begins, or ends: with the code of its loss. */
  | { readonly e: 'held'; readonly t: number; readonly lock: string; readonly fence: number }
  | {
      readonly e: 'ended';
      readonly t: number;
      readonly lock: string;
      readonly fence: number;
      readonly code: string;
    }
  /** A lease of any kind was lost. */
  | { readonly e: 'lost'; readonly t: number; readonly lock: string; readonly text: string }
  /** One stay with the hot lock: when it was asked for, granted, and its release called. */
  | { readonly e: 'stay'; readonly t: number; readonly askT: number; readonly gotT: number }
  /** A call for a lock failed. */
  | { readonly e: 'refused'; readonly t: number; readonly lock: string; readonly code: string }
  | {
      readonly e: 'tick';
      readonly t: number;
      readonly tick: number;
      readonly what: 'started' | 'done' | 'failed' | 'missed' | 'skipped';
      readonly why: string;
    }
  /** The machine did not let it run for so long, until then; what its own code took is not counted. */
  | { readonly e: 'late'; readonly t: number; readonly byMs: number };

export type Told = FromClient & { readonly client: string };
