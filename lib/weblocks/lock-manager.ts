/** The Web Locks API over the masters of a `Redlock` instance (https://w3c.github.io/web-locks/). */
import type { Lease } from '../lease/public.js';
import type { Lockable, ReadWriteLock } from '../locks/lockable.js';
import type { Redlock } from '../redlock.js';
import { fingerprint } from '../redis/transport.js';
import { Cancellation } from '../runtime/cancellation.js';
import { RedlockError } from '../runtime/errors.js';
import { publicPart, SystemRandom } from '../runtime/random.js';
import { HeldLock } from './held-lock.js';
import { Line, Place } from './line.js';
import { type LockManagerOptions, type ResolvedLockManagerOptions, resolveLockManager } from './options.js';
import type {
  Lock,
  LockGrantedCallback,
  LockManagerSnapshot,
  LockOptions,
  WaitingLockOptions,
} from './public.js';
import { type LockRequest, requestOf } from './request.js';
import { resourceOf } from './resource.js';
import { type Holder, holdersOf } from './snapshot.js';

/** How many names `query` asks the masters about at a time. */
const NAMES_AT_A_TIME = 32;

/**
 * The Web Locks API for all processes that use the same masters and prefix. The instance is the caller's: nothing here closes
 * it, and when it closes, requests that wait reject with `CLOSED`.
 *
 * Requests of one manager for one name are granted in their order; so have one manager per process.
 *
 * @example
 * ```ts
 * const locks = new LockManager(redlock);
 * await locks.request('invoice:42', async (lock) => bill(42, { signal: lock.signal, fence: lock.fence }));
 * await locks.request('prices', { mode: 'shared' }, async () => quote(await load()));
 * ```
 */
export class LockManager {
  /** Names this manager in what `query` shows of its own. */
  readonly clientId = publicPart(new SystemRandom().token());
  readonly #redlock: Redlock;
  readonly #options: ResolvedLockManagerOptions;
  /** By name; one that is empty is removed. */
  readonly #lines = new Map<string, Line>();

  /** @throws RedlockError `INVALID_ARGUMENT` */
  constructor(redlock: Redlock, options: LockManagerOptions = {}) {
    this.#options = resolveLockManager(redlock, options);
    this.#redlock = redlock;
  }

