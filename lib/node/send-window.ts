/**
 * What one master was asked and has not answered, and how much more it may be asked: at most `WINDOW` requests, and
 * `SILENT_WINDOW` once it is silent.
 */
import type { Clock } from '../runtime/clock.js';

/** Unanswered requests on one connection. Enough for 10,000 requests a second at a round trip of 100 ms. */
export const WINDOW = 1_000;
/** The same once the master is silent. */
export const SILENT_WINDOW = 16;
/** A master that answered nothing for so long, while at least `SILENT_WINDOW` requests are unanswered, is silent. */
const SILENT_AFTER_MS = 200;
/** How often a silent master whose client times commands out by itself is asked again. */
const PROBE_EVERY_MS = 5_000;

export class SendWindow {
  /** Requests without an answer. */
  inFlight = 0;
  /** An attempt gave up waiting for this master, and it has answered nothing since. */
  isSilent = false;
  readonly #clock: Clock;
  /** Those among the unanswered whose promise the client rejected by its own timeout. */
  #abandoned = 0;
  /** When that many were unanswered first, with no answer since. */
  #crowdedSinceMs: number | undefined;
  #probedAtMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many of so many requests may be sent now. */
  roomFor(wanted: number): number {
    const least = SILENT_WINDOW - this.inFlight;
    if (wanted <= least) return wanted; // the usual case reads no clock
    this.#noticeSilence();
    const room = this.isSilent ? least : WINDOW - this.inFlight;
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

  /** @param count  how many requests were in the call that was answered */
  answered(count: number): void {
    this.inFlight -= count + this.#abandoned; // answers come in order: those before this one came as well
    this.#abandoned = 0;
    this.isSilent = false;
    this.#crowdedSinceMs = undefined;
  }

  /** The client rejected so many by its own timeout. They may still run: their tokens stay owed until they are withdrawn. */
  abandon(count: number): void {
    this.#abandoned += count;
    this.isSilent = true;
  }

  /** An attempt that gets its quorum from the others never waits for this one, and would not notice. */
  #noticeSilence(): void {
    if (this.isSilent) return;
    const nowMs = this.#clock.earliest();
    this.#crowdedSinceMs ??= nowMs;
    if (nowMs - this.#crowdedSinceMs > SILENT_AFTER_MS) this.isSilent = true;
  }
}
