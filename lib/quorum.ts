/**
 * Quorum arithmetic: when is a round decided, and what does it say? Pure, no `await`, no time.
 *
 * Three outcomes and not two: a node that gave no clear answer (silence, a closed socket, an odd reply) may hold the
 * vote or not. It never counts as a grant, and never as a refusal.
 */

/** What one node answered to a claim, an extension or a release. */
export type Outcome =
  | { readonly kind: 'granted' }
  /** The node said no: another claimant's vote is there, or (`isForeign`) the key holds no lock at all. */
  | { readonly kind: 'refused'; readonly remainingMs: number | undefined; readonly isForeign: boolean }
  /** Nobody knows. `isMisconfigured`: the server itself said why it cannot take part. */
  | { readonly kind: 'unknown'; readonly cause: Error; readonly isMisconfigured: boolean };

/** One shared value: a grant says nothing else. */
export const GRANTED: Outcome = Object.freeze({ kind: 'granted' });

/** How the nodes of a round stand; the sum of all is N. */
export interface Counts {
  granted: number;
  /** Refused by another claimant's vote. */
  held: number;
  /** Refused since the key holds something that is no lock. */
  foreign: number;
  misconfigured: number;
  /** Unknown for any other cause. */
  unknown: number;
  /** Not answered yet. */
  pending: number;
}

/** A decided round; `open` while an answer that is still to come can change it. */
export type Decision = 'granted' | 'held' | 'foreign' | 'misconfigured' | 'unknown';

/** ⌊N/2⌋ + 1: any two quorums of N nodes share a node. */
export function quorumOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1;
}

export function countNodes(counts: Counts): number {
  return (
    counts.granted + counts.held + counts.foreign + counts.misconfigured + counts.unknown + counts.pending
  );
}

/** What a round says with the answers that it has, as if no more came. */
export function verdict(counts: Counts): Decision {
  const nodes = countNodes(counts);
  const quorum = quorumOf(nodes);
  const spare = nodes - quorum; // so many nodes may fail
  if (counts.granted >= quorum) return 'granted';
  // Each class is charged with the failure only when those before it do not explain it alone.
  if (counts.held > spare) return 'held';
  if (counts.held + counts.foreign > spare) return 'foreign';
  if (counts.held + counts.foreign + counts.misconfigured > spare) return 'misconfigured';
  return 'unknown';
}

/**
 * The decision of a round of claims, or `undefined` while it is open. A round is decided as soon as no pending answer
 * can change what it says: granted at a quorum; held when other claimants' votes alone make a quorum impossible (ties
 * of an even N included). When a quorum is impossible for mixed reasons it waits for the rest, since only they can tell
 * contention from an outage; a silent rest is what the node timeout is for.
 */
export function decideClaim(counts: Counts): Decision | undefined {
  const nodes = countNodes(counts);
  const quorum = quorumOf(nodes);
  const spare = nodes - quorum;
  const { granted, held, foreign, misconfigured, pending } = counts;
  if (granted >= quorum) return 'granted';
  if (held > spare) return 'held';
  if (granted + pending >= quorum) return undefined;
  // Impossible by now; is it settled why? A pending answer can only move the verdict to an earlier class.
  if (held + pending > spare && pending > 0) return undefined;
  if (held + foreign > spare) return 'foreign';
  if (held + foreign + pending > spare && pending > 0) return undefined;
  if (held + foreign + misconfigured > spare) return 'misconfigured';
  if (held + foreign + misconfigured + pending > spare && pending > 0) return undefined;
  return 'unknown';
}
