/**
 * What the faces of other packages' APIs have in common: quorate's exclusive locks, asked for by a number of attempts, and
 * found again by the object that the caller has.
 *
 * Keys are the resources as they are, as in those packages, so a fleet can be half here. Each lock has a token of its own: no
 * lease is handed on within the process. There are no fencing tokens, which those APIs do not have.
 */
import type { LeaseHandle } from '../lease/lease-handle.js';
import type { Lease } from '../lease/public.js';
import { FOLLOWED, Redlock } from '../redlock.js';
import type { RedisClient } from '../redis/client.js';
import type { ReleasedEvent } from '../telemetry/events.js';
import { SystemTimers, type Timer } from '../runtime/clock.js';
import { invalidArgument } from '../runtime/errors.js';
import {
  Attempts,
  countOf,
  type Failure,
  failureOf,
  lastOf,
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

/** A lease, after which attempts. */
export interface Won {
  readonly lease: Lease;
  readonly attempts: readonly Votes[];
}

/** What happens behind the API. */
export interface FaceListener {
  /** An attempt, an extension or a release is over. */
  onVotes(votes: Votes): void;
  /** A master is lost, and is not asked. */
  onError(error: Error): void;
}

/** What clients of both libraries have. */
type Quittable = RedisClient & { quit(): Promise<unknown> };

type OnVotes = (votes: Votes) => void;

const timers = new SystemTimers();
/** A renewal comes when this part of the ttl has passed. */
const RENEWED_AT = 1 / 3;
/** Nothing is left to extend. */
const ENDED = new Set(['LOCK_LOST', 'NOT_HELD', 'CLOSED']);

export class FaceLocks {
  readonly #clients: readonly RedisClient[];
  readonly #listener: FaceListener;
  /** One for each `driftFactor`: that of an instance is fixed. */
  readonly #instances = new Map<number, Redlock>();
  readonly #leases = new WeakMap<object, Lease>();
  /** By the resources: what waits for the votes of a release, the first of them first. */
  readonly #releases = new Map<string, OnVotes[]>();
  /** By the resources: what follows the extensions. */
  readonly #extensions = new Map<string, Set<OnVotes>>();

  /** @throws RedlockError `INVALID_ARGUMENT` */
  constructor(clients: readonly RedisClient[], driftFactor: number, listener: FaceListener) {
    this.#clients = clients;
    this.#listener = listener;
    this.#instance(driftFactor);
  }

  /** Waits for as long as the attempts would take. @throws RedlockError `INVALID_ARGUMENT` */
  async acquire(
    resources: readonly string[],
    ttlMs: number,
    terms: Terms,
    { renew = false } = {},
  ): Promise<Won | Failure> {
    checkDuration(ttlMs);
    const options = { ttlMs, waitMs: windowMs(terms), retry: pausesOf(terms), renew };
    return this.#followed(terms, resources.length, (instance, attempts) =>
      instance[FOLLOWED](attempts).acquire(resources, options),
    );
  }

  /** Takes over what is held by that value. @throws RedlockError `INVALID_ARGUMENT` */
  async adopt(
    resources: readonly string[],
    value: string,
    ttlMs: number,
    terms: Terms,
  ): Promise<Won | Failure> {
    checkDuration(ttlMs);
    const handle: LeaseHandle = { version: 1, resources, token: value, ttlMs, inFlight: true };
    const options = { waitMs: windowMs(terms), retry: pausesOf(terms) };
    return this.#followed(terms, resources.length, (instance, attempts) =>
      instance[FOLLOWED](attempts).adopt(handle, options),
    );
  }

  /** The lease behind a caller's object from now on. */
  keep(lock: object, lease: Lease): void {
    this.#leases.set(lock, lease);
  }

  /** The lease behind it; undefined for one of another process, or that the caller put together. */
  leaseOf(lock: object): Lease | undefined {
    return this.#leases.get(lock);
  }

  /** Never shortens it. @throws RedlockError `INVALID_ARGUMENT` */
  async extend(lease: Lease, ttlMs: number, tries: Tries): Promise<Won | Failure> {
    checkDuration(ttlMs);
    const made: Votes[] = [];
    const forget = this.#onExtension(lease, (votes) => made.push(votes));
    try {
      for (;;) {
        const error = await lease.extend(ttlMs).catch((failed: unknown) => failed);
        if (error === undefined) return { lease, attempts: made };
        const asked = { masters: this.#clients.length, resources: lease.resources.length };
        const failure = failureOf(error, made, tries, asked);
        made.push(lastOf(failure.cause, asked));
        if (ENDED.has(failure.cause.code) || made.length >= countOf(tries)) return failure;
        await pauseOnce(tries);
      }
    } finally {
      forget();
    }
  }

  /** @returns how the masters answered; undefined if there was nothing left to release */
  async release(lease: Lease): Promise<Votes | undefined> {
    if (lease.status !== 'held') return undefined;
    let told: Votes | undefined;
    const key = keyOf(lease);
    const waiting = this.#releases.get(key) ?? [];
    waiting.push((votes) => (told = votes));
    this.#releases.set(key, waiting);
    await lease.release();
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
    const extend = (): void => void lease.extend().catch(() => undefined); // the lease itself ends if it is lost
    let timer: Timer | undefined;
    const extendAgain = (): void => {
      timer = timers.background(lease.ttlMs - thresholdMs, () => {
        extend();
        extendAgain();
      });
    };
    if (!isRenewedInTime) extendAgain();
    const end = (): void => {
      timer?.cancel();
      forget();
    };
    return { count: () => count, end };
  }

  /** Ends what waits, and closes the clients. Locks that are held run out by their ttl. @returns what the clients answered */
  async quit(): Promise<unknown[]> {
    await Promise.all([...this.#instances.values()].map((instance) => instance.close({ drainMs: 0 })));
    return Promise.all(this.#clients.map((client) => (client as Quittable).quit()));
  }

  async #followed(
    terms: Terms,
    resources: number,
    take: (instance: Redlock, attempts: Attempts) => Promise<Lease>,
  ): Promise<Won | Failure> {
    const masters = this.#clients.length;
    const attempts = new Attempts(masters, resources, (votes) => this.#listener.onVotes(votes));
    try {
      const lease = await take(this.#instance(terms.driftFactor), attempts);
      return { lease, attempts: attempts.made };
    } catch (error) {
      const failure = failureOf(error, attempts.made, terms, { masters, resources });
      const last = failure.attempts[attempts.made.length]; // nobody was informed of it yet
      if (last !== undefined) this.#listener.onVotes(last);
      return failure;
    }
  }

  #instance(driftFactor: number): Redlock {
    const made = this.#instances.get(driftFactor);
    if (made !== undefined) return made;
    const instance = new Redlock(this.#clients, { driftFactor, fencing: false, localTurns: 0 });
    this.#instances.set(driftFactor, instance);
    instance.on('nodeDown', ({ cause }) => this.#listener.onError(cause));
    instance.on('released', (event) => {
      const votes = votesOf(event);
      this.#nextRelease(keyOf(event))?.(votes);
      this.#listener.onVotes(votes);
    });
    instance.on('renewed', (event) => {
      const votes = votesOf(event);
      for (const onVotes of this.#extensions.get(keyOf(event)) ?? []) onVotes(votes);
      this.#listener.onVotes(votes);
    });
    instance.on('renewalFailed', (event) => this.#listener.onVotes(votesOf(event)));
    return instance;
  }

  #nextRelease(key: string): OnVotes | undefined {
    const waiting = this.#releases.get(key) ?? [];
    const next = waiting.shift();
    if (waiting.length === 0) this.#releases.delete(key);
    return next;
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

/** In the words of those packages, where a ttl is a duration. */
function checkDuration(ttlMs: unknown): void {
  const isDuration = Number.isSafeInteger(ttlMs) && (ttlMs as number) > 0;
  if (!isDuration) throw invalidArgument('duration', ttlMs, 'a whole number of milliseconds from 1 on');
}

export function isWon(result: Won | Failure): result is Won {
  return 'lease' in result;
}
