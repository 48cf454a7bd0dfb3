/**
 * `quorate/redlock`: the API of redlock 5.0.0-beta.2 and its forks, over quorate's locks. docs/MIGRATION.md lists what differs.
 */
import { EventEmitter } from 'node:events';
import type { Lease } from '../lease/public.js';
import type {
  Client,
  ClientExecutionResult,
  ExecutionResult,
  ExecutionStats,
  RedlockAbortSignal,
  Settings,
} from './redlock-public.js';
import { FaceLocks, isWon, type Terms, type Won } from './face-locks.js';
import type { Failure, Votes } from './tries.js';
import { systemWallClock } from '../runtime/clock.js';
import { invalidArgument, type NodeOutcome } from '../runtime/errors.js';

export type { Client, ClientExecutionResult, ExecutionResult, ExecutionStats, RedlockAbortSignal, Settings };

/** The lock that a routine runs under. */
export interface RedlockUsingContext {
  /** With its expiration of that moment. */
  readonly lock: Lock;
  /** How often the lock was extended so far. */
  readonly extensions: number;
}

/** The routine of `using`. */
export type RedlockRoutine<T> = (signal: RedlockAbortSignal, context: RedlockUsingContext) => Promise<T> | T;

/** Refused here, since quorate has scripts of its own. */
export interface Scripts {
  /** Refused. */
  readonly acquireScript?: undefined;
  /** Refused. */
  readonly extendScript?: undefined;
  /** Refused. */
  readonly releaseScript?: undefined;
}

const DEFAULTS: Settings = Object.freeze({
  driftFactor: 0.01,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 100,
  automaticExtensionThreshold: 500,
});

/** A lock is longer than the threshold of its extension by this much at least. */
const LEAST_ABOVE_THRESHOLD_MS = 100;
const NO_QUORUM = 'The operation was unable to achieve a quorum during its retry window.';

/** Another lock exists for one of the resources. */
export class ResourceLockedError extends Error {
  /** The name of the class. */
  override name = 'ResourceLockedError';
}

/** An operation found no quorum. Its `cause` is the `RedlockError` of quorate, with a code and with each master's answer. */
export class ExecutionError extends Error {
  /** The name of the class. */
  override name = 'ExecutionError';
  /** As many as were asked for, up to 100. */
  readonly attempts: readonly Promise<ExecutionStats>[];

  /** Makes an error as an instance throws it. */
  constructor(message: string, attempts: readonly Promise<ExecutionStats>[], options?: ErrorOptions) {
    super(message, options);
    this.attempts = attempts;
  }
}

/** A lock that was acquired. Another process that makes one of the same value has the same lock. */
export class Lock {
  /** The instance that releases and extends it. */
  readonly redlock: Redlock;
  /** The names, as they were given. */
  readonly resources: string[];
  /** What the masters store. */
  readonly value: string;
  /** The attempts that it took. */
  readonly attempts: readonly Promise<ExecutionStats>[];
  /** When it ends, by the wall clock. Milliseconds since 1970; 0 once it was released, or extended to another object. */
  expiration: number;

  /** Makes an object for a lock that is held by that value. */
  constructor(
    redlock: Redlock,
    resources: string[],
    value: string,
    attempts: readonly Promise<ExecutionStats>[],
    expiration: number,
  ) {
    this.redlock = redlock;
    this.resources = resources;
    this.value = value;
    this.attempts = attempts;
    this.expiration = expiration;
  }

  /** Releases it. @throws ExecutionError as `redlock.release` does */
  async release(): Promise<ExecutionResult> {
    return this.redlock.release(this);
  }

  /** Extends it. @returns another object for the same lock. @throws ExecutionError as `redlock.extend` does */
  async extend(duration: number): Promise<Lock> {
    return this.redlock.extend(this, duration);
  }
}

/** Locks by a quorum of masters. Emits `error` for each answer that was not a yes; no listener is needed. */
export class Redlock extends EventEmitter {
  /** The clients, each once. */
  readonly clients: Set<Client>;
  /** With the defaults filled in. */
  readonly settings: Settings;
  readonly #list: readonly Client[];
  readonly #locks: FaceLocks;

  /** @throws Error if there is no client, or a script · RedlockError `INVALID_ARGUMENT`: a client or setting of another kind */
  constructor(clients: Iterable<Client>, settings?: Partial<Settings>, scripts: Scripts = {}) {
    super();
    this.on('error', () => undefined); // without a listener, an emitter would throw
    this.clients = new Set(clients);
    if (this.clients.size === 0)
      throw new Error('Redlock must be instantiated with at least one redis client.');
    refuseScripts(scripts);
    this.settings = settingsOf(settings, DEFAULTS);
    this.#list = [...this.clients];
    this.#locks = new FaceLocks(this.#list, this.settings.driftFactor, (votes) => this.#tell(votes));
  }

