/**
 * What `npm run chaos -- --rolling` does to its masters: one after another is struck, and back for long enough that each
 * lease is whole again before the next one is struck (G7b).
 */
import type { ClientName } from '../../../lib/index.js';

export interface Scenario {
  readonly name: string;
  readonly masters: number;
  /** Each master keeps its data over a restart, by an append-only file. */
  readonly persist: boolean;
  readonly blow: 'restart' | 'freeze';
}

/** The longest one first. */
export const SCENARIOS: readonly Scenario[] = [
  { name: 'restart-5', masters: 5, persist: true, blow: 'restart' },
  { name: 'restart-3', masters: 3, persist: true, blow: 'restart' },
  { name: 'empty-3', masters: 3, persist: false, blow: 'restart' },
  { name: 'freeze-3', masters: 3, persist: false, blow: 'freeze' },
];

/** The names of the locks; each is the lock's key, too. */
export const LEADER = 'leader';
export const LONG_RUN = 'long-run';
export const TICKS = 'ticks';
export const COMMAND = 'command';
export const HOT = 'hot';
export const HELD: readonly string[] = Array.from({ length: 6 }, (_, i) => `held-${i + 1}`);
/** The leases that are held and renewed as long as the run lasts, while others wait for them. */
export const LASTING: readonly string[] = [LEADER, LONG_RUN, COMMAND, ...HELD];

/** For each lock of `HELD` and in each client: one of all of them holds it, the others wait: 6 · (2 · 3 − 1) = 30. */
export const CONTENDERS = 3;
/** In each client, for the hot lock: 20 in all, of which one holds it. */
export const LANES = 10;
export const HOLD_MS = 50;
export const TICK_EVERY_MS = 1_000;
/** Each by the client library of which it is named. */
export const CLIENTS: readonly ClientName[] = ['ioredis', 'redis'];

/** From one blow to the next, in ms. */
export interface Times {
  /** Within this time after each event, each lease has its vote on each master that is up: a renewal period and 2 s. */
  readonly settleMs: number;
  /** How long a master is away: past the ttl where it keeps its data, since its votes would be there again. */
  readonly awayMs: number;
}

/** A renewal starts at a third of the ttl; where many are due at once, up to a sixteenth of that later. */
const RENEWAL_PART = (1 / 3) * (17 / 16);
const QUICK_RETRIES_MS = 2_000;
const SHORT_RESTART_MS = 1_000;

export function timesOf({ persist, blow }: Scenario, ttlMs: number): Times {
  const settleMs = Math.ceil(ttlMs * RENEWAL_PART) + QUICK_RETRIES_MS;
  const isPast = persist || blow === 'freeze';
  return { settleMs, awayMs: isPast ? Math.max(ttlMs + 500, settleMs) : SHORT_RESTART_MS };
}
