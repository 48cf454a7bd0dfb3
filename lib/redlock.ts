/** The facade: checks arguments, resolves options, and wires the rest. Leases come from `lease-source.ts`. */
import { coordinationOf, lockBackendOf } from './backends.js';
import type { Master } from './redis/connect.js';
import { Coordinator } from './coordinator/coordinator.js';
import { nullIfTaken } from './runtime/errors.js';
import { electionOf } from './election/election.js';
import type { Election, ElectionOptions } from './election/public.js';
import { SeenLeaders } from './election/seen-leaders.js';
import { jobOf } from './jobs/job.js';
import { runOnceOf } from './jobs/run-once.js';
import type { Job, JobOptions, JobResult, JobRoutine, RunOnceOptions } from './jobs/public.js';
import {
  checkMasters,
  type Environment,
  environmentOver,
  isEnvironment,
  overConnections,
} from './environment.js';
import { type Health, Readiness, type ReadyMasters } from './coordinator/readiness.js';
import { type BootstrapReport, RestartGuard } from './coordinator/restart-guard.js';
import type { Inspection } from './lease/inspection.js';
import { checkHandle, type LeaseHandle } from './lease/lease-handle.js';
import { markerKey } from './protocol/keys.js';
import { readStats, type RedlockStats } from './instance-stats.js';
import { LeaseSource } from './lease-source.js';
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
  type BootstrapOptions,
  CALL_NAMES,
  type CloseOptions,
  type InstanceTerms,
  NO_OPTIONS,
  optionsInForce,
  or,
  type ReadyOptions,
  type RedlockOptions,
  type ResolvedClose,
  type ResolvedOptions,
  resolveBootstrap,
  resolveCall,
  resolveClose,
  resolveOnLoss,
  resolveOptions,
  resolveReady,
  resolveResources,
  type TryAcquireOptions,
  type UsingOptions,
} from './input/options.js';
import { MUTEX } from './protocol/scope.js';
import { type AnyMutex, Reentrance, type ReentrantMutex, reentrantOf } from './locks/reentrance.js';
import type { RedisClient } from './redis/transport.js';
import { EventHub } from './runtime/event-hub.js';
import { Emitter } from './runtime/listenable.js';
import { EVENT_NAMES, type RedlockEvents } from './telemetry/events.js';
import { NodeWatches } from './node/node-watch.js';
import { Telemetry } from './telemetry/telemetry.js';
import { argumentsOfUsing } from './input/using-arguments.js';

