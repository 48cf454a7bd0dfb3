/** The facade: checks arguments, resolves options, and wires the rest. Leases come from `lease-source.ts`. */
import type { Master } from './redis/masters.js';
import { type ConnectOptions, resolveConnect } from './connect-options.js';
import { Coordinator } from './coordinator/coordinator.js';
import { nullIfTaken } from './runtime/errors.js';
import { electionOf } from './election/election.js';
import type { Election, ElectionOptions } from './election/public.js';
import { SeenLeaders } from './election/leaders.js';
import { jobOf } from './jobs/job.js';
import { runOnceOf } from './jobs/run-once.js';
import type { Job, JobOptions, JobResult, JobRoutine, RunOnceOptions } from './jobs/public.js';
import {
  checkMasters,
  type Environment,
  environmentOver,
  isEnvironment,
  overConnections,
} from './redis/environment.js';
import { type Health, Readiness, type ReadyMasters } from './coordinator/readiness.js';
import { type BootstrapReport, RestartGuard } from './coordinator/restart-guard.js';
import type { Inspection } from './lease/inspection.js';
import { checkHandle, type LeaseHandle } from './lease/lease-handle.js';
import { markerKey } from './protocol/keys.js';
import { readStats, type RedlockStats } from './instance-stats.js';
import { LeaseSource } from './lease-source.js';
import type { Lease as OwnLease } from './lease/lease.js';
import type { Lease } from './lease/public.js';
import {
  type Mutex,
  type MutexOptions,
  mutexOf,
  type PlainMutexOptions,
  type ReadWriteLock,
  readWriteLockOf,
  type ReentrantMutexOptions,
  type Semaphore,
  semaphoreOf,
} from './locks/lockable.js';
import { type DiagnoseOptions, diagnoseOver, type Diagnosis, resolveDiagnose } from './diagnosing.js';
import { ResourceKeys } from './resource-keys.js';
import {
  type AcquireOptions,
  type AdoptOptions,
  CALL_NAMES,
  NO_OPTIONS,
  optionsInForce,
  or,
  type RedlockOptions,
  type ResolvedOptions,
  resolveCall,
  resolveEnd,
  resolveOptions,
  resolveResources,
  type TryAcquireOptions,
  type UsingOptions,
} from './input/options.js';
import {
  type BootstrapOptions,
  type CloseOptions,
  type ReadyOptions,
  type ResolvedClose,
  resolveBootstrap,
  resolveClose,
  resolveReady,
} from './input/lifecycle-options.js';
import { resolveSteal, type StealOptions } from './input/steal-options.js';
import type { Coordination } from './lease/coordination.js';
import { steal } from './lease/stealing.js';
import type { InstanceTerms } from './protocol/terms.js';
import { MUTEX } from './protocol/scope.js';
import { type AnyMutex, Reentrance, type ReentrantMutex, reentrantOf } from './locks/reentrance.js';
import type { RedisClient } from './redis/client.js';
import { EventHub } from './runtime/event-hub.js';
import { defaultLabel } from './runtime/this-process.js';
import { Emitter } from './runtime/listenable.js';
import { EVENT_NAMES, type RedlockEvents } from './telemetry/events.js';
import { NodeWatches } from './node/node-watch.js';
import type { AcquisitionObserver } from './telemetry/observer.js';
import { Telemetry } from './telemetry/telemetry.js';
import { argumentsOfUsing, refuseSurplus } from './input/given.js';

/** The key of a method that users do not see. */
export const FOLLOWED = Symbol('followed');
/** Likewise. */
export const ENVIRONMENT = Symbol('environment');

/** @internal Calls whose attempts are followed. */
interface Followed {
  acquire(resources: readonly string[], options: AcquireOptions): Promise<OwnLease>;
  adopt(handle: LeaseHandle, options: AdoptOptions): Promise<OwnLease>;
}

/** The routine that `redlock.using` runs while the lock is held. */
export type Routine<T> = (lease: Lease) => Promise<T> | T;

/** What an instance is built on, for what belongs to the library and is no method of it. */
export let sourceOf: (redlock: Redlock) => Coordination;

