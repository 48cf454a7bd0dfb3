/**
 * Where an instance's leases come from: the calls that are under way, and the leases that they lead to.
 */
import { Cancellation } from './runtime/cancellation.js';
import type { AcquisitionTerms } from './coordinator/acquisition-terms.js';
import type { Adopted } from './coordinator/adoption.js';
import type { Coordinator } from './coordinator/coordinator.js';
import type { Environment } from './redis/environment.js';
import { closedError, RedlockError } from './runtime/errors.js';
import type { Grant } from './quorum/grant.js';
import { HeldLeases } from './lease/held-leases.js';
import type { Coordination, NoteKind, AcquireExtras } from './lease/coordination.js';
import { type Inspection, readInspection, tokensIn } from './lease/inspection.js';
import type { NestedCall } from './lease/deadlock/nested-call.js';
import { Notes } from './lease/notes.js';
import { People } from './lease/people.js';
import { readShared, type SharedInspection, sharedTokensIn } from './lease/shared-inspection.js';
import { inspection, type Request, sharedInspection } from './protocol/request.js';
import type { SurveyAnswer } from './quorum/survey.js';
import type { Clock, Timers } from './runtime/clock.js';
import type { Random } from './runtime/random.js';
import { Lease, WriteLease } from './lease/lease.js';
import { LinkedList } from './runtime/linked-list.js';
import type { ResolvedClose } from './input/lifecycle-options.js';
import type { OustTerms, Taken } from './coordinator/ousting.js';
import type { CallTerms, InstanceTerms } from './protocol/terms.js';
import { type Kind, WRITE } from './protocol/scope.js';
import type { ResourceKeys } from './resource-keys.js';
import { TimerCoalescer } from './runtime/timer-coalescer.js';
import { type AcquisitionObserver, BothObservers } from './telemetry/observer.js';
import type { Telemetry } from './telemetry/telemetry.js';

/** What only some calls need. */
interface Extras extends AcquireExtras {
  /** The lease that another process gave away: the call takes it over, and does not ask the masters for a new one. */
  readonly adopted?: Adopted;
}

const NO_EXTRAS: Extras = Object.freeze({});

export class LeaseSource implements Coordination {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly terms: InstanceTerms;
  readonly coordinator: Coordinator;
  readonly telemetry: Telemetry;
  readonly held: HeldLeases;
  readonly renewals: TimerCoalescer<Lease>;
  readonly #keys: ResourceKeys;
  readonly #hasCluster: boolean;
  /** Calls under way; `close` ends them. */
  readonly #calls = new LinkedList<Cancellation>();
  /** Undefined if its process is not known. */
  readonly #people: People | undefined;
  /** It accepts no new calls. */
  #isClosing = false;

