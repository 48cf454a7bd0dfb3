/** How a call for a lock is made, drawn from the client's seed. */
import type { HandOver } from '../../../../lib/index.js';
import type { Seeded } from '../../../simulation/world/seeded.js';
import { LONGEST_WAIT_MS } from '../options.js';
import { HAS } from './context.js';

const TTLS = [400, 700, 1_000, 2_000] as const;
const WAITS = [0, 300, 1_000, 3_000, LONGEST_WAIT_MS] as const;
/** The share of calls with `fair: false`: they try while others queue. */
const UNFAIR_SHARE = 0.2;

/** In the words of the library. An earlier version may not know `handOver`. */
export interface WaitTerms {
  readonly waitMs: number;
  readonly fair: boolean;
  readonly handOver?: HandOver;
}

export interface CallTerms {
  readonly ttlMs: number;
  readonly waiting: WaitTerms;
}

export function drawTerms(seeded: Seeded, waits: readonly number[] = WAITS): CallTerms {
  const handOver = seeded.pick<HandOver>(['direct', 'direct', 'reserve']);
  const waiting = { waitMs: seeded.pick(waits), fair: !seeded.chance(UNFAIR_SHARE) };
  return { ttlMs: seeded.pick(TTLS), waiting: HAS.handOver ? { ...waiting, handOver } : waiting };
}
