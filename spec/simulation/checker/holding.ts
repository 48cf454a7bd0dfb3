/** Leases in their holders' hands, as the checker sees them. */
import type { Lease } from '../../../lib/lease/public.js';
import type { SimulatedClient } from '../world/client.js';

/** A lease that a holder has. */
export interface Holding {
  readonly lease: Lease;
  readonly client: SimulatedClient;
  untilMs: number;
  /**
   * A routine runs under it: nobody else may be granted the lock before the routine has ended, unless the lease is lost.
   */
  isWork: boolean;
  /** Its end was seen; it must not become valid again. */
  isOver: boolean;
  /** Its overlap with another lease was reported. */
  isTold: boolean;
}

/** A lease that was freed while its routine runs is not over: the routine goes on. */
export function isOver({ isWork, lease }: Holding): boolean {
  return isWork ? lease.status === 'lost' : lease.status !== 'held';
}
