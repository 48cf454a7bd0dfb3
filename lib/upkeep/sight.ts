/** A lock as an operator sees it: its holders and waiters, master by master, and its last fencing token. */
import type { Inspection } from '../lease/inspection.js';
import type { SharedInspection } from '../lease/shared-inspection.js';
import { quorumOf } from '../protocol/quorum.js';
import type { Transport } from '../redis/transport.js';
import type { Redlock } from '../redlock.js';
import { lastFence } from './masters-data.js';

/** An instance, and what is sent to its masters beside the locks' requests. */
export interface Operated {
  readonly redlock: Redlock;
  readonly transports: readonly Transport[];
  readonly keyPrefix: string;
}

/** A lock, whatever its kind. */
export type LockSeen = Inspection | (SharedInspection & { readonly kind: 'shared' });

/** The same, and the last fencing token that a quorum accepted. */
export type Seen = LockSeen & { readonly fence?: number };

/** A lock of either kind: a key that holds no exclusive lock may hold a shared one. */
export async function look({ redlock }: Pick<Operated, 'redlock'>, name: string): Promise<LockSeen> {
  const inspection = await redlock.inspect(name);
  const isElse = inspection.nodes.some(({ state }) => state === 'foreign');
  const shared = isElse ? await redlock.readWriteLock(name).read.inspect() : undefined;
  if (shared === undefined || shared.state === 'foreign') return inspection;
  return { ...shared, kind: 'shared' };
}

export async function see(operated: Operated, name: string): Promise<Seen> {
  const { keyPrefix, transports } = operated;
  const seen = await look(operated, name);
  const answering = transports.filter((_transport, i) => seen.nodes[i]?.state !== 'unknown');
  const fences = await Promise.all(answering.map((transport) => lastFence(transport, keyPrefix + name)));
  const last = agreed(fences, quorumOf(transports.length));
  return last === undefined ? seen : { ...seen, fence: last };
}

/**
 * The token that a quorum accepted, as it accepts every token that a holder gets. A waiter that had the vote of one master,
 * if only for a moment, left a higher token there.
 */
export function agreed(fences: readonly (number | undefined)[], quorum: number): number | undefined {
  return fences.find((one) => one !== undefined && fences.filter((other) => other === one).length >= quorum);
}
