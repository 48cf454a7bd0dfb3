/**
 * Entering a lock again while holding it. The masters know nothing about it: the client counts, up at each entry and down at
 * each exit, and the last exit releases. The flow of asynchronous calls, from `using` on, identifies the holder
 * (`AsyncLocalStorage`, which is what a thread is elsewhere), or an `owner` that the caller names.
 *
 * Branches of one flow that run in parallel hold the lock together and do not exclude each other. A flow that goes on after
 * the last exit no longer holds anything.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Cancellation } from '../runtime/cancellation.js';
import { invalidArgument } from '../runtime/errors.js';
import { lossError } from '../quorum/failure.js';
import type { HeldLeases } from '../lease/held-leases.js';
import type { Inspection } from '../lease/inspection.js';
import { Hold, ReentrantLease as OwnReentrantLease, notHeld } from './reentrant-lease.js';
import type { Lease, ReentrantLease } from '../lease/public.js';
import type { Lockable, Mutex } from './lockable.js';
import { checkNames } from '../input/option-names.js';
import {
  type AcquireOptions,
  CALL_NAMES,
  type RoutineOptions,
  type TryAcquireOptions,
  isName,
  or,
  resolveEnd,
  type UsingEnd,
} from '../input/options.js';
import { argumentsOfUsing } from '../input/given.js';

/** The most names of one object, and the most texts with their names, that are remembered: the latest ones. */
const MOST = 1_000;

class LostHolds {
  /** The names by their owner, where that can be gone one day. */
  readonly #byOwner = new WeakMap<WeakKey, Set<string>>();
  /** Texts, and registered symbols, never are. */
  readonly #texts = new Set<string>();

  add(owner: WeakKey | string, name: string): void {
    const text = textOf(owner);
    const list = text === undefined ? this.#namesOf(owner as WeakKey) : this.#texts; // what has no text is a weak key
    list.add(text === undefined ? name : entryOf(owner, text, name));
    if (list.size > MOST) for (const oldest of list) return void list.delete(oldest);
  }

  /** Whether it was there: it is not any more. */
  take(owner: WeakKey | string, name: string): boolean {
    const text = textOf(owner);
    if (text === undefined) return this.#byOwner.get(owner as WeakKey)?.delete(name) === true; // the same
    return this.#texts.size > 0 && this.#texts.delete(entryOf(owner, text, name));
  }

  #namesOf(owner: WeakKey): Set<string> {
    const names = this.#byOwner.get(owner) ?? new Set<string>();
    this.#byOwner.set(owner, names);
    return names;
  }
}

function textOf(owner: WeakKey | string): string | undefined {
  if (typeof owner === 'symbol') return Symbol.keyFor(owner);
  return typeof owner === 'string' ? owner : undefined;
}

/** A text and the symbol registered under it are two owners. */
function entryOf(owner: WeakKey | string, text: string, name: string): string {
  return JSON.stringify([typeof owner, text, name]);
}

/** The holder of a re-entrant lock, in place of the flow of calls: every call with the same value counts as the holder's. */
export type Owner = object | string | symbol;

/** The option `owner` of a re-entrant lock's calls. */
interface Owned {
  /** The holder, in place of the flow of calls. @default undefined: the flow of calls is the holder */
  readonly owner?: Owner | undefined;
}
/** Options of a re-entrant lock's `acquire`; `using` takes `onLoss` and `awaitRelease` as well. */
export type ReentrantOptions = AcquireOptions & Owned;
/** Options of a re-entrant lock's `tryAcquire`. */
export type TryReentrantOptions = TryAcquireOptions & Owned;

const NAMES = {
  acquire: [...CALL_NAMES.acquire, 'owner'],
  using: [...CALL_NAMES.using, 'owner'],
  tryAcquire: [...CALL_NAMES.tryAcquire, 'owner'],
} as const;

/** A mutex that its holder can enter again. */
export interface ReentrantMutex extends Lockable<
  ReentrantLease,
  Inspection,
  ReentrantOptions,
  TryReentrantOptions
> {
  /**
   * Enters again if this flow of calls, or the owner, holds the lock. Sends nothing, and never waits.
   *
   * @throws RedlockError `NOT_HELD`: the caller does not hold the lock · `LOCK_LOST`: the caller has lost it
   */
  reenter(options?: Owned): ReentrantLease;
}

/** What re-entrant and plain mutexes have in common: everything but `reenter`, `owner` and `lease.giveAway()`. */
export type AnyMutex = Lockable<Lease | ReentrantLease, Inspection>;

