/**
 * What the holder of a timestamp lock has: extension and renewal, and the ways to end it (`lease-machine.ts` has its life).
 *
 * It believes in its lease only while two clocks agree: the monotonic one, from the instant before its claim was sent, and
 * the wall clock, by the instant that the others read on the key. So a wall clock that is set back does not lengthen the
 * lease, and one that is set forward ends it as soon as anybody checks.
 */
import type { RedlockError } from '../runtime/errors.js';
import { lossError } from '../quorum/failure.js';
import { expiryInstant, liveForMs, type OwnInstants } from './instant.js';
import type { TimestampKeeper } from './keeper.js';
import { LeaseMachine } from '../lease/lease-machine.js';
import { checkTimestampTtl } from './options.js';
import type { TimestampLease as PublicTimestampLease } from './public.js';
import { INSPECT, type Inspecting, printed } from '../runtime/printing.js';
import { LOSS_MARGIN_MS, RENEW_AT, renewAgainInMs } from '../protocol/validity.js';

/** How an extension ended. */
export type TimestampExtension =
  | { readonly kind: 'extended' }
  | { readonly kind: 'refused' }
  /** The server gave no clear answer: it may have extended the key. */
  | { readonly kind: 'failed'; readonly error: RedlockError };

/** The parts of a lease. */
export interface TimestampGrant {
  readonly resource: string;
  readonly instant: number;
  readonly ttlMs: number;
  /** The instant before the claim was sent, by the monotonic clock. */
  readonly sentAtMs: number;
  readonly renew: boolean;
}

/** The lease on one key: it implements what users see of it, and is never handed to them as a class. */
export class TimestampLease extends LeaseMachine<TimestampLease> implements PublicTimestampLease {
  readonly #keeper: TimestampKeeper;
  readonly #key: string;
  #own: OwnInstants;
  /** The end of validity by the monotonic clock. */
  #untilMs: number;
  /** When the next renewal is due; `Infinity` while one is under way, undefined without renewal. */
  #renewAtMs: number | undefined;
  #extending: Promise<unknown> | undefined;

  constructor(keeper: TimestampKeeper, { resource, instant, ttlMs, sentAtMs, renew }: TimestampGrant) {
    super([resource], ttlMs);
    this.#keeper = keeper;
    this.#key = resource;
    this.#own = { from: instant, to: instant };
    this.#untilMs = sentAtMs + ttlMs - keeper.options.clockMarginMs;
    this.#renewAtMs = renew ? sentAtMs + ttlMs * RENEW_AT : undefined;
    if (renew) this.arm();
  }

  /** Does its holder believe in it? For observers that must not disturb it. */
  get isValid(): boolean {
    return this.isHeld && this.leftMs() > 0;
  }

  async extend(ttlMs = this.ttlMs): Promise<void> {
    checkTimestampTtl(ttlMs, this.#keeper.options.unit);
    while (this.#extending !== undefined) await this.#extending; // one at a time
    this.assertHeld();
    const error = await this.#extend(ttlMs);
    if (error !== undefined) throw error;
  }

  release(): Promise<void> {
    this.check();
    if (this.isHeld) this.end({ kind: 'released', done: this.#giveBack() });
    return this.released;
  }

  toJSON(): object {
    const { resources, ttlMs, status } = this;
    return { resources, ttlMs, status, remainingMs: this.remainingMs() };
  }

  /** What `console.log` prints: the same as JSON. */
  [INSPECT](...given: Inspecting): string {
    return printed(this, 'TimestampLease', ...given);
  }

  protected override leftMs(): number {
    const { clock, wallMs } = this.#keeper.runtime;
    const { clockMarginMs, unit } = this.#keeper.options;
    const byInstant = liveForMs(this.#own.from, wallMs(), clockMarginMs, unit);
    return Math.max(0, Math.min(this.#untilMs - clock.now(), byInstant));
  }

  /** Waits for an extension that is under way: its end decides which instants are this lease's own. */
  async #giveBack(): Promise<void> {
    while (this.#extending !== undefined) await this.#extending;
    await this.#keeper.release(this.#key, this.#own, () => this.leftMs() > 0);
  }

  async #extend(forMs: number): Promise<RedlockError | undefined> {
    const { clock, wallMs } = this.#keeper.runtime;
    const { clockMarginMs, unit } = this.#keeper.options;
    const untilMs = clock.now() + forMs - clockMarginMs;
    const instant = expiryInstant(wallMs(), forMs, unit);
    const step = { instant, forMs, isLive: () => this.leftMs() > 0 };
    const order = this.#keeper.extend(this.#key, this.#own, step);
    this.#extending = order;
    const end = await order;
    this.#extending = undefined;
    this.check(); // by the validity as it was: one that ended meanwhile does not come back
    const { from, to } = this.#own;
    if (end.kind !== 'refused') {
      const least = end.kind === 'extended' ? Math.max(from, instant) : from;
      this.#own = { from: least, to: Math.max(to, instant) };
    }
    if (this.isHeld && end.kind === 'refused') {
      this.lose(lossError('the key is not its own any more', this.resources));
    }
    if (this.isLost && end.kind === 'extended') {
      void this.#keeper.release(this.#key, this.#own, () => clock.now() < untilMs); // too late: it is taken back
    }
    if (!this.isHeld) return this.endError;
    if (end.kind === 'failed') this.takeCare().failed(end.error);
    else this.care?.succeeded(false);
    if (end.kind !== 'extended') return end.kind === 'failed' ? end.error : undefined;
    this.#untilMs = Math.max(this.#untilMs, untilMs);
    if (this.#renewAtMs !== undefined)
      this.#renewAtMs = untilMs + clockMarginMs - forMs + this.ttlMs * RENEW_AT;
    this.arm();
    return undefined;
  }

  /** The one timer: the next renewal, or the end of validity, if anybody listens for it. */
  protected override arm(): void {
    this.disarm();
    if (!this.isHeld || (this.care?.controller === undefined && this.#renewAtMs === undefined)) return;
    const { clock, timers } = this.#keeper.runtime;
    const dueInMs = (this.#renewAtMs ?? Infinity) - clock.now();
    const endInMs = Math.max(0, Math.floor(this.leftMs() - LOSS_MARGIN_MS / 2)); // not too late
    this.takeCare().timer = timers.background(Math.min(dueInMs, endInMs), () => this.#wake());
  }

  #wake(): void {
    this.takeCare().timer = undefined;
    if (this.leftMs() <= LOSS_MARGIN_MS) return this.expire();
    if (this.#renewAtMs !== undefined && this.#keeper.runtime.clock.now() >= this.#renewAtMs) {
      this.#renewAtMs = Infinity;
      void this.#renew();
    }
    this.arm();
  }

  /** The signal reports a loss; after any other failure, it tries again while the lease lasts. */
  async #renew(): Promise<void> {
    while (this.#extending !== undefined) await this.#extending;
    if (this.status !== 'held') return;
    const error = await this.#extend(this.ttlMs);
    if (error === undefined || !this.isHeld) return;
    const delayMs = renewAgainInMs(this.leftMs());
    this.#renewAtMs = this.#keeper.runtime.clock.now() + delayMs;
    this.arm();
  }

  protected override disarm(): void {
    if (this.care === undefined) return;
    this.care.timer?.cancel();
    this.care.timer = undefined;
  }
}
