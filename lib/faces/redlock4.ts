/**
 * `quorate/redlock4`: the API of redlock 4.2.0, over quorate's locks, on native promises. docs/MIGRATION.md lists what differs.
 *
 * The class is all that there is, as `require` gives it there: the other classes are its properties.
 */
import { EventEmitter } from 'node:events';
import { createRequire as requireFrom } from 'node:module'; // as in redis/loading.ts
import type { RedisClient } from '../redis/client.js';
import { hexDigits } from '../runtime/random.js';
import { FaceLocks, isWon, type Terms } from './face-locks.js';
import type { Failure, Votes } from './tries.js';

/** The build makes `require` of it. */
const load = requireFrom(import.meta.url);

/** A client of ioredis, node-redis or Valkey GLIDE. */
type Client = RedisClient;
/** As in Node: the error, or null and the value. */
// oxlint-disable-next-line typescript/no-explicit-any -- as its users declare theirs
type Callback<T> = (error: any, value?: T) => void;

/** Options of an instance. */
interface Options {
  /** The share of a ttl that is deducted for drift; 2 ms are added. @default 0.01 */
  readonly driftFactor: number;
  /** How many more attempts follow the first one; -1 for no end. @default 10 */
  readonly retryCount: number;
  /** The time between two attempts. Milliseconds. @default 200 */
  readonly retryDelay: number;
  /** By how much that time varies, at random. Milliseconds. @default 100 */
  readonly retryJitter: number;
}

/** Options as they are given. */
type GivenOptions = Partial<Options>;
/** Options of one call. */
type CallOptions = Partial<Pick<Options, 'retryCount' | 'retryDelay'>>;

/** Refused here, since quorate has scripts of its own. */
interface Scripts {
  /** Refused. */
  readonly lockScript?: undefined;
  /** Refused. */
  readonly unlockScript?: undefined;
  /** Refused. */
  readonly extendScript?: undefined;
}

const DEFAULTS: Options = Object.freeze({
  driftFactor: 0.01,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 100,
});

/** No quorum. Its `cause` is the `RedlockError` of quorate, with a code and with each master's answer. */
class LockError extends Error {
  override name = 'LockError';
  /** How many were made. */
  readonly attempts: number | undefined;

  constructor(message = 'Failed to lock the resource.', attempts?: number, options?: ErrorOptions) {
    super(message, options);
    this.attempts = attempts;
  }
}

/** A lock that was acquired. */
class Lock {
  /** The instance that unlocks and extends it. */
  readonly redlock: Redlock;
  /** The names, as they were given. */
  readonly resource: string[];
  /** What the masters store. */
  value: string;
  /** When it ends, by the wall clock. Milliseconds since 1970; 0 once it was unlocked. */
  expiration: number;
  /** How many attempts it took. */
  readonly attempts: number;
  /** How many retries were left. */
  readonly attemptsRemaining: number;

  /** Makes an object for a lock that is held by that value. */
  constructor(
    redlock: Redlock,
    resource: string[],
    value: string,
    expiration: number,
    attempts: number,
    attemptsRemaining: number,
  ) {
    this.redlock = redlock;
    this.resource = resource;
    this.value = value;
    this.expiration = expiration;
    this.attempts = attempts;
    this.attemptsRemaining = attemptsRemaining;
  }

  /** Releases it. @throws LockError as `redlock.unlock` does */
  unlock(callback?: Callback<void>): Promise<void> {
    return this.redlock.unlock(this, callback);
  }

  /** Extends it. @param ttl  milliseconds. @returns this lock. @throws LockError as `redlock.extend` does */
  extend(ttl: number, callback?: Callback<Lock>): Promise<Lock> {
    return this.redlock.extend(this, ttl, callback);
  }
}

/** Locks by a quorum of masters. Emits `clientError` for each master that gave no clear answer. */
class Redlock extends EventEmitter {
  static {
    Object.assign(this, { Lock, LockError });
  }

  /** As in the options. */
  readonly driftFactor: number;
  /** As in the options. */
  readonly retryCount: number;
  /** As in the options. */
  readonly retryDelay: number;
  /** As in the options. */
  readonly retryJitter: number;
  /** The clients. */
  readonly servers: readonly Client[];
  readonly #locks: FaceLocks;

