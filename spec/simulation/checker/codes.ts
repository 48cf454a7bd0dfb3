/**
 * P12: no call ends before its wait with a code that a quorum of masters does not justify, nor with such a code at all.
 * Judged by the tally, in other words than lib's.
 */
import { type NodeOutcome, RedlockError } from '../../../lib/runtime/errors.js';
import type { SimulatedClient } from '../world/client.js';
import type { Checker } from './checker.js';
import { isMisconfigured, isPermanent } from '../../../lib/redis/server-errors.js';

/** What the caller, or the end of its instance, is the reason for; and what a quorum that came too late is. */
const BY_OTHERS: ReadonlySet<string> = new Set(['ABORTED', 'CLOSED', 'VALIDITY_EXPIRED']);
/** How much sooner the local clock may have ended the wait, in ms. */
const SLACK_MS = 2;

interface Sums {
  /** They answer what lasts until somebody puts it right. */
  readonly lasting: number;
  /** Those, and such that say why they cannot take part now. */
  readonly wrong: number;
  readonly held: number;
  /** In quarantine, or without an answer. */
  readonly late: number;
}

function sumsOf(tally: readonly NodeOutcome[]): Sums {
  const count = (is: (one: NodeOutcome) => boolean): number => tally.filter(is).length;
  const isOfOtherKind = (one: NodeOutcome): boolean => one.outcome === 'refused' && one.wrongKind === true;
  const saysWhy = (one: NodeOutcome): boolean => one.outcome === 'unknown' && isMisconfigured(one.cause);
  return {
    lasting: count((one) => isOfOtherKind(one) || (one.outcome === 'unknown' && isPermanent(one.cause))),
    wrong: count((one) => isOfOtherKind(one) || saysWhy(one)),
    held: count((one) => one.outcome === 'refused' && !isOfOtherKind(one)),
    late: count(
      (one) =>
        one.outcome === 'quarantined' ||
        one.outcome === 'pending' ||
        (one.outcome === 'unknown' && !saysWhy(one)),
    ),
  };
}

/** Runs a call of acquire; if it fails, judges how. @param waitMs  how long it may wait for others */
export async function judged<T>(
  checker: Checker,
  client: SimulatedClient,
  waitMs: number,
  acquire: () => Promise<T>,
): Promise<T> {
  const sinceMs = client.clock.now();
  try {
    return await acquire();
  } catch (error) {
    const fault = RedlockError.is(error) ? faultOf(error, waitMs, client.clock.now() - sinceMs) : undefined;
    if (fault !== undefined) checker.fail('codes', `${client.name}: ${fault}`);
    throw error;
  }
}

/** What is wrong with how a call of acquire ended; undefined if nothing is. */
export function faultOf(
  { code, message, tally }: RedlockError,
  waitMs: number,
  waitedMs: number,
): string | undefined {
  if (BY_OTHERS.has(code) || tally.length === 0) return undefined;
  const { held, lasting, late, wrong } = sumsOf(tally);
  const excludes = (failed: number): boolean => (tally.length - failed) * 2 <= tally.length;
  const said = `${code} after ${waitedMs.toFixed(0)} of ${waitMs} ms: ${message}`;
  if (waitedMs < waitMs - SLACK_MS && !excludes(lasting)) return `it did not wait: ${said}`;
  const isJust = {
    LOCK_TAKEN: held > 0 && excludes(held + wrong),
    MISCONFIGURED: excludes(wrong),
    WRONG_KIND: excludes(wrong),
    QUARANTINED: late > 0,
    NO_QUORUM: late > 0,
  }[code as string];
  return isJust === false ? `no quorum says so: ${said}` : undefined;
}
