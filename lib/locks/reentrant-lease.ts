/**
 * A lock that its holder may enter again, seen by those who are in: one lease, and how many they are.
 */
import { refuseFormerNames } from '../runtime/former-names.js';
import { NO_OPTIONS, refusalOf, type ReleaseOptions } from '../input/options.js';
import { RedlockError } from '../runtime/errors.js';
import { nameResources } from '../quorum/failure.js';
import type { Lease, LeaseStatus, ReentrantLease as PublicReentrantLease } from '../lease/public.js';
import { INSPECT, type Inspecting, printed } from '../runtime/printing.js';

/** A lease with the number of those who are in. */
export class Hold {
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
  enter(): ReentrantLease {
    this.lease.assertHeld();
    this.#count++;
    return new ReentrantLease(this);
  }

  async exit(options: ReleaseOptions): Promise<void> {
    this.#count--;
    if (this.#count > 0) return;
    this.#onOver();
    await this.lease.release(options);
  }
}

/** One entry: the lease of all who are in, until this one's exit. */
export class ReentrantLease implements PublicReentrantLease {
  static {
    refuseFormerNames(this.prototype);
  }

  readonly #hold: Hold;
  #exit: Promise<void> | undefined;

  constructor(hold: Hold) {
    this.#hold = hold;
  }

  static holdOf(entry: ReentrantLease): Hold {
    return entry.#hold;
  }

  get resources(): readonly string[] {
    return this.#hold.lease.resources;
  }

  get ttlMs(): number {
    return this.#hold.lease.ttlMs;
  }

  get token(): string {
    return this.#hold.lease.token;
  }

  get fence(): number | undefined {
    return this.#hold.lease.fence;
  }

  get status(): LeaseStatus {
    return this.#exit === undefined ? this.#hold.lease.status : 'released';
  }

  get signal(): AbortSignal {
    return this.#hold.lease.signal;
  }

  remainingMs(): number {
    return this.#exit === undefined ? this.#hold.lease.remainingMs() : 0;
  }

  assertHeld(): void {
    if (this.#exit !== undefined) throw notHeld(this.resources, 'this entry was left');
    this.#hold.lease.assertHeld();
  }

  async extend(ttlMs?: number): Promise<void> {
    if (this.#exit !== undefined) throw notHeld(this.resources, 'this entry was left');
    await this.#hold.lease.extend(ttlMs);
  }

  release(options: ReleaseOptions = NO_OPTIONS): Promise<void> {
    const refusal = refusalOf(options);
    if (refusal !== undefined) return refusal;
    this.#exit ??= this.#hold.exit(options);
    return this.#exit;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  toJSON(): object {
    const { fence, resources, status, ttlMs } = this;
    return { resources, fence, ttlMs, status, remainingMs: this.remainingMs() };
  }

  /** What `console.log` prints: the same as JSON. */
  [INSPECT](...given: Inspecting): string {
    return printed(this, 'ReentrantLease', ...given);
  }
}

export function notHeld(resources: readonly string[], why: string): RedlockError {
  return new RedlockError('NOT_HELD', `no lock on ${nameResources(resources)}: ${why}`, { resources });
}
