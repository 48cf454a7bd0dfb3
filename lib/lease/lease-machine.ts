/**
 * The life of a lease, on a quorum or on one server: it is held, and ends once, by its release or by its loss.
 *
 * Assumes nothing of timers: `status`, `remainingMs()` and `assertHeld()` read the clock, and are right while the event
 * loop is stalled and before any timer has fired. A lease that is neither renewed nor watched by its signal sets no
 * timer at all; any other one has one.
 */
import { expiryError, releasedError } from '../quorum/failure.js';
import type { ReleaseOptions } from '../input/options.js';
import type { RedlockError } from '../runtime/errors.js';
import { Link } from '../runtime/linked-list.js';
import { refuseFormerNames } from '../runtime/former-names.js';
import { Care } from './lease-care.js';
import type { LeaseStatus } from './public.js';

export type LeaseState =
  | { readonly kind: 'held' }
  | { readonly kind: 'lost'; readonly error: RedlockError }
  | { readonly kind: 'released'; readonly done: Promise<void> };

const HELD: LeaseState = Object.freeze({ kind: 'held' });
export const GIVEN_AWAY: LeaseState = Object.freeze({ kind: 'released', done: Promise.resolve() });

export abstract class LeaseMachine<Self> extends Link<Self> {
  static {
    refuseFormerNames(this.prototype);
  }

  readonly resources: readonly string[];
  readonly ttlMs: number;
  #state: LeaseState = HELD;
  #care: Care | undefined;

  constructor(resources: readonly string[], ttlMs: number) {
    super();
    this.resources = resources;
    this.ttlMs = ttlMs;
  }

  /** How much validity is left by the clock as it is now; 0 or less at its end. */
  protected abstract leftMs(): number;
  /** Sets the one timer: the next renewal, or the end of validity if anybody listens for it. */
  protected abstract arm(): void;
  protected abstract disarm(): void;
  abstract release(options?: ReleaseOptions): Promise<void>;

  get status(): LeaseStatus {
    this.check();
    return this.#state.kind;
  }

  remainingMs(): number {
    const leftMs = this.leftMs();
    if (this.isHeld && leftMs <= 0) this.expire();
    return this.isHeld ? leftMs : 0;
  }

  assertHeld(): void {
    this.check();
    const error = this.endError;
    if (error !== undefined) throw error;
  }

  get signal(): AbortSignal {
    return this.watch().signal;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  protected get isHeld(): boolean {
    return this.#state === HELD;
  }

  protected get isLost(): boolean {
    return this.#state.kind === 'lost';
  }

  /** Resolves when its release is done; at once where it was not released. */
  protected get released(): Promise<void> {
    return this.#state.kind === 'released' ? this.#state.done : Promise.resolve();
  }

  /** Why it is not held; undefined where it is. */
  protected get endError(): RedlockError | undefined {
    switch (this.#state.kind) {
      case 'held':
        return undefined;
      case 'lost':
        return this.#state.error;
      case 'released':
        return releasedError(this.resources);
    }
  }

  protected get care(): Care | undefined {
    return this.#care;
  }

  protected takeCare(): Care {
    this.#care ??= new Care();
    return this.#care;
  }

  /** From here on a timer watches the end of validity. */
  protected watch(): AbortController {
    const care = this.takeCare();
    if (care.controller !== undefined) return care.controller;
    const controller = new AbortController();
    care.controller = controller;
    this.check();
    if (this.#state.kind === 'lost') controller.abort(this.#state.error);
    this.arm();
    return controller;
  }

  protected check(): void {
    if (this.isHeld && this.leftMs() <= 0) this.expire();
  }

  /** Its validity ended: where it could not be extended, that is why. */
  protected expire(): void {
    this.lose(expiryError(this.resources, this.#care?.failure));
  }

  protected lose(error: RedlockError): void {
    if (!this.isHeld) return;
    this.end({ kind: 'lost', error });
    this.announce(error);
  }

  protected announce(loss: RedlockError): void {
    this.#care?.controller?.abort(loss);
  }

  /** A lease ends once, and never comes back. */
  protected end(state: LeaseState): void {
    this.#state = state;
    this.disarm();
  }

  /** What its release is: set once that has begun. */
  protected releasing(done: Promise<void>): void {
    this.#state = { kind: 'released', done };
  }
}
