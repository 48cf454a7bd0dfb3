/**
 * A lock that keeps its expiry instant on one server, by the algorithms that many programs already run: `SETNX` and
 * `GETSET`, or the same in one script. It excludes them and is excluded by them, on the same key.
 *
 * What it relies on: wall clocks of all clients that agree to within `clockMarginMs`, one ttl and one unit for all programs
 * on a key, and one server that forgets nothing. This is the one exception to rule 15 of the design: the protocol is based on
 * wall clocks. What can go wrong, shown by live runs: `npm run examples -- why`.
 */
import { Cancellation } from '../runtime/cancellation.js';
import { SystemClock, SystemTimers, systemWallClock } from '../runtime/clock.js';
import { invalidArgument, nullIfTaken } from '../runtime/errors.js';
import { cancelledError, isHopeless, roundError } from '../quorum/failure.js';
import { RESERVED } from '../protocol/keys.js';
import { isName, NO_OPTIONS, or, resolveOnLoss } from '../input/options.js';
import { settled } from '../lease/routine.js';
import { SystemRandom } from '../runtime/random.js';
import { Backoff } from '../quorum/backoff.js';
import { type TimestampFailure, type TimestampRuntime, TimestampKeeper } from './keeper.js';
import {
  type ResolvedTimestampOptions,
  resolveTimestampCall,
  resolveTimestampOptions,
  TIMESTAMP_CALL_NAMES,
  type TimestampAcquireOptions,
  type TimestampCall,
  type TimestampLockOptions,
  type TimestampTryOptions,
  type TimestampUsingOptions,
} from './options.js';
import type { TimestampLease } from './public.js';
import { checkClient, type RedisClient, transportOver } from '../redis/client.js';
import type { Transport } from '../redis/transport.js';
import { argumentsOfUsing } from '../input/given.js';

/** The routine that a timestamp lock's `using` runs while the lock is held. */
export type TimestampRoutine<T> = (lease: TimestampLease) => Promise<T> | T;

/** What the key of a timestamp lock holds. */
export type TimestampInspection =
  | {
      /** The key. */
      readonly resource: string;
      /** Nobody holds the lock: there is no key, or its instant has passed. */
      readonly state: 'free';
    }
  | {
      /** The key. */
      readonly resource: string;
      /** Somebody holds the lock. */
      readonly state: 'held';
      /** The time until others may take the lock over, by this client's clock. Milliseconds. */
      readonly remainingMs: number;
    }
  | {
      /** The key. */
      readonly resource: string;
      /** The key holds no instant of this unit. */
      readonly state: 'foreign';
    }
  | {
      /** The key. */
      readonly resource: string;
      /** The server gave no clear answer. */
      readonly state: 'unknown';
      /** Why: the error of the server, of the connection, or of the node timeout. */
      readonly cause: Error;
    };

/**
 * Timestamp locks on one server, beside programs in other languages that use the same keys.
 *
 * @example
 * ```ts
 * const lock = new TimestampLock(new Redis('redis://a:6379'), { unit: 'ms', ttlMs: 60_000 });
 * await lock.using('lock.invoice', async (lease) => {
 *   await bill(42, { signal: lease.signal });
 * });
 * ```
 */
export class TimestampLock {
  /** The options in force, with defaults filled in. */
  readonly options: ResolvedTimestampOptions;
  readonly #keeper: TimestampKeeper;

  /**
   * @param client  an ioredis `Redis` or `Cluster` instance. It stays the caller's.
   * @throws RedlockError `INVALID_ARGUMENT`
   */
  constructor(client: RedisClient, options?: TimestampLockOptions);
  /** @internal */
  constructor(runtime: TimestampRuntime, options?: TimestampLockOptions);
  constructor(over: RedisClient | TimestampRuntime, options?: TimestampLockOptions) {
    this.options = resolveTimestampOptions(options);
    this.#keeper = new TimestampKeeper(isRuntime(over) ? over : runtimeOver(over), this.options);
  }