/** The routine that `redlock.using` runs while the lock is held. */
export type Routine<T> = (lease: Lease) => Promise<T> | T;

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
   * The options in force, defaults filled in; frozen. They are the instance's: they do not show what a call, or a lock of its
   * own (`redlock.mutex(name, { fair: false })`), sets differently.
   */
  readonly options: ResolvedOptions;
  /** The options that calls fall back on. */
  readonly #terms: InstanceTerms;
  readonly #coordinator: Coordinator;
  readonly #guard: RestartGuard;
  readonly #keys: ResourceKeys;
  readonly #source: LeaseSource;
  readonly #environment: Environment;
  readonly #reentrance: Reentrance;
  readonly #seenLeaders = new SeenLeaders();
  readonly #telemetry: Telemetry;
  readonly #watches: NodeWatches;
  readonly #readiness: Readiness;
  #closing: Promise<void> | undefined;

  /**
   * @param clients  ioredis `Redis` or `Cluster` instances, one for each master. They stay the caller's: `close` does
   *   not close them. The same client or host:port twice is refused.
   * @throws RedlockError `INVALID_ARGUMENT`
   */
  constructor(clients: readonly RedisClient[], options?: RedlockOptions);
  /** @internal */
  constructor(environment: Environment, options?: RedlockOptions);
  constructor(over: readonly RedisClient[] | Environment, options?: RedlockOptions) {
    const events = new EventHub<RedlockEvents>();
    super(events, EVENT_NAMES);
    const terms = resolveOptions(options);
    const environment = isEnvironment(over) ? over : environmentOver(over, () => undefined);
    const { clock, idle, timers, random, transports, wall } = environment;
    checkMasters(transports, terms);
    this.options = optionsInForce(
      terms,
      transports.some(({ isCluster }) => isCluster),
    );
    this.#terms = terms;
    this.#environment = environment;
    this.#coordinator = new Coordinator({
      ...{ transports, clock, timers, random, wall, idle },
      driftFactor: terms.driftFactor,
      isFenced: terms.fencing,
      maxWaiters: terms.maxWaiters,
    });
    const { nodes } = this.#coordinator;
    this.#telemetry = new Telemetry({ instance: this, nodes, clock, events });
    this.#watches = new NodeWatches(nodes, clock, events, this.#telemetry);
    this.#keys = new ResourceKeys(nodes, terms);
    this.#guard = new RestartGuard(this.#coordinator, timers, {
      marker: markerKey(terms.keyPrefix),
      periodMs: terms.restartGuardMs,
      ttlMs: terms.ttlMs,
      nodeTimeoutMs: terms.nodeTimeoutMs,
    });
    this.#readiness = new Readiness(this.#coordinator, this.#guard, { clock, timers, terms });
    this.#source = new LeaseSource({
      ...{ environment, terms, coordinator: this.#coordinator },
      ...{ keys: this.#keys, telemetry: this.#telemetry },
    });
    this.#reentrance = new Reentrance(this.#source.held);
  }

  /**
   * Makes its own connections, set up as a lock needs them; `close` closes them.
   *
   * @param masters  URLs (`redis://`, `rediss://`) or ioredis options, one for each master
   * @throws RedlockError `INVALID_ARGUMENT`
   */
  static connect(masters: readonly Master[], options?: RedlockOptions): Redlock {
    resolveOptions(options); // before a connection is opened
    return overConnections(masters, (environment) => new Redlock(environment, options));
  }

  /**
   * Acquires one resource, or several: all or none. Tries again within `waitMs`.
   *
   * @param resources  a name, or names without duplicates
   * @throws RedlockError `LOCK_TAKEN`, `NO_QUORUM`, `QUARANTINED`, `MISCONFIGURED`, `WRONG_KIND`, `VALIDITY_EXPIRED`: how the
   *   last full fan-out ended · `ABORTED` · `CLOSED` · `INVALID_ARGUMENT`
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
    const names = resolveResources(resources);
    const call = resolveCall(options, CALL_NAMES.acquire, this.#terms);
    return this.#source.acquire(names, MUTEX, call, options.signal);
  }

  /** One attempt, whatever `waitMs` says; null when another holds it. @throws RedlockError as `acquire` does */
  async tryAcquire(
    resources: string | readonly string[],
    options: TryAcquireOptions = NO_OPTIONS,
  ): Promise<Lease | null> {
    const names = resolveResources(resources);
    const call = resolveCall(options, CALL_NAMES.tryAcquire, this.#terms);
    return nullIfTaken(
      this.#source.acquire(names, MUTEX, { ...call, waitMs: 0, by: 'tryAcquire' }, options.signal),
    );
  }

  /**
   * Runs the routine while holding the lock, renews it meanwhile (unless `renew: false`), and releases it. Returns what the
   * routine returned and throws what it threw, even if the lease was lost in between: `lease.signal` notifies the routine of
   * that, and `LOCK_LOST` notifies the caller if `onLoss` is `throw`. A failed release replaces neither.
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
    const { options = NO_OPTIONS, routine } = argumentsOfUsing<UsingOptions, Routine<T>>(
      optionsOrRoutine,
      routineAfterOptions,
    );
    const names = resolveResources(resources);
    const call = resolveCall(options, CALL_NAMES.using, this.#terms);
    const onLoss = resolveOnLoss(options);
    const renewed = { ...call, renew: or(options.renew, true), by: 'using' } as const;
    const lease = await this.#source.acquire(names, MUTEX, renewed, options.signal);
    return this.#source.held.run(lease, lease, routine, onLoss);
  }

  /**
   * Takes over a lease that another process gave away by `lease.giveAway()`. Keys that are gone are not set again: a lease
   * that ran out or was released stays over.
   *
   * @throws RedlockError `LOCK_LOST`: it is no longer there · `NO_QUORUM`, `MISCONFIGURED`, `VALIDITY_EXPIRED`, `ABORTED`,
   *   `CLOSED`, `INVALID_ARGUMENT`
   */
  async adopt(handle: LeaseHandle, options: AdoptOptions = NO_OPTIONS): Promise<Lease> {
    const { resources, ttlMs, fence, kind, ...held } = checkHandle(handle, this.#terms);
    const adopting = resolveCall(options, CALL_NAMES.adopt, this.#terms);
    const call = { ...adopting, ttlMs, fencing: fence > 0, by: 'adopt' } as const;
    const adopted = { ...held, fence };
    return this.#source.acquire(resources, kind, call, options.signal, { adopted });
  }

  /**
   * A lock of that name, for one holder at a time. With `reentrant`, its holder by `using` can enter it again in the same
   * flow of calls, or by the same `owner`, without a message; the last exit releases. If `reentrant` is a flag that the
   * compiler does not know, the result has what both kinds offer.
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
    const mutex = mutexOf(lockBackendOf(this.#source), this.#keys.one(name), options);
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
    return readWriteLockOf(lockBackendOf(this.#source), this.#keys.one(name));
  }

  /**
   * A lock for as many holders at a time as it has permits; never more, whichever masters are up.
   *
   * @param permits  from 1 to 1,024, and the same for all clients that use that name
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
    return semaphoreOf(lockBackendOf(this.#source), this.#keys.one(name), permits);
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
    const ofInstance = { instance: this, seen: this.#seenLeaders };
    return electionOf(coordinationOf(this.#source), ofInstance, this.#keys.one(name), options);
  }

  /**
   * A job that one process at a time runs, at each tick of its schedule: docs/JOBS.md. The schedule begins when it resolves.
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
    return jobOf(coordinationOf(this.#source), this.#keys.one(name), options, routine);
  }

  /**
   * Runs the routine unless it has succeeded within the last `forMs` in any process: at most one call succeeds within `forMs`,
   * counted from the beginning of its run. A run that throws does not count, and a run that takes longer keeps the lock.
   *
   * @param forMs  milliseconds
   * @throws RedlockError as `acquire` does, but for `LOCK_TAKEN`; as the routine does · `LOCK_LOST`, `NO_QUORUM`: it was run,
   *   and the masters could not record that · `QUARANTINED`: masters may have forgotten that it was run
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
    return runOnceOf(coordinationOf(this.#source), this.#keys.one(name), { forMs, routine }, options);
  }

  /** Shows who holds a resource, master by master. Changes nothing. @throws RedlockError `CLOSED`, `INVALID_ARGUMENT` */
  async inspect(resource: string): Promise<Inspection> {
    return lockBackendOf(this.#source).inspect(this.#keys.one(resource));
  }

  /**
   * Is this set of masters fit for locks? Asks them for their version, role, settings, clocks, and for the user's rights.
   * Changes nothing, and claims nothing. What the user may not ask is reported as not known. A master that is dead or frozen
   * costs `timeoutMs`; masters' clocks are watched for `driftOverMs`, two seconds by default. docs/DOCTOR.md has each finding.
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
   * Resolves when a quorum of masters is connected, and, with a restart guard, out of quarantine. Waits for that without end,
   * unless `timeoutMs` is set. `allWithinMs` gives the other masters time to connect as well. The result says how many are
   * connected.
   *
   * @throws RedlockError `NO_QUORUM`, `QUARANTINED`: not within `timeoutMs` · `ABORTED`, `CLOSED`, `INVALID_ARGUMENT` ·
   *   `MISCONFIGURED`: with a guard, if masters cannot keep one or keep a different one
   *
   * @example
   * ```ts
   * const { connected, of } = await redlock.ready({ timeoutMs: 5_000, allWithinMs: 500, signal });
   * if (connected < of) print(`${of - connected} masters are away`);
   * ```
   */
  async ready(options: ReadyOptions = NO_OPTIONS): Promise<ReadyMasters> {
    const terms = resolveReady(options);
    return this.#source.during(options.signal, (cancellation) => this.#readiness.ready(cancellation, terms));
  }

  /**
   * Whether it is fit for locks, for a readiness probe: a quorum of masters answers, is out of quarantine, and, with fencing,
   * has clocks within a minute of each other. Asks each master for its time, and claims nothing. Never rejects; takes one
   * node timeout at most, and two with a restart guard.
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
   * What has happened since the instance was made, and its present state, in numbers. Asks no master; counts are always on.
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
   * Declares, with a restart guard, that this is a first start: masters without a marker vote at once. A master that has a
   * marker is left as it is and reported so, unless `force` is set. Only an operator can know: a power cut, too, leaves
   * masters that are all empty. Never call it while leases may be held that a master has forgotten.
   *
   * @throws RedlockError `NO_QUORUM`, `MISCONFIGURED`: fewer than a quorum took it · `CLOSED`, `INVALID_ARGUMENT`
   */
  async bootstrap(options: BootstrapOptions = NO_OPTIONS): Promise<BootstrapReport> {
    const { force } = resolveBootstrap(options);
    return this.#source.during(undefined, () => this.#guard.bootstrap(force));
  }

  /**
   * Ends the instance in order. At once, new calls are refused and calls that wait fail with `CLOSED`, and the signals of all
   * held leases abort with `CLOSED`: their holders have to stop. The leases stay held and are renewed meanwhile. Each is
   * released when its routine (`using`) has settled, or by the caller that took it by hand. After `drainMs`, renewal ends,
   * and leases that are still held run out by their ttl: no lock is freed while somebody may work under it. Then undos that
   * are owed get one node timeout, and the instance's own connections are closed: a release after that sends nothing.
   *
   * A later call joins the first; it can only shorten the wait, or add `releaseHeld`.
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