/**
 * Locks by quorum over N independent Redis masters; one master is the case N = 1.
 *
 * @example
 * ```ts
 * const redlock = new Redlock([redisA, redisB, redisC], { ttlMs: 10_000 });
 * await redlock.using('invoice:42', async (lease) => {
 *   await bill(42, { signal: lease.signal });
 * });
 * ```
 */
export class Redlock extends Emitter<RedlockEvents> {
  /**
   * The options of the instance that are in force, with defaults filled in. Frozen. They do not include what a single call or
   * lock sets differently, such as `redlock.mutex(name, { fair: false })`.
   */
  readonly options: ResolvedOptions;
  /** The options that calls fall back on. */
  readonly #terms: InstanceTerms;
  readonly #coordinator: Coordinator;
  readonly #guard: RestartGuard;
  readonly #keys: ResourceKeys;
  static {
    sourceOf = (redlock) => redlock.#source;
  }

  readonly #source: LeaseSource;
  readonly #environment: Environment;
  readonly #reentrance: Reentrance;
  readonly #seenLeaders = new SeenLeaders();
  readonly #telemetry: Telemetry;
  readonly #watches: NodeWatches;
  readonly #readiness: Readiness;
  #closing: Promise<void> | undefined;

  /**
   * @param clients  clients of ioredis (`Redis`, `Cluster`) or node-redis (client, cluster), one for each master. They stay the caller's: `close` does not close them, and nothing connects them. The constructor refuses a client or a host:port that is given twice.
   * @throws RedlockError `INVALID_ARGUMENT`
   */
  constructor(clients: readonly RedisClient[], options?: RedlockOptions);
  /** @internal */
  constructor(environment: Environment, options?: RedlockOptions);
  constructor(over: readonly RedisClient[] | Environment, options?: RedlockOptions) {
    refuseSurplus('new Redlock', arguments.length, 2);
    const events = new EventHub<RedlockEvents>();
    super(events, EVENT_NAMES);
    const terms = resolveOptions(options);
    const environment = isEnvironment(over) ? over : environmentOver(over, () => undefined);
    const { clock, timers, transports } = environment;
    checkMasters(transports, terms.restartGuardMs);
    this.options = optionsInForce(
      terms,
      transports.some(({ isCluster }) => isCluster),
      environment.process && defaultLabel(environment.process),
    );
    this.#terms = terms;
    this.#environment = environment;
    const coordinator = new Coordinator(environment, terms);
    const { nodes } = coordinator;
    this.#coordinator = coordinator;
    this.#telemetry = new Telemetry(this, nodes, clock, events);
    this.#watches = new NodeWatches(nodes, clock, events, this.#telemetry);
    this.#keys = new ResourceKeys(nodes, terms);
    const guard = { marker: markerKey(terms.keyPrefix), guardMs: terms.restartGuardMs };
    this.#guard = new RestartGuard(coordinator, timers, guard, terms);
    this.#readiness = new Readiness(coordinator, this.#guard, environment, terms);
    this.#source = new LeaseSource(environment, terms, coordinator, this.#keys, this.#telemetry);
    this.#reentrance = new Reentrance(this.#source.held);
  }

  /**
   * Opens its own connections, with settings that suit locks; `close` closes them. They are of ioredis or node-redis, whichever
   * is installed, or as the option `client` says.
   *
   * @param masters  URLs (`redis://`, `rediss://`) or options of a client, one for each master
   * @throws RedlockError `INVALID_ARGUMENT`
   */
  static connect(masters: readonly Master[], options?: ConnectOptions): Redlock {
    refuseSurplus('Redlock.connect', arguments.length, 2);
    const { client, own } = resolveConnect(options);
    return overConnections(masters, client, (environment) => new Redlock(environment, own));
  }

