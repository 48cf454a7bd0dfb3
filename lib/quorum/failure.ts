/**
 * Turns the masters' outcomes into the error that the caller gets: code, text, tally.
 */
import type { Cancelled } from '../runtime/cancellation.js';
import { type NodeOutcome, RedlockError, type RedlockErrorCode } from '../runtime/errors.js';
import { isPermanent, Silence } from '../redis/server-errors.js';
import { type Decision, type Outcome, quorumBackInMs, quorumOf } from '../protocol/quorum.js';
import { SPENT_COUNTER } from '../protocol/replies.js';
import { type Answers, type NamedNode, tallyOf } from '../protocol/tally.js';
import type { Round } from './round.js';

export type { Answers };

/** What a failed call was about. */
export interface CallContext {
  readonly resources: readonly string[];
  readonly attempts: number;
  readonly elapsedMs: number;
}

/** Why a round gave no lease: its decision, or a quorum that came too late. */
export type RoundFailure = Exclude<Decision, 'granted'> | 'late';

const CODES: Readonly<Record<RoundFailure, RedlockErrorCode>> = {
  held: 'LOCK_TAKEN',
  wrongType: 'WRONG_KIND',
  quarantined: 'QUARANTINED',
  misconfigured: 'MISCONFIGURED',
  unknown: 'NO_QUORUM',
  late: 'VALIDITY_EXPIRED',
};

/** The error for a round that failed. */
export function roundError(
  failure: RoundFailure,
  round: Answers,
  nodes: readonly NamedNode[],
  context: CallContext,
): RedlockError {
  const tally = tallyOf(round, nodes);
  const disagreement = failure === 'held' ? disagreementOf(round.outcomes, context.resources) : undefined;
  const begin = disagreement ?? opening(failure, context.resources, round.outcomes);
  const text = `${begin}: ${describe(tally, nodes)}${adviceFor(failure, tally)}`;
  const remaining =
    failure === 'quarantined' ? { remainingMs: quorumBack(round.outcomes, nodes.length) } : {};
  const code = disagreement === undefined ? CODES[failure] : 'WRONG_KIND';
  return new RedlockError(code, text, { ...context, ...remaining, tally });
}

/** The text for the case that holders with another number of permits alone cost the quorum; undefined if they did not. */
function disagreementOf(
  outcomes: readonly (Outcome | undefined)[],
  resources: readonly string[],
): string | undefined {
  const disagreeing = outcomes.flatMap((one) => (one?.kind === 'refused' ? (one.permits ?? []) : []));
  const [first] = disagreeing.length > spareOf(outcomes) ? disagreeing : [];
  if (first === undefined) return undefined;
  const { ours, theirs } = first;
  return `${nameResources(resources)} is held as a semaphore of ${theirs} permits, and asked for as one of ${ours}`;
}

/** How many of the masters may fail. */
function spareOf({ length: nodes }: readonly unknown[]): number {
  return nodes - quorumOf(nodes);
}

function quorumBack(outcomes: readonly (Outcome | undefined)[], nodes: number): number {
  const times = outcomes.flatMap((outcome) => (outcome?.kind === 'quarantined' ? [outcome.remainingMs] : []));
  const voting = outcomes.filter(
    (one) => one?.kind === 'granted' || (one?.kind === 'refused' && !one.isWrongType),
  ).length;
  return quorumBackInMs(times, voting, nodes);
}

/** The error of a call that may not wait: that of its attempt. @param waiting  how many wait already */
export function unwaitedError(error: RedlockError, waiting: number): RedlockError {
  const { attempts, code, elapsedMs, remainingMs, resources, tally } = error;
  const text = `${error.message} The call did not wait: ${waiting} calls of this instance already wait (maxWaiters)`;
  return new RedlockError(code, text, { attempts, elapsedMs, remainingMs, resources, tally });
}

/**
 * The error of a call that has asked no master, since others of its instance were before it. @param failure  `held`: the instance
 * has the lock; else what the first of the waiting calls has met
 */
export function localError(failure: RoundFailure, context: CallContext): RedlockError {
  const names = nameResources(context.resources);
  const text =
    failure === 'held'
      ? `${names} is taken: other calls of this instance have it, or are before this one`
      : `${opening(failure, context.resources, [])}, as far as the calls of this instance know that are before this one`;
  return new RedlockError(CODES[failure], `${text}; no master was asked`, context);
}

