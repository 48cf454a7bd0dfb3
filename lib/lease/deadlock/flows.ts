/**
 * Which leases a flow of calls works under: the routines that run under leases, each within the one that it was called from.
 *
 * A call that a routine makes before its first `await` is always known to be within it. What follows is known through
 * `AsyncLocalStorage`. Before Node 24, that makes every promise of the process dearer, and from then on each routine. So it is
 * used only while somebody listens for deadlocks, and for a while after a call has failed that had waited for long.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../../runtime/clock.js';
import type { Lease } from '../public.js';

/** For how long flows are followed after a call has waited in vain. */
export const FOLLOWED_MS = 600_000;

/** A routine that runs under a lease. */
export interface Flow {
  readonly lease: Lease;
  /** The routine that it was called from; undefined without one, or if that is over. */
  outer: Flow | undefined;
  isOver: boolean;
}

export class Flows {
  /** Whether somebody listens for deadlocks. */
  isAsked: () => boolean = () => false;
  readonly #clock: Clock;
  readonly #storage = new AsyncLocalStorage<Flow | undefined>();
  #isInUse = false;
  #followedUntilMs = -Infinity;
  /** The routine whose code up to its first `await` runs now. */
  #entered: Flow | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The routine that the code runs in, as far as is known; undefined outside of all. */
  get current(): Flow | undefined {
    const outer = alive(this.#entered ?? this.#storage.getStore());
    if (outer !== undefined) outer.outer = alive(outer.outer); // or routines that call each other in turn would add up
    return outer;
  }

  /** A call has waited in vain: the next ones are followed. */
  waitedInVain(): void {
    this.#followedUntilMs = this.#clock.earliest() + FOLLOWED_MS;
  }

  run<T>(flow: Flow, routine: () => T): T {
    const before = this.#entered;
    this.#entered = flow;
    try {
      return this.#isFollowing() ? this.#storage.run(flow, routine) : routine();
    } finally {
      this.#entered = before;
    }
  }

  /** Runs what belongs to no routine, such as the setting of a timer for all of them. */
  outside<T>(run: () => T): T {
    return this.#isInUse ? this.#storage.run(undefined, run) : run();
  }

  #isFollowing(): boolean {
    const isWanted =
      this.isAsked() ||
      (this.#followedUntilMs !== -Infinity && this.#clock.earliest() < this.#followedUntilMs);
    if (!isWanted && this.#isInUse) this.#storage.disable();
    this.#isInUse = isWanted;
    return isWanted;
  }
}

function alive(flow: Flow | undefined): Flow | undefined {
  let one = flow;
  while (one?.isOver === true) one = one.outer;
  return one;
}
