/**
 * Quorum arithmetic: when a round is decided, and how. Pure: no `await`, no time.
 *
 * There are three outcomes, not two. A node without a clear answer (silence, a closed socket, an odd reply) may hold the
 * vote or not. It never counts as a grant, and never as a refusal.
 */

import { isMisconfigured } from '../redis/server-errors.js';

/** One node's answer to a claim, an extension or a release. */
export type Outcome =
  /**
   * `fence`: the fencing token that the node accepted, 0 without fencing. `clockUs`: the node's clock if it reported it, for
   * example when it took its clock for the fencing token; else 0. `slots`: the permits that the node gave, if some were claimed.
   */
  | {
      readonly kind: 'granted';
      readonly fence: number;
      readonly clockUs: number;
      readonly slots?: string;
    }
  /**
   * Refused: another claimant has the vote, or (`isWrongType`) the key does not hold such a lock. `isForeignClient`: that
   * claimant is known not to be a client of this library, and does not hand over. `holds`: what the key holds instead, if
   * the node reported it. `permits`: the holders use another number of permits than this claim. `isAsked`: the vote is that
   * of a waiter, which was asked to let it rest for the holder whose extension was refused (protocol C3a). `isTaken`: nobody
   * has the vote, and this token may not have it again, since its lease was taken away.
   */
  | {
      readonly kind: 'refused';
      readonly remainingMs: number | undefined;
      readonly isWrongType: boolean;
      readonly isForeignClient: boolean;
      readonly holds?: string;
      readonly permits?: { readonly theirs: number; readonly ours: number };
      readonly isAsked?: true;
      readonly isTaken?: boolean;
    }
  /** The node may have forgotten votes, and abstains for `remainingMs`. */
  | { readonly kind: 'quarantined'; readonly remainingMs: number }
  /** The node's vote is not known. `isMisconfigured`: the server itself reported why it cannot take part. */
  | { readonly kind: 'unknown'; readonly cause: Error; readonly isMisconfigured: boolean };

/** One shared object: without fencing, all grants are equal. */
export const GRANTED: Outcome = Object.freeze({ kind: 'granted', fence: 0, clockUs: 0 });

/** The outcome of a node whose vote is not known. */
export function unknown(cause: Error, isItsSetUp = false): Outcome {
  return { kind: 'unknown', cause, isMisconfigured: isItsSetUp };
}

/** The same for an error that came instead of a reply; by it the node may have reported that it cannot take part. */
export function unknownBy(error: Error): Outcome {
  return unknown(error, isMisconfigured(error));
}

/** The cause for a reply that does not fit the request. */
export function oddReply(): Error {
  return new Error('the reply does not fit the request');
}

/** How many nodes of a round have each outcome; the sum is N. */
export interface Counts {
  granted: number;
  /** Refused: another claimant has the vote. */
  held: number;
  /** Refused: the key does not hold such a lock. */
  wrongType: number;
  /** Abstaining: they may have forgotten votes. */
  quarantined: number;
  misconfigured: number;
  /** Unknown for any other cause. */
  unknown: number;
  /** Not answered yet. */
  pending: number;
}

/** Counts outcomes; nodes without one are pending. */
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

/** The class in which an outcome is counted. */
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

/** How a round was decided. */
export type Decision = 'granted' | 'held' | 'wrongType' | 'quarantined' | 'misconfigured' | 'unknown';

/** ⌊N/2⌋ + 1: any two quorums of N nodes share a node. */
export function quorumOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1;
}

export function countNodes(counts: Counts): number {
  const { granted, held, wrongType, quarantined, misconfigured, unknown, pending } = counts;
  return granted + held + wrongType + quarantined + misconfigured + unknown + pending;
}

/** The decision of a round of claims by the answers so far, as if no more came. */
export function verdict(counts: Counts): Decision {
  return ofThoseThatAnswered(decideClaim, counts);
}

/** The same for what a holder asks: an extension, a note. @param mayCreate  votes that are gone may be set again */
export function holdersVerdict(counts: Counts, mayCreate = false): Decision {
  return ofThoseThatAnswered((some) => decideExtension(some, mayCreate), counts);
}

