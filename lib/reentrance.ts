/**
 * Entering a lock again while holding it. The masters know nothing of it: the client counts, up at each entry and down at
 * each exit, and the last exit releases. Who holds is told by the flow of asynchronous calls, from `using` on
 * (`AsyncLocalStorage`: what a thread is elsewhere), or by an `owner` that the caller names.
 *
 * Branches of one flow that run in parallel hold it together and do not exclude each other. A flow that goes on after the
 * last exit holds nothing any more.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Cancellation } from './cancellation.js';
import { invalidArgument, RedlockError } from './errors.js';
import { nameResources } from './failure.js';
import type { Inspection } from './inspection.js';
import type { Lease, LeaseStatus } from './lease.js';
import type { Lockable, Mutex } from './lockable.js';
import type { AcquireOptions, TryAcquireOptions } from './options.js';
import { argumentsOfUsing } from './using.js';

/** Who holds, where the flow of calls does not tell: the same value for all that shall enter again. */
export type Owner = object | string | symbol;

interface Owned {
  /** Holds in place of the flow of calls. @default none */
  readonly owner?: Owner;
}
export type ReentrantOptions = AcquireOptions & Owned;
export type TryReentrantOptions = TryAcquireOptions & Owned;

/** A mutex that its holder can enter again. */
export interface ReentrantMutex extends Lockable<Entry, Inspection, ReentrantOptions, TryReentrantOptions> {
  /**
   * Enters where this flow, or the owner, holds; sends nothing, and never waits.
   *
   * @throws RedlockError `NOT_HELD`: it does not · `LOCK_LOST`: it did
   */
  reenter(options?: Owned): Entry;
}

/** A lease with the number of those who are in. */
class Hold {
  readonly lease: Lease;
  readonly #onOver: () => void;
  #count = 0;

  constructor(lease: Lease, onOver: () => void) {
    this.lease = lease;
    this.#onOver = onOver;
  }

  get isOver(): boolean {
    return this.#count === 0;
  }

  /** @throws RedlockError `LOCK_LOST`, `NOT_HELD` */
  enter(): Entry {
    this.lease.assertHeld();
    this.#count++;
    return new Entry(this);
  }

  async exit(): Promise<void> {
    this.#count--;
    if (this.#count > 0) return;
    this.#onOver();
    await this.lease.release();
  }
}

/** One entry into a lock that may be entered again: the lease of all who are in, until this one's exit. */
export class Entry {
  /** @internal */
  readonly hold: Hold;
  #exit: Promise<void> | undefined;

  /** @internal */
  constructor(hold: Hold) {
    this.hold = hold;
  }

  get resources(): readonly string[] {
    return this.hold.lease.resources;
  }

  get ttlMs(): number {
    return this.hold.lease.ttlMs;
  }

  get token(): string {
    return this.hold.lease.token;
  }

  /** The same for all who are in. */
  get fence(): number | undefined {
    return this.hold.lease.fence;
  }

  /** `released` from this entry's own exit on. */
  get status(): LeaseStatus {
    return this.#exit === undefined ? this.hold.lease.status : 'released';
  }

  /** As the lease's: aborts when that is lost. */
  get signal(): AbortSignal {
    return this.hold.lease.signal;
  }

  remainingMs(): number {
    return this.#exit === undefined ? this.hold.lease.remainingMs() : 0;
  }

