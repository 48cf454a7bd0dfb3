/**
 * The instants of timestamp locks: pure arithmetic, which reads no clock.
 *
 * A key holds the instant after which its lock may be taken over, in whole units of the wall clock (`now + ttl + 1`). An
 * instant names nobody: two clients that claim within one unit with the same ttl write the same instant. So a comparison of
 * instants decides no more than the other facts allow; each place says what it relies on.
 */
import { INSTANT_BOUNDS } from '../protocol/lua/stored.js';

/** The unit of the instants on the keys: all programs on a key must use the same. */
export type TimestampUnit = 's' | 'ms';

export const UNIT_MS: Readonly<Record<TimestampUnit, number>> = Object.freeze({ s: 1_000, ms: 1 });

/** The instant to write, by the protocol: one unit more than the ttl, for the part of `now` that is cut off. */
export function expiryInstant(wallMs: number, ttlMs: number, unit: TimestampUnit): number {
  return Math.floor(wallMs / UNIT_MS[unit]) + Math.ceil(ttlMs / UNIT_MS[unit]) + 1;
}

/** Instants below this have run out, for a client whose clock may be ahead of the holder's by the margin. */
export function expiredBelow(wallMs: number, marginMs: number, unit: TimestampUnit): number {
  return Math.floor((wallMs - marginMs) / UNIT_MS[unit]);
}

/** How long the key may stay in Redis: as long as its instant, one unit more than the ttl. */
export function keyLifeMs(ttlMs: number, unit: TimestampUnit): number {
  return (Math.ceil(ttlMs / UNIT_MS[unit]) + 1) * UNIT_MS[unit];
}

const SHAPE = /^\d+(?:\.\d+)?$/;

/** The instant in a key's text; undefined if the text is not an instant in this unit. Some programs write decimals. */
export function readInstant(text: string, unit: TimestampUnit): number | undefined {
  if (!SHAPE.test(text)) return undefined;
  const { mostSeconds, leastSeconds, mostMs } = INSTANT_BOUNDS;
  const instant = Number(text);
  if (unit === 's') return instant < mostSeconds ? instant : undefined;
  return instant < leastSeconds || (instant >= mostSeconds && instant < mostMs) ? instant : undefined;
}

/** The instants of one lease: the first that it wrote, and the latest that it wrote or tried to write. */
export interface OwnInstants {
  readonly from: number;
  readonly to: number;
}

/** How long another's late GETSET counts as written over ours, at most, in ms. */
const OVERWRITE_MS = 1_000;

/** What all programs on a key have to agree on. */
export interface Agreement {
  readonly unit: TimestampUnit;
  readonly ttlMs: number;
  /** How far wall clocks may be apart. */
  readonly clockMarginMs: number;
}

/**
 * The instants on the key that a lease takes for its own.
 *
 * A client that lost the race to take an expired lock over has written its own instant over the winner's, a round trip later:
 * a little off, to either side. And an extension without an answer may have been written or not. But a client that took the
 * lock *after* this lease did so when the lease was over (by its instant, or because the key expired in Redis), and wrote an
 * instant that is later by a ttl, less the distance of the clocks. So with one ttl in the fleet, no instant up to there is a
 * successor's, however late the comparison is.
 */
export function ownRange(own: OwnInstants, { unit, ttlMs, clockMarginMs }: Agreement): OwnInstants {
  const units = (ms: number): number => Math.ceil(ms / UNIT_MS[unit]);
  const off = Math.floor(Math.min(OVERWRITE_MS, ttlMs / 2) / UNIT_MS[unit]);
  const last = own.from + Math.max(0, units(ttlMs) - units(clockMarginMs));
  return { from: own.from - off, to: Math.min(own.to + off, last) };
}

export function isWithin(instant: number, { from, to }: OwnInstants): boolean {
  return instant >= from && instant <= to;
}

/** How long until the lock may be taken over, in ms; 0 if it may be taken over now. */
export function heldForMs(instant: number, wallMs: number, marginMs: number, unit: TimestampUnit): number {
  // a claimant takes over when its clock, in whole units, is past the instant
  const freeAtMs = (Math.floor(instant) + 1) * UNIT_MS[unit] + marginMs;
  return Math.max(0, Math.ceil(freeAtMs - wallMs));
}

/** How long its own holder may go on, in ms: it gives up a margin before any other client could take over. */
export function liveForMs(instant: number, wallMs: number, marginMs: number, unit: TimestampUnit): number {
  return instant * UNIT_MS[unit] - marginMs - wallMs;
}
