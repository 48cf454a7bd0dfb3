/** What both sides of the comparison know. */
import type { RedlockOptions } from '../../lib/index.js';

export const MODES = ['default', 'plain'] as const;

/** So many lanes, each of which takes and gives back one lock after another. Each name is used once, as an invoice is. */
export interface Load {
  readonly name: string;
  /** Of each instance: of one, or of two if names are shared. */
  readonly lanes: number;
  /** How long a holder works, in ms: at random from the first to the second. */
  readonly holdMs?: readonly [least: number, most: number];
  /** Two instances want so few names, drawn at random: they wait for each other. */
  readonly names?: number;
}

export const LOADS: readonly Load[] = [
  { name: 'in sequence', lanes: 1 },
  { name: '64 in flight', lanes: 64 },
  { name: '1,024 that work', lanes: 1_024, holdMs: [2, 20] },
  { name: '2 × 20 on 20 names', lanes: 20, holdMs: [5, 5], names: 20 },
];

export interface Sample {
  /** Pairs of acquire and release a second. */
  readonly rate: number;
  /** CPU time of the client process for a pair, in µs. */
  readonly cpuUs: number;
}

/** In the order of the loads. */
export type Measured = readonly Sample[];

export function contenderOptions(mode: string): RedlockOptions {
  return mode === 'plain' ? { fencing: false, fair: false, restartGuardMs: 0 } : {};
}