/**
 * The decision of a round of claims, or `undefined` while it is open. A round is decided as soon as no pending answer can
 * change the decision: granted at a quorum; held when other claimants' votes alone make a quorum impossible (ties of an
 * even N included). When a quorum is impossible for mixed reasons, it waits for the pending answers, since only they can
 * distinguish contention from an outage; the node timeout bounds that wait.
 *
 * A key of another type and a misconfiguration *last* until somebody corrects them. They are blamed only if they affect more
 * than N − q masters: another claimant's vote, which is there for a moment, is never added to them. Fewer decide nothing, and
 * the other masters decide: the lock is held if no quorum is possible, however those vote that may vote soon (those in
 * quarantine and those without an answer), and a quorum would be possible without other claimants.
 */
export function decideClaim(counts: Counts): Decision | undefined {
  const nodes = countNodes(counts);
  const quorum = quorumOf(nodes);
  const spare = nodes - quorum; // how many nodes may fail
  const { granted, held, wrongType, quarantined, misconfigured, unknown, pending } = counts;
  if (granted >= quorum) return 'granted';
  if (held > spare) return 'held';
  if (granted + pending >= quorum) return undefined;
  const lasting = wrongType + misconfigured;
  const withoutOthers = lasting + quarantined + unknown; // failed, if no other claimant were there
  if (held + lasting > spare && withoutOthers + pending <= spare) return 'held';
  if (held + pending > spare) return undefined;
  if (wrongType > spare) return 'wrongType';
  if (wrongType + pending > spare) return undefined;
  if (lasting > spare) return 'misconfigured';
  if (lasting + pending > spare) return undefined;
  if (held + lasting + pending > spare && withoutOthers <= spare) return undefined;
  return whatPasses(counts, spare);
}

/**
 * The same for a round of extensions. A master that refuses one has lost the vote, whatever its key holds: both kinds of
 * refusal count together. If the votes that are gone stay gone, more than N − q refusals are a loss. If they may be set again,
 * a quorum of refusals is: half of an even N is nobody's quorum, and the lease may regain these votes while it is valid.
 */
export function decideExtension(counts: Counts, mayCreate: boolean): Decision | undefined {
  const nodes = countNodes(counts);
  const quorum = quorumOf(nodes);
  const spare = nodes - quorum;
  const { granted, held, wrongType, misconfigured, pending } = counts;
  const loss = mayCreate ? quorum : spare + 1;
  if (granted >= quorum) return 'granted';
  if (held >= loss) return 'held';
  if (granted + pending >= quorum || held + pending >= loss) return undefined;
  const refused = held + wrongType;
  if (refused >= loss) return 'wrongType';
  if (refused + pending >= loss) return undefined;
  const lasting = wrongType + misconfigured;
  if (lasting > spare) return 'misconfigured';
  return lasting + pending > spare ? undefined : whatPasses(counts, spare);
}

/** A quorum is impossible, and no earlier case explains it: quarantine, or silence. */
function whatPasses(counts: Counts, spare: number): Decision | undefined {
  const { held, wrongType, quarantined, misconfigured, pending } = counts;
  const answered = held + wrongType + misconfigured + quarantined;
  if (quarantined > 0 && answered > spare) return 'quarantined';
  return pending > 0 && answered + pending > spare ? undefined : 'unknown';
}

/** Counts masters that have not answered as unknown: so every round is decided. An earlier decision stays the same. */
function ofThoseThatAnswered(decide: typeof decideClaim, counts: Counts): Decision {
  const { granted, held, wrongType, quarantined, misconfigured, unknown, pending } = counts;
  const answered = { granted, held, wrongType, quarantined, misconfigured };
  return decide({ ...answered, unknown: unknown + pending, pending: 0 }) ?? 'unknown';
}

/**
 * When a quorum may vote again at the latest, in ms, if no more masters fail: when enough of the quarantined masters
 * vote.
 *
 * @param voting  how many of the N nodes vote now
 */
export function quorumBackInMs(quarantinedMs: readonly number[], voting: number, nodes: number): number {
  const sorted = [...quarantinedMs].sort((a, b) => a - b);
  const missing = Math.min(quorumOf(nodes) - voting, sorted.length);
  return sorted[missing - 1] ?? 0; // 0: none is missing, or none is quarantined
}
