/**
 * Where an instance's leases come from: the calls that are under way, and the leases that they lead to.
 */
import { Cancellation } from './runtime/cancellation.js';
import type { AcquisitionTerms } from './coordinator/acquisition-terms.js';
import type { Adopted } from './coordinator/adoption.js';
import type { Coordinator } from './coordinator/coordinator.js';
import type { Environment } from './environment.js';
import { closedError, RedlockError } from './runtime/errors.js';
import type { Grant } from './quorum/grant.js';
import { HeldLeases } from './lease/held-leases.js';
import { Lease } from './lease/lease.js';
import type { LeaseEnvironment } from './lease/lease-environment.js';
import { LinkedList } from './runtime/linked-list.js';
import type { InstanceTerms, ResolvedCall, ResolvedClose } from './input/options.js';
import { type Kind, WRITE } from './protocol/scope.js';
import type { ResourceKeys } from './resource-keys.js';
import { TimerCoalescer } from './runtime/timer-coalescer.js';
import { WriteLease } from './lease/write-lease.js';
import { type AcquisitionObserver, BothObservers } from './telemetry/observer.js';
import type { Telemetry } from './telemetry/telemetry.js';

/** What leases are made with. */
interface Collaborators {
  readonly coordinator: Coordinator;
  readonly keys: ResourceKeys;
  readonly telemetry: Telemetry;
}

export class LeaseSource {
  readonly held: HeldLeases;
  readonly #coordinator: Coordinator;
  readonly #keys: ResourceKeys;
  readonly #telemetry: Telemetry;
  readonly #hasCluster: boolean;
  readonly #leaseEnvironment: LeaseEnvironment;
  /** Calls under way; `close` ends them. */
  readonly #calls = new LinkedList<Cancellation>();
  /** Nothing new is begun. */
  #isClosing = false;

