/** What both sides of the comparison know. */
import type { RedlockOptions } from '../../lib/index.js';

export const MODES = ['default', 'plain'] as const;
export const LOADS = ['in sequence', '64 in flight'] as const;

export interface Sample {
  /** Pairs of acquire and release a second. */
  readonly rate: number;
  /** CPU time of the client process for a pair, in µs. */
  readonly cpuUs: number;
}

export type Measured = Readonly<Record<(typeof LOADS)[number], Sample>>;

export function contenderOptions(mode: string): RedlockOptions {
  return mode === 'plain' ? { fencing: false, fair: false, restartGuardMs: 0 } : {};
}
