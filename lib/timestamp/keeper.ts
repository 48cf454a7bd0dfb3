/**
 * The steps of a timestamp lock on its server, each with its deadline: claim, extend, give back, look; and the meaning of the
 * answers.
 *
 * A claim whose answer never comes is not undone: instants name nobody, and a blind undo could delete another's. If it was
 * granted, the key blocks others until its instant, as after a crash. A claim whose answer comes late is given back.
 */
import { Cancellation } from '../runtime/cancellation.js';
import type { WallClock, Runtime } from '../runtime/clock.js';
import type { RedlockError } from '../runtime/errors.js';
import { type RoundFailure, roundError } from '../quorum/failure.js';
import { expiredBelow, expiryInstant, heldForMs, liveForMs, type OwnInstants } from './instant.js';
import { GRANTED, type Outcome } from '../protocol/quorum.js';
import { isMisconfigured, NOT_AWAITED, Silence, toError } from '../redis/server-errors.js';
import { type TimestampExtension, TimestampLease } from './lease.js';
import { type ClaimEnd, type ExtensionStep, look, type Method, METHODS } from './methods.js';
import type { ResolvedTimestampOptions } from './options.js';
import { TimestampServer, Wanted } from './server.js';
import type { Transport } from '../redis/transport.js';

/** The runtime of a timestamp lock, with its server; specs and simulations bring their own. */
export interface TimestampRuntime extends Runtime {
  readonly transport: Transport;
  readonly wallMs: WallClock;
}

/** How one attempt ended. */
export type TimestampAttempt =
  | { readonly kind: 'granted'; readonly lease: TimestampLease }
  | TimestampFailure
  | { readonly kind: 'cancelled' };

/** `freeInMs`: when the obstacle will be gone, as far as is known. */
export interface TimestampFailure {
  readonly kind: 'failed';
  readonly failure: RoundFailure;
  readonly outcome: Outcome;
  readonly freeInMs: number;
}

/** The result of one claim: an end, or an error of the server, the connection or the deadline. */
type Claimed = ClaimEnd | { readonly kind: 'unknown'; readonly cause: Error };

/** How many claims one attempt makes in immediate succession, if the key vanished or another client was faster. */
const TRIES_AT_ONCE = 3;

export class TimestampKeeper {
  readonly server: TimestampServer;
  readonly runtime: TimestampRuntime;
  readonly options: ResolvedTimestampOptions;
  readonly #method: Method;

  constructor(runtime: TimestampRuntime, options: ResolvedTimestampOptions) {
    this.server = new TimestampServer(runtime.transport);
    this.runtime = runtime;
    this.options = options;
    this.#method = METHODS[options.method];
  }

  /** Claims once, or a few times in succession if the answer says that the next claim may well succeed. */
  async attempt(key: string, renew: boolean, cancellation: Cancellation): Promise<TimestampAttempt> {
    for (let tries = 1; ; tries++) {
      const sentAtMs = this.runtime.clock.now();
      const claimed = await this.#claim(key, cancellation);
      if (claimed.kind === 'held') {
        const lease = this.#toLease(key, claimed.instant, sentAtMs, renew);
        if (cancellation.cancelled === undefined && lease.status === 'held')
          return { kind: 'granted', lease };
        void lease.release();
      }
      if (cancellation.cancelled !== undefined) return { kind: 'cancelled' };
      const isOpen = claimed.kind === 'vanished' || claimed.kind === 'outrun';
      if (!isOpen || tries === TRIES_AT_ONCE) return this.#failed(claimed);
    }
  }

