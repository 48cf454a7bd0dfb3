/**
 * Reading masters' replies. A reply of unknown shape is no answer: the reader returns undefined, and the outcome is
 * unknown.
 */
import { HOLDS, TAKEN_AWAY } from './lua/stored.js';
import { GRANTED, type Outcome } from './quorum.js';
import type { Scope } from './scope.js';

export type Guarded = Pick<Scope, 'marker' | 'guardMs'>;

/** Refused without a reason; an undo finds it out. */
const REFUSED_UNSEEN: Outcome = Object.freeze({
  kind: 'refused',
  remainingMs: undefined,
  isWrongType: false,
  isForeignClient: false,
});
/** Its token may not be set again: the lease was taken away. */
const REFUSED_TAKEN: Outcome = Object.freeze({ ...REFUSED_UNSEEN, isTaken: true });
const REFUSED_WRONG_TYPE: Outcome = Object.freeze({ ...REFUSED_UNSEEN, isWrongType: true });
/** What an outcome `holds` if the counter is at fault, not the lock's key. */
export const SPENT_COUNTER = 'a counter that no fence can follow';
/** By the number after code 2. */
const REFUSED_OTHERS: ReadonlyMap<number | undefined, Outcome> = new Map(
  [
    [HOLDS.mutex, 'an exclusive lock'] as const,
    [HOLDS.readWrite, 'a read-write lock'] as const,
    [HOLDS.semaphore, 'a semaphore'] as const,
    [HOLDS.counter, SPENT_COUNTER] as const,
  ].map(([code, holds]) => [code, Object.freeze({ ...REFUSED_UNSEEN, isWrongType: true, holds })]),
);

/** In a batch, a script makes the claim, and its reply says more. */
export function readSet(reply: unknown, scope: Guarded): Outcome | undefined {
  if (reply === 'OK') return GRANTED;
  return reply === null ? REFUSED_UNSEEN : readVote(reply, scope);
}

/** A script's reply for a vote without further values; in a batch, the same object for all entries. */
export const YES: readonly number[] = Object.freeze([1, 0, 0]);

export function readVote(reply: unknown, scope: Guarded): Outcome | undefined {
  if (reply === YES) return GRANTED;
  const [code, amount, more] = integers(reply, 3);
  if (code === 0 && more === 2) return { ...refusedFor(amount), isAsked: true };
  return code === 1 ? GRANTED : readClaimed(code, amount, more, scope);
}

/** Only an extension may be refused for its token. @param read  reads its other replies */
export function orTaken<Of>(
  read: (reply: unknown, scope: Of) => Outcome | undefined,
): (reply: unknown, scope: Of) => Outcome | undefined {
  return (reply, scope) =>
    reply !== YES && integers(reply, 3)[0] === TAKEN_AWAY ? REFUSED_TAKEN : read(reply, scope);
}

/** The short form of a grant is one number: the fencing token, which is never a code. */
export function readFenced(reply: unknown, scope: Guarded): Outcome | undefined {
  if (!Array.isArray(reply)) {
    const fence = toInteger(reply) ?? 0;
    return fence > 1 ? grantedWith(fence, 0) : undefined;
  }
  const [code, amount, more] = integers(reply, 3);
  if (code !== 1) return readClaimed(code, amount, more, scope);
  return amount === undefined || amount < 1 ? undefined : grantedWith(amount, more ?? 0);
}

/** Masters with equal counters give equal replies, one after another: they share one outcome. */
let latest: Outcome & { readonly kind: 'granted' } = { kind: 'granted', fence: 0, clockUs: 0 };

function grantedWith(fence: number, clockUs: number): Outcome {
  if (latest.fence !== fence || latest.clockUs !== clockUs) latest = { kind: 'granted', fence, clockUs };
  return latest;
}

