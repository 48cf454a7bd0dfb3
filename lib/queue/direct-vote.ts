/**
 * Votes that were handed over directly (protocol C3): what each is worth, and when those of a quorum are the lease. Pure
 * arithmetic; instants are by the local clock, in ms.
 */
import type { ClaimedByLook } from '../protocol/replies.js';
import { validUntilMs } from '../protocol/validity.js';

/** A vote that answers a look. */
export interface DirectVote {
  readonly validUntilMs: number;
  /** 0 without fencing. */
  readonly fence: number;
}

/** A vote with less than this part of its ttl left is claimed. */
const LEAST_LEFT = 1 / 2;

/** What a vote's validity depends on. */
export interface VoteTerms {
  readonly ttlMs: number;
  readonly driftFactor: number;
}

/**
 * What a vote that answers a look is worth: it counts from the instant at which the look was sent. Counting from its
 * arrival, too, bounds the harm of a master's clock that steps in between.
 */
export function directVote(
  { fence, sentMs, spanMs }: ClaimedByLook,
  receivedAtMs: number,
  { driftFactor, ttlMs }: VoteTerms,
): DirectVote {
  const untilMs = Math.min(
    validUntilMs(sentMs, spanMs ?? ttlMs, driftFactor),
    validUntilMs(receivedAtMs, ttlMs, driftFactor),
  );
  return { validUntilMs: untilMs, fence };
}

/** When votes are the lease. */
export interface LeaseTerms {
  readonly quorum: number;
  readonly isFenced: boolean;
  readonly ttlMs: number;
}

/**
 * The lease, if a quorum of the votes is valid and carries one fencing token, and enough of the ttl is left. It is valid
 * for as long as a quorum of them is.
 */
export function leaseOf(
  votes: readonly DirectVote[],
  nowMs: number,
  { isFenced, quorum, ttlMs }: LeaseTerms,
): DirectVote | undefined {
  const valid = votes.filter((vote) => vote.validUntilMs > nowMs);
  const isAgreed = ({ fence }: DirectVote): boolean =>
    valid.filter((other) => other.fence === fence).length >= quorum;
  const agreed = isFenced ? valid.find(isAgreed) : valid[0];
  const ends = valid.map((vote) => vote.validUntilMs).sort((a, b) => b - a);
  const untilMs = ends[quorum - 1] ?? -Infinity;
  if (agreed === undefined || untilMs - nowMs < ttlMs * LEAST_LEFT) return undefined;
  return { validUntilMs: untilMs, fence: isFenced ? agreed.fence : 0 };
}