  /** Returns if it is held at this instant; throws `LOCK_LOST` or `NOT_HELD` otherwise. */
  assertHeld(): void {
    if (this.#exit !== undefined) throw notHeld(this.resources, 'this entry was left');
    this.hold.lease.assertHeld();
  }

  /** Extends the lease of all who are in. @throws RedlockError as `lease.extend` does */
  async extend(ttlMs?: number): Promise<void> {
    if (this.#exit !== undefined) throw notHeld(this.resources, 'this entry was left');
    await this.hold.lease.extend(ttlMs);
  }

  /** Leaves; the last one out gives the lock back. Never rejects, and does nothing the second time. */
  release(): Promise<void> {
    this.#exit ??= this.hold.exit();
    return this.#exit;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  toJSON(): object {
    const { fence, resources, status, ttlMs } = this;
    return { resources, fence, ttlMs, status, remainingMs: this.remainingMs() };
  }
}

/** A call that waits for what another call of its owner may get before it. */
class Wait {
  readonly #caller: Cancellation;
  readonly #controller = new AbortController();
  /** The other call has it, and took this one in. */
  entry: Entry | undefined;

  constructor(signal: AbortSignal | undefined) {
    this.#caller = new Cancellation(signal);
    this.#caller.onCancel = () => this.#controller.abort(signal?.reason);
    if (this.isCancelled) this.#controller.abort(signal?.reason);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** By its caller. */
  get isCancelled(): boolean {
    return this.#caller.cancelled !== undefined;
  }

  takeIn(hold: Hold): void {
    if (this.isCancelled) return;
    this.entry = hold.enter();
    this.#controller.abort(new Error('another call of the same owner has it'));
  }

  end(): void {
    this.#caller.dispose();
  }
}

/** What one owner has of one lock. */
class Place {
  hold: Hold | undefined;
  /** Calls that wait for it: the first that gets it takes the others in. */
  readonly waits = new Set<Wait>();
}

/** Who holds which of an instance's locks. */
export class Reentrance {
  readonly #flows = new AsyncLocalStorage<ReadonlyMap<string, Hold>>();
  /** Owners that hold or wait; by owner and name. */
  readonly #owners = new Map<Owner, Map<string, Place>>();

  /** What this flow of calls holds. */
  ofFlow(name: string): Hold | undefined {
    const hold = this.#flows.getStore()?.get(name);
    return hold?.isOver === false ? hold : undefined;
  }

  /** Runs the routine as a flow that holds. */
  inFlow<T>(name: string, hold: Hold, routine: () => T): T {
    return this.#flows.run(new Map(this.#flows.getStore()).set(name, hold), routine);
  }

  /** What this owner holds. */
  ofOwner(owner: Owner, name: string): Hold | undefined {
    return this.#owners.get(owner)?.get(name)?.hold;
  }

  /** What this owner has; made where there is nothing yet. */
  placeOf(owner: Owner, name: string): Place {
    const places = this.#owners.get(owner) ?? new Map<string, Place>();
    this.#owners.set(owner, places);
    const place = places.get(name) ?? new Place();
    places.set(name, place);
    return place;
  }

  /** Forgets a place that nobody needs any more. */
  tidy(owner: Owner, name: string): void {
    const places = this.#owners.get(owner);
    const place = places?.get(name);
    if (place === undefined || place.hold !== undefined || place.waits.size > 0) return;
    places?.delete(name);
    if (places?.size === 0) this.#owners.delete(owner);
  }

  /** Owners that hold or wait. */
  get size(): number {
    return this.#owners.size;
  }
}

/** Asks the masters; undefined where one attempt came to nothing. */
type Ask = (signal: { readonly signal?: AbortSignal }) => Promise<Lease | undefined>;

class Reentrant implements ReentrantMutex {
  readonly #mutex: Mutex;
  readonly #reentrance: Reentrance;

  constructor(mutex: Mutex, reentrance: Reentrance) {
    this.#mutex = mutex;
    this.#reentrance = reentrance;
  }

  get name(): string {
    return this.#mutex.name;
  }

  async acquire({ owner, ...options }: ReentrantOptions = {}): Promise<Entry> {
    return this.#acquire(owner, options);
  }

  async tryAcquire({ owner, ...options }: TryReentrantOptions = {}): Promise<Entry | null> {
    const entry = await this.#enter(owner, options.signal, async (signal) => {
      return (await this.#mutex.tryAcquire({ ...options, ...signal })) ?? undefined;
    });
    return entry ?? null;
  }

  using<T>(routine: (lease: Entry) => Promise<T> | T): Promise<T>;
  using<T>(options: ReentrantOptions | undefined, routine: (lease: Entry) => Promise<T> | T): Promise<T>;
  async using<T>(
    optionsOrRoutine: ReentrantOptions | undefined | ((lease: Entry) => Promise<T> | T),
    routineAfterOptions?: (lease: Entry) => Promise<T> | T,
  ): Promise<T> {
    const { options: given, routine } = argumentsOfUsing<ReentrantOptions, (lease: Entry) => Promise<T> | T>(
      optionsOrRoutine,
      routineAfterOptions,
    );
    const { owner, ...options } = given ?? {};
    const entry = await this.#acquire(owner, { ...options, renew: options.renew ?? true });
    try {
      return await this.#reentrance.inFlow(this.name, entry.hold, () => routine(entry));
    } finally {
      await entry.release();
    }
  }

  reenter({ owner }: Owned = {}): Entry {
    const hold = this.#held(owner);
    if (hold !== undefined) return hold.enter();
    const who = owner === undefined ? 'this flow of calls' : 'this owner';
    throw notHeld([this.name], `${who} does not hold it`);
  }

  inspect(): Promise<Inspection> {
    return this.#mutex.inspect();
  }

  #held(owner: Owner | undefined): Hold | undefined {
    if (owner === undefined) return this.#reentrance.ofFlow(this.name);
    checkOwner(owner);
    return this.#reentrance.ofOwner(owner, this.name);
  }

  async #acquire(owner: Owner | undefined, options: AcquireOptions): Promise<Entry> {
    const entry = await this.#enter(owner, options.signal, (signal) =>
      this.#mutex.acquire({ ...options, ...signal }),
    );
    if (entry === undefined) throw new Error('an acquisition gives a lease or throws');
    return entry;
  }

