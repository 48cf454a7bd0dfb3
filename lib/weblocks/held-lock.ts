/** The lock that a callback gets: a view of its lease. */
import type { Lease } from '../lease/public.js';
import type { Lock, LockMode } from './public.js';

export class HeldLock implements Lock {
  readonly name: string;
  readonly mode: LockMode;
  readonly #lease: Lease;

  constructor(name: string, mode: LockMode, lease: Lease) {
    this.name = name;
    this.mode = mode;
    this.#lease = lease;
    Object.freeze(this);
  }

  get signal(): AbortSignal {
    return this.#lease.signal;
  }

  get fence(): number | undefined {
    return this.#lease.fence;
  }
}
