/**
 * What the holder of a timestamp lock has: the end of validity, a signal for the loss, renewal, and the ways to end the lease.
 *
 * It believes in its lease only while two clocks agree: the monotonic one, from the instant before its claim was sent, and
 * the wall clock, by the instant that the others read on the key. So a wall clock that is set back does not lengthen the
 * lease, and one that is set forward ends it as soon as anybody checks.
 */
import type { Clock, Timer, Timers, WallClock } from '../runtime/clock.js';
import { RedlockError } from '../runtime/errors.js';
import { expiryError, lossError, nameResources } from '../quorum/failure.js';
import { expiryInstant, liveForMs, type OwnInstants, type TimestampUnit } from './instant.js';
import type { LeaseStatus } from '../lease/public.js';
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

/** The instant that an extension writes, and how long the lease lives with it. */
export interface ExtensionStep {
  readonly instant: number;
  readonly forMs: number;
  /** Has the lease still time, by both clocks? */
  readonly isLive: () => boolean;
}

/** What a lease needs from its lock. */
export interface TimestampLeaseEnvironment {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly wallMs: WallClock;
  readonly unit: TimestampUnit;
  readonly clockMarginMs: number;
  extend(own: OwnInstants, step: ExtensionStep): Promise<TimestampExtension>;
  /** Never rejects. */
  release(own: OwnInstants, isLive: () => boolean): Promise<void>;
}

/** The parts of a lease. */
export interface TimestampGrant {
  readonly resource: string;
  readonly instant: number;
  readonly ttlMs: number;
  /** The instant before the claim was sent, by the monotonic clock. */
  readonly sentAtMs: number;
  readonly renew: boolean;
}

type State =
  | { readonly kind: 'held' }
  | { readonly kind: 'lost'; readonly error: RedlockError }
  | { readonly kind: 'released'; readonly done: Promise<void> };

const HELD: State = Object.freeze({ kind: 'held' });

/** The lease on one key: it implements the users' interface, and users never get it as a class. */
export class TimestampLease implements PublicTimestampLease {
  readonly resources: readonly string[];
  readonly ttlMs: number;
  readonly #environment: TimestampLeaseEnvironment;
  #own: OwnInstants;
  /** The end of validity by the monotonic clock. */
  #untilMs: number;
  /** When the next renewal is due; `Infinity` while one is under way, undefined without renewal. */
  #renewAtMs: number | undefined;
  #state = HELD;
  #controller: AbortController | undefined;
  #timer: Timer | undefined;
  #extending: Promise<unknown> | undefined;
  /** Why the last extension failed; undefined after one that succeeded. */
  #failure: RedlockError | undefined;

  constructor(
    environment: TimestampLeaseEnvironment,
    { resource, instant, ttlMs, sentAtMs, renew }: TimestampGrant,
  ) {
    this.#environment = environment;
    this.resources = [resource];
    this.ttlMs = ttlMs;
    this.#own = { from: instant, to: instant };
    this.#untilMs = sentAtMs + ttlMs - environment.clockMarginMs;
    this.#renewAtMs = renew ? sentAtMs + ttlMs * RENEW_AT : undefined;
    if (renew) this.#arm();
  }

  /** Does its holder believe in it? For observers that must not disturb it. */
  get isValid(): boolean {
    return this.#state === HELD && this.#leftMs() > 0;
  }

  get status(): LeaseStatus {
    this.#check();
    return this.#state.kind;
  }

  remainingMs(): number {
    return this.status === 'held' ? this.#leftMs() : 0;
  }

  assertHeld(): void {
    this.#check();
    const error = this.#endError();
    if (error !== undefined) throw error;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      this.#check();
      if (this.#state.kind === 'lost') this.#controller.abort(this.#state.error);
      else this.#arm();
    }
    return this.#controller.signal;
  }

