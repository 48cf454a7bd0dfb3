/** The ways to lock that are put to the test, from what is found on the web to a quorum with fencing. */
import type { Redis } from 'ioredis';
import { SystemClock, SystemTimers } from '../../lib/runtime/clock.js';
import { type LeaseStatus, Redlock } from '../../lib/index.js';
import { TimestampLock } from '../../lib/timestamp/index.js';
import { SystemRandom } from '../../lib/runtime/random.js';
import { IoredisTransport } from '../../lib/redis/ioredis/transport.js';

export const WAYS = ['naive', 'commands', 'script', 'token', 'quorum', 'fenced'] as const;
export type Way = (typeof WAYS)[number];
/** Those that this library has. */
export type OurWay = Exclude<Way, 'naive'>;
export const OUR_WAYS = ['commands', 'script', 'token', 'quorum', 'fenced'] as const;
/** Those with one server. */
export const SINGLE_WAYS = ['commands', 'script', 'token'] as const;

export const LABELS: Readonly<Record<Way, string>> = {
  naive: 'by hand',
  commands: 'timestamp lock, commands',
  script: 'timestamp lock, script',
  token: 'token lock, one master',
  quorum: 'quorum of five',
  fenced: 'quorum and fence',
};

/** What is common to a lease of each kind. */
export interface Holding {
  readonly status: LeaseStatus;
  readonly fence?: number | undefined;
  assertHeld(): void;
  release(): Promise<void>;
}

export interface Claimant {
  tryAcquire(resource: string): Promise<Holding | null>;
  acquire(resource: string): Promise<Holding>;
}

export interface ClaimantOptions {
  readonly ttlMs: number;
  /** How far its wall clock is ahead. @default 0 */
  readonly aheadMs?: number;
}

/** Long enough for a machine that is busy with other things. */
const NODE_TIMEOUT_MS = 5_000;

/** @param clients  one for each master; ways on one master take the first */
export function claimantFor(
  way: OurWay,
  clients: readonly Redis[],
  { ttlMs, aheadMs = 0 }: ClaimantOptions,
): Claimant {
  const [first] = clients;
  if (first === undefined) throw new Error('a master at least');
  switch (way) {
    case 'commands':
    case 'script': {
      const environment = {
        transport: new IoredisTransport(first),
        clock: new SystemClock(),
        timers: new SystemTimers(),
        random: new SystemRandom(),
        wallMs: () => Date.now() + aheadMs,
      };
      return new TimestampLock(environment, {
        method: way,
        unit: 'ms',
        ttlMs,
        nodeTimeoutMs: NODE_TIMEOUT_MS,
      });
    }
    case 'token':
      return new Redlock([first], { fencing: false, fair: false, ttlMs, nodeTimeoutMs: NODE_TIMEOUT_MS });
    case 'quorum':
      return new Redlock(clients, { fencing: false, fair: false, ttlMs, nodeTimeoutMs: NODE_TIMEOUT_MS });
    case 'fenced':
      return new Redlock(clients, { fair: false, ttlMs, nodeTimeoutMs: NODE_TIMEOUT_MS });
  }
}

/** Gives back what was granted. */
export async function giveBack(...leases: readonly (Holding | null | undefined)[]): Promise<void> {
  for (const lease of leases) await lease?.release();
}