  /**
   * Waits for the lock, without end unless `signal` aborts; runs the callback, and renews the lock while it runs; gives the lock
   * back, and settles as the callback did. If the lock is lost meanwhile, `lock.signal` shows it, and the call still settles as
   * the callback does. With `ifAvailable`, it does not wait: the callback gets null if the lock cannot be had now.
   *
   * All failures are rejections.
   *
   * With `steal`, all holders lose the lock, and their requests reject with `AbortError`; nobody's callback is stopped.
   *
   * @throws TypeError: wrong arguments · DOMException `NotSupportedError`: a name that begins with `-`, options that exclude each
   *   other · DOMException `AbortError`: the lock was stolen · the signal's reason · RedlockError `WRONG_KIND`, `MISCONFIGURED`, `CLOSED` · `LOCK_TAKEN`: the instance has
   *   `maxWaiters` already · `INVALID_ARGUMENT`: a Redis Cluster cannot have the name · with `ifAvailable` also `NO_QUORUM`,
   *   `QUARANTINED`, `VALIDITY_EXPIRED` · what the callback throws
   */
  request<T>(name: string, callback: LockGrantedCallback<T>): Promise<T>;
  request<T>(name: string, options: WaitingLockOptions, callback: LockGrantedCallback<T>): Promise<T>;
  request<T>(name: string, options: LockOptions, callback: LockGrantedCallback<T, Lock | null>): Promise<T>;
  async request(...given: readonly unknown[]): Promise<unknown> {
    const request = requestOf(given);
    const { callback, ifAvailable, mode, name, signal } = request;
    const line = this.#lineOf(name);
    const place = new Place(mode, ifAvailable);
    const cancellation = new Cancellation(signal);
    cancellation.listen(() => this.#leave(name, line, place));
    if (request.steal) line.pass(place);
    else line.enter(place);
    try {
      // What waited goes on in its caller's asynchronous context, not in that of the request that made room for it. What need
      // not wait asks before the call returns, and so before a `query` of the same tick.
      const turn = place.turn === 'asks' ? place.turn : await place.wait();
      if (turn === 'left') throw signal?.reason;
      if (turn === 'asks') {
        const { isTaken, value } = await this.#ask(request, line, place, cancellation);
        if (!isTaken) return value;
      }
    } finally {
      cancellation.dispose();
      this.#leave(name, line, place);
    }
    return callback(null);
  }

  /**
   * What is held and what waits, for the names that this manager holds or waits for at the time of the call: all holders that a
   * quorum of masters shows, and this manager's own requests. It is no snapshot of one instant. It shows no names that only others
   * use, and no requests of others.
   *
   * @throws RedlockError `NO_QUORUM`: too few masters answered · `CLOSED`
   */
  async query(): Promise<LockManagerSnapshot> {
    const lines = [...this.#lines];
    const others: (readonly Holder[])[] = [];
    for (let i = 0; i < lines.length; i += NAMES_AT_A_TIME) {
      const some = lines.slice(i, i + NAMES_AT_A_TIME);
      others.push(...(await Promise.all(some.map(([name, line]) => this.#others(name, line)))));
    }
    const snapshot: LockManagerSnapshot = { held: [], pending: [] };
    const { clientId } = this;
    for (const [i, [name, line]] of lines.entries()) {
      for (const { mode } of line.held) snapshot.held.push({ name, mode, clientId });
      const known = ownOf(line); // also what was granted since
      for (const { holder, mode } of others[i] ?? [])
        if (!known.has(holder)) snapshot.held.push({ name, mode, clientId: holder });
      for (const mode of line.pending) snapshot.pending.push({ name, mode, clientId });
    }
    return snapshot;
  }

  /** Asks the masters for the lock, and runs the callback under it. */
  async #ask(
    { callback, ifAvailable, mode, name, signal, steal }: LockRequest,
    line: Line,
    place: Place,
    cancellation: Cancellation,
  ): Promise<{ readonly isTaken: boolean; readonly value?: unknown }> {
    const locks = this.#lockOf(name);
    const { stealGraceMs: graceMs, ttlMs } = this.#options;
    let isGranted = false;
    const run = (lease: Lease): Promise<unknown> => {
      isGranted = true;
      if (cancellation.cancelled !== undefined) throw signal?.reason; // between its grant and its callback
      cancellation.dispose();
      line.grant(place, lease);
      return unlessStolen(lease, callback(new HeldLock(name, mode, lease)));
    };
    try {
      const lock: Lockable = mode === 'shared' ? locks.read : locks.write;
      const value = steal
        ? await under(
            await locks.steal({ ttlMs, renew: true, waitMs: Infinity, passWaiters: true, graceMs }),
            run,
          )
        : await lock.using({ ttlMs, waitMs: ifAvailable ? 0 : Infinity, signal }, run);
      return { isTaken: false, value };
    } catch (error) {
      if (isGranted || !RedlockError.is(error)) throw error;
      if (error.code === 'ABORTED') throw signal?.reason;
      if (ifAvailable && error.code === 'LOCK_TAKEN') return { isTaken: true };
      throw error;
    }
  }

  /** The holders of a name that are not this manager's. */
  async #others(name: string, line: Line): Promise<readonly Holder[]> {
    const own = ownOf(line);
    const lock = this.#lockOf(name);
    const isOther = ({ holder }: Holder): boolean => !own.has(holder);
    const others = (await holdersOf(lock)).filter(isOther);
    if (others.length === 0 || line.pending.length === 0) return others;
    // masters know of a grant before this manager does: by the second answer, it knows of those that the first one showed
    return (await holdersOf(lock)).filter(isOther);
  }

  #lockOf(name: string): ReadWriteLock {
    return this.#redlock.readWriteLock(resourceOf(this.#options.prefix, name));
  }

  #lineOf(name: string): Line {
    const line = this.#lines.get(name) ?? new Line();
    this.#lines.set(name, line);
    return line;
  }

  #leave(name: string, line: Line, place: Place): void {
    line.leave(place);
    // an aborted request leaves again when the masters' answer is in: by then, the name may have another line
    if (line.isEmpty && this.#lines.get(name) === line) this.#lines.delete(name);
  }
}

/** Fingerprints of what this manager holds. */
function ownOf(line: Line): ReadonlySet<string> {
  return new Set(line.held.map(({ lease }) => fingerprint(lease.token)));
}

/** Runs the callback, and gives the lock back. */
async function under(lease: Lease, run: (lease: Lease) => Promise<unknown>): Promise<unknown> {
  try {
    return await run(lease);
  } finally {
    await lease.release().catch(() => undefined); // what is left ends by its ttl
  }
}

/** Settles as the callback does, or rejects once its lock is stolen. */
async function unlessStolen(lease: Lease, result: unknown): Promise<unknown> {
  const { signal } = lease;
  let onAbort = (): void => undefined;
  const stolen = new Promise<never>((_, reject) => {
    onAbort = () => {
      const reason: unknown = signal.reason;
      if (RedlockError.is(reason) && reason.stolenBy !== undefined)
        reject(new DOMException('The lock was stolen by another request.', 'AbortError'));
    };
  });
  signal.addEventListener('abort', onAbort);
  try {
    return await Promise.race([result, stolen]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
