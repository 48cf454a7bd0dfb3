/**
 * What the faces of other packages' APIs have in common: quorate's exclusive locks, asked for by a number of attempts, and
 * found again by the object that the caller has.
 *
 * Keys are the resources as they are, as in those packages, so a fleet can be half here. Each lock has a token of its own: no
 * lease is handed on within the process. There are no fencing tokens, which those APIs do not have.
 */
import type { LeaseHandle } from '../lease/lease-handle.js';
import type { Lease } from '../lease/lease.js';
import { FOLLOWED, Redlock } from '../redlock.js';
import type { RedisClient } from '../redis/client.js';
import type { ReleasedEvent } from '../telemetry/events.js';
import { SystemTimers, systemWallClock, type Timer } from '../runtime/clock.js';
import { invalidArgument } from '../runtime/errors.js';
import {
  Attempts,
  countOf,
  type Failure,
  failureOf,
  lastOf,
  MOST_REPORTED,
  pauseOnce,
  pausesOf,
  type Tries,
  type Votes,
  windowMs,
} from './tries.js';

/** How a call is tried, and the drift that is deducted. */
export interface Terms extends Tries {
  readonly driftFactor: number;
}

/** What a caller has of a lock. */
export interface Given {
  readonly resources: readonly string[];
  readonly value: string;
  /** By the wall clock; 0 if it has ended for the caller. */
  readonly expiration: number;
}

/** A lease, after which attempts. */
export interface Won {
  readonly lease: Lease;
  readonly attempts: readonly Votes[];
}

/** What clients of both libraries have. */
type Quittable = RedisClient & { quit(): Promise<unknown> };

type OnVotes = (votes: Votes) => void;

const timers = new SystemTimers();
/** A renewal comes when this part of the ttl has passed. */
const RENEWED_AT = 1 / 3;
/** Between two extensions, however little is wanted of a duration. */
const LEAST_PAUSE_MS = 50;
/** How long a lock of another process is held at least when it is taken over to be released. Milliseconds. */
const HANDED_MS = 4_000;
/** Nothing is left to extend. */
const ENDED = new Set(['LOCK_LOST', 'NOT_HELD', 'CLOSED']);

export class FaceLocks {
  readonly #clients: readonly RedisClient[];
  /** An attempt, an extension or a release is over. */
  readonly #onVotes: OnVotes;
  readonly #instance: Redlock;
  readonly #driftFactor: number;
  readonly #leases = new WeakMap<object, Lease>();
  /** How the masters answered, for whoever releases it again. */
  readonly #released = new WeakMap<Lease, Promise<Votes>>();
  /** By the resources: what waits for the votes of a release, the first of them first. */
  readonly #releases = new Map<string, Set<OnVotes>>();
  /** By the resources: what follows the extensions. */
  readonly #extensions = new Map<string, Set<OnVotes>>();
  #isClosed = false;