  /**
   * Acquires the lock. Retries for up to `waitMs`, after random waits of about `pollMs`.
   *
   * @throws RedlockError `LOCK_TAKEN`, `WRONG_KIND`: the key holds no instant of this unit · `NO_QUORUM`: the server gave no
   *   clear answer · `MISCONFIGURED`, `VALIDITY_EXPIRED`, `ABORTED`, `INVALID_ARGUMENT`
   */
  async acquire(resource: string, options: TimestampAcquireOptions = NO_OPTIONS): Promise<TimestampLease> {
    const key = checkResource(resource);
    return this.#acquire(
      key,
      resolveTimestampCall(options, TIMESTAMP_CALL_NAMES.acquire, this.options),
      options.signal,
    );
  }

  /** Makes one attempt, without waiting. Resolves with null if others hold the lock. @throws RedlockError as `acquire` does */
  async tryAcquire(
    resource: string,
    options: TimestampTryOptions = NO_OPTIONS,
  ): Promise<TimestampLease | null> {
    const key = checkResource(resource);
    const { renew } = resolveTimestampCall(options, TIMESTAMP_CALL_NAMES.tryAcquire, this.options);
    return nullIfTaken(this.#acquire(key, { waitMs: 0, renew }, options.signal));
  }

  /**
   * Acquires the lock, runs the routine, renews the lease while the routine runs (unless `renew: false`), and releases it.
   * Settles as the routine does, even if the lease was lost meanwhile: `lease.signal` shows the loss to the routine, and with
   * `onLoss: 'throw'` the call rejects with `LOCK_LOST`.
   *
   * @throws RedlockError as `acquire` does · `LOCK_LOST`: with `onLoss: 'throw'`
   */
  using<T>(resource: string, routine: TimestampRoutine<T>): Promise<T>;
  using<T>(
    resource: string,
    options: TimestampUsingOptions | undefined,
    routine: TimestampRoutine<T>,
  ): Promise<T>;
  async using<T>(
    resource: string,
    optionsOrRoutine: TimestampUsingOptions | TimestampRoutine<T> | undefined,
    routineAfterOptions?: TimestampRoutine<T>,
  ): Promise<T> {
    const { options = NO_OPTIONS, routine } = argumentsOfUsing<TimestampUsingOptions, TimestampRoutine<T>>(
      optionsOrRoutine,
      routineAfterOptions,
    );
    const key = checkResource(resource);
    const call = resolveTimestampCall(options, TIMESTAMP_CALL_NAMES.using, this.options);
    const onLoss = resolveOnLoss(options);
    const lease = await this.#acquire(key, { ...call, renew: or(options.renew, true) }, options.signal);
    try {
      return await settled(lease, routine, onLoss);
    } finally {
      await lease.release();
    }
  }

  /** Shows what the key holds. Changes nothing. @throws RedlockError `INVALID_ARGUMENT` */
  async inspect(resource: string): Promise<TimestampInspection> {
    const key = checkResource(resource);
    const seen = await this.#keeper.look(key);
    if (seen instanceof Error) return { resource, state: 'unknown', cause: seen };
    if (seen === 'foreign') return { resource, state: 'foreign' };
    if (seen === 'vanished' || seen === 0) return { resource, state: 'free' };
    return { resource, state: 'held', remainingMs: seen };
  }

  async #acquire(key: string, call: TimestampCall, signal: AbortSignal | undefined): Promise<TimestampLease> {
    const cancellation = new Cancellation(signal);
    const { pollMs } = this.options;
    const patience = { waitMs: call.waitMs, minDelayMs: pollMs / 2, maxDelayMs: pollMs * 1.5 };
    const backoff = new Backoff(this.#keeper.runtime, patience, cancellation);
    let last: TimestampFailure | undefined;
    try {
      for (;;) {
        if (cancellation.cancelled === undefined) {
          const attempt = await this.#keeper.attempt(key, call.renew, cancellation);
          if (attempt.kind === 'granted') return attempt.lease;
          if (attempt.kind === 'failed') last = attempt;
        }
        const nodes = [this.#keeper.server];
        const answers = { outcomes: [last?.outcome] };
        const context = { resources: [key], attempts: backoff.attempts, elapsedMs: backoff.elapsedMs };
        if (cancellation.cancelled !== undefined) {
          throw cancelledError(cancellation.cancelled, context, last && answers, nodes);
        }
        if (last === undefined) continue;
        if (isHopeless(last.failure, answers) || !(await backoff.next(last.freeInMs))) {
          throw roundError(last.failure, answers, nodes, context);
        }
      }
    } finally {
      cancellation.dispose();
    }
  }
}

function isRuntime(over: RedisClient | TimestampRuntime): over is TimestampRuntime {
  return typeof over === 'object' && over !== null && 'transport' in over;
}

/** One for each client, since nothing closes them, and some listen to their client. */
const transports = new WeakMap<RedisClient, Transport>();

function transportTo(client: RedisClient): Transport {
  const transport = transports.get(client) ?? transportOver(client);
  transports.set(client, transport);
  return transport;
}

function runtimeOver(client: RedisClient): TimestampRuntime {
  checkClient(client, 'client', 'make a client of it, new Redis(url)');
  return {
    transport: transportTo(client),
    clock: new SystemClock(),
    timers: new SystemTimers(),
    random: new SystemRandom(),
    wallMs: systemWallClock,
  };
}

/** Checks the key: a timestamp lock locks one at a time. */
function checkResource(resource: unknown): string {
  if (!isName(resource)) {
    throw invalidArgument('resource', resource, 'one non-empty string of well-formed Unicode');
  }
  if (resource.startsWith(RESERVED)) {
    throw invalidArgument('resource', resource, `a name that does not begin with ${RESERVED}`);
  }
  return resource;
}