/** The master's clock in µs, from the seconds and µs of `TIME`; 0 for an odd reply. */
export function clockOf(reply: unknown): number {
  const [seconds = 0, us = 0] = integers(reply, 2);
  return seconds * 1_000_000 + us;
}

export function readClock(reply: unknown): Outcome | undefined {
  const clockUs = clockOf(reply);
  return clockUs === 0 ? undefined : { kind: 'granted', fence: 0, clockUs };
}

/** A refused claim reports the remaining time, and whether a foreign client is the holder. */
function readClaimed(
  code: number | undefined,
  amount: number | undefined,
  more: number | undefined,
  guard: Guarded,
): Outcome | undefined {
  return code === 0 ? refusedFor(amount, more === 1) : readNo(code, amount, guard);
}

/** The part of a reply to `queueing` that is about the vote. */
export function readQueued(reply: unknown, scope: Guarded): Outcome | undefined {
  const [code, amount] = integers(reply, 3);
  if (code === 1 || code === 6) return GRANTED;
  return code === 4 ? refusedFor(amount, true) : readNo(code, amount, scope);
}

/** A vote that answers a look. */
export interface ClaimedByLook {
  /** The fencing token that the master accepted for it; 0 without fencing. */
  readonly fence: number;
  /** The permits that the master gave, as in `0,3`; empty for any other lock. */
  readonly slots: string;
  /** When the look was sent, by the client's clock, in ms. */
  readonly sentMs: number;
  /** How long the vote lives from that look on, in ms; undefined for the whole ttl. */
  readonly spanMs: number | undefined;
}

/** A waiter's position on one master. */
export interface QueueReply {
  /** Names the hand-over of the vote to this waiter; else 0. */
  readonly serial: number;
  /** The look claimed the vote; undefined if it is reserved, or another's. */
  readonly claimed: ClaimedByLook | undefined;
  /** The master's clock, in µs. */
  readonly clockUs: number;
  /** How many waiters are ahead of this one; undefined if it is not in the queue. */
  readonly rank: number | undefined;
}

/** The part of the same reply that is about the place; undefined if the reply says nothing about it. */
export function readQueueReply(reply: unknown): QueueReply | undefined {
  const [code, amount, clockUs] = integers(reply, 3);
  if (amount === undefined || clockUs === undefined) return undefined;
  const told = { serial: 0, clockUs, rank: undefined, claimed: undefined };
  if (code === 1) return { ...told, serial: amount };
  if (code === 4) return told;
  if (code === 6) {
    const [, , , given, sent] = reply as readonly unknown[]; // an array, as it has three integers
    const [what, sentMs] = [readGiven(given), toInteger(sent)];
    if (what === undefined || sentMs === undefined) return undefined;
    return { ...told, serial: amount, claimed: { ...what, sentMs, spanMs: undefined } };
  }
  const [, , , rank] = integers(reply, 4);
  return code === 0 && rank !== undefined ? { ...told, rank } : undefined;
}

/** What a vote that answers a look comes with: a fencing token, or permits, as in `p0,3`. Undefined for anything else. */
export function readGiven(given: unknown): Pick<ClaimedByLook, 'fence' | 'slots'> | undefined {
  const [, slots] = /^p(\d+(?:,\d+)*)$/.exec(String(given)) ?? [];
  if (slots !== undefined) return { fence: 0, slots };
  const fence = toInteger(given);
  return fence === undefined ? undefined : { fence, slots: '' };
}

/** The permits that a master gave, or why it refused. An extension is granted without permits in the reply. */
export function readPermits(reply: unknown, scope: Guarded & Pick<Scope, 'kind'>): Outcome | undefined {
  const [code, amount, more] = integers(reply, 3);
  if (code === 5 && more !== undefined && scope.kind.name === 'semaphore') {
    const permits = { theirs: more, ours: scope.kind.permits };
    return { kind: 'refused', remainingMs: amount, isWrongType: false, isForeignClient: false, permits };
  }
  if (code !== 1) return readNo(code, amount, scope);
  const slots = Array.isArray(reply) ? reply.slice(3).map(toInteger) : [];
  return slots.includes(undefined)
    ? undefined
    : { kind: 'granted', fence: 0, clockUs: 0, slots: slots.join() };
}