  /** @throws Error if there is no client, or a script · RedlockError `INVALID_ARGUMENT`: a client or option of another kind */
  constructor(clients: readonly Client[], given?: (Partial<Options> & Scripts) | null) {
    super();
    const options = given ?? {};
    refuseScripts(options);
    const read = (name: keyof Options): number => numberOr(options[name], DEFAULTS[name]);
    this.driftFactor = read('driftFactor');
    this.retryCount = read('retryCount');
    this.retryDelay = read('retryDelay');
    this.retryJitter = read('retryJitter');
    this.servers = clients;
    if (clients.length === 0) throw new Error('Redlock must be instantiated with at least one redis server.');
    this.#locks = new FaceLocks([...clients], this.driftFactor, (votes) => this.#tell(votes));
  }

  /** Not here: quorate has other scripts. @throws Error */
  get scripts(): never {
    throw new Error(
      "quorate/redlock4 runs quorate's own scripts: there are no lock, extend and unlock scripts",
    );
  }

  /** Ends what waits, and calls `quit` on each client. Locks that are held run out. */
  quit(callback?: Callback<unknown[]>): Promise<unknown[]> {
    return told(this.#locks.quit(), callback);
  }

  /**
   * Locks one resource or several: all or none. Resolves when a quorum of masters has the lock.
   *
   * @param ttl  milliseconds
   * @throws LockError: no quorum within the attempts · RedlockError `INVALID_ARGUMENT`
   */
  lock(resource: string | readonly string[], ttl: number, callback?: Callback<Lock>): Promise<Lock> {
    return this._lock(resource, null, ttl, {}, callback);
  }

  /** As `lock`. */
  acquire(resource: string | readonly string[], ttl: number, callback?: Callback<Lock>): Promise<Lock> {
    return this._lock(resource, null, ttl, {}, callback);
  }

  /** As `lock`, with options of its own. */
  lockWithOptions(
    resource: string | readonly string[],
    ttl: number,
    options: CallOptions,
    callback?: Callback<Lock>,
  ): Promise<Lock> {
    return this._lock(resource, null, ttl, options, callback);
  }

  /** As `lock`, with options of its own. */
  acquireWithOptions(
    resource: string | readonly string[],
    ttl: number,
    options: CallOptions,
    callback?: Callback<Lock>,
  ): Promise<Lock> {
    return this._lock(resource, null, ttl, options, callback);
  }

  /**
   * A disposer for `using` of bluebird, which has to be installed.
   *
   * @param errorHandler  called if the lock cannot be released
   * @throws Error if there is no bluebird
   */
  disposer(
    resource: string | readonly string[],
    ttl: number,
    errorHandler: (error: unknown) => void = () => undefined,
  ): object {
    const promises = bluebird(); // before anything is locked
    return promises
      .resolve(this._lock(resource, null, ttl, {}))
      .disposer((held) => held.unlock().catch(errorHandler));
  }

  /**
   * Releases a lock. One that has expired, or that was released, is no error.
   *
   * @throws LockError: no quorum has confirmed it. It is tried again in the background until the lock has expired
   */
  unlock(lock: Lock, callback?: Callback<void>): Promise<void> {
    lock.expiration = 0;
    return told(this.#release(lock), callback);
  }

  /** As `unlock`. */
  release(lock: Lock, callback?: Callback<void>): Promise<void> {
    return this.unlock(lock, callback);
  }

  /**
   * Extends a lock to a ttl from now on, and never shortens it.
   *
   * @param ttl  milliseconds. @returns the lock
   * @throws LockError: it has ended, or no quorum has extended it; then it is as it was
   */
  extend(lock: Lock, ttl: number, callback?: Callback<Lock>): Promise<Lock> {
    return told(this.#extend(lock, ttl), callback);
  }

  /** Locks, or extends what is held by that value. */
  _lock(
    resource: string | readonly string[],
    value: string | null,
    ttl: number,
    options: CallOptions | Callback<Lock> = {},
    callback?: Callback<Lock>,
  ): Promise<Lock> {
    const isCallback = typeof options === 'function';
    const back = callback ?? (isCallback ? options : undefined);
    return told(this.#take(resource, value, ttl, isCallback ? {} : options), back);
  }

  /** 32 hex digits. */
  _random(): string {
    return hexDigits(32);
  }

  async #take(
    names: string | readonly string[],
    value: string | null,
    ttl: number,
    options: CallOptions | null,
  ): Promise<Lock> {
    const [resource, terms] = [namesOf(names), this.#terms(options ?? {})];
    const result =
      value === null
        ? await this.#locks.acquire(resource, ttl, terms)
        : await this.#locks.adopt({ resources: resource, value }, ttl, terms);
    if (!isWon(result)) throw exceeded(resource, terms, result);
    const { lease, attempts } = result;
    const [expiration, left] = [
      this.#locks.expirationOf(lease, ttl, terms),
      terms.retryCount - attempts.length,
    ];
    const lock = new Lock(this, resource, lease.token, expiration, attempts.length, left);
    this.#locks.keep(lock, lease);
    return lock;
  }

  async #extend(lock: Lock, ttl: number): Promise<Lock> {
    const [terms, resources] = [this.#terms({}), namesOf(lock.resource)];
    const { value, expiration } = lock;
    const result = await this.#locks.extend(lock, { resources, value, expiration }, ttl, terms);
    if (result === undefined) {
      const why = 'because the lock has already expired';
      throw new LockError(`Cannot extend lock on resource "${resources.join()}" ${why}.`, 0);
    }
    if (!isWon(result)) throw exceeded(resources, terms, result);
    this.#locks.keep(lock, result.lease);
    lock.expiration = this.#locks.expirationOf(result.lease, ttl, terms);
    return lock;
  }

  async #release(lock: Lock): Promise<void> {
    const resources = namesOf(lock.resource);
    const result = await this.#locks.release(lock, { resources, value: lock.value }, this.#terms({}));
    if (result === undefined || (!('cause' in result) && isByQuorum(result))) return;
    const cause = 'cause' in result ? { cause: result.cause } : undefined;
    const message = `Unable to fully release the lock on resource "${resources.join()}".`;
    throw new LockError(message, undefined, cause);
  }

  #terms({ retryCount, retryDelay }: CallOptions): Terms {
    return {
      driftFactor: this.driftFactor,
      retryCount: numberOr(retryCount, this.retryCount),
      retryDelay: numberOr(retryDelay, this.retryDelay),
      retryJitter: this.retryJitter,
    };
  }

  /** That another has the lock is no error of a client. */
  #tell({ outcomes }: Votes): void {
    for (const vote of outcomes) {
      if (vote.outcome !== 'unknown') continue;
      process.nextTick(() => this.emit('clientError', vote.cause)); // later: what a listener throws must not reach the lock
    }
  }
}

/** What is used of bluebird. */
interface Bluebird {
  resolve<T>(value: Promise<T>): { disposer(dispose: (value: T) => unknown): object };
}

function bluebird(): Bluebird {
  try {
    return load('bluebird') as Bluebird;
  } catch (error) {
    throw new Error('disposer needs bluebird, whose using() takes it: npm install bluebird', {
      cause: error,
    });
  }
}

function exceeded(
  resource: readonly string[],
  { retryCount }: Terms,
  { cause, attempts }: Failure,
): LockError {
  const message = `Exceeded ${retryCount} attempts to lock the resource "${resource.join()}".`;
  return new LockError(message, attempts.length, { cause });
}

function isByQuorum({ outcomes }: Votes): boolean {
  return outcomes.filter(({ outcome }) => outcome === 'granted').length > outcomes.length / 2;
}

function namesOf(resource: string | readonly string[]): string[] {
  const isList = Array.isArray as (given: unknown) => given is readonly string[];
  return isList(resource) ? [...resource] : [resource]; // what is no name is refused later
}

function numberOr(given: unknown, fallback: number): number {
  return typeof given === 'number' ? given : fallback;
}

function refuseScripts(scripts: Scripts): void {
  const names = ['lockScript', 'unlockScript', 'extendScript'] as const;
  const name = names.find((one) => scripts[one] !== undefined);
  if (name === undefined) return;
  throw new Error(
    `${name}: quorate/redlock4 runs its own scripts, which keep queues and repair votes; a custom one is not possible.`,
  );
}

/** Calls back as well, after the call: what a callback throws is not the promise's. */
function told<T>(promise: Promise<T>, callback: Callback<T> | undefined): Promise<T> {
  if (typeof callback !== 'function') return promise;
  promise.then(
    (value) => process.nextTick(callback, null, value),
    (error: unknown) => process.nextTick(callback, error),
  );
  return promise;
}

/** The properties of the class, as values and as types. */
declare namespace Redlock {
  export { Lock, LockError, type Callback, type GivenOptions as Options, type CallOptions as LockOptions };
}

// oxlint-disable-next-line import/no-default-export -- the package is one class
export { Redlock as default };