  constructor(
    environment: Environment,
    terms: InstanceTerms,
    { coordinator, keys, telemetry }: Collaborators,
  ) {
    const { clock, random, timers, transports } = environment;
    this.#coordinator = coordinator;
    this.#keys = keys;
    this.#telemetry = telemetry;
    this.#hasCluster = transports.some(({ isCluster }) => isCluster);
    this.held = new HeldLeases(clock, timers);
    this.#leaseEnvironment = {
      renewals: new TimerCoalescer(clock, timers, (leases, onDone) => {
        const due = leases.map((lease) => lease.takeRenewal()).filter((one) => one !== undefined);
        coordinator.renew(due, onDone);
      }),
      coordinator,
      clock,
      timers: environment.leaseTimers ?? timers,
      fraction: () => random.fraction(),
      ttlBounds: terms,
      onEnd: (lease) => this.held.delete(lease),
      observer: telemetry,
    };
  }

  /** How many calls for a lease are under way. */
  get calls(): number {
    return this.#calls.size;
  }

  /** @throws RedlockError `CLOSED` */
  assertOpen(): void {
    if (this.#isClosing) throw closedError();
  }

  /** A call begins, which `close` and the caller's signal can end. It has to call `end`. @throws RedlockError `CLOSED` */
  begin(signal: AbortSignal | undefined): Cancellation {
    this.assertOpen();
    const cancellation = new Cancellation(signal);
    this.#calls.add(cancellation);
    return cancellation;
  }

  end(cancellation: Cancellation): void {
    this.#calls.delete(cancellation);
    cancellation.dispose();
  }

  /** Runs a call that `close` and the caller's signal can end. */
  async during<T>(
    signal: AbortSignal | undefined,
    call: (cancellation: Cancellation) => Promise<T>,
  ): Promise<T> {
    const cancellation = this.begin(signal);
    try {
      return await call(cancellation);
    } finally {
      this.end(cancellation);
    }
  }

  async acquire(
    names: readonly string[],
    kind: Kind,
    call: ResolvedCall,
    signal: AbortSignal | undefined,
    observer?: AcquisitionObserver,
  ): Promise<Lease> {
    const cancellation = this.begin(signal);
    try {
      const grant = await this.grant(names, kind, call, cancellation, observer);
      return this.lease(grant, names, call);
    } catch (error) {
      throw this.failed(error);
    } finally {
      this.end(cancellation);
    }
  }

  async acquireToWrite(
    name: string,
    call: ResolvedCall,
    signal: AbortSignal | undefined,
  ): Promise<WriteLease> {
    const lease = await this.acquire([name], WRITE, call, signal);
    if (lease instanceof WriteLease) return lease;
    throw new Error('a writer gets the lease of a writer');
  }

  async adopt(
    names: readonly string[],
    kind: Kind,
    held: Adopted,
    call: ResolvedCall,
    signal: AbortSignal | undefined,
  ): Promise<Lease> {
    const cancellation = this.begin(signal);
    try {
      const adopt = (observer: AcquisitionObserver | undefined): Promise<Grant> =>
        this.#coordinator.adopt(this.#terms(names, kind, call, observer), held, cancellation);
      const isHeard = this.#telemetry.hearsAcquisitions;
      const grant = await (isHeard ? this.#heard(names, kind, call, adopt) : adopt(undefined));
      return this.lease(grant, names, call);
    } catch (error) {
      throw this.failed(error);
    } finally {
      this.end(cancellation);
    }
  }

  /** Asks the masters. Rejects with a `RedlockError` if it ends without a grant. */
  grant(
    names: readonly string[],
    kind: Kind,
    call: ResolvedCall,
    cancellation: Cancellation,
    observer?: AcquisitionObserver,
  ): Promise<Grant> {
    if (this.#telemetry.hearsAcquisitions) return this.#grantHeard(names, kind, call, cancellation, observer);
    return this.#coordinator.acquire(this.#terms(names, kind, call, observer), cancellation);
  }

  /** Counts a call that ends without a lease. @returns its error */
  failed(error: unknown): unknown {
    if (RedlockError.is(error)) this.#telemetry.counts.notGranted(error.code);
    return error;
  }

  /** The lease on a grant. @throws RedlockError `CLOSED` */
  lease(grant: Grant, names: readonly string[], call: ResolvedCall): Lease {
    const Held = grant.kind.name === 'write' ? WriteLease : Lease;
    const lease = new Held(this.#leaseEnvironment, grant, names, call);
    this.held.add(lease);
    this.#telemetry.counts[call.by === 'adopt' ? 'adopted' : 'acquired']++;
    if (!this.#isClosing) return lease;
    void lease.release(); // closed in this very turn: nobody works under it yet
    throw closedError();
  }

  /** Ends the calls under way, and waits for holders to stop. @returns how many leases are left to run out */
  async close(terms: ResolvedClose): Promise<number> {
    this.#isClosing = true;
    for (const call of this.#calls.list()) call.cancel({ code: 'CLOSED' });
    return this.held.drain(terms);
  }

  /** The same, told to those who listen. */
  #grantHeard(
    names: readonly string[],
    kind: Kind,
    call: ResolvedCall,
    cancellation: Cancellation,
    own: AcquisitionObserver | undefined,
  ): Promise<Grant> {
    return this.#heard(names, kind, call, (heard) => {
      const observer = own === undefined ? heard : new BothObservers(heard, own);
      return this.#coordinator.acquire(this.#terms(names, kind, call, observer), cancellation);
    });
  }

  #heard(
    resources: readonly string[],
    kind: Kind,
    { by, ttlMs, waitMs }: ResolvedCall,
    run: (observer: AcquisitionObserver) => Promise<Grant>,
  ): Promise<Grant> {
    return this.#telemetry.acquire({ resources, kind, by, ttlMs, waitMs }, run);
  }

  #terms(
    resources: readonly string[],
    kind: Kind,
    call: ResolvedCall,
    observer: AcquisitionObserver | undefined,
  ): AcquisitionTerms {
    const { ttlMs, waitMs, nodeTimeoutMs, minDelayMs, maxDelayMs } = call;
    return {
      resources,
      scope: this.#keys.scopeOf(resources, kind, call.fencing),
      ttlMs,
      waitMs,
      nodeTimeoutMs,
      minDelayMs,
      maxDelayMs,
      onlyReserves: call.handOver === 'reserve',
      isFair: call.fair && waitMs > 0 && !this.#hasCluster,
      observer,
    };
  }
}
