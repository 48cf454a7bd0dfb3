/**
 * The locks of one name: exclusive, for readers and writers, or with a number of permits. All have the same methods, over the
 * same coordinator.
 */
import { invalidArgument, nullIfTaken, RedlockError } from '../runtime/errors.js';
import type { Coordination } from '../lease/coordination.js';
import type { HeldLeases } from '../lease/held-leases.js';
import type { Inspection } from '../lease/inspection.js';
import type { Lease, WriteLease } from '../lease/public.js';
import type { SharedInspection } from '../lease/shared-inspection.js';
import { checkNames } from '../input/option-names.js';
import {
  type AcquireOptions,
  CALL_NAMES,
  type RoutineOptions,
  NO_OPTIONS,
  or,
  resolveCall,
  resolveEnd,
  ROUTINE_NAMES,
  type TryAcquireOptions,
} from '../input/options.js';
import type { CallTerms, InstanceTerms } from '../protocol/terms.js';
import { MOST_PERMITS, MUTEX, READ } from '../protocol/scope.js';
import { argumentsOfUsing } from '../input/given.js';
import { resolveSteal, type TakingOptions } from '../input/steal-options.js';
import { stealToWrite } from '../lease/stealing.js';

/** A lock of any kind: the methods that all locks have. */
export interface Lockable<
  Held = Lease,
  Seen = Inspection | SharedInspection,
  Options extends object = AcquireOptions,
  TryOptions extends object = TryAcquireOptions,
> {
  /** The lock's name, without `keyPrefix`. */
  readonly name: string;
  /** Acquires the lock; waits or retries for up to `waitMs`. @throws RedlockError as `redlock.acquire` does */
  acquire(options?: Options): Promise<Held>;
  /**
   * Makes one attempt, without waiting. Resolves with null if others hold the lock.
   *
   * @throws RedlockError as `redlock.tryAcquire` does
   */
  tryAcquire(options?: TryOptions): Promise<Held | null>;
  /** Runs the routine while it holds the lock, as `redlock.using` does. @throws RedlockError as `redlock.using` does */
  using<T>(routine: (lease: Held) => Promise<T> | T): Promise<T>;
  using<T>(
    options: (Options & RoutineOptions) | undefined,
    routine: (lease: Held) => Promise<T> | T,
  ): Promise<T>;
  /** Shows who holds the lock, and who waits, master by master. Changes nothing. @throws RedlockError `CLOSED` */
  inspect(): Promise<Seen>;
}

/** Options of `redlock.mutex`. */
export interface MutexOptions {
  /** Whether waiters queue, unless a call sets `fair` itself. @default the instance's `fair` */
  readonly fair?: boolean | undefined;
  /** How many leases may follow one another on one grant, unless a call sets it itself. @default the instance's `localTurns` */
  readonly localTurns?: number | undefined;
  /** Whether the holder may enter the lock again: see `ReentrantMutex`. @default false */
  readonly reentrant?: boolean | undefined;
}

/** Options of `redlock.mutex` for a lock that its holder may enter again. */
export interface ReentrantMutexOptions extends MutexOptions {
  /** The holder may enter the lock again. */
  readonly reentrant: true;
}

/** Options of `redlock.mutex` for a lock whose holder waits for itself if it acquires again. */
export interface PlainMutexOptions extends MutexOptions {
  /** The holder may not enter the lock again. @default false */
  readonly reentrant?: false | undefined;
}

/**
 * Options of a reader's `acquire`; `using` takes `onLoss` and `awaitRelease` as well. There is no `fencing`: readers have no
 * fencing token, since among several holders no token is the latest. There is no `localTurns`: no shared lock has a local line.
 */
export type ReadOptions = Omit<AcquireOptions, 'fencing' | 'localTurns'>;
/** Options of a reader's `tryAcquire`. */
export type TryReadOptions = Omit<TryAcquireOptions, 'fencing' | 'localTurns'>;
/** Options of a writer's `acquire`; `using` takes `onLoss` and `awaitRelease` as well. */
export type WriteOptions = Omit<AcquireOptions, 'localTurns'>;
/** Options of a writer's `tryAcquire`. */
export type TryWriteOptions = Omit<TryAcquireOptions, 'localTurns'>;

/** Options of a read-write lock's `steal`. */
export interface StealToWriteOptions extends WriteOptions, TakingOptions {}

