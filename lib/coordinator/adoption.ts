/**
 * Takes over a lease of another process, by an extension that never re-creates a key: while a quorum of masters still
 * holds the token, nobody else can have held the lock since it was granted.
 */
import type { Cancellation } from '../runtime/cancellation.js';
import type { AcquisitionTerms } from './acquisition-terms.js';
import type { Extensions } from './extensions.js';
import { Backoff } from '../quorum/backoff.js';
import { cancelledError, failureOf, isHopeless, lossError, roundError } from '../quorum/failure.js';
import { Grant } from '../quorum/grant.js';
import { nodeTimeoutOf } from '../protocol/node-timeout.js';
import { extension } from '../protocol/request.js';
import type { Round } from '../quorum/round.js';
import { NOT_AWAITED } from '../redis/server-errors.js';
import { validUntilMs } from '../protocol/validity.js';

/** The part of another process's lease that is needed to go on with it. */
export interface Adopted {
  readonly token: string;
  /** 0 for a lease without fencing. */
  readonly fence: number;
  /** Requests of an earlier holder may still arrive, and set votes again. */
  readonly isInFlight: boolean;
}

/** Tries until a quorum has extended it in time or has refused. Rejects with a `RedlockError`. */
export async function adopt(
  extensions: Extensions,
  terms: AcquisitionTerms,
  held: Adopted,
  cancellation: Cancellation,
): Promise<Grant> {
  const { clock, driftFactor, nodes } = extensions.parts;
  const { ttlMs, resources } = terms;
  const { token, fence } = held;
  const backoff = new Backoff(extensions.parts, terms, cancellation);
  for (;;) {
    const grant = new Grant(terms.scope, token, fence, nodes);
    const request = extension(grant, token, { ttlMs, mayCreate: false });
    const round = extensions.round(grant, request);
    await voted(extensions, round, nodeTimeoutOf(nodes, terms), cancellation);
    extensions.note(grant, round);
    grant.prolong(validUntilMs(round.sentAtMs, ttlMs, driftFactor));
    const context = backoff.context(resources);
    if (cancellation.cancelled !== undefined)
      throw cancelledError(cancellation.cancelled, context, round, nodes);
    const { decision } = round;
    if (decision === 'granted' && clock.now() < grant.validUntilMs) {
      terms.observer?.granted(backoff.attempts, round, fence);
      return grant;
    }
    const failure = failureOf(decision);
    const error = roundError(failure, round, nodes, context);
    if (decision === 'held' || decision === 'wrongType')
      throw lossError('masters refuse to extend it', resources, error);
    if (isHopeless(failure, round) || !(await backoff.next())) throw error;
  }
}

async function voted(
  extensions: Extensions,
  round: Round,
  nodeTimeoutMs: number,
  cancellation: Cancellation,
): Promise<void> {
  if (cancellation.cancelled !== undefined) return;
  const vote = new Promise<void>((resolve) => extensions.vote(round, nodeTimeoutMs, resolve));
  await cancellation.during(() => round.end(NOT_AWAITED, false), vote);
}
