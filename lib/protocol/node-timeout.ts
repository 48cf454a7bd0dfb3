/**
 * How long an attempt waits for masters that do not answer, if nobody has set it: the measured time that a quorum of the
 * masters needs (`node/round-trip.ts`). The slowest masters never count: a quorum decides without them.
 *
 * An attempt gets the time of two round trips: its claim is sent again to a master that lost its scripts, and masters that
 * did not agree on a fencing token or permits are asked a second time.
 *
 * It never falls below 200 ms, nor below a tenth of a shorter ttl: a short pause of a master on the same network should
 * not fail an attempt. It never exceeds a quarter of the ttl, so that a renewal, which starts at a third of it, has time
 * for a second attempt. Nor does it exceed `MOST_MS`: a master takes a fencing token for `BACK_US` after it was proposed
 * (protocol A2), so an attempt that takes longer could not agree on one.
 *
 * A lease's extension that failed because masters were silent is followed by a patient one, which takes the upper bound: a round
 * trip that jumps is longer than any measured so far, and the time that is left is too short to approach it step by step.
 */
import { BACK_US } from './lua/stored.js';
import { quorumOf } from './quorum.js';
import type { CallTerms } from './terms.js';

/** The lower bound, with a ttl of two seconds or more. */
export const LEAST_MS = 200;
/** The upper bound: less than BACK, by a margin for the way of a message. */
export const MOST_MS = BACK_US / 1_000 - 20;
/** The round trips of an attempt that needs a second one. */
export const TRIPS = 2;

/** How patient a call is with the masters. */
export interface Patience extends Pick<CallTerms, 'ttlMs' | 'nodeTimeoutMs'> {
  /** It takes the upper bound, whatever was measured. @default false */
  readonly isPatient?: boolean;
  /** How long it has already waited, in a call with others: the upper bound is for both waits. @default 0 */
  readonly waitedMs?: number;
}

/** A master, and how fast it answers; times in milliseconds. */
export interface Answering {
  readonly isReady: boolean;
  readonly timing: {
    readonly trip: {
      /** How long an attempt has to wait for it. */
      readonly patienceMs: number;
      /** Its round trip without load. */
      readonly bareMs: number;
    };
  };
}

/** The lower bound of the default. */
export function leastNodeTimeoutMs(ttlMs: number): number {
  return Math.max(1, Math.min(Math.floor(ttlMs / 10), LEAST_MS));
}

/** The upper bound of the node timeout, on any network. */
export function mostNodeTimeoutMs({ ttlMs, nodeTimeoutMs }: Patience): number {
  return nodeTimeoutMs > 0 ? nodeTimeoutMs : Math.max(1, Math.min(Math.floor(ttlMs / 4), MOST_MS));
}

/** The node timeout of an attempt that starts now. */
export function nodeTimeoutOf(masters: readonly Answering[], terms: Patience): number {
  if (terms.nodeTimeoutMs > 0) return terms.nodeTimeoutMs;
  const leastMs = leastNodeTimeoutMs(terms.ttlMs);
  if (terms.isPatient === true) return Math.max(leastMs, mostNodeTimeoutMs(terms) - (terms.waitedMs ?? 0));
  let fast = 0;
  for (const master of masters) if (patienceOf(master) <= leastMs) fast++;
  if (fast >= quorumOf(masters.length)) return leastMs; // the usual case sorts nothing
  const neededMs = neededByQuorum(masters.map(patienceOf));
  return Math.min(Math.max(Math.ceil(neededMs), leastMs), mostNodeTimeoutMs(terms));
}

/**
 * The part of its time that an attempt took, for admission: how busy the masters are. A node timeout that follows the network
 * also follows a load that makes answers late. So this subtracts the bare round trips, and compares the rest with the lower
 * bound: admission allows the same load on all networks.
 */
export function shareOf(masters: readonly Answering[], terms: Patience, spentMs: number): number {
  if (terms.nodeTimeoutMs > 0) return spentMs / terms.nodeTimeoutMs;
  const leastMs = leastNodeTimeoutMs(terms.ttlMs);
  if (spentMs < leastMs / 2) return spentMs / leastMs; // well in time on any network
  const bareMs = TRIPS * neededByQuorum(masters.map(({ timing }) => timing.trip.bareMs));
  return Math.max(spentMs - bareMs, 0) / leastMs;
}

/** A master that is not connected cannot be one of the quorum: its measurements must not count for the others. */
function patienceOf({ isReady, timing }: Answering): number {
  return isReady ? timing.trip.patienceMs : Infinity;
}

/** The least time within which a quorum answers. */
function neededByQuorum(timesMs: number[]): number {
  return timesMs.sort((one, other) => one - other)[quorumOf(timesMs.length) - 1] ?? Infinity;
}