  async extend(ttlMs = this.ttlMs): Promise<void> {
    checkTimestampTtl(ttlMs, this.#environment.unit);
    while (this.#extending !== undefined) await this.#extending; // one at a time
    this.assertHeld();
    const error = await this.#extend(ttlMs);
    if (error !== undefined) throw error;
  }

  release(): Promise<void> {
    this.#check();
    if (this.#state === HELD) this.#end({ kind: 'released', done: this.#giveBack() });
    return this.#state.kind === 'released' ? this.#state.done : Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  toJSON(): object {
    const { resources, ttlMs, status } = this;
    return { resources, ttlMs, status, remainingMs: this.remainingMs() };
  }

  /** What `console.log` prints: the same as JSON. */
  [INSPECT](...given: Inspecting): string {
    return printed(this, 'TimestampLease', ...given);
  }

  #leftMs(): number {
    const { clock, clockMarginMs, unit, wallMs } = this.#environment;
    const byInstant = liveForMs(this.#own.from, wallMs(), clockMarginMs, unit);
    return Math.max(0, Math.min(this.#untilMs - clock.now(), byInstant));
  }

  /** Waits for an extension that is under way: its end decides which instants are this lease's own. */
  async #giveBack(): Promise<void> {
    while (this.#extending !== undefined) await this.#extending;
    await this.#environment.release(this.#own, () => this.#leftMs() > 0);
  }

  async #extend(forMs: number): Promise<RedlockError | undefined> {
    const { clock, clockMarginMs, unit, wallMs } = this.#environment;
    const untilMs = clock.now() + forMs - clockMarginMs;
    const instant = expiryInstant(wallMs(), forMs, unit);
    const order = this.#environment.extend(this.#own, { instant, forMs, isLive: () => this.#leftMs() > 0 });
    this.#extending = order;
    const end = await order;
    this.#extending = undefined;
    this.#check(); // by the old validity: a lease that ended meanwhile does not come back
    const { from, to } = this.#own;
    if (end.kind !== 'refused') {
      const least = end.kind === 'extended' ? Math.max(from, instant) : from;
      this.#own = { from: least, to: Math.max(to, instant) };
    }
    if (this.#state === HELD && end.kind === 'refused') {
      this.#lose(lossError('the key is not its own any more', this.resources));
    }
    if (this.#state.kind === 'lost' && end.kind === 'extended') {
      void this.#environment.release(this.#own, () => clock.now() < untilMs); // too late: take it back
    }
    if (this.#state !== HELD) return this.#endError();
    this.#failure = end.kind === 'failed' ? end.error : undefined;
    if (end.kind !== 'extended') return end.kind === 'failed' ? end.error : undefined;
    this.#untilMs = Math.max(this.#untilMs, untilMs);
    if (this.#renewAtMs !== undefined)
      this.#renewAtMs = untilMs + clockMarginMs - forMs + this.ttlMs * RENEW_AT;
    this.#arm();
    return undefined;
  }

  /** Sets the one timer: for the next renewal, or for the end of validity if anybody would be notified. */
  #arm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#state !== HELD || (this.#controller === undefined && this.#renewAtMs === undefined)) return;
    const { clock, timers } = this.#environment;
    const dueInMs = (this.#renewAtMs ?? Infinity) - clock.now();
    const endInMs = Math.max(0, Math.floor(this.#leftMs() - LOSS_MARGIN_MS / 2)); // not too late
    this.#timer = timers.background(Math.min(dueInMs, endInMs), () => this.#wake());
  }

  #wake(): void {
    this.#timer = undefined;
    if (this.#leftMs() <= LOSS_MARGIN_MS) return this.#expire();
    if (this.#renewAtMs !== undefined && this.#environment.clock.now() >= this.#renewAtMs) {
      this.#renewAtMs = Infinity;
      void this.#renew();
    }
    this.#arm();
  }

  /** The signal reports a loss; after any other failure, it tries again while the lease lasts. */
  async #renew(): Promise<void> {
    while (this.#extending !== undefined) await this.#extending;
    if (this.status !== 'held') return;
    const error = await this.#extend(this.ttlMs);
    if (error === undefined || this.#state !== HELD) return;
    const delayMs = renewAgainInMs(this.#leftMs());
    this.#renewAtMs = this.#environment.clock.now() + delayMs;
    this.#arm();
  }

  #check(): void {
    if (this.#state === HELD && this.#leftMs() <= 0) this.#expire();
  }

  /** Its validity ended. If its extension failed, that is the reason. */
  #expire(): void {
    this.#lose(expiryError(this.resources, this.#failure));
  }

  #lose(error: RedlockError): void {
    if (this.#state !== HELD) return;
    this.#end({ kind: 'lost', error });
    this.#controller?.abort(error);
  }

  /** A lease ends once, and never comes back. */
  #end(state: State): void {
    this.#state = state;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #endError(): RedlockError | undefined {
    switch (this.#state.kind) {
      case 'held':
        return undefined;
      case 'lost':
        return this.#state.error;
      case 'released':
        return new RedlockError('NOT_HELD', `the lease on ${nameResources(this.resources)} was released`, {
          resources: this.resources,
        });
    }
  }
}