/**
 * Whether no further attempt can change the outcome: more than N − q masters have a fault that lasts until somebody corrects
 * it, so they exclude every quorum. Keys of another type and misconfigurations count together, since waiting mends neither;
 * faults that pass are never added to them.
 */
export function isHopeless(failure: RoundFailure, { outcomes }: Answers): boolean {
  return failure !== 'held' && outcomes.filter(isLasting).length > spareOf(outcomes);
}

function isLasting(outcome: Outcome | undefined): boolean {
  if (outcome?.kind === 'refused') return outcome.isWrongType;
  return outcome?.kind === 'unknown' && outcome.isMisconfigured && isPermanent(outcome.cause);
}

/** Why a round gave no lease; a granted one was late. */
export function failureOf(decision: Decision): RoundFailure {
  return decision === 'granted' ? 'late' : decision;
}

/** The error for a call that was cancelled, with what was known at that point. */
export function cancelledError(
  why: Cancelled,
  context: CallContext,
  round: Answers | undefined,
  nodes: readonly NamedNode[],
): RedlockError {
  const tally = round === undefined ? [] : tallyOf(round, nodes);
  const { resources, attempts, elapsedMs } = context; // many end at once, and a spread would take most of the time
  const names = nameResources(resources);
  if (why.code === 'CLOSED') {
    const text = `the instance was closed; ${names} was not acquired`;
    return new RedlockError('CLOSED', text, { resources, attempts, elapsedMs, tally });
  }
  const text = `the caller's signal ended the wait for ${names}`;
  return new RedlockError('ABORTED', text, { resources, attempts, elapsedMs, tally, cause: why.cause });
}

/** The error for a call on a lease that was released or given away. */
export function releasedError(resources: readonly string[]): RedlockError {
  const text = `the lease on ${nameResources(resources)} was released or given away`;
  return new RedlockError('NOT_HELD', text, { resources });
}

/** Why holders should stop: their instance closes. */
export function closingError(resources: readonly string[]): RedlockError {
  const text = `the instance is closing; the lease on ${nameResources(resources)} is still held: stop the work, then release it.`;
  return new RedlockError('CLOSED', text, { resources });
}

/** The error for a lease that another instance took away. */
export function stolenError(stolenBy: string, resources: readonly string[]): RedlockError {
  const text = `the lease on ${nameResources(resources)} was lost: ${stolenBy === '' ? 'another instance' : stolenBy} took it away`;
  return new RedlockError('LOCK_LOST', text, { resources, stolenBy });
}

/** The error for a lost lease. */
export function lossError(
  why: string,
  resources: readonly string[],
  cause?: RedlockError,
  stolenBy?: string,
): RedlockError {
  const text = `the lease on ${nameResources(resources)} was lost: ${why}`;
  if (cause === undefined) return new RedlockError('LOCK_LOST', text, { resources });
  const { attempts, elapsedMs, tally } = cause;
  return new RedlockError('LOCK_LOST', text, { resources, attempts, elapsedMs, tally, stolenBy, cause });
}

/** What an extension's round says of its end. */
export type ExtensionRound = Pick<Round, 'decision' | 'held' | 'outcomes'>;

/**
 * The error for a failed extension: a loss if a quorum of the masters refuses; anything else changes nothing. It is not a loss
 * yet if the refusals come from waiters that have too few votes for a quorum, and were asked to let them rest: the lease may
 * regain these votes.
 */
export function extensionError(
  { round, isLate }: { readonly round: ExtensionRound; readonly isLate: boolean },
  nodes: readonly NamedNode[],
  context: CallContext,
): RedlockError {
  const isRegaining = isRefusedByWaiters(round, nodes.length);
  const failure = isLate ? 'late' : isRegaining ? 'unknown' : failureOf(round.decision);
  const error = roundError(failure, round, nodes, context);
  if (failure !== 'held' && failure !== 'wrongType') return error;
  if (!isTakenAway(round)) return lossError('masters refuse to extend it', context.resources, error);
  return lossError('it was taken away', context.resources, error, '');
}

