/**
 * Counts the requests in flight to one master, and limits them: at most `WINDOW`, and `SILENT_WINDOW` once it is silent.
 */
import type { Clock } from '../runtime/clock.js';
import { RoundTrip } from './round-trip.js';

/** Requests in flight on one connection. Enough for 10,000 requests a second at a round trip of 100 ms. */
export const WINDOW = 1_000;
/** The limit while the master is silent. */
export const SILENT_WINDOW = 16;
/**
 * A master is silent if it answers nothing for this long while at least `SILENT_WINDOW` requests are in flight, or for as
 * long as its answers take.
 */
const SILENT_AFTER_MS = 200;
/** The most that the time between two looks counts, in ms: this process may have been stopped, with the answers unread. */
const MOST_COUNTED_MS = 50;
/** The time between two probes of a silent master, if its client times commands out by itself. */
const PROBE_EVERY_MS = 5_000;

export class SendWindow {
  /** How many requests are in flight. */
  inFlight = 0;
  /** How many calls were sent so far, and how many requests they had. */
  calls = 0;
  requests = 0;
  /** Called when the master becomes silent, and when it no longer is. */
  onSilence: (() => void) | undefined;
  #isSilent = false;
  /** When that changed last. */
  #changedAtMs = 0;
  readonly #clock: Clock;
  readonly #trip: RoundTrip;
  /** How many of those in flight were rejected by the client's own timeout. */
  #abandoned = 0;
  /** The last look at a master with at least `SILENT_WINDOW` requests in flight; undefined once it answers. */
  #countedAtMs: number | undefined;
  /** For how long it has not answered since the first of these looks. */
  #quietMs = 0;
  #probedAtMs = -Infinity;

  constructor(clock: Clock, trip = new RoundTrip()) {
    this.#clock = clock;
    this.#trip = trip;
  }

  /**
   * An attempt gave up waiting for this master, its client timed a command out, or many requests went unanswered; and it
   * has answered nothing since.
   */
  get isSilent(): boolean {
    return this.#isSilent;
  }
  set isSilent(isSilent: boolean) {
    if (isSilent === this.#isSilent) return;
    this.#isSilent = isSilent;
    this.#changedAtMs = this.#clock.earliest();
    this.onSilence?.();
  }

  /** For how long it has been silent; 0 if it answers. */
  get silentForMs(): number {
    return this.#isSilent ? this.#clock.earliest() - this.#changedAtMs : 0;
  }

  /** A call was sent. @param count  how many requests it had */
  sent(count: number): void {
    this.inFlight += count;
    this.calls++;
    this.requests += count;
  }

  /** How many of the `wanted` requests may be sent now. */
  roomFor(wanted: number): number {
    const least = SILENT_WINDOW - this.inFlight;
    if (wanted <= least) return wanted; // the usual case reads no clock
    this.#noticeSilence();
    const room = this.#isSilent ? least : WINDOW - this.inFlight;
    if (room > 0) return Math.min(wanted, room);
    return wanted > 0 && this.#mayProbe() ? 1 : 0;
  }

  #mayProbe(): boolean {
    if (this.#abandoned === 0) return false;
    const nowMs = this.#clock.earliest();
    if (nowMs - this.#probedAtMs < PROBE_EVERY_MS) return false;
    this.#probedAtMs = nowMs;
    return true;
  }

  /** @param count  how many requests the answered call had */
  answered(count: number): void {
    this.inFlight -= count + this.#abandoned; // answers come in order: those were answered, too
    this.#abandoned = 0;
    this.isSilent = false;
    this.#countedAtMs = undefined;
    this.#quietMs = 0;
  }

  /** The client's own timeout rejected `count` requests. They may still run, so their tokens are owed an undo. */
  abandon(count: number): void {
    this.#abandoned += count;
    this.isSilent = true;
  }

  /** Attempts that get their quorum from the other masters never wait for this one, so they would not notice. */
  #noticeSilence(): void {
    const nowMs = this.#clock.earliest();
    this.#quietMs += Math.min(nowMs - (this.#countedAtMs ?? nowMs), MOST_COUNTED_MS);
    this.#countedAtMs = nowMs;
    if (this.#quietMs > Math.max(SILENT_AFTER_MS, this.#trip.expectedMs)) this.isSilent = true;
  }
}