  /** Again where it is held, else by asking the masters. */
  async #enter(
    owner: Owner | undefined,
    signal: AbortSignal | undefined,
    ask: Ask,
  ): Promise<Entry | undefined> {
    const held = this.#held(owner);
    if (held !== undefined) return held.enter();
    if (owner !== undefined) return this.#enterAsOwner(owner, signal, ask);
    const lease = await ask(signal === undefined ? {} : { signal });
    return lease === undefined ? undefined : new Hold(lease, () => undefined).enter();
  }

  /** Calls of one owner that wait at the same time are taken in by the first that gets it. */
  async #enterAsOwner(owner: Owner, signal: AbortSignal | undefined, ask: Ask): Promise<Entry | undefined> {
    const place = this.#reentrance.placeOf(owner, this.name);
    const wait = new Wait(signal);
    place.waits.add(wait);
    try {
      const lease = await ask({ signal: wait.signal });
      place.waits.delete(wait);
      return lease === undefined ? wait.entry : this.#takeIn(owner, place, lease);
    } catch (error) {
      if (wait.entry !== undefined && !wait.isCancelled) return wait.entry;
      await wait.entry?.release();
      throw error;
    } finally {
      wait.end();
      place.waits.delete(wait);
      this.#reentrance.tidy(owner, this.name);
    }
  }

  #takeIn(owner: Owner, place: Place, lease: Lease): Entry {
    const hold = new Hold(lease, () => {
      place.hold = undefined;
      this.#reentrance.tidy(owner, this.name);
    });
    const entry = hold.enter();
    place.hold = hold;
    for (const wait of place.waits) wait.takeIn(hold);
    return entry;
  }
}

export function reentrantOf(mutex: Mutex, reentrance: Reentrance): ReentrantMutex {
  return new Reentrant(mutex, reentrance);
}

function checkOwner(owner: unknown): void {
  const isFit =
    typeof owner === 'symbol' ||
    typeof owner === 'function' ||
    (typeof owner === 'string' ? owner !== '' : typeof owner === 'object' && owner !== null);
  if (!isFit) throw invalidArgument('owner', owner, 'an object, a symbol or a non-empty string');
}

function notHeld(resources: readonly string[], why: string): RedlockError {
  return new RedlockError('NOT_HELD', `no lock on ${nameResources(resources)}: ${why}`, { resources });
}