/** An acceptance is not a vote. If the master does not accept the fencing token, `leastAccepted` reads which it would. */
export function readAcceptance(reply: unknown, scope: Guarded): Outcome | undefined {
  const [code, amount] = integers(reply, 3);
  if (code === 1 && amount !== undefined) return { kind: 'granted', fence: amount, clockUs: 0 };
  return readNo(code, amount, scope);
}

/** A master did not accept a fencing token: it would accept one above this. Undefined for any other reply. */
export function leastAccepted(reply: unknown): number | undefined {
  const [code, us] = integers(reply, 3);
  return code === 3 ? us : undefined;
}

/** The replies that scripts share. @param amount  the number after the code */
export function readNo(
  code: number | undefined,
  amount: number | undefined,
  guard: Guarded,
): Outcome | undefined {
  switch (code) {
    case 0:
      return refusedFor(amount);
    case 2:
      return REFUSED_OTHERS.get(amount) ?? REFUSED_WRONG_TYPE;
    case -1:
      return { kind: 'quarantined', remainingMs: amount ?? 0 };
    case -2:
      return { kind: 'unknown', cause: guardError(amount, guard), isMisconfigured: true };
    default:
      return undefined;
  }
}

function guardError(periodMs: number | undefined, { marker, guardMs }: Guarded): Error {
  if (periodMs === undefined || periodMs === 0) {
    return new Error(`its restart guard cannot be read: the key ${marker} holds something else`);
  }
  const own = guardMs > 0 ? `${guardMs} ms` : 'none';
  return new Error(
    `its restart guard is ${periodMs} ms, and this client's ${own}: restartGuardMs must be the same in all clients`,
  );
}

export function readUndo(reply: unknown): Outcome | undefined {
  const [deleted, ms, foreign] = integers(reply, 3);
  if (deleted === undefined || ms === undefined) return undefined;
  if (foreign === 1 || foreign === 3) return REFUSED_WRONG_TYPE;
  return ms === -2 ? GRANTED : refusedFor(ms);
}

/**
 * Whether a release or an undo has to be sent again: more waiters of the queue have left than one call drops, and the
 * lock is handed over only after that.
 */
export function isToRepeat(reply: unknown): boolean {
  const [, , more = 0] = integers(reply, 3);
  return more > 1 || (toInteger(reply) ?? 0) < 0;
}

/** Any number means that it is done. */
export function readCount(reply: unknown): Outcome | undefined {
  return toInteger(reply) === undefined ? undefined : GRANTED;
}

/** @param ms  as from PTTL: −1 is a key without expiry, −2 no key */
function refusedFor(ms: number | undefined, isForeignClient = false): Outcome & { readonly kind: 'refused' } {
  const remainingMs = ms === undefined || ms === -2 ? undefined : ms === -1 ? Infinity : ms;
  return { kind: 'refused', remainingMs, isWrongType: false, isForeignClient };
}

/** The reply as this many integers; empty if it is anything else. */
export function integers(reply: unknown, count: number): readonly (number | undefined)[] {
  if (!Array.isArray(reply) || reply.length < count) return [];
  if (reply.length === count && reply.every(Number.isSafeInteger)) return reply as readonly number[];
  const numbers = reply.slice(0, count).map(toInteger);
  return numbers.includes(undefined) ? [] : numbers;
}

/** Clients with `stringNumbers` return integers as strings. */
export function toInteger(reply: unknown): number | undefined {
  const number = typeof reply === 'string' && /^-?\d+$/.test(reply) ? Number(reply) : reply;
  return Number.isSafeInteger(number) ? Number(number) : undefined;
}