/** Whether masters list its token: somebody has taken the lease away. */
export function isTakenAway({ outcomes }: Pick<ExtensionRound, 'outcomes'>): boolean {
  return outcomes.some((outcome) => outcome?.kind === 'refused' && outcome.isTaken === true);
}

/** Whether waiters' votes refuse an extension that are not a quorum, and are about to rest for the holder (protocol C3a). */
export function isRefusedByWaiters(round: Pick<Round, 'held' | 'outcomes'>, masters: number): boolean {
  const isAsked = round.outcomes.some((outcome) => outcome?.kind === 'refused' && outcome.isAsked === true);
  return isAsked && round.held < quorumOf(masters);
}

/** The error for a lease whose validity ended. @param failure  why the last extension failed, if one did */
export function expiryError(resources: readonly string[], failure: RedlockError | undefined): RedlockError {
  const why = 'its validity ended';
  if (failure === undefined) return lossError(why, resources);
  return lossError(`${why}; the last extension had failed: ${failure.message}`, resources, failure);
}

function opening(
  failure: RoundFailure,
  resources: readonly string[],
  outcomes: readonly (Outcome | undefined)[],
): string {
  const names = resources.length === 0 ? 'locks' : nameResources(resources);
  switch (failure) {
    case 'held':
      return `${names} is taken`;
    case 'wrongType':
      return `${names} ${holding(outcomes)}`;
    case 'quarantined':
      return `masters that may have forgotten votes abstain for ${names}`;
    case 'misconfigured':
      return `the masters cannot lock ${names} as they are set up`;
    case 'unknown':
      return `no quorum for ${names}`;
    case 'late':
      return `a quorum for ${names} came too late for the ttl`;
  }
}

function holding(outcomes: readonly (Outcome | undefined)[]): string {
  for (const outcome of outcomes) {
    if (outcome?.kind !== 'refused' || outcome.holds === undefined) continue;
    return outcome.holds === SPENT_COUNTER
      ? `has ${SPENT_COUNTER}`
      : `is in use as a lock of another kind, ${outcome.holds}`;
  }
  return 'holds something else than this kind of lock';
}

const NAMED_RESOURCES = 3;

export function nameResources(resources: readonly string[]): string {
  const named = resources.slice(0, NAMED_RESOURCES).map((name) => JSON.stringify(name));
  const more = resources.length - named.length;
  return more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ');
}

/** Whether silent masters could have made a quorum: then only time was missing. */
export function isForSilence(tally: readonly NodeOutcome[]): boolean {
  const silent = tally.filter((one) => one.outcome === 'unknown' && one.cause instanceof Silence).length;
  const granted = tally.filter((one) => one.outcome === 'granted').length;
  return granted + silent >= quorumOf(tally.length);
}

/** How to wait longer for silent masters, if these could have made a quorum. */
function adviceFor(failure: RoundFailure, tally: readonly NodeOutcome[]): string {
  if (failure !== 'unknown' || !isForSilence(tally)) return '';
  return '. nodeTimeoutMs is how long an attempt waits for a silent master';
}

function describe(tally: readonly NodeOutcome[], nodes: readonly NamedNode[]): string {
  const granted = tally.filter(({ outcome }) => outcome === 'granted').length;
  const parts = [`${granted} of ${nodes.length} masters granted, ${quorumOf(nodes.length)} needed`];
  for (const entry of tally) {
    if (entry.outcome === 'refused') parts.push(`${entry.node} refused${why(entry)}`);
    else if (entry.outcome === 'quarantined') {
      parts.push(`${entry.node} quarantined (for ${entry.remainingMs} ms)`);
    } else if (entry.outcome === 'unknown') parts.push(`${entry.node} unknown (${entry.cause.message})`);
    else if (entry.outcome === 'pending') parts.push(`${entry.node} not waited for`);
  }
  return parts.join('; ');
}

function why(entry: NodeOutcome & { readonly outcome: 'refused' }): string {
  if (entry.holds === SPENT_COUNTER) return ` (it has ${SPENT_COUNTER})`;
  if (entry.holds !== undefined) return ` (the key is ${entry.holds})`;
  if (entry.wrongKind === true && entry.remainingMs === undefined) return ' (the key is of another type)';
  if (entry.remainingMs === undefined) return '';
  return entry.remainingMs === Infinity ? ' (no expiry)' : ` (${entry.remainingMs} ms left)`;
}