/** How many permits a call asks for. */
interface PermitCount {
  /** The number of permits to take, all or none. From 1 to the number that the semaphore has. @default 1 */
  readonly permits?: number | undefined;
}
/** Options of a semaphore's `acquire`; `using` takes `onLoss` and `awaitRelease` as well. */
export type PermitOptions = ReadOptions & PermitCount;
/** Options of a semaphore's `tryAcquire`. */
export type TryPermitOptions = TryReadOptions & PermitCount;

/** A lock for one holder at a time. */
export type Mutex = Lockable<Lease, Inspection>;
/** A lock for any number of readers at a time. */
export type ReadLock = Lockable<Lease, SharedInspection, ReadOptions, TryReadOptions>;
/** A lock for one writer at a time, which excludes readers. */
export type WriteLock = Lockable<WriteLease, SharedInspection, WriteOptions, TryWriteOptions>;

/** A lock for any number of readers, or one writer. A waiting writer keeps new readers out. */
export interface ReadWriteLock {
  /** The lock's name, without `keyPrefix`. */
  readonly name: string;
  /** The lock for readers. */
  readonly read: ReadLock;
  /** The lock for writers. */
  readonly write: WriteLock;
  /**
   * Takes the lock away from its readers and its writer, and acquires it to write: as `redlock.steal` does for an exclusive lock.
   *
   * @throws RedlockError as `redlock.steal` does
   */
  steal(options?: StealToWriteOptions): Promise<WriteLease>;
}

/** A lock for as many holders at a time as it has permits. */
export interface Semaphore extends Lockable<Lease, SharedInspection, PermitOptions, TryPermitOptions> {
  /** How many permits the semaphore has: the same number for all clients that use this name. */
  readonly permits: number;
}

/** How a lock differs from others. */
interface LockVariant<Held, Seen, Options> {
  readonly names: readonly string[];
  readonly tryNames: readonly string[];
  readonly defaults: InstanceTerms;
  readonly held: HeldLeases;
  /** Checks the options that only this kind of lock has, and asks the masters. */
  acquire(options: Options, call: CallTerms, signal: AbortSignal | undefined): Promise<Held>;
  inspect(): Promise<Seen>;
}

class Lock<
  Held extends Lease,
  Seen,
  Options extends AcquireOptions,
  TryOptions extends TryAcquireOptions,
> implements Lockable<Held, Seen, Options, TryOptions> {
  readonly name: string;
  readonly #variant: LockVariant<Held, Seen, Options | TryOptions>;
  readonly #namesOfUsing: readonly string[];

  constructor(name: string, variant: LockVariant<Held, Seen, Options | TryOptions>) {
    this.name = name;
    this.#variant = variant;
    this.#namesOfUsing = [...variant.names, ...ROUTINE_NAMES];
  }

  async acquire(options?: Options): Promise<Held> {
    return this.#acquire(options, this.#variant.names, (call) => call);
  }

  async tryAcquire(options?: TryOptions): Promise<Held | null> {
    return nullIfTaken(
      this.#acquire(options, this.#variant.tryNames, (call) => ({ ...call, waitMs: 0, by: 'tryAcquire' })),
    );
  }

  using<T>(routine: (lease: Held) => Promise<T> | T): Promise<T>;
  using<T>(
    options: (Options & RoutineOptions) | undefined,
    routine: (lease: Held) => Promise<T> | T,
  ): Promise<T>;
  async using<T>(
    optionsOrRoutine: (Options & RoutineOptions) | undefined | ((lease: Held) => Promise<T> | T),
    routineAfterOptions?: (lease: Held) => Promise<T> | T,
  ): Promise<T> {
    const { options, routine } = argumentsOfUsing<Options & RoutineOptions, (lease: Held) => Promise<T> | T>(
      optionsOrRoutine,
      routineAfterOptions,
    );
    const renew = or(options?.renew, true);
    const end = resolveEnd(options ?? NO_OPTIONS);
    const lease = await this.#acquire(options, this.#namesOfUsing, (call) => ({
      ...call,
      renew,
      by: 'using',
    }));
    return this.#variant.held.run(lease, lease, routine, end);
  }

  inspect(): Promise<Seen> {
    return this.#variant.inspect();
  }

  #acquire(
    options: Options | TryOptions | undefined,
    names: readonly string[],
    change: (call: CallTerms) => CallTerms,
  ): Promise<Held> {
    const { defaults } = this.#variant;
    const given = options ?? (NO_OPTIONS as Options); // all of them are optional
    const call = resolveCall(given, names, defaults);
    return this.#variant.acquire(given, change(call), given.signal);
  }
}