  /** Not here: quorate has other scripts. @throws Error */
  get scripts(): never {
    throw new Error(
      "quorate/redlock runs quorate's own scripts: there are no acquire, extend and release scripts",
    );
  }

  /** Ends what waits, and calls `quit` on each client. Locks that are held run out. */
  async quit(): Promise<void> {
    await this.#locks.quit();
  }

  /**
   * Locks all of the resources, or none. Resolves when a quorum of masters has the lock.
   *
   * @param duration  milliseconds
   * @throws ExecutionError: no quorum within the attempts · RedlockError `INVALID_ARGUMENT`
   */
  async acquire(resources: string[], duration: number, settings?: Partial<Settings>): Promise<Lock> {
    const terms = settingsOf(settings, this.settings);
    return this.#lockOf(await this.#acquire(resources, duration, terms), [...resources], duration, terms);
  }

  /**
   * Releases a lock. One that has expired, or that was released, is no error.
   *
   * @throws ExecutionError: no quorum has confirmed it. It is tried again in the background until the lock has expired
   */
  async release(lock: Lock, settings?: Partial<Settings>): Promise<ExecutionResult> {
    const start = systemWallClock();
    lock.expiration = 0;
    const result = await this.#locks.release(lock, lock, settingsOf(settings, this.settings));
    if (result !== undefined && 'cause' in result) throw this.#failed(result);
    const stats = this.#stats(result ?? this.#nothingLeft(lock));
    const attempts = [Promise.resolve(stats)];
    if (result !== undefined && stats.votesFor.size < stats.quorumSize)
      throw new ExecutionError(NO_QUORUM, attempts);
    return { attempts, start };
  }

  /**
   * Extends a lock to a duration from now on, and never shortens it. The given object is of no use from then on.
   *
   * @param duration  milliseconds
   * @throws ExecutionError: it has ended, or no quorum has extended it; then the lock is as it was
   */
  async extend(existing: Lock, duration: number, settings?: Partial<Settings>): Promise<Lock> {
    checkInteger(duration);
    const terms = settingsOf(settings, this.settings);
    const result = await this.#locks.extend(existing, existing, duration, terms);
    if (result === undefined) throw new ExecutionError('Cannot extend an already-expired lock.', []);
    if (!isWon(result)) throw this.#failed(result);
    existing.expiration = 0;
    return this.#lockOf(result, existing.resources, duration, terms);
  }

  /**
   * Runs a routine while the lock is held, extends the lock meanwhile, and settles as the routine does. If the lock is lost, the
   * signal aborts, and has the reason in `error`.
   *
   * @param duration  milliseconds
   * @throws ExecutionError as `acquire` does · RedlockError `INVALID_ARGUMENT` · what the routine throws
   */
  using<T>(
    resources: string[],
    duration: number,
    settings: Partial<Settings> | undefined,
    routine?: RedlockRoutine<T>,
  ): Promise<T>;
  using<T>(resources: string[], duration: number, routine: RedlockRoutine<T>): Promise<T>;
  async using<T>(
    resources: string[],
    duration: number,
    settingsOrRoutine: Partial<Settings> | RedlockRoutine<T> | undefined,
    routineAfterSettings?: RedlockRoutine<T>,
  ): Promise<T> {
    checkInteger(duration);
    const isRoutine = typeof settingsOrRoutine === 'function';
    const terms = settingsOf(isRoutine ? undefined : settingsOrRoutine, this.settings);
    const routine = routineAfterSettings ?? settingsOrRoutine;
    if (typeof routine !== 'function') throw new Error('INVARIANT: routine is not a function.');
    if (terms.automaticExtensionThreshold > duration - LEAST_ABOVE_THRESHOLD_MS)
      throw new Error(
        'A lock `duration` must be at least 100ms greater than the `automaticExtensionThreshold` setting.',
      );
    const won = await this.#acquire(resources, duration, terms, { renew: true });
    const { lease } = won;
    const extensions = this.#locks.follow(lease, terms.automaticExtensionThreshold);
    let lock: Lock | undefined; // nobody has the token unless the routine asks for it
    const lockNow = (): Lock => {
      lock ??= this.#lockOf(won, [...resources], duration, terms);
      if (lease.status === 'held') lock.expiration = this.#locks.expirationOf(lease, duration, terms);
      return lock;
    };
    const context: RedlockUsingContext = {
      get lock() {
        return lockNow();
      },
      get extensions() {
        return extensions.count();
      },
    };
    try {
      return await routine(signalOf(lease), context);
    } finally {
      extensions.end();
      await this.#locks.end(lease); // never rejects
    }
  }

