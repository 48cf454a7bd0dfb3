/**
 * Options are resolved once, at entry, into frozen objects without optional fields. Wrong input throws `INVALID_ARGUMENT`
 * before anything is sent, naming the option and the value.
 */
import { isCount, isName, isSignal } from './given.js';
import { resolveLabel, resolveNote } from './texts.js';
import { invalidArgument } from '../runtime/errors.js';
import { checkNames } from './option-names.js';
import { driftMs } from '../protocol/validity.js';
import { FENCE_BLOCK } from '../protocol/lua/stored.js';
import { MOST_MS, mostNodeTimeoutMs } from '../protocol/node-timeout.js';
import type { CallTerms, InstanceTerms } from '../protocol/terms.js';

/** The waits between the attempts of one acquisition: random between two bounds, in a range that doubles each time. */
export interface RetryOptions {
  /** The shortest wait between two attempts. Milliseconds, at least 1. @default 10 */
  readonly minDelayMs?: number | undefined;
  /** The longest wait between two attempts, reached by doubling. Milliseconds, at least `minDelayMs`. @default 200 */
  readonly maxDelayMs?: number | undefined;
}

/** Options of an instance that a call can override. */
interface SharedOptions {
  /**
   * How long a lease lives without renewal, and so how long a crashed holder blocks the others. Milliseconds, a safe integer
   * that leaves room for drift (`ttlMs > ttlMs · driftFactor + 2`). @default 30_000
   */
  readonly ttlMs?: number | undefined;
  /**
   * How long `acquire` goes on trying. Milliseconds; 0 makes one attempt, `Infinity` waits for ever. Has no effect on
   * `tryAcquire`. @default 10_000
   */
  readonly waitMs?: number | undefined;
  /**
   * How long an attempt waits for masters that do not answer. Milliseconds, at least 1. By default it follows the network:
   * twice the round trip of the slowest master that a quorum needs, with a margin for its variation (RFC 6298). The default
   * is between min(ttlMs / 10, 200) and min(ttlMs / 4, 980); before the first measurement it is the upper bound.
   * @default twice the measured round trip
   */
  readonly nodeTimeoutMs?: number | undefined;
  /** Renew the lease from a third of its ttl on, for as long as it is held. @default false, true in `using` */
  readonly renew?: boolean | undefined;
  /**
   * No renewal starts later than this after the lease was acquired. The lease then ends at most one ttl later.
   * Milliseconds, at least 1, or `Infinity`. Has no effect without renewal. @default Infinity
   */
  readonly maxHoldMs?: number | undefined;
  /**
   * Give each lease a fencing token, `lease.fence`, which rises with every grant of the resource. If off, a lone claim is a
   * plain `SET key token NX PX ttl`. @default true
   */
  readonly fencing?: boolean | undefined;
  /**
   * Wait in the queue: masters keep a queue for each lock that has waiters, and a release hands the lock over to the first of
   * them, or to as many as fit. If off, waiters retry at random times, and a later one may get the lock first. @default true
   */
  readonly fair?: boolean | undefined;
  /**
   * How a release hands the lock over to this waiter. `direct`: the release gives the waiter the lock for its whole ttl, so
   * the waiter holds it one round trip later; if the waiter then dies, the others wait for its ttl. `reserve`: the release
   * reserves the lock for a second, and the waiter claims it, which takes one more round trip; if the waiter dies before
   * that, the others wait for a second. `reserve` suits a long ttl and waiters that are often killed. Has no effect without
   * a queue. Calls for several resources always use `reserve`.
   * @default 'direct'
   */
  readonly handOver?: HandOver | undefined;
  /**
   * How many leases of this instance may follow one another on one grant of the masters. Calls of one instance for the same
   * exclusive lock wait in a local line, without messages. A release hands the lock on to the next of them, within 100 ms, until
   * `localTurns` leases have had the grant; then other processes have their turn. With 0, each call asks the masters itself. From
   * 0 to 63. No effect with several resources, `fair: false` or a Redis Cluster. @default 8
   */
  readonly localTurns?: number | undefined;
  /** The waits between the attempts of a waiter that does not wait in the queue. */
  readonly retry?: RetryOptions | undefined;
}