export function mutexOf(coordination: Coordination, name: string, options: MutexOptions): Mutex {
  checkNames('options', options, ['fair', 'localTurns', 'reentrant']);
  const { reentrant = false, ...rest } = options;
  if (typeof reentrant !== 'boolean') throw invalidArgument('reentrant', reentrant, 'true or false');
  const { fair, localTurns } = resolveCall(rest, ['fair', 'localTurns'], coordination.terms);
  return new Lock(name, {
    names: CALL_NAMES.acquire,
    tryNames: CALL_NAMES.tryAcquire,
    defaults: { ...coordination.terms, fair, localTurns },
    held: coordination.held,
    acquire: (_options: AcquireOptions, call, signal) => coordination.acquire([name], MUTEX, call, signal),
    inspect: () => coordination.inspect(name),
  });
}

const OF_WRITERS = {
  acquire: CALL_NAMES.acquire.filter((option) => option !== 'localTurns'),
  tryAcquire: CALL_NAMES.tryAcquire.filter((option) => option !== 'localTurns'),
} as const;
const OF_READERS = {
  acquire: OF_WRITERS.acquire.filter((option) => option !== 'fencing'),
  tryAcquire: OF_WRITERS.tryAcquire.filter((option) => option !== 'fencing'),
} as const;

export function readWriteLockOf(coordination: Coordination, name: string): ReadWriteLock {
  const inspect = (): Promise<SharedInspection> => coordination.inspectShared(name);
  const read: ReadLock = new Lock(name, {
    names: OF_READERS.acquire,
    tryNames: OF_READERS.tryAcquire,
    defaults: coordination.terms,
    held: coordination.held,
    acquire: (_options: AcquireOptions, call, signal) => coordination.acquire([name], READ, call, signal),
    inspect,
  });
  const write: WriteLock = new Lock(name, {
    names: [...OF_WRITERS.acquire, 'from'],
    tryNames: [...OF_WRITERS.tryAcquire, 'from'],
    defaults: coordination.terms,
    held: coordination.held,
    acquire: async (options: AcquireOptions, call, signal) => {
      refuseUpgrade(options);
      return coordination.acquireToWrite(name, call, signal);
    },
    inspect,
  });
  const steal = async (options: StealToWriteOptions = NO_OPTIONS): Promise<WriteLease> => {
    const { call, taking } = resolveSteal(options, OF_WRITERS.acquire, coordination.terms);
    return stealToWrite(coordination, name, call, options.signal, taking);
  };
  return Object.freeze({ name, read, write, steal });
}

/** Two readers that both waited to become the writer would wait for each other for ever. */
function refuseUpgrade(options: object): void {
  if (!('from' in options)) return;
  const text =
    'from is not an option here: a read lease cannot become a write lease, since two readers that both asked for it ' +
    'would wait for each other for ever. Release the read lease, then acquire the lock to write';
  throw new RedlockError('INVALID_ARGUMENT', text);
}

export function semaphoreOf(coordination: Coordination, name: string, permits: number): Semaphore {
  checkPermits(permits, MOST_PERMITS);
  const lock = new Lock<Lease, SharedInspection, PermitOptions, TryPermitOptions>(name, {
    names: [...OF_READERS.acquire, 'permits'],
    tryNames: [...OF_READERS.tryAcquire, 'permits'],
    defaults: coordination.terms,
    held: coordination.held,
    acquire: async ({ permits: wanted = 1 }, call, signal) => {
      checkPermits(wanted, permits);
      return coordination.acquire([name], { name: 'semaphore', permits, wanted, slots: '' }, call, signal);
    },
    inspect: () => coordination.inspectShared(name),
  });
  return Object.assign(lock, { permits });
}

function checkPermits(given: unknown, most: number): void {
  if (Number.isSafeInteger(given) && Number(given) >= 1 && Number(given) <= most) return;
  throw invalidArgument('permits', given, `a whole number from 1 to ${most}`);
}