  async #acquire(
    resources: string[],
    duration: number,
    terms: Terms,
    how?: { readonly renew: boolean },
  ): Promise<Won> {
    checkInteger(duration);
    if (!Array.isArray(resources)) throw invalidArgument('resources', resources, 'an array of names');
    const result = await this.#locks.acquire(resources, duration, terms, how);
    if (!isWon(result)) throw this.#failed(result);
    return result;
  }

  #lockOf({ lease, attempts }: Won, resources: string[], duration: number, terms: Terms): Lock {
    const expiration = this.#locks.expirationOf(lease, duration, terms);
    const lock = new Lock(this, resources, lease.token, this.#promised(attempts), expiration);
    this.#locks.keep(lock, lease);
    return lock;
  }

  #failed({ cause, attempts }: Failure): ExecutionError {
    return new ExecutionError(NO_QUORUM, this.#promised(attempts), { cause });
  }

  #promised(attempts: readonly Votes[]): readonly Promise<ExecutionStats>[] {
    return attempts.map((votes) => Promise.resolve(this.#stats(votes)));
  }

  #stats(votes: Votes): ExecutionStats {
    const membershipSize = this.#list.length;
    const quorumSize = Math.floor(membershipSize / 2) + 1;
    const stats = {
      membershipSize,
      quorumSize,
      votesFor: new Set<Client>(),
      votesAgainst: new Map<Client, Error>(),
    };
    for (const [i, client] of this.#list.entries()) {
      const vote = votes.outcomes[i];
      if (vote?.outcome === 'granted') stats.votesFor.add(client);
      const error = vote && errorOf(vote, votes.resources);
      if (error !== undefined) stats.votesAgainst.set(client, error);
    }
    return stats;
  }

  #tell(votes: Votes): void {
    for (const vote of votes.outcomes) {
      const error = errorOf(vote, votes.resources);
      // later: what a listener throws must not reach the lock
      if (error !== undefined) process.nextTick(() => this.emit('error', error));
    }
  }

  /** A release that had nothing to do. */
  #nothingLeft({ resources }: Lock): Votes {
    const outcomes = this.#list.map((_, i) => ({ node: String(i), outcome: 'refused' }) as const);
    return { outcomes, resources: resources.length };
  }
}

/** The reason why a master gave no vote; undefined if it gave one, or its answer was not waited for. */
function errorOf(vote: NodeOutcome, resources: number): Error | undefined {
  switch (vote.outcome) {
    case 'refused':
    case 'quarantined':
      return new ResourceLockedError(
        `The operation was applied to: 0 of the ${resources} requested resources.`,
      );
    case 'unknown':
      return vote.cause;
    default:
      return undefined;
  }
}

function signalOf(lease: Lease): RedlockAbortSignal {
  const controller = new AbortController();
  const signal: RedlockAbortSignal = controller.signal;
  const abort = (): void => {
    const reason: unknown = lease.signal.reason;
    signal.error = reason instanceof Error ? reason : new Error(String(reason));
    controller.abort(reason);
  };
  if (lease.signal.aborted) abort();
  else lease.signal.addEventListener('abort', abort, { once: true });
  return signal;
}

function checkInteger(duration: number): void {
  if (Math.floor(duration) !== duration)
    throw new Error('Duration must be an integer value in milliseconds.');
}

/** What is not a number falls back. */
function settingsOf(given: Partial<Settings> | null | undefined, fallback: Settings): Settings {
  if (given === null || given === undefined) return fallback;
  if ('db' in given)
    throw new Error(
      'db: quorate/redlock uses the database of each client. Select it there, and leave this setting out.',
    );
  const read = (name: keyof Settings): number => {
    const value = given[name];
    return typeof value === 'number' ? value : fallback[name];
  };
  return {
    driftFactor: read('driftFactor'),
    retryCount: read('retryCount'),
    retryDelay: read('retryDelay'),
    retryJitter: read('retryJitter'),
    automaticExtensionThreshold: read('automaticExtensionThreshold'),
  };
}

function refuseScripts(scripts: Scripts): void {
  const name = (['acquireScript', 'extendScript', 'releaseScript'] as const).find(
    (one) => scripts[one] !== undefined,
  );
  if (name === undefined) return;
  throw new Error(
    `${name}: quorate/redlock runs its own scripts, which keep queues and repair votes; a custom one is not possible.`,
  );
}

/** @alias */
export default Redlock; // oxlint-disable-line import/no-default-export -- users of the package import it so
