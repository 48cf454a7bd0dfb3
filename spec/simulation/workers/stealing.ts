/** Locks that clients take away from others: what is drawn for it, and how long it may take. */
import { OUST_STAY_MS } from '../../../lib/coordinator/ousting.js';
import type { AcquireOptions } from '../../../lib/input/options.js';
import type { Lease } from '../../../lib/lease/public.js';
import { mostNodeTimeoutMs } from '../../../lib/protocol/node-timeout.js';
import type { Seeded } from '../world/seeded.js';
import type { Player, Stage } from '../world/stage.js';

/** How much slower than true time a client's clock may run, and how much longer it waits for a master's time. */
const DRIFT = 0.02;
/** Answers of the masters that it may wait for, one after another: holders are looked for again where others came in. */
const ROUNDS = 10;
/** Between a deadline and the client's code that notices it. */
const SLACK_MS = 10;

/** The holders' time, and that of a steal that passes those that wait or queues behind them. */
interface How {
  readonly graceMs: number;
  readonly passWaiters: boolean;
}

interface Terms extends Pick<AcquireOptions, 'ttlMs' | 'nodeTimeoutMs' | 'waitMs'> {
  readonly resource: string;
  readonly maxTtlMs: number;
}

/** With the whole grace, never two hold it by validity. */
export async function stolenBy<T>(
  { checker, world }: Stage,
  { client }: Player,
  seeded: Seeded,
  { maxTtlMs, nodeTimeoutMs = 0, resource, ttlMs = 0, waitMs = 0 }: Terms,
  steal: (how: How) => Promise<T>,
): Promise<T> {
  const graceMs = seeded.chance(0.5) ? Infinity : seeded.whole(0, 300);
  const how = { graceMs, passWaiters: seeded.chance(0.5) };
  // it may come upon the token of another that stays for a while after the holder's vote, and that one upon another's
  const votesMs = maxTtlMs + OUST_STAY_MS * (2 + checker.thefts.stays);
  const askedMs = ROUNDS * mostNodeTimeoutMs({ ttlMs, nodeTimeoutMs });
  const atMostMs = Math.min(graceMs, votesMs) * (1 + DRIFT) + waitMs + askedMs + SLACK_MS;
  const settled = checker.expect(client, `steal ${resource}`, atMostMs);
  world.note(client.name, `steals ${resource}, grace ${graceMs}`);
  try {
    return await steal(how);
  } finally {
    settled();
  }
}

/** An exclusive lock. */
export function stolen(
  stage: Stage,
  player: Player,
  seeded: Seeded,
  terms: Terms & AcquireOptions,
): Promise<Lease> {
  const { maxTtlMs: _, resource, ...options } = terms;
  return stolenBy(stage, player, seeded, terms, (how) =>
    player.redlock.steal(resource, { ...options, ...how }),
  );
}