  /** @throws RedlockError `INVALID_ARGUMENT` */
  constructor(clients: readonly RedisClient[], driftFactor: number, onVotes: OnVotes) {
    this.#clients = clients;
    this.#onVotes = onVotes;
    this.#driftFactor = driftFactor;
    this.#instance = new Redlock(clients, { driftFactor, fencing: false, localTurns: 0 });
    this.#instance.on('released', (event) => {
      const votes = votesOf(event);
      this.#onReleased(keyOf(event), votes);
      this.#onVotes(votes);
    });
    this.#instance.on('renewed', (event) => {
      const votes = votesOf(event);
      for (const follow of this.#extensions.get(keyOf(event)) ?? []) follow(votes);
      this.#onVotes(votes);
    });
    this.#instance.on('renewalFailed', (event) => this.#onVotes(votesOf(event)));
  }

  /**
   * Waits for as long as the attempts would take. The lease has to be lent before anybody gets its token.
   *
   * @throws RedlockError `INVALID_ARGUMENT`
   */
  async acquire(
    resources: readonly string[],
    ttlMs: number,
    terms: Terms,
    { renew = false } = {},
  ): Promise<Won | Failure> {
    checkDuration(ttlMs);
    checkDrift(terms);
    const options = { ttlMs, waitMs: windowMs(terms), retry: pausesOf(terms), renew };
    return this.#followed(terms, resources.length, (calls) => calls.acquire(resources, options));
  }

  /** Takes over what is held by that value. @throws RedlockError `INVALID_ARGUMENT` */
  async adopt(
    { resources, value }: Pick<Given, 'resources' | 'value'>,
    ttlMs: number,
    terms: Terms,
  ): Promise<Won | Failure> {
    checkDuration(ttlMs);
    const handle: LeaseHandle = { version: 1, resources, token: value, ttlMs };
    const options = { waitMs: windowMs(terms), retry: pausesOf(terms) };
    return this.#followed(terms, resources.length, (calls) => calls.adopt(handle, options));
  }

  /**
   * When it ends, by the wall clock: ms since 1970. Earlier if a call deducts more for drift than the instance does, which
   * deducts at least its own.
   */
  expirationOf(lease: Lease, durationMs: number, { driftFactor }: Pick<Terms, 'driftFactor'>): number {
    const moreMs = Math.max(0, driftFactor - this.#driftFactor) * durationMs;
    return Math.floor(systemWallClock() + Math.max(0, lease.remainingMs() - moreMs));
  }

  /** The lease behind a caller's object from now on, which has its token. */
  keep(lock: object, lease: Lease): void {
    lease.lend();
    this.#leases.set(lock, lease);
  }

  /**
   * Extends a caller's lock, also one of another process, or that the caller put together. Never shortens it.
   *
   * @returns undefined if it has ended
   * @throws RedlockError `INVALID_ARGUMENT`
   */
  async extend(lock: object, given: Given, ttlMs: number, terms: Terms): Promise<Won | Failure | undefined> {
    checkDuration(ttlMs);
    const lease = this.#leases.get(lock);
    // whether one of another process has ended, the masters know: not the clock of this machine
    if (given.expiration === 0 || (lease !== undefined && lease.status !== 'held')) return undefined;
    return lease === undefined ? this.adopt(given, ttlMs, terms) : this.#extend(lease, ttlMs, terms);
  }

  /**
   * Releases a caller's lock, also one of another process, or that the caller put together.
   *
   * @returns how the masters answered; undefined if there was nothing left to release
   */
  async release(
    lock: object,
    given: Pick<Given, 'resources' | 'value'>,
    terms: Terms,
  ): Promise<Votes | Failure | undefined> {
    const known = this.#leases.get(lock);
    if (known !== undefined) return this.end(known);
    const result = await this.adopt(given, HANDED_MS, terms);
    if (isWon(result)) return this.end(result.lease);
    return result.cause.code === 'LOCK_LOST' ? undefined : result;
  }

  async #extend(lease: Lease, ttlMs: number, tries: Tries): Promise<Won | Failure> {
    const asked = { masters: this.#clients.length, resources: lease.resources.length };
    const failed: Votes[] = [];
    let granted: readonly Votes[] = [];
    const forget = this.#onExtension(lease, (votes) => (granted = [votes]));
    try {
      for (let count = 1; ; count++) {
        const error = await lease.extend(ttlMs).catch((thrown: unknown) => thrown);
        if (error === undefined) return { lease, attempts: [...failed, ...granted] };
        const failure = failureOf(error, failed, tries, asked);
        const isOver = ENDED.has(failure.cause.code) || this.#isClosed;
        if (isOver || count >= countOf(tries)) return failure;
        failed.push(lastOf(failure.cause, asked));
        if (failed.length > MOST_REPORTED) failed.shift();
        await pauseOnce(tries);
      }
    } finally {
      forget();
    }
  }

  /** Releases a lease once, however often it is asked for. @returns as `release` does */
  end(lease: Lease): Promise<Votes | undefined> {
    const before = this.#released.get(lease);
    if (before !== undefined) return before;
    if (lease.status !== 'held') return Promise.resolve(undefined);
    const released = this.#release(lease);
    this.#released.set(lease, released);
    return released;
  }

  async #release(lease: Lease): Promise<Votes> {
    let told: Votes | undefined;
    const onVotes: OnVotes = (votes) => (told = votes);
    const key = keyOf(lease);
    const waiting = this.#releases.get(key) ?? new Set();
    this.#releases.set(key, waiting.add(onVotes));
    await lease.release();
    this.#forgetRelease(key, onVotes);
    return told ?? { outcomes: [], resources: lease.resources.length };
  }

  /**
   * Counts the extensions of a lease that is held, and extends it whenever no more than the threshold is left of its ttl.
   *
   * @returns the count, and what ends it
   */
  follow(lease: Lease, thresholdMs: number): { readonly count: () => number; readonly end: () => void } {
    let count = 0;
    const forget = this.#onExtension(lease, () => count++);
    const isRenewedInTime = thresholdMs <= lease.ttlMs * (1 - RENEWED_AT);
    let timer: Timer | undefined;
    let isOver = isRenewedInTime;
    const extendAgain = (): void => {
      if (isOver || lease.status !== 'held') return;
      timer = timers.background(Math.max(LEAST_PAUSE_MS, lease.remainingMs() - thresholdMs), () => {
        void lease.extend().then(extendAgain, extendAgain);
      });
    };
    extendAgain();
    const end = (): void => {
      isOver = true;
      timer?.cancel();
      forget();
    };
    return { count: () => count, end };
  }

  /** Ends what waits, and closes the clients. Locks that are held run out by their ttl. @returns what the clients answered */
  async quit(): Promise<unknown[]> {
    this.#isClosed = true;
    await this.#instance.close({ drainMs: 0 });
    return Promise.all(this.#clients.map((client) => (client as Quittable).quit()));
  }

  async #followed(
    terms: Terms,
    resources: number,
    call: (calls: ReturnType<Redlock[typeof FOLLOWED]>) => Promise<Lease>,
  ): Promise<Won | Failure> {
    const masters = this.#clients.length;
    const attempts = new Attempts(masters, resources, this.#onVotes);
    try {
      const lease = await call(this.#instance[FOLLOWED](attempts));
      return { lease, attempts: attempts.made };
    } catch (error) {
      const failure = failureOf(error, attempts.made, terms, { masters, resources });
      const last = failure.attempts[attempts.made.length]; // nobody was informed of it yet
      if (last !== undefined) this.#onVotes(last);
      return failure;
    }
  }

  /** A release has ended: the first that began. */
  #onReleased(key: string, votes: Votes): void {
    const [first] = this.#releases.get(key) ?? [];
    if (first === undefined) return;
    this.#forgetRelease(key, first);
    first(votes);
  }

  #forgetRelease(key: string, onVotes: OnVotes): void {
    const waiting = this.#releases.get(key);
    waiting?.delete(onVotes);
    if (waiting?.size === 0) this.#releases.delete(key);
  }

  /** @returns what ends it */
  #onExtension(lease: Lease, onVotes: OnVotes): () => void {
    const key = keyOf(lease);
    const listeners = this.#extensions.get(key) ?? new Set();
    this.#extensions.set(key, listeners.add(onVotes));
    return () => {
      listeners.delete(onVotes);
      if (listeners.size === 0) this.#extensions.delete(key);
    };
  }
}

function keyOf({ resources }: { readonly resources: readonly string[] }): string {
  return JSON.stringify(resources);
}

function votesOf({ resources, tally }: Pick<ReleasedEvent, 'resources' | 'tally'>): Votes {
  return { outcomes: tally, resources: resources.length };
}

function checkDrift({ driftFactor }: Terms): void {
  if (driftFactor >= 0 && driftFactor < 1) return;
  throw invalidArgument('driftFactor', driftFactor, 'a number from 0 up to, not including, 1');
}

/** In the words of those packages, where a ttl is a duration. */
function checkDuration(ttlMs: unknown): void {
  const isDuration = Number.isSafeInteger(ttlMs) && (ttlMs as number) > 0;
  if (!isDuration) throw invalidArgument('duration', ttlMs, 'a whole number of milliseconds from 1 on');
}

export function isWon(result: Won | Failure): result is Won {
  return 'lease' in result;
}
