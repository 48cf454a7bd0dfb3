/**
 * Votes that were handed over directly (protocol C3): what each is worth, and when those of a quorum are the lease. Pure
 * arithmetic; instants are by the local clock, in ms.
 */
import type { ClaimedByLook } from '../protocol/replies.js';
import type { InstanceTerms } from '../protocol/terms.js';
import { validUntilMs } from '../protocol/validity.js';

/** A vote that answers a look. */
export interface DirectVote {
  readonly validUntilMs: number;
  /** 0 without fencing. */
  readonly fence: number;
  /** The permits, as in `0,3`; empty for any other lock. */
  readonly slots: string;
}

/** A vote with less than this part of its ttl left is claimed. */
const LEAST_LEFT = 1 / 2;

/**
 * What a vote that answers a look is worth: it counts from the instant at which the look was sent. Counting from its
 * arrival, too, bounds the harm of a master's clock that steps in between.
 */
export function directVote(
  { fence, sentMs, slots, spanMs }: ClaimedByLook,
  receivedAtMs: number,
  { driftFactor, ttlMs }: Pick<InstanceTerms, 'driftFactor' | 'ttlMs'>,
): DirectVote {
  const untilMs = Math.min(
    validUntilMs(sentMs, spanMs ?? ttlMs, driftFactor),
    validUntilMs(receivedAtMs, ttlMs, driftFactor),
  );
  return { validUntilMs: untilMs, fence, slots };
}

/**
 * The lease, if a quorum of the votes agrees on the fencing token or the permits, and has enough of the ttl left. It is valid
 * for as long as a quorum of these is: it is the vote that ends first among the quorum that ends last.
 */
export function leaseOf(
  votes: readonly DirectVote[],
  nowMs: number,
  { quorum, ttlMs }: { readonly quorum: number; readonly ttlMs: number },
): DirectVote | undefined {
  for (const { fence, slots } of votes) {
    const agreeing = votes.filter((other) => other.fence === fence && other.slots === slots);
    const firstToEnd = agreeing.sort((a, b) => b.validUntilMs - a.validUntilMs)[quorum - 1];
    if (firstToEnd !== undefined && firstToEnd.validUntilMs - nowMs >= ttlMs * LEAST_LEFT) return firstToEnd;
  }
  return undefined;
}