/** How a lock is handed over to a waiter. */
export type HandOver = 'direct' | 'reserve';

/** Options of `new Redlock` and `Redlock.connect`. */
export interface RedlockOptions extends SharedOptions {
  /** Whether releases are awaited, unless a call says otherwise: see `ReleaseOptions`. @default true */
  readonly awaitRelease?: boolean | undefined;
  /**
   * How far the clocks of masters and clients may run apart, as a share of the ttl; 2 ms are added. From 0 to less than 1.
   * @default 0.01
   */
  readonly driftFactor?: number | undefined;
  /** The prefix of each resource's name in the masters' keys. @default '' */
  readonly keyPrefix?: string | undefined;
  /**
   * What this instance is called where others see that it holds a lock or waits for one: in `inspect`, in errors, events and
   * `quorate status`. The masters keep it with host, process id and version, in one key per instance, for a minute after the
   * instance's last use. From 1 to 128 characters, without control characters; `false` writes nothing. @default host:pid
   */
  readonly label?: string | false | undefined;
  /**
   * How many calls of this instance may wait for a lock at a time, in a queue or between attempts. A further call ends after
   * its first attempt, as with `waitMs: 0`: it rejects with `LOCK_TAKEN` if others hold the lock. A whole number from 0 on,
   * or `Infinity`. @default Infinity
   */
  readonly maxWaiters?: number | undefined;
  /**
   * The restart guard: how long a master abstains after it lost data, or restarted and may have lost some. Milliseconds, at
   * least the longest ttl of any client plus its drift, and the same in all clients of these masters; 0 switches the guard
   * off. The guard needs Redis 7.0, and no Redis Cluster among the masters. A first start needs `redlock.bootstrap()`.
   * @default 0
   */
  readonly restartGuardMs?: number | undefined;
}

/** What a call writes beside its lock. */
interface NoteOption {
  /**
   * What the lease is for, such as `import 42`: `inspect` and errors show it to others. The masters keep it as long as the lease.
   * It costs each master a command at the grant, at each extension and at the release; it is not secret, and no call fails if it cannot be written. Up
   * to 256 bytes of UTF-8, without control characters. @default '': none
   */
  readonly note?: string | undefined;
}

