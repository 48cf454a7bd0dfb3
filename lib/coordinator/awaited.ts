/** What an acquisition waits for, and how that ends with the time of the attempt or with the call. */
import type { Queue } from '../queue/queue.js';
import type { Round } from '../quorum/round.js';
import type { Withdrawal } from '../quorum/withdrawal.js';
import { NOT_AWAITED, Silence } from '../redis/server-errors.js';
import type { Applicant } from './admission.js';

/** The attempt under way, once it has sent its claim. */
export interface Claim {
  readonly kind: 'claim';
  readonly round: Round;
  readonly nodeTimeoutMs: number;
  /** Counts towards the instance's admission; a claim in its turn does not. */
  readonly isAdmitted: boolean;
}

export type Awaited =
  /** Between two attempts. */
  | { readonly kind: 'nothing' }
  /** Room for one more attempt. */
  | { readonly kind: 'room'; readonly applicant: Applicant }
  /** Its turn. */
  | { readonly kind: 'queue'; readonly queue: Queue }
  | Claim
  /** What an undo sees on the masters. */
  | { readonly kind: 'look'; readonly withdrawal: Withdrawal }
  /** The time is up, or the call was cancelled. */
  | { readonly kind: 'ended' };

export const NOTHING: Awaited = { kind: 'nothing' };
export const ENDED: Awaited = { kind: 'ended' };

/** Ends it from outside. @param isCancelled  by the caller, and not since its time is up: no master is silent then */
export function endAwaited(awaited: Awaited, isCancelled: boolean): void {
  switch (awaited.kind) {
    case 'nothing':
    case 'ended':
      return;
    case 'room':
      return awaited.applicant.end();
    case 'queue':
      return awaited.queue.end();
    case 'look':
      return awaited.withdrawal.end();
    case 'claim':
      if (isCancelled) return awaited.round.end(NOT_AWAITED, false);
      return awaited.round.end(new Silence(awaited.nodeTimeoutMs), true);
  }
}
