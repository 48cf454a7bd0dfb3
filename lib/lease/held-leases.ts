/**
 * The leases that an instance has given out and that are still held, and the routines that run under them.
 *
 * When the instance closes, it drains them: it asks every routine and holder to stop, renews their leases meanwhile, and
 * leaves it to them to give the leases back. A lease that is freed earlier lets others in while a routine still runs.
 */
import type { Clock, Timer, Timers } from '../runtime/clock.js';
import type { Lease as OwnLease } from './lease.js';
import type { AnyLease, Lease } from './public.js';
import { NO_OPTIONS, type ReleaseOptions, type UsingEnd } from '../input/options.js';
import { type ResolvedClose } from '../input/lifecycle-options.js';
import { type Linked, LinkedList } from '../runtime/linked-list.js';
import { type Flow, Flows } from './deadlock/flows.js';
import { type RoutineUnder, settled } from './routine.js';

/** A routine that runs under a lease. */
class Work implements Linked<Work>, Flow {
  previous: Work | undefined;
  next: Work | undefined;
  readonly lease: Lease;
  outer: Flow | undefined;
  isOver = false;

  constructor(lease: Lease, outer: Flow | undefined) {
    this.lease = lease;
    this.outer = outer;
  }
}

/** How many held leases to check when one is added. */
const SWEPT_PER_LEASE = 2;
const FEW_LEASES = 100;

export class HeldLeases {
  readonly flows: Flows;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #leases = new LinkedList<OwnLease>();
  readonly #work = new LinkedList<Work>();
  #deadline: Timer | undefined;
  #deadlineAtMs = 0;
  #onDrained: (() => void) | undefined;

  constructor(clock: Clock, timers: Timers) {
    this.flows = new Flows(clock);
    this.#clock = clock;
    this.#timers = timers;
  }

  /** How many are held, as of the last checks. */
  get size(): number {
    return this.#leases.size;
  }

  /** Those that have been held for longest, as far as they are valid. @param most  how many to look at */
  oldest(most: number, nowMs: number): readonly OwnLease[] {
    const leases = this.#leases.list().slice(-most).toReversed(); // the list begins with the latest
    for (const lease of leases) lease.checkValidity(nowMs);
    return leases.filter(({ status }) => status === 'held');
  }

  /** Whether any is held. Those that have run out are found on the way, so the next look has less to do. */
  isAnyHeld(nowMs: number): boolean {
    return this.#leases.list().some((lease) => {
      lease.checkValidity(nowMs);
      return lease.status === 'held';
    });
  }

  add(lease: OwnLease): void {
    this.#leases.add(lease);
    this.#sweep();
  }

  /** The lease with that token, if one is held. */
  find(token: string): OwnLease | undefined {
    return this.#leases.list().find((lease) => lease.token === token && lease.status === 'held');
  }

  /** The lease is no longer held, whatever the reason. */
  delete(lease: OwnLease): void {
    this.#leases.delete(lease);
    this.#proceed();
  }

  /**
   * Runs a routine under a lease, and then releases `given`: the lease, or an entry into it. A failed release replaces
   * neither result nor error.
   */
  run<Given extends AnyLease, T>(
    lease: Lease,
    given: Given,
    routine: RoutineUnder<Given, T>,
    { onLoss, release }: UsingEnd,
  ): Promise<T> {
    return this.during(lease, given, () => settled(given, routine, onLoss), release);
  }

  /** The same for work that decides for itself what a loss means. */
  async during<T>(
    lease: Lease,
    given: Pick<AnyLease, 'release'>,
    run: () => Promise<T> | T,
    release: ReleaseOptions = NO_OPTIONS,
  ): Promise<T> {
    const work = new Work(lease, this.flows.current);
    this.#work.add(work);
    try {
      return await this.flows.run(work, run);
    } finally {
      work.isOver = true;
      await given.release(release);
      this.#work.delete(work);
      this.#proceed();
    }
  }

  /**
   * Asks all holders to stop, and waits until they have. Resolves when nothing is held and no routine runs, or after
   * `drainMs`: leases that are still held then are no longer renewed, and run out by their ttl.
   *
   * @returns how many leases that are
   */
  async drain(terms: ResolvedClose): Promise<number> {
    for (const lease of this.#leases.list()) lease.tellClosing();
    await new Promise<void>((resolve) => {
      this.#onDrained = resolve;
      this.hasten(terms);
    });
    for (const lease of this.#leases.list()) lease.letRunOut();
    return this.#leases.size;
  }

  /** Another call to close: it can cut the wait short, not make it longer. */
  hasten({ drainMs, releaseHeld }: ResolvedClose): void {
    if (this.#onDrained === undefined) return; // nobody waits any more
    const atMs = this.#clock.earliest() + drainMs;
    if (this.#deadline === undefined || atMs < this.#deadlineAtMs) {
      this.#deadlineAtMs = atMs;
      this.#deadline?.cancel();
      this.#deadline = this.#timers.wait(drainMs, () => this.#end());
    }
    if (releaseHeld) this.#releaseUnused();
    this.#proceed();
  }

  /** Releases the leases that no routine works under. */
  #releaseUnused(): void {
    const used: ReadonlySet<Lease> = new Set(this.#work.list().map(({ lease }) => lease));
    for (const lease of this.#leases.list()) if (!used.has(lease)) void lease.release();
  }

  #proceed(): void {
    if (this.#leases.size === 0 && this.#work.size === 0) this.#end();
  }

  #end(): void {
    if (this.#onDrained === undefined) return;
    this.#deadline?.cancel();
    this.#onDrained();
    this.#onDrained = undefined;
  }

  /** Leases that ran out without a release are found a few at a time, so that they never add up. */
  #sweep(): void {
    if (this.#leases.size <= FEW_LEASES) return; // a few leases do not add up
    const nowMs = this.#clock.earliest();
    for (let i = 0; i < SWEPT_PER_LEASE; i++) this.#leases.turn()?.checkValidity(nowMs);
  }
}