/** Options of `tryAcquire`. */
export interface TryAcquireOptions
  extends Omit<SharedOptions, 'waitMs' | 'retry' | 'fair' | 'handOver'>, NoteOption {
  /** Ends the attempt: the call rejects with `ABORTED`. Has no effect on a lease that was acquired. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `acquire`. */
export interface AcquireOptions extends SharedOptions, NoteOption {
  /** Ends the wait: the call rejects with `ABORTED`. Has no effect on a lease that was acquired. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * What `using` does if its lease was lost by the time its routine has settled. `signal`: `using` settles as the routine did,
 * and only `lease.signal` shows the loss. `throw`: `using` rejects with `LOCK_LOST`.
 */
export type OnLoss = 'signal' | 'throw';

/** Options of `using` in addition to those of `acquire`. */
export interface LossOptions {
  /**
   * With `throw`, `using` rejects with `LOCK_LOST` if the lease was lost by the time the routine has settled, even if the
   * routine returned. If the routine threw, its error is the `cause`. The clock decides at that instant, not the signal. A
   * lease that the routine itself released or gave away was not lost. @default 'signal'
   */
  readonly onLoss?: OnLoss | undefined;
}

/** Options of `using` in addition to those of `acquire`. */
export interface RoutineOptions extends LossOptions {
  /** Whether the release is awaited: see `ReleaseOptions`. @default the instance's `awaitRelease` */
  readonly awaitRelease?: boolean | undefined;
}

/** Options of `using`. */
export interface UsingOptions extends AcquireOptions, RoutineOptions {}

/** Options of `lease.release`. */
export interface ReleaseOptions {
  /**
   * Whether the call waits until a quorum of masters has confirmed. If not, it resolves once the request was written to the
   * sockets of all masters that answer; the rest goes on in the background. Other processes may be refused for one more round
   * trip. @default the instance's `awaitRelease`
   */
  readonly await?: boolean | undefined;
}

/** Options of `adopt`. */
export type AdoptOptions = Omit<AcquireOptions, 'ttlMs' | 'fencing' | 'fair' | 'handOver' | 'localTurns'>;

/** The defaults of all options that have a fixed default; times in milliseconds. */
export const DEFAULTS = Object.freeze({
  /** Of `ttlMs`. */
  ttlMs: 30_000,
  /** Of `waitMs`. */
  waitMs: 10_000,
  /** The upper bound of the default of `nodeTimeoutMs`, which follows the network. */
  nodeTimeoutMs: MOST_MS,
  /** Of `driftFactor`: the share of a ttl that is deducted for drift. */
  driftFactor: 0.01,
  /** Of `keyPrefix`. */
  keyPrefix: '',
  /** Of `renew`; `using` renews. */
  renew: false,
  /** Of `maxHoldMs`. */
  maxHoldMs: Infinity,
  /** Of `fencing`. */
  fencing: true,
  /** Of `fair`. */
  fair: true,
  /** Of `handOver`. */
  handOver: 'direct',
  /** Of `localTurns`. */
  localTurns: 8,
  /** Of `restartGuardMs`: no guard. */
  restartGuardMs: 0,
  /** Of `maxWaiters`: no bound. */
  maxWaiters: Infinity,
  /** Of `retry.minDelayMs`. */
  minDelayMs: 10,
  /** Of `retry.maxDelayMs`. */
  maxDelayMs: 200,
  /** Of `close`'s `drainMs`. */
  drainMs: 30_000,
  /** Of `using`'s `onLoss`: it settles as the routine did. */
  onLoss: 'signal',
  /** Of `awaitRelease`. */
  awaitRelease: true,
});

/** The options of a call without any. */
export const NO_OPTIONS: Readonly<Record<string, never>> = Object.freeze({});

/**
 * `redlock.options`: the options of the instance that are in force, with every default filled in. Options of a call override
 * them. Frozen.
 */
export interface ResolvedOptions {
  /** How long a lease lives without renewal. Milliseconds. */
  readonly ttlMs: number;
  /** How long `acquire` goes on trying. Milliseconds; 0 for one attempt, `Infinity` without end. */
  readonly waitMs: number;
  /**
   * How long an attempt waits for masters that do not answer. Milliseconds. If the option was not set, the timeout follows
   * the network, and this is its upper bound with this `ttlMs`: min(ttlMs / 4, 980).
   */
  readonly nodeTimeoutMs: number;
  /** Whether `acquire`, `tryAcquire` and `adopt` renew. `using` renews unless the call sets `renew: false`. */
  readonly renew: boolean;
  /** How long after its acquisition a lease may still start a renewal. Milliseconds, or `Infinity`. */
  readonly maxHoldMs: number;
  /** Whether leases get a fencing token. */
  readonly fencing: boolean;
  /** Whether waiters wait in the queue. Always false with a Redis Cluster among the masters. */
  readonly fair: boolean;
  /** How locks are handed over to waiters. */
  readonly handOver: HandOver;
  /** How many leases of the instance may follow one another on one grant. Always 0 with a Redis Cluster among the masters. */
  readonly localTurns: number;
  /** The waits between the attempts of a waiter that does not wait in the queue. */
  readonly retry: ResolvedRetry;
  /** The share of a ttl that is deducted for drift; 2 ms are added. */
  readonly driftFactor: number;
  /** The prefix of each resource's name in the masters' keys. */
  readonly keyPrefix: string;
  /** How many calls may wait for a lock at a time; `Infinity` for no bound. */
  readonly maxWaiters: number;
  /** Whether releases are awaited. */
  readonly awaitRelease: boolean;
  /** What the instance is called; false for nothing. */
  readonly label: string | false;
  /** How long a master that may have lost data abstains. Milliseconds; 0 for no guard. */
  readonly restartGuardMs: number;
}

/** The waits between attempts as they are in force. */
export interface ResolvedRetry {
  /** The shortest wait between two attempts. Milliseconds. */
  readonly minDelayMs: number;
  /** The longest wait between two attempts. Milliseconds. */
  readonly maxDelayMs: number;
}

/** A stay has fewer turns than a block has fencing tokens. */
const MOST_TURNS = FENCE_BLOCK - 1;

const RETRY_NAMES = ['minDelayMs', 'maxDelayMs'];
const SHARED_NAMES = [
  ...['ttlMs', 'waitMs', 'nodeTimeoutMs', 'renew', 'maxHoldMs', 'fencing', 'fair', 'handOver', 'retry'],
];
const MUTEX_NAMES = [...SHARED_NAMES, 'localTurns'];
export const INSTANCE_NAMES = [
  ...MUTEX_NAMES,
  ...['driftFactor', 'keyPrefix', 'restartGuardMs', 'maxWaiters', 'awaitRelease', 'label'],
];
/** The names that `using` takes in addition to those of `acquire`. */
export const ROUTINE_NAMES = ['onLoss', 'awaitRelease'];

/** The names that a call takes; `using` renews unless an option says otherwise. */
export const CALL_NAMES = {
  acquire: [...MUTEX_NAMES, 'note', 'signal'],
  using: [...MUTEX_NAMES, 'note', 'signal', ...ROUTINE_NAMES],
  tryAcquire: ['ttlMs', 'nodeTimeoutMs', 'renew', 'maxHoldMs', 'fencing', 'localTurns', 'note', 'signal'],
  adopt: ['waitMs', 'nodeTimeoutMs', 'renew', 'maxHoldMs', 'retry', 'note', 'signal'],
} as const;

/** Fills in the options of an instance. */
export function resolveOptions(given: RedlockOptions = {}): InstanceTerms {
  checkNames('options', given, INSTANCE_NAMES);
  const driftFactor = or(given.driftFactor, DEFAULTS.driftFactor);
  if (typeof driftFactor !== 'number' || !(driftFactor >= 0 && driftFactor < 1)) {
    throw invalidArgument('driftFactor', driftFactor, 'a number from 0 up to, not including, 1');
  }
  const keyPrefix = or(given.keyPrefix, DEFAULTS.keyPrefix);
  if (typeof keyPrefix !== 'string' || !keyPrefix.isWellFormed())
    throw invalidArgument('keyPrefix', keyPrefix, 'a string of well-formed Unicode');
  const restartGuardMs = or(given.restartGuardMs, DEFAULTS.restartGuardMs);
  if (!isCount(restartGuardMs, 0)) {
    throw invalidArgument('restartGuardMs', restartGuardMs, 'a whole number of milliseconds from 0 on');
  }
  const maxWaiters = or(given.maxWaiters, DEFAULTS.maxWaiters);
  if (maxWaiters !== Infinity && !isCount(maxWaiters, 0)) {
    throw invalidArgument('maxWaiters', maxWaiters, 'a whole number from 0 on, or Infinity');
  }
  const awaitRelease = or(given.awaitRelease, DEFAULTS.awaitRelease);
  checkIsAwaited('awaitRelease', awaitRelease);
  const label = resolveLabel(given.label);
  const own = { driftFactor, keyPrefix, maxWaiters, restartGuardMs, awaitRelease, label };
  const base = { ...DEFAULTS, by: 'acquire', nodeTimeoutMs: 0, note: '', ...own } as const;
  return Object.freeze({ ...resolveShared(given, base), ...own });
}

/**
 * The options that an instance shows: those that apply to a call that sets none. @param ownName  its label if it was given none;
 * undefined if its process is not known
 */
export function optionsInForce(terms: InstanceTerms, hasCluster: boolean, ownName?: string): ResolvedOptions {
  const { by: _by, note: _note, minDelayMs, maxDelayMs, ...rest } = terms;
  return Object.freeze({
    ...rest,
    nodeTimeoutMs: mostNodeTimeoutMs(terms),
    fair: terms.fair && !hasCluster,
    localTurns: hasCluster ? 0 : terms.localTurns,
    label: terms.label === true ? (ownName ?? false) : terms.label,
    retry: Object.freeze({ minDelayMs, maxDelayMs }),
  });
}

/** Fills in the options of one call from those of the instance. */
export function resolveCall(
  given: AcquireOptions,
  names: readonly string[],
  instance: InstanceTerms,
): CallTerms {
  if (given === NO_OPTIONS) return instance; // the usual case, and checked when the instance was made
  checkNames('options', given, names);
  checkSignal(given.signal);
  return resolveShared(given, instance);
}

/** How a `using` ends. */
export interface UsingEnd {
  readonly onLoss: OnLoss;
  readonly release: ReleaseOptions;
}

/** Fills in how a `using` ends. `resolveCall` checks its other options. */
export function resolveEnd(given: RoutineOptions): UsingEnd {
  const { awaitRelease } = given;
  const onLoss = resolveOnLoss(given);
  if (awaitRelease === undefined) return { onLoss, release: NO_OPTIONS };
  checkIsAwaited('awaitRelease', awaitRelease);
  return { onLoss, release: { await: awaitRelease } };
}

/** The rejection of a release whose options are bad. */
export function refusalOf(given: ReleaseOptions): Promise<never> | undefined {
  if (given === NO_OPTIONS) return undefined;
  try {
    checkNames('options', given, ['await']);
    if (given.await !== undefined) checkIsAwaited('await', given.await);
    return undefined;
  } catch (error) {
    return Promise.reject(error);
  }
}

function checkIsAwaited(name: string, given: unknown): void {
  if (typeof given !== 'boolean') throw invalidArgument(name, given, 'true or false');
}

/** What a `using` does about a loss. */
export function resolveOnLoss(given: LossOptions): OnLoss {
  const onLoss = or(given.onLoss, DEFAULTS.onLoss);
  if (onLoss !== 'signal' && onLoss !== 'throw')
    throw invalidArgument('onLoss', onLoss, "'signal' or 'throw'");
  return onLoss;
}

/** What bounds a ttl from below and from above. */
type TtlBounds = Pick<InstanceTerms, 'driftFactor' | 'restartGuardMs'>;

/** The ttl of an extension: `given`, or the lease's own. */
export function resolveTtl(given: number | undefined, own: number, bounds: TtlBounds): number {
  if (given === undefined) return own;
  checkTtl(given, bounds);
  return given;
}

/** One resource or several: sorted, without duplicates, each of them a name. */
export function resolveResources(given: string | readonly string[]): readonly string[] {
  if (isName(given)) return [given];
  const list: readonly unknown[] = typeof given === 'string' ? [given] : given;
  if (!Array.isArray(list) || list.length === 0) {
    throw invalidArgument('resources', given, 'a non-empty string or a non-empty array of them');
  }
  const names = list.map((name: unknown) => {
    if (!isName(name)) throw invalidArgument('resources', name, 'non-empty strings of well-formed Unicode');
    return name;
  });
  if (names.length === 1) return names;
  // By code units: any order will do as long as all clients use the same.
  const sorted = [...names].sort();
  const duplicate = sorted.find((name, i) => name === sorted[i + 1]);
  if (duplicate !== undefined) throw invalidArgument('resources', duplicate, 'free of duplicates');
  return sorted;
}

function resolveShared(given: AcquireOptions, base: InstanceTerms): CallTerms {
  const ttlMs = or(given.ttlMs, base.ttlMs);
  checkTtl(ttlMs, base);
  const waitMs = or(given.waitMs, base.waitMs);
  if (waitMs !== Infinity && !isCount(waitMs, 0)) {
    throw invalidArgument('waitMs', waitMs, 'a whole number of milliseconds from 0 on, or Infinity');
  }
  const nodeTimeoutMs = or(given.nodeTimeoutMs, base.nodeTimeoutMs);
  if (given.nodeTimeoutMs !== undefined && !isCount(nodeTimeoutMs, 1)) {
    throw invalidArgument('nodeTimeoutMs', nodeTimeoutMs, 'a whole number of milliseconds from 1 on');
  }
  const renew = or(given.renew, base.renew);
  if (typeof renew !== 'boolean') throw invalidArgument('renew', renew, 'true or false');
  const maxHoldMs = or(given.maxHoldMs, base.maxHoldMs);
  if (maxHoldMs !== Infinity && !isCount(maxHoldMs, 1)) {
    throw invalidArgument('maxHoldMs', maxHoldMs, 'a whole number of milliseconds from 1 on, or Infinity');
  }
  const fencing = or(given.fencing, base.fencing);
  if (typeof fencing !== 'boolean') throw invalidArgument('fencing', fencing, 'true or false');
  const fair = or(given.fair, base.fair);
  if (typeof fair !== 'boolean') throw invalidArgument('fair', fair, 'true or false');
  const handOver = or(given.handOver, base.handOver);
  if (handOver !== 'direct' && handOver !== 'reserve')
    throw invalidArgument('handOver', handOver, "'direct' or 'reserve'");
  const localTurns = or(given.localTurns, base.localTurns);
  if (!isCount(localTurns, 0) || localTurns > MOST_TURNS)
    throw invalidArgument('localTurns', localTurns, `a whole number from 0 to ${MOST_TURNS}`);
  return {
    by: base.by,
    ttlMs,
    waitMs,
    nodeTimeoutMs,
    renew,
    maxHoldMs,
    fencing,
    fair,
    handOver,
    localTurns,
    note: resolveNote(given.note),
    ...resolveRetry(given.retry, base),
  };
}

function resolveRetry(
  given: RetryOptions | undefined,
  base: InstanceTerms,
): { minDelayMs: number; maxDelayMs: number } {
  if (given === undefined) return { minDelayMs: base.minDelayMs, maxDelayMs: base.maxDelayMs };
  checkNames('retry', given, RETRY_NAMES);
  const minDelayMs = or(given.minDelayMs, base.minDelayMs);
  if (!isCount(minDelayMs, 1)) {
    throw invalidArgument('retry.minDelayMs', minDelayMs, 'a whole number of milliseconds from 1 on');
  }
  // a caller who asks for a longer first wait alone did not ask for a contradiction
  const maxDelayMs = or(given.maxDelayMs, Math.max(base.maxDelayMs, minDelayMs));
  if (!isCount(maxDelayMs, minDelayMs)) {
    throw invalidArgument(
      'retry.maxDelayMs',
      maxDelayMs,
      `a whole number of milliseconds from ${minDelayMs} on`,
    );
  }
  return { minDelayMs, maxDelayMs };
}

/** The default replaces `undefined` only: null is a mistake, and 0 and '' are values. */
export function or<T>(given: T | undefined, fallback: T): T {
  return given === undefined ? fallback : given;
}

function checkTtl(ttlMs: number, { driftFactor, restartGuardMs }: TtlBounds): void {
  if (!isCount(ttlMs, 1)) throw invalidArgument('ttlMs', ttlMs, 'a whole number of milliseconds from 1 on');
  const drift = driftMs(ttlMs, driftFactor);
  if (ttlMs <= drift) {
    throw invalidArgument('ttlMs', ttlMs, `longer than the ${drift} ms that are taken off for drift`);
  }
  if (restartGuardMs > 0 && ttlMs + drift > restartGuardMs) {
    const wanted = `at most restartGuardMs (${restartGuardMs} ms) less ${drift} ms for drift: a guard covers no longer lease`;
    throw invalidArgument('ttlMs', ttlMs, wanted);
  }
}

export function checkSignal(signal: unknown): void {
  if (signal !== undefined && !isSignal(signal)) throw invalidArgument('signal', signal, 'an AbortSignal');
}

export { isCount, isName };