  /**
   * Locks one resource, or several: all or none. Waits or retries for up to `waitMs`.
   *
   * @param resources  a name, or names without duplicates
   * @throws RedlockError `LOCK_TAKEN`, `NO_QUORUM`, `QUARANTINED`, `MISCONFIGURED`, `WRONG_KIND`, `VALIDITY_EXPIRED`: how the
   *   last full round ended · `ABORTED` · `CLOSED` · `INVALID_ARGUMENT`
   *
   * @example
   * ```ts
   * const lease = await redlock.acquire('invoice:42', { ttlMs: 10_000, waitMs: 2_000, signal });
   * try {
   *   await bill(42, { signal: lease.signal });
   * } finally {
   *   await lease.release();
   * }
   * ```
   */
  async acquire(resources: string | readonly string[], options: AcquireOptions = NO_OPTIONS): Promise<Lease> {
    refuseSurplus('acquire', arguments.length, 2);
    const names = resolveResources(resources);
    const call = resolveCall(options, CALL_NAMES.acquire, this.#terms);
    return this.#source.acquire(names, MUTEX, call, options.signal);
  }

  /** @internal As `acquire` and `adopt`, with an observer of the attempts: for the faces of other APIs. */
  [FOLLOWED](observer: AcquisitionObserver): Followed {
    return {
      acquire: async (resources, options) => {
        const call = resolveCall(options, CALL_NAMES.acquire, this.#terms);
        return this.#source.acquire(resolveResources(resources), MUTEX, call, undefined, { observer });
      },
      adopt: async (handle, options) => this.#adopt(handle, options, observer),
    };
  }

  /** Makes one attempt, without waiting. Resolves with null if others hold the lock. @throws RedlockError as `acquire` does */
  async tryAcquire(
    resources: string | readonly string[],
    options: TryAcquireOptions = NO_OPTIONS,
  ): Promise<Lease | null> {
    refuseSurplus('tryAcquire', arguments.length, 2);
    const names = resolveResources(resources);
    const call = resolveCall(options, CALL_NAMES.tryAcquire, this.#terms);
    return nullIfTaken(
      this.#source.acquire(names, MUTEX, { ...call, waitMs: 0, by: 'tryAcquire' }, options.signal),
    );
  }

  /**
   * Acquires the lock, runs the routine, renews the lease while the routine runs (unless `renew: false`), and releases it.
   * Settles as the routine does, even if the lease was lost meanwhile: `lease.signal` shows the loss to the routine, and with
   * `onLoss: 'throw'` the call rejects with `LOCK_LOST`. A failed release changes nothing.
   *
   * @throws RedlockError as `acquire` does · `LOCK_LOST`: with `onLoss: 'throw'`
   *
   * @example
   * ```ts
   * const receipt = await redlock.using('invoice:42', { ttlMs: 10_000 }, async (lease) => {
   *   return bill(42, { signal: lease.signal });
   * });
   * ```
   */
  using<T>(resources: string | readonly string[], routine: Routine<T>): Promise<T>;
  using<T>(
    resources: string | readonly string[],
    options: UsingOptions | undefined,
    routine: Routine<T>,
  ): Promise<T>;
  async using<T>(
    resources: string | readonly string[],
    optionsOrRoutine: UsingOptions | Routine<T> | undefined,
    routineAfterOptions?: Routine<T>,
  ): Promise<T> {
    refuseSurplus('using', arguments.length, 3);
    const { options = NO_OPTIONS, routine } = argumentsOfUsing<UsingOptions, Routine<T>>(
      optionsOrRoutine,
      routineAfterOptions,
    );
    const names = resolveResources(resources);
    const call = resolveCall(options, CALL_NAMES.using, this.#terms);
    const end = resolveEnd(options);
    const renewed = { ...call, renew: or(options.renew, true), by: 'using' } as const;
    const lease = await this.#source.acquire(names, MUTEX, renewed, options.signal);
    return this.#source.held.run(lease, lease, routine, end);
  }

  /** @internal The masters' connections, and time: for the dashboard. */
  get [ENVIRONMENT](): Environment {
    return this.#environment;
  }

  /**
   * Takes over a lease that another process gave away by `lease.giveAway()`. It never revives a lease that has expired or
   * was released.
   *
   * @throws RedlockError `LOCK_LOST`: the lease has ended · `NO_QUORUM`, `MISCONFIGURED`, `VALIDITY_EXPIRED`, `ABORTED`,
   *   `CLOSED`, `INVALID_ARGUMENT`
   */
  async adopt(handle: LeaseHandle, options: AdoptOptions = NO_OPTIONS): Promise<Lease> {
    refuseSurplus('adopt', arguments.length, 2);
    return this.#adopt(handle, options);
  }

  async #adopt(
    handle: LeaseHandle,
    options: AdoptOptions,
    observer?: AcquisitionObserver,
  ): Promise<OwnLease> {
    const { resources, ttlMs, fence, kind, ...held } = checkHandle(handle, this.#terms);
    const adopting = resolveCall(options, CALL_NAMES.adopt, this.#terms);
    const call = { ...adopting, ttlMs, fencing: fence > 0, by: 'adopt' } as const;
    const adopted = { ...held, fence };
    return this.#source.acquire(resources, kind, call, options.signal, { adopted, observer });
  }

  /**
   * A lock of that name, for one holder at a time. With `reentrant: true`, its holder can enter it again, without asking the
   * masters, in the same flow of calls inside `using`, or with the same `owner`; the last exit releases it. If the compiler
   * does not know the value of `reentrant`, the result has only the methods that both kinds have.
   *
   * @throws RedlockError `INVALID_ARGUMENT`
   *
   * @example
   * ```ts
   * const account = redlock.mutex('account:1', { reentrant: true });
   * const deposit = () => account.using(async () => book(+1));
   * await account.using(async () => { await deposit(); await deposit(); });
   * ```
   */
  mutex(name: string, options: ReentrantMutexOptions): ReentrantMutex;
  mutex(name: string, options?: PlainMutexOptions): Mutex;
  mutex(name: string, options?: MutexOptions): AnyMutex;
  mutex(name: string, options: MutexOptions = NO_OPTIONS): Mutex | ReentrantMutex {
    refuseSurplus('mutex', arguments.length, 2);
    const mutex = mutexOf(this.#source, this.#keys.one(name), options);
    return options.reentrant === true ? reentrantOf(mutex, this.#reentrance) : mutex;
  }

  /**
   * A lock for any number of readers at a time, or one writer. @throws RedlockError `INVALID_ARGUMENT`
   *
   * @example
   * ```ts
   * const prices = redlock.readWriteLock('prices');
   * await prices.read.using(async () => quote(await load()));
   * await prices.write.using(async (lease) => save(await compute(), lease.fence));
   * ```
   */
  readWriteLock(name: string): ReadWriteLock {
    refuseSurplus('readWriteLock', arguments.length, 1);
    return readWriteLockOf(this.#source, this.#keys.one(name));
  }

  /**
   * A lock for as many holders at a time as it has permits, and never more, whichever masters are up.
   *
   * @param permits  from 1 to 1,024; all clients that use this name must give the same number
   * @throws RedlockError `INVALID_ARGUMENT`
   *
   * @example
   * ```ts
   * const exports = redlock.semaphore('exports', 3);
   * await exports.using(async (lease) => run({ signal: lease.signal }));
   * await exports.using({ permits: 2 }, async (lease) => runLarge({ signal: lease.signal }));
   * ```
   */
  semaphore(name: string, permits: number): Semaphore {
    refuseSurplus('semaphore', arguments.length, 2);
    return semaphoreOf(this.#source, this.#keys.one(name), permits);
  }

  /**
   * Elects one leader at a time among the candidates for that name: docs/ELECTION.md.
   *
   * @throws RedlockError `INVALID_ARGUMENT`
   *
   * @example
   * ```ts
   * const election = redlock.election('scheduler');
   * await election.lead(async ({ signal }) => run({ signal }), { value: '10.0.0.7:80', signal });
   * ```
   */
  election(name: string, options: ElectionOptions = NO_OPTIONS): Election {
    refuseSurplus('election', arguments.length, 2);
    return electionOf(this.#source, this.#seenLeaders, this.#keys.one(name), options);
  }

  /**
   * A job that one process at a time runs, at each tick of its schedule: docs/JOBS.md. When the call resolves, the schedule
   * has begun.
   *
   * @throws RedlockError `INVALID_ARGUMENT` · `CLOSED`
   *
   * @example
   * ```ts
   * const job = await redlock.job('report', { every: 60_000 }, async ({ signal, fence }) => bill(42, { signal, fence }));
   * job.on('missed', ({ scheduledAt, reason }) => print(`${scheduledAt.toISOString()} ${reason}`));
   * ```
   */
  async job<T>(name: string, options: JobOptions, routine: JobRoutine<T>): Promise<Job<T>> {
    refuseSurplus('job', arguments.length, 3);
    return jobOf(this.#source, this.#keys.one(name), options, routine);
  }

  /**
   * Runs the routine unless a run under this name has succeeded within the last `forMs`, in any process. The time counts from
   * the beginning of that run. A run that throws does not count, and a run that takes longer than `forMs` keeps the lock.
   *
   * @param forMs  milliseconds
   * @throws RedlockError as `acquire` does, except `LOCK_TAKEN` · what the routine throws · `LOCK_LOST`, `NO_QUORUM`: the
   *   routine may have run, and no quorum recorded that · `QUARANTINED`: masters may have forgotten an earlier run
   *
   * @example
   * ```ts
   * const result = await redlock.runOnce('welcome:42', 86_400_000, async ({ fence }) => bill(42, { fence }));
   * if (!result.executed) print(result.reason);
   * ```
   */
  async runOnce<T>(
    name: string,
    forMs: number,
    routine: JobRoutine<T>,
    options: RunOnceOptions = NO_OPTIONS,
  ): Promise<JobResult<T>> {
    refuseSurplus('runOnce', arguments.length, 4);
    return runOnceOf(this.#source, this.#keys.one(name), forMs, routine, options);
  }

  /**
   * Takes an exclusive lock away from its holder, and acquires it. The holder is notified first: its signal aborts with `LOCK_LOST`,
   * with `stolenBy`. The lease that this resolves with has a higher fencing token than that of the holder. Waits as `acquire` does
   * if others wait for the lock already.
   *
   * It does not stop the holder's routine. A routine that ignores its signal goes on, and so does one that is not notified in time,
   * if `graceMs` is shorter than the rest of its validity: only a fence that checks fencing tokens keeps its writes out.
   *
   * @throws RedlockError as `acquire` does · `LOCK_TAKEN`: a client of another library holds it
   *
   * @example
   * ```ts
   * const lease = await redlock.steal('report', { graceMs: 5_000 });
   * ```
   */
  async steal(resource: string, options: StealOptions = NO_OPTIONS): Promise<Lease> {
    refuseSurplus('steal', arguments.length, 2);
    const { call, taking } = resolveSteal(options, CALL_NAMES.acquire, this.#terms);
    return steal(this.#source, this.#keys.one(resource), call, options.signal, taking);
  }

  /**
   * Shows who holds a resource, and who waits, master by master. Changes nothing.
   *
   * @throws RedlockError `CLOSED`, `INVALID_ARGUMENT`
   */
  async inspect(resource: string): Promise<Inspection> {
    refuseSurplus('inspect', arguments.length, 1);
    return this.#source.inspect(this.#keys.one(resource));
  }

  /**
   * Checks whether these masters are fit for locks. Asks them for their version, role, settings and clocks, and for the user's
   * rights. Changes nothing, and claims nothing. Reports as `NOT_KNOWN` what the user may not ask. Waits up to `timeoutMs` for
   * a dead or frozen master, and watches the masters' clocks for `driftOverMs`, two seconds by default. docs/DOCTOR.md
   * explains each finding.
   *
   * @throws RedlockError `ABORTED` · `CLOSED`, `INVALID_ARGUMENT`
   *
   * @example
   * ```ts
   * const { verdict, findings } = await redlock.diagnose();
   * for (const { severity, text, remedy, nodes } of findings) console.log(severity, nodes.join(), text, remedy);
   * if (verdict === 'error') process.exitCode = 1;
   * ```
   */
  async diagnose(options: DiagnoseOptions = NO_OPTIONS): Promise<Diagnosis> {
    const call = resolveDiagnose(options, this.#keys.hasShared);
    return this.#source.during(options.signal, (cancellation) =>
      diagnoseOver(this.#environment, this.#terms, call, cancellation),
    );
  }

  /**
   * Resolves when a quorum of masters is connected and, with a restart guard, out of quarantine. Waits without end unless
   * `timeoutMs` is set. `allWithinMs` also gives the other masters time to connect. The result says how many are connected.
   *
   * @throws RedlockError `NO_QUORUM`, `QUARANTINED`: `timeoutMs` ended first · `ABORTED`, `CLOSED`, `INVALID_ARGUMENT` ·
   *   `MISCONFIGURED`: masters cannot keep this restart guard, or keep one with another period
   *
   * @example
   * ```ts
   * const { connected, of } = await redlock.ready({ timeoutMs: 5_000, allWithinMs: 500, signal });
   * if (connected < of) print(`${of - connected} masters are away`);
   * ```
   */
  async ready(options: ReadyOptions = NO_OPTIONS): Promise<ReadyMasters> {
    const { allWithinMs, timeoutMs } = resolveReady(options);
    return this.#source.during(options.signal, (cancellation) =>
      this.#readiness.ready(cancellation, timeoutMs, allWithinMs),
    );
  }

  /**
   * Whether this instance is fit for locks, for a readiness probe: a quorum of masters answers, is out of quarantine, and,
   * with fencing, has clocks within a minute of each other. Asks each master for its time, and claims nothing. Never rejects.
   * Takes one node timeout at most, and two with a restart guard.
   *
   * @example
   * ```ts
   * const { fit, problems } = await redlock.health();
   * if (!fit) console.error(`not ready: ${problems.join()}`);
   * ```
   */
  health(): Promise<Health> {
    return this.#readiness.health(this.#closing !== undefined);
  }

  /**
   * Counts since the instance was made, and its present state. Asks no master. Counting is always on.
   *
   * @example
   * ```ts
   * const { counts, held, waiting } = redlock.stats();
   * console.log(`${held} held, ${waiting} wait, ${counts.lost} were lost`);
   * ```
   */
  stats(): RedlockStats {
    return readStats(this.#telemetry.counts, this.#coordinator, this.#source);
  }

  /**
   * Declares, with a restart guard, that this is a first start: masters without a marker then vote at once. A master that has
   * a marker is reported as `unchanged`, unless `force` is set. Only an operator can know a first start: after a power cut,
   * masters may be empty as well. Never call it while a lease may be held that a master has forgotten.
   *
   * @throws RedlockError `NO_QUORUM`, `MISCONFIGURED`: fewer than a quorum accepted it · `CLOSED`, `INVALID_ARGUMENT`
   */
  async bootstrap(options: BootstrapOptions = NO_OPTIONS): Promise<BootstrapReport> {
    const { force } = resolveBootstrap(options);
    return this.#source.during(undefined, () => this.#guard.bootstrap(force));
  }

  /**
   * Closes the instance in order. At once, new and waiting calls reject with `CLOSED`, and the signals of all held leases abort
   * with `CLOSED`: their holders must stop. Until they stop, leases stay held and are renewed. `using` releases its lease when
   * its routine has settled; callers of `acquire` release theirs. After `drainMs`, renewal ends, and leases that are still held
   * end by their ttl: `close` frees no lock that somebody may work under. Then owed undos get one node timeout, and the
   * instance closes its own connections: a release after that sends nothing.
   *
   * A later call joins the first. It can only shorten the wait, or add `releaseHeld`.
   *
   * @throws RedlockError `INVALID_ARGUMENT`: nothing was closed
   *
   * @example
   * ```ts
   * process.once('SIGTERM', () => void redlock.close({ drainMs: 20_000 }));
   * ```
   */
  async close(options: CloseOptions = NO_OPTIONS): Promise<void> {
    const terms = resolveClose(options);
    this.#source.held.hasten(terms);
    this.#closing ??= this.#close(terms);
    await this.#closing;
  }

  /** Like `close()`, at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The node timeout of a request that begins now, without options of its own. */
  get #nodeTimeoutMs(): number {
    return this.#coordinator.nodeTimeoutFor(this.#terms);
  }

  async #close(terms: ResolvedClose): Promise<void> {
    const { clock } = this.#environment;
    const startedAtMs = clock.earliest();
    const held = await this.#source.close(terms);
    await this.#coordinator.close(this.#nodeTimeoutMs);
    this.#watches.close();
    this.#environment.disconnect();
    this.#telemetry.closed(clock.earliest() - startedAtMs, held);
  }
}