  /** How long until the lock may be taken over, in ms, or the reason why the key holds no instant. Never rejects. */
  async look(key: string): Promise<number | 'vanished' | 'foreign' | Error> {
    try {
      const seen = await this.#withDeadline(new Cancellation(), async (wanted) => {
        await this.server.open(wanted);
        return look(this.server, key, this.options.unit);
      });
      return typeof seen === 'number' ? this.#heldForMs(seen) : seen;
    } catch (error) {
      return toError(error);
    }
  }

  /** One claim, until its answer, the node timeout or the caller's signal; a grant that comes later is given back. */
  async #claim(key: string, cancellation: Cancellation): Promise<Claimed> {
    const { clockMarginMs, ttlMs, unit } = this.options;
    const { wallMs } = this.runtime;
    let answer: Promise<ClaimEnd> | undefined;
    try {
      return await this.#withDeadline(cancellation, (wanted) => {
        answer = this.server.open(wanted).then(() =>
          this.#method.claim(this.server, key, this.options, {
            expiredBelow: expiredBelow(wallMs(), clockMarginMs, unit),
            instant: () => expiryInstant(wallMs(), ttlMs, unit),
            wanted,
          }),
        );
        return answer;
      });
    } catch (error) {
      answer?.then(
        (end) => this.#giveBackLate(key, end),
        () => undefined,
      );
      return { kind: 'unknown', cause: toError(error) };
    }
  }

  #giveBackLate(key: string, end: ClaimEnd): void {
    if (end.kind !== 'held') return;
    const { instant } = end;
    const { clockMarginMs, unit } = this.options;
    const isLive = (): boolean => liveForMs(instant, this.runtime.wallMs(), clockMarginMs, unit) > 0;
    void this.release(key, { from: instant, to: instant }, isLive);
  }

  #toLease(key: string, instant: number, sentAtMs: number, renew: boolean): TimestampLease {
    const { ttlMs } = this.options;
    return new TimestampLease(this, { resource: key, instant, ttlMs, sentAtMs, renew });
  }

  #failed(claimed: Claimed): TimestampFailure {
    switch (claimed.kind) {
      case 'held':
        return { kind: 'failed', failure: 'late', outcome: GRANTED, freeInMs: Infinity };
      case 'taken':
        return refusal('held', this.#heldForMs(claimed.instant));
      case 'vanished':
      case 'outrun':
        return refusal('held', undefined);
      case 'foreign':
        return refusal('wrongType', undefined);
      case 'unknown':
        return unknown(claimed.cause);
    }
  }

  async extend(key: string, own: OwnInstants, step: ExtensionStep): Promise<TimestampExtension> {
    const startedAtMs = this.runtime.clock.now();
    try {
      const isOwn = await this.#withDeadline(new Cancellation(), () =>
        this.#method.extend(this.server, key, this.options, own, step),
      );
      return { kind: isOwn ? 'extended' : 'refused' };
    } catch (error) {
      return { kind: 'failed', error: this.#extensionError(key, toError(error), startedAtMs) };
    }
  }

  #extensionError(key: string, cause: Error, startedAtMs: number): RedlockError {
    const { failure, outcome } = unknown(cause);
    const elapsedMs = Math.round(this.runtime.clock.now() - startedAtMs);
    const context = { resources: [key], attempts: 1, elapsedMs };
    return roundError(failure, { outcomes: [outcome] }, [this.server], context);
  }

  /** Never rejects: a lock that cannot be given back stays until its instant. */
  async release(key: string, own: OwnInstants, isLive: () => boolean): Promise<void> {
    const done = this.#withDeadline(new Cancellation(), () =>
      this.#method.release(this.server, key, this.options, own, isLive),
    );
    await done.catch(() => undefined);
  }

  #heldForMs(instant: number): number {
    const { clockMarginMs, unit } = this.options;
    return heldForMs(instant, this.runtime.wallMs(), clockMarginMs, unit);
  }

  /** Rejects when the node timeout is over, or when the caller's wait was ended from outside. */
  async #withDeadline<T>(cancellation: Cancellation, step: (wanted: Wanted) => Promise<T>): Promise<T> {
    const { nodeTimeoutMs } = this.options;
    const wanted = new Wanted();
    let giveUp = (_why: Error): void => undefined;
    const givenUp = new Promise<never>((_resolve, reject) => {
      giveUp = (why) => {
        reject(why);
        wanted.end();
      };
    });
    const timer = this.runtime.timers.deadline(nodeTimeoutMs, () =>
      giveUp(this.server.unansweredFor(new Silence(nodeTimeoutMs))),
    );
    try {
      return await cancellation.during(() => giveUp(NOT_AWAITED), Promise.race([step(wanted), givenUp]));
    } catch (error) {
      throw toError(error);
    } finally {
      timer.cancel();
    }
  }
}

function refusal(failure: 'held' | 'wrongType', remainingMs: number | undefined): TimestampFailure {
  const outcome = {
    kind: 'refused',
    remainingMs,
    isWrongType: failure === 'wrongType',
    isForeignClient: true,
  } as const;
  return { kind: 'failed', failure, outcome, freeInMs: remainingMs ?? Infinity };
}

function unknown(cause: Error): TimestampFailure {
  const failure = isMisconfigured(cause) ? 'misconfigured' : 'unknown';
  const outcome = { kind: 'unknown', cause, isMisconfigured: failure === 'misconfigured' } as const;
  return { kind: 'failed', failure, outcome, freeInMs: Infinity };
}
