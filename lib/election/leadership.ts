/**
 * A leadership: a lease on the election's lock, and the value beside its votes.
 *
 * The lease is renewed like any other. A timer of its own writes the value again every third of the ttl. This repeats the
 * first write: where the value is already there, it changes nothing but extends its life along with the vote, and it brings
 * the value to masters that missed it. So renewals are the same as for all locks, and a value outlives its vote by one ttl at
 * most. A push follows each write, and shows observers that the leader is alive.
 */
import type { Timer } from '../runtime/clock.js';
import type { Coordination } from '../lease/coordination.js';
import type { RedlockError } from '../runtime/errors.js';
import type { Lease, LeaseStatus } from '../lease/public.js';
import type { Notes } from '../lease/notes.js';
import type { CallTerms } from '../protocol/terms.js';
import { INSPECT, type Inspecting, printed } from '../runtime/printing.js';
import { checkValue } from './options.js';
import type { Leadership as PublicLeadership } from './public.js';

/** The parts of the ttl after which the value is written again: usually, and if no quorum has taken it. */
const REWRITE_AT = 1 / 3;
const REWRITE_SOON_AT = 1 / 12;

export class Leadership implements PublicLeadership {
  readonly fence: number;
  readonly #coordination: Coordination;
  readonly #lease: Lease;
  readonly #notes: Notes;
  readonly #call: CallTerms;
  #value: string;
  #seq = 1;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(coordination: Coordination, lease: Lease, notes: Notes, call: CallTerms, value: string) {
    this.#coordination = coordination;
    this.#lease = lease;
    this.#notes = notes;
    this.#call = call;
    this.#value = value;
    this.fence = lease.fence ?? 0; // elections are fenced
  }

  /** The lease under a leadership, for observers that must not disturb it. */
  static leaseOf(leadership: PublicLeadership): Lease | undefined {
    return #lease in leadership ? leadership.#lease : undefined;
  }

  get resources(): readonly string[] {
    return this.#lease.resources;
  }

  get ttlMs(): number {
    return this.#lease.ttlMs;
  }

  get status(): LeaseStatus {
    return this.#lease.status;
  }

  get signal(): AbortSignal {
    return this.#lease.signal;
  }

  get value(): string {
    return this.#value;
  }

  remainingMs(): number {
    return this.#lease.remainingMs();
  }

  assertHeld(): void {
    this.#lease.assertHeld();
  }

  extend(ttlMs?: number): Promise<void> {
    return this.#lease.extend(ttlMs);
  }

  async proclaim(given: string): Promise<void> {
    const value = checkValue(given);
    this.assertHeld();
    this.#value = value;
    this.#seq++;
    const error = await this.write();
    if (error === undefined) return;
    this.assertHeld(); // the reason why it leads no longer says more
    throw error;
  }

  async resign(): Promise<void> {
    const error = await this.#resign();
    if (error !== undefined) throw error;
  }

  async release(): Promise<void> {
    await this.#resign();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  toJSON(): object {
    const { fence, resources, status, ttlMs, value } = this;
    return { resources, fence, value, ttlMs, status, remainingMs: this.remainingMs() };
  }

  [INSPECT](...given: Inspecting): string {
    return printed(this, 'Leadership', ...given);
  }

  /** Runs a routine while it leads, and then resigns. */
  run<T>(routine: () => Promise<T> | T): Promise<T> {
    return this.#coordination.held.during(this.#lease, this, routine);
  }

  /** Writes the value now, and repeatedly until the end. @returns the error if no quorum has taken it this time */
  async write(): Promise<RedlockError | undefined> {
    const { fence } = this;
    const note = { fence, seq: this.#seq, text: this.#value, lifeMs: this.ttlMs };
    this.#rewriteIn(this.ttlMs * REWRITE_AT);
    const error = await this.#notes.write(this.#lease.token, note, this.#nodeTimeoutMs);
    if (error !== undefined) this.#rewriteIn(this.ttlMs * REWRITE_SOON_AT);
    return error;
  }

  get #nodeTimeoutMs(): number {
    return this.#coordination.coordinator.nodeTimeoutFor(this.#call);
  }

  #rewriteIn(delayMs: number): void {
    this.#timer?.cancel();
    if (this.#isOver || this.status !== 'held') return;
    this.#timer = this.#coordination.timers.background(delayMs, () => {
      if (!this.#isOver && this.status === 'held') void this.write();
    });
  }

  /** Gives the votes back first: the next leader need not wait for the old value to go, since its own replaces it. */
  async #resign(): Promise<RedlockError | undefined> {
    const isAgain = this.#isOver;
    this.#isOver = true;
    this.#timer?.cancel();
    await this.#lease.release();
    if (isAgain) await this.#notes.withdraw(this.#lease.token, this.#nodeTimeoutMs);
    return this.#notes.drop(this.#lease.token, this.#nodeTimeoutMs);
  }
}
