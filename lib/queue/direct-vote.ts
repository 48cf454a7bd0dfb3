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
 * The lease, if a quorum of the votes is valid and agrees on the fencing token or the permits, and enough of the ttl is left.
 * It is valid for as long as a quorum of these is.
 */
export function leaseOf(
  votes: readonly DirectVote[],
  nowMs: number,
  { quorum, ttlMs }: { readonly quorum: number; readonly ttlMs: number },
): DirectVote | undefined {
  const valid = votes.filter((vote) => vote.validUntilMs > nowMs);
  const agreeing = valid
    .map(({ fence, slots }) => valid.filter((other) => other.fence === fence && other.slots === slots))
    .find((group) => group.length >= quorum);
  const ends = agreeing?.map((vote) => vote.validUntilMs).sort((a, b) => b - a) ?? [];
  const untilMs = ends[quorum - 1] ?? -Infinity;
  const [vote] = agreeing ?? [];
  return vote === undefined || untilMs - nowMs < ttlMs * LEAST_LEFT
    ? undefined
    : { ...vote, validUntilMs: untilMs };
}