  constructor(
    { clock, leaseTimers, process, random, timers }: Environment,
    terms: InstanceTerms,
    coordinator: Coordinator,
    keys: ResourceKeys,
    telemetry: Telemetry,
  ) {
    this.clock = clock;
    this.timers = leaseTimers ?? timers;
    this.random = random;
    this.terms = terms;
    this.coordinator = coordinator;
    this.telemetry = telemetry;
    this.held = new HeldLeases(clock, timers);
    this.renewals = new TimerCoalescer(clock, timers, (leases, onDone) => {
      const due = leases.map((lease) => lease.takeRenewal()).filter((one) => one !== undefined);
      coordinator.renew(due, onDone);
    });
    this.#keys = keys;
    this.#hasCluster = coordinator.nodes.some(({ isCluster }) => isCluster);
    const isHolding = (): boolean => this.held.isAnyHeld(this.clock.earliest());
    coordinator.notify((push) => this.held.find(push.token)?.oust(push), isHolding);
    if (process === undefined) return;
    const isBusy = (): boolean => this.held.size + this.#calls.size > 0;
    this.#people = new People(this, { timers, process, isBusy });
    telemetry.holders = this.#people.lookups;
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

  /**
   * The one way to a lease: `acquire`, `tryAcquire`, `using` and `adopt` of each kind of lock.
   *
   * @throws RedlockError as `Redlock.acquire` does
   */
  async acquire(
    names: readonly string[],
    kind: Kind,
    call: CallTerms,
    signal: AbortSignal | undefined,
    extras: Extras = NO_EXTRAS,
  ): Promise<Lease> {
    const cancellation = this.begin(signal);
    const begunAtMs = this.clock.earliest();
    this.#people?.used();
    const nested = this.#nested(names, kind, call, extras);
    try {
      const { hearsAcquisitions } = this.telemetry;
      const grant = await (hearsAcquisitions
        ? this.#grantHeard(names, kind, call, cancellation, extras, nested)
        : this.#grant(this.#terms(names, kind, call, extras.observer), cancellation, extras));
      return this.#lease(grant, names, call, begunAtMs);
    } catch (error) {
      if (RedlockError.is(error)) this.telemetry.counts.notGranted(error.code);
      const naming = this.#naming(error, names, kind, call, extras, nested);
      throw naming === undefined ? error : await naming;
    } finally {
      if (nested !== undefined) this.#people?.deadlocks.end(nested);
      this.end(cancellation);
    }
  }

  /** Takes a lock away from its holders. @throws RedlockError as `Redlock.steal` does */
  oust(
    name: string,
    kind: Kind,
    call: CallTerms,
    signal: AbortSignal | undefined,
    how: Omit<OustTerms, 'label'>,
  ): Promise<Taken> {
    const { label } = this.terms;
    const wanted = { ...how, label: this.#people?.label ?? (typeof label === 'string' ? label : '') };
    return this.during(signal, (cancellation) =>
      this.coordinator.oust(this.#terms([name], kind, call, undefined), wanted, cancellation),
    );
  }

  async acquireToWrite(
    name: string,
    call: CallTerms,
    signal: AbortSignal | undefined,
    extras?: Extras,
  ): Promise<WriteLease> {
    const lease = await this.acquire([name], WRITE, call, signal, extras);
    if (lease instanceof WriteLease) return lease;
    throw new Error('a writer gets the lease of a writer');
  }

  notesOf(name: string, kind: NoteKind): Notes {
    return new Notes(this.coordinator, name, this.#keys.noteOf(name, kind));
  }

  async inspect(name: string): Promise<Inspection> {
    const key = this.#keys.keyOf(name);
    const answers = await this.#survey(inspection(key));
    const lore = await this.#people?.lore(key, tokensIn(answers));
    const seen = readInspection(name, answers, this.coordinator.nodes, lore);
    return { ...seen, local: this.coordinator.localAt(key) };
  }

  async inspectShared(name: string): Promise<SharedInspection> {
    const key = this.#keys.keyOf(name);
    const answers = await this.#survey(sharedInspection(key));
    const lore = await this.#people?.lore(key, sharedTokensIn(answers));
    return readShared(name, answers, this.coordinator.nodes, lore);
  }

  /** Ends the calls under way, and waits for holders to stop. @returns how many leases are left to run out */
  async close(terms: ResolvedClose): Promise<number> {
    this.#isClosing = true;
    for (const call of this.#calls.list()) call.cancel({ code: 'CLOSED' });
    const left = await this.held.drain(terms);
    this.#people?.close(left === 0);
    return left;
  }

  /** @throws RedlockError `CLOSED` */
  #survey(request: Request): Promise<readonly SurveyAnswer[]> {
    this.assertOpen();
    return this.coordinator.survey(request, this.coordinator.nodeTimeoutFor(this.terms));
  }

  /** Asks the masters. Rejects with a `RedlockError` if it ends without a grant. */
  #grant(terms: AcquisitionTerms, cancellation: Cancellation, { adopted, taken }: Extras): Promise<Grant> {
    if (taken !== undefined) return this.coordinator.claimWith(taken, terms, cancellation);
    return adopted === undefined
      ? this.coordinator.acquire(terms, cancellation)
      : this.coordinator.adopt(terms, adopted, cancellation);
  }

  /** The same, and reports it to the instance's listeners. */
  #grantHeard(
    resources: readonly string[],
    kind: Kind,
    call: CallTerms,
    cancellation: Cancellation,
    extras: Extras,
    nested: NestedCall | undefined,
  ): Promise<Grant> {
    const { by, ttlMs, waitMs } = call;
    const facts = { resources, kind, by, ttlMs, waitMs };
    const naming = (error: unknown): Promise<RedlockError> | undefined =>
      this.#naming(error, resources, kind, call, extras, nested);
    return this.telemetry.acquire(facts, naming, (heard) => {
      const observer = extras.observer === undefined ? heard : new BothObservers(heard, extras.observer);
      return this.#grant(this.#terms(resources, kind, call, observer), cancellation, extras);
    });
  }

  /**
   * The same error with the holder's name, if others have the lock. Undefined where nobody reads it: `tryAcquire` gives null,
   * and elections, jobs and the APIs of other packages go on by the code.
   */
  #naming(
    error: unknown,
    names: readonly string[],
    kind: Kind,
    { by }: CallTerms,
    { anonymous, observer }: Extras,
    nested: NestedCall | undefined,
  ): Promise<RedlockError> | undefined {
    if (!RedlockError.is(error) || error.code !== 'LOCK_TAKEN' || error.heldBy !== undefined)
      return undefined;
    const isUnread = anonymous === true || by === 'tryAcquire' || observer !== undefined;
    return isUnread || this.#isClosing ? undefined : this.#people?.named(error, names, kind, nested);
  }

  /** A call that may wait, and that was made while something was held; undefined for any other. */
  #nested(
    names: readonly string[],
    kind: Kind,
    { by, waitMs }: CallTerms,
    extras: Extras,
  ): NestedCall | undefined {
    if (waitMs === 0 || extras.observer !== undefined || extras.adopted !== undefined) return undefined;
    return this.#people?.deadlocks.begin({ resources: names, kind, by });
  }

  /** The lease on a grant. @throws RedlockError `CLOSED` */
  #lease(grant: Grant, names: readonly string[], call: CallTerms, begunAtMs: number): Lease {
    const Held = grant.kind.name === 'write' ? WriteLease : Lease;
    const lease = new Held(this, grant, names, call);
    this.held.add(lease);
    const { counts } = this.telemetry;
    counts[call.by === 'adopt' ? 'adopted' : 'acquired']++;
    if (call.by !== 'adopt') counts.waits.add(lease.sinceMs - begunAtMs); // no second reading of the clock
    if (grant.turn > 0) counts.localHandOvers++;
    if (!this.#isClosing) return lease;
    void lease.release(); // closed in this very turn: nobody works under it yet
    throw closedError();
  }

  #terms(
    resources: readonly string[],
    kind: Kind,
    call: CallTerms,
    observer: AcquisitionObserver | undefined,
  ): AcquisitionTerms {
    const { fair, handOver, localTurns, maxDelayMs, minDelayMs, nodeTimeoutMs, ttlMs, waitMs } = call;
    const isAlone = kind.name !== 'mutex' || resources.length > 1 || !fair || this.#hasCluster;
    return {
      resources,
      scope: this.#keys.scopeOf(resources, kind, call.fencing),
      ttlMs,
      waitMs,
      nodeTimeoutMs,
      minDelayMs,
      maxDelayMs,
      handOver,
      fair: fair && waitMs > 0 && !this.#hasCluster,
      localTurns: isAlone ? 0 : localTurns,
      observer,
    };
  }
}