/** A call that waits for a lock which another call of its owner may get first. */
class Wait {
  readonly #caller: Cancellation;
  readonly #controller = new AbortController();
  /** The entry, once the other call has the lock and has taken this one in. */
  entry: OwnReentrantLease | undefined;

  constructor(signal: AbortSignal | undefined) {
    this.#caller = new Cancellation(signal);
    this.#caller.listen(() => this.#controller.abort(signal?.reason));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether its caller has cancelled it. */
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

/** The state of one owner at one lock. */
class OwnerState {
  hold: Hold | undefined;
  /** Calls that wait for it: the first that gets it takes the others in. */
  readonly waits = new Set<Wait>();
}

/** The holders of an instance's reentrant locks. */
export class Reentrance {
  readonly #held: HeldLeases;
  readonly #flows = new AsyncLocalStorage<ReadonlyMap<string, Hold>>();
  /** Owners that hold or wait, by owner and name. */
  readonly #owners = new Map<Owner, Map<string, OwnerState>>();
  readonly #lost = new LostHolds();

  constructor(held: HeldLeases) {
    this.#held = held;
  }

  /** The hold of this flow of calls. */
  ofFlow(name: string): Hold | undefined {
    const hold = this.#flows.getStore()?.get(name);
    return hold?.isOver === false ? hold : undefined;
  }

  /** Runs the routine as a flow that holds, until it has settled. */
  run<T>(
    name: string,
    entry: OwnReentrantLease,
    routine: (entry: ReentrantLease) => Promise<T> | T,
    end: UsingEnd,
  ): Promise<T> {
    const hold = OwnReentrantLease.holdOf(entry);
    const flow = new Map(this.#flows.getStore()).set(name, hold);
    return this.#held.run(hold.lease, entry, () => this.#flows.run(flow, () => routine(entry)), end);
  }

  /**
   * Enters again if this owner holds the lock; undefined if it does not.
   *
   * @throws RedlockError `LOCK_LOST`, once: it did, but its lease was lost
   */
  enterAs(owner: Owner, name: string): OwnReentrantLease | undefined {
    if (this.#lost.take(owner, name)) throw lossError('it ended before this owner had left', [name]);
    const hold = this.#owners.get(owner)?.get(name)?.hold;
    try {
      return hold?.enter();
    } catch (error) {
      if (hold !== undefined) this.left(owner, name, hold); // this error notifies the owner
      throw error;
    }
  }

  /** Nobody is in any longer, or the owner knows that the lease was lost. */
  left(owner: Owner, name: string, hold: Hold): void {
    this.#forget(owner, name, hold);
    this.#lost.take(owner, name);
  }

  /** The lease was lost while its owner was in: the owner may never come again. */
  lost(owner: Owner, name: string, hold: Hold): void {
    if (this.#forget(owner, name, hold)) this.#lost.add(owner, name);
  }

  /** The place of this owner at that lock; created if it does not exist yet. */
  stateOf(owner: Owner, name: string): OwnerState {
    const states = this.#owners.get(owner) ?? new Map<string, OwnerState>();
    this.#owners.set(owner, states);
    const state = states.get(name) ?? new OwnerState();
    states.set(name, state);
    return state;
  }

  /** Forgets a state that nobody needs any longer. */
  tidy(owner: Owner, name: string): void {
    const states = this.#owners.get(owner);
    const state = states?.get(name);
    if (state === undefined || state.hold !== undefined || state.waits.size > 0) return;
    states?.delete(name);
    if (states?.size === 0) this.#owners.delete(owner);
  }

  /** Owners that hold or wait. */
  get size(): number {
    return this.#owners.size;
  }

  #forget(owner: Owner, name: string, hold: Hold): boolean {
    const state = this.#owners.get(owner)?.get(name);
    if (state?.hold !== hold) return false;
    state.hold = undefined;
    this.tidy(owner, name);
    return true;
  }
}

/** Asks the masters; undefined if one attempt failed because others hold the lock. */
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

  async acquire(given: ReentrantOptions = {}): Promise<ReentrantLease> {
    checkNames('options', given, NAMES.acquire);
    const { owner, ...options } = given;
    return this.#acquire(owner, options);
  }

  async tryAcquire(given: TryReentrantOptions = {}): Promise<ReentrantLease | null> {
    checkNames('options', given, NAMES.tryAcquire);
    const { owner, ...options } = given;
    const entry = await this.#enter(owner, options.signal, async (signal) => {
      return (await this.#mutex.tryAcquire({ ...options, ...signal })) ?? undefined;
    });
    return entry ?? null;
  }

  using<T>(routine: (lease: ReentrantLease) => Promise<T> | T): Promise<T>;
  using<T>(
    options: (ReentrantOptions & RoutineOptions) | undefined,
    routine: (lease: ReentrantLease) => Promise<T> | T,
  ): Promise<T>;
  async using<T>(
    optionsOrRoutine:
      (ReentrantOptions & RoutineOptions) | undefined | ((lease: ReentrantLease) => Promise<T> | T),
    routineAfterOptions?: (lease: ReentrantLease) => Promise<T> | T,
  ): Promise<T> {
    const { options: given = {}, routine } = argumentsOfUsing<
      ReentrantOptions & RoutineOptions,
      (lease: ReentrantLease) => Promise<T> | T
    >(optionsOrRoutine, routineAfterOptions);
    checkNames('options', given, NAMES.using);
    const { owner, onLoss: _, awaitRelease: _awaited, ...options } = given;
    const end = resolveEnd(given);
    const entry = await this.#acquire(owner, { ...options, renew: or(options.renew, true) });
    return this.#reentrance.run(this.name, entry, routine, end);
  }

  reenter(given: Owned = {}): ReentrantLease {
    checkNames('options', given, ['owner']);
    const { owner } = given;
    const entry = this.#enterAgain(owner);
    if (entry !== undefined) return entry;
    const who = owner === undefined ? 'this flow of calls' : 'this owner';
    throw notHeld([this.name], `${who} does not hold it`);
  }

  inspect(): Promise<Inspection> {
    return this.#mutex.inspect();
  }

  #enterAgain(owner: Owner | undefined): OwnReentrantLease | undefined {
    if (owner === undefined) return this.#reentrance.ofFlow(this.name)?.enter();
    checkOwner(owner);
    return this.#reentrance.enterAs(owner, this.name);
  }

  async #acquire(owner: Owner | undefined, options: AcquireOptions): Promise<OwnReentrantLease> {
    const entry = await this.#enter(owner, options.signal, (signal) =>
      this.#mutex.acquire({ ...options, ...signal }),
    );
    if (entry === undefined) throw new Error('an acquisition gives a lease or throws');
    return entry;
  }

  /** Enters again if the lock is held, else asks the masters. */
  async #enter(
    owner: Owner | undefined,
    signal: AbortSignal | undefined,
    ask: Ask,
  ): Promise<OwnReentrantLease | undefined> {
    const entry = this.#enterAgain(owner);
    if (entry !== undefined) return entry;
    if (owner !== undefined) return this.#enterAsOwner(owner, signal, ask);
    const lease = await ask(signal === undefined ? {} : { signal });
    return lease === undefined ? undefined : new Hold(lease, () => undefined).enter();
  }

  /**
   * Asks the masters for an owner. If several of its calls wait at the same time, the first that gets the lock takes the
   * others in.
   */
  async #enterAsOwner(
    owner: Owner,
    signal: AbortSignal | undefined,
    ask: Ask,
  ): Promise<OwnReentrantLease | undefined> {
    const state = this.#reentrance.stateOf(owner, this.name);
    const wait = new Wait(signal);
    state.waits.add(wait);
    try {
      const lease = await ask({ signal: wait.signal });
      state.waits.delete(wait);
      return lease === undefined ? wait.entry : this.#takeIn(owner, state, lease);
    } catch (error) {
      if (wait.entry !== undefined && !wait.isCancelled) return wait.entry;
      await wait.entry?.release();
      throw error;
    } finally {
      wait.end();
      state.waits.delete(wait);
      this.#reentrance.tidy(owner, this.name);
    }
  }

  #takeIn(owner: Owner, state: OwnerState, lease: Lease): OwnReentrantLease {
    const hold: Hold = new Hold(lease, () => this.#reentrance.left(owner, this.name, hold));
    const entry = hold.enter();
    state.hold = hold;
    // it also aborts as the instance closes, which changes nothing here
    const onAbort = (): void => {
      if (lease.status === 'lost') this.#reentrance.lost(owner, this.name, hold);
    };
    lease.signal.addEventListener('abort', onAbort, { once: true });
    for (const wait of state.waits) wait.takeIn(hold);
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
    isName(owner) ||
    (typeof owner === 'object' && owner !== null);
  if (isFit) return;
  throw invalidArgument('owner', owner, 'an object, a symbol or a non-empty string of well-formed Unicode');
}
