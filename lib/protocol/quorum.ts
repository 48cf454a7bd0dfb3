/**
 * Quorum arithmetic: when is a round decided, and what does it say? Pure, no `await`, no time.
 *
 * Three outcomes and not two: a node that gave no clear answer (silence, a closed socket, an odd reply) may hold the
 * vote or not. It never counts as a grant, and never as a refusal.
 */

import { isMisconfigured } from '../redis/server-errors.js';

/** What one node answered to a claim, an extension or a release. */
export type Outcome =
  /**
   * `fence`: the fencing token that the node accepted, 0 without fencing. `clockUs`: the node's clock, where it
   * re-created the counter by it; else 0. `slots`: the permits that the node gave, where it was asked for some.
   */
  | {
      readonly kind: 'granted';
      readonly fence: number;
      readonly clockUs: number;
      readonly slots?: string;
    }
  /**
   * The node said no: another claimant's vote is there, or (`isWrongType`) the key holds no lock at all. `isForeignClient`: that
   * claimant is known not to be a client of this library, and will hand over to nobody. `holds`: what the key holds instead,
   * where the node could tell. `permits`: holders go by another number of permits than this claim does.
   */
  | {
      readonly kind: 'refused';
      readonly remainingMs: number | undefined;
      readonly isWrongType: boolean;
      readonly isForeignClient: boolean;
      readonly holds?: string;
      readonly permits?: { readonly theirs: number; readonly ours: number };
    }
  /** The node may have forgotten votes, and gives none for so long. */
  | { readonly kind: 'quarantined'; readonly remainingMs: number }
  /** Nobody knows. `isMisconfigured`: the server itself said why it cannot take part. */
  | { readonly kind: 'unknown'; readonly cause: Error; readonly isMisconfigured: boolean };

/** One shared value: without fencing, a grant says nothing else. */
export const GRANTED: Outcome = Object.freeze({ kind: 'granted', fence: 0, clockUs: 0 });

/** Nobody knows whether the node did it. */
export function unknown(cause: Error, isItsSetUp = false): Outcome {
  return { kind: 'unknown', cause, isMisconfigured: isItsSetUp };
}

/** The same, by an error that came instead of a reply: the node itself may have said that it cannot take part. */
export function unknownBy(error: Error): Outcome {
  return unknown(error, isMisconfigured(error));
}

/** What stands for a reply that no node gives to such a request. */
export function oddReply(): Error {
  return new Error('a reply that no master gives to this request');
}

/** How the nodes of a round stand; the sum of all is N. */
export interface Counts {
  granted: number;
  /** Refused by another claimant's vote. */
  held: number;
  /** Refused since the key holds something that is no lock. */
  wrongType: number;
  /** Quarantined: they may have forgotten votes. */
  quarantined: number;
  misconfigured: number;
  /** Unknown for any other cause. */
  unknown: number;
  /** Not answered yet. */
  pending: number;
}

/** How nodes stand by what they said; those that said nothing are pending. */
export function countOutcomes(outcomes: readonly (Outcome | undefined)[], nodes: number): Counts {
  const counts: Counts = {
    granted: 0,
    held: 0,
    wrongType: 0,
    quarantined: 0,
    misconfigured: 0,
    unknown: 0,
    pending: 0,
  };
  for (let i = 0; i < nodes; i++) counts[classOf(outcomes[i])]++;
  return counts;
}

/** What an outcome is counted as. */
export function classOf(outcome: Outcome | undefined): keyof Counts {
  if (outcome === undefined) return 'pending';
  switch (outcome.kind) {
    case 'refused':
      return outcome.isWrongType ? 'wrongType' : 'held';
    case 'unknown':
      return outcome.isMisconfigured ? 'misconfigured' : 'unknown';
    default:
      return outcome.kind;
  }
}

/** A decided round; `open` while an answer that is still to come can change it. */
export type Decision = 'granted' | 'held' | 'wrongType' | 'quarantined' | 'misconfigured' | 'unknown';

/** ⌊N/2⌋ + 1: any two quorums of N nodes share a node. */
export function quorumOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1;
}

export function countNodes(counts: Counts): number {
  const { granted, held, wrongType, quarantined, misconfigured, unknown, pending } = counts;
  return granted + held + wrongType + quarantined + misconfigured + unknown + pending;
}

/** What a round says with the answers that it has, as if no more came. */
export function verdict(counts: Counts): Decision {
  const nodes = countNodes(counts);
  const quorum = quorumOf(nodes);
  const spare = nodes - quorum; // so many nodes may fail
  if (counts.granted >= quorum) return 'granted';
  // Each class is charged with the failure only when those before it do not explain it alone.
  let failed = counts.held;
  if (failed > spare) return 'held';
  failed += counts.wrongType;
  if (failed > spare) return 'wrongType';
  failed += counts.quarantined;
  if (failed > spare) return 'quarantined';
  failed += counts.misconfigured;
  return failed > spare ? 'misconfigured' : 'unknown';
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
  const { granted, held, pending } = counts;
  if (granted >= quorum) return 'granted';
  if (held > spare) return 'held';
  if (granted + pending >= quorum) return undefined;
  if (pending === 0) return verdict(counts);
  // Impossible by now; is it settled why? A pending answer can only move the verdict to an earlier class.
  if (held + pending > spare) return undefined;
  const withWrongType = held + counts.wrongType;
  if (withWrongType > spare) return 'wrongType';
  if (withWrongType + pending > spare) return undefined;
  const withQuarantined = withWrongType + counts.quarantined;
  if (withQuarantined > spare) return 'quarantined';
  if (withQuarantined + pending > spare) return undefined;
  const withMisconfigured = withQuarantined + counts.misconfigured;
  if (withMisconfigured > spare) return 'misconfigured';
  return withMisconfigured + pending > spare ? undefined : 'unknown';
}

/**
 * When a quorum may vote again at the latest, in ms, if no more masters fail: when so many of the quarantined ones do as
 * those that vote now lack.
 *
 * @param voting  how many of the N nodes vote now
 */
export function quorumBackInMs(quarantinedMs: readonly number[], voting: number, nodes: number): number {
  const sorted = [...quarantinedMs].sort((a, b) => a - b);
  const missing = Math.min(quorumOf(nodes) - voting, sorted.length);
  return missing <= 0 ? 0 : (sorted[missing - 1] ?? 0);
}
