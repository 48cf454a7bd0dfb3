/**
 * Where an instance's leases come from: the calls that are under way, and the leases that they lead to.
 */
import { Cancellation } from './runtime/cancellation.js';
import type { AcquisitionTerms } from './coordinator/acquisition-terms.js';
import type { Adopted } from './coordinator/adoption.js';
import type { Coordinator } from './coordinator/coordinator.js';
import type { Environment } from './environment.js';
import { RedlockError } from './runtime/errors.js';
import type { Grant } from './quorum/grant.js';
import { HeldLeases } from './lease/held-leases.js';
import { Lease, type LeaseEnvironment } from './lease/lease.js';
import { LinkedList } from './runtime/linked-list.js';
import type { InstanceTerms, ResolvedCall, ResolvedClose } from './input/options.js';
import { type Kind, WRITE } from './protocol/scope.js';
import type { ResourceKeys } from './resource-keys.js';
import { TimerCoalescer } from './runtime/timer-coalescer.js';
import { WriteLease } from './lease/write-lease.js';

export class LeaseSource {
  readonly held: HeldLeases;
  readonly #coordinator: Coordinator;
  readonly #keys: ResourceKeys;
  readonly #hasCluster: boolean;
  readonly #leaseEnvironment: LeaseEnvironment;
  /** Calls under way; `close` ends them. */
  readonly #calls = new LinkedList<Cancellation>();
  /** Nothing new is begun. */
  #isClosing = false;

  constructor(environment: Environment, terms: InstanceTerms, coordinator: Coordinator, keys: ResourceKeys) {
    const { clock, random, timers, transports } = environment;
    this.#coordinator = coordinator;
    this.#keys = keys;
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
    };
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
  ): Promise<Lease> {
    return this.during(signal, async (cancellation) => {
      const grant = await this.grant(names, kind, call, cancellation);
      return this.lease(grant, names, call);
    });
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

  adopt(
    names: readonly string[],
    kind: Kind,
    held: Adopted,
    call: ResolvedCall,
    signal: AbortSignal | undefined,
  ): Promise<Lease> {
    return this.during(signal, async (cancellation) => {
      const grant = await this.#coordinator.adopt(this.#terms(names, call, kind), held, cancellation);
      return this.lease(grant, names, call);
    });
  }

  /** Asks the masters. Rejects with a `RedlockError` if it ends without a grant. */
  grant(
    names: readonly string[],
    kind: Kind,
    call: ResolvedCall,
    cancellation: Cancellation,
  ): Promise<Grant> {
    return this.#coordinator.acquire(this.#terms(names, call, kind), cancellation);
  }

  /** The lease on a grant. @throws RedlockError `CLOSED` */
  lease(grant: Grant, names: readonly string[], call: ResolvedCall): Lease {
    const Held = grant.kind.name === 'write' ? WriteLease : Lease;
    const lease = new Held(this.#leaseEnvironment, grant, names, call);
    this.held.add(lease);
    if (!this.#isClosing) return lease;
    void lease.release(); // closed in this very turn: nobody works under it yet
    throw closedError();
  }

  /** Ends the calls under way, and waits for holders to stop. */
  async close(terms: ResolvedClose): Promise<void> {
    this.#isClosing = true;
    for (const call of this.#calls.list()) call.cancel({ code: 'CLOSED' });
    await this.held.drain(terms);
  }

  #terms(resources: readonly string[], call: ResolvedCall, kind: Kind): AcquisitionTerms {
    const { ttlMs, waitMs, nodeTimeoutMs, minDelayMs, maxDelayMs } = call;
    return {
      resources,
      scope: this.#keys.scopeOf(resources, kind, call.fencing),
      ttlMs,
      waitMs,
      nodeTimeoutMs,
      minDelayMs,
      maxDelayMs,
      isFair: call.fair && waitMs > 0 && !this.#hasCluster,
    };
  }
}

export function closedError(): RedlockError {
  return new RedlockError('CLOSED', 'the instance was closed.');
}
