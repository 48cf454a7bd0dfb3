/**
 * How long a job's record lives: until the tick after the next, and on for as long as jitter may delay a claim, a distance is
 * to be kept, and missed ticks are wanted, with a margin. So whoever comes to a tick finds what was made of it, and of the one
 * before. Without a record, a tick that is younger than that was not begun.
 */
import type { Schedule } from './schedule.js';

/** Outages over a tick that comes every few seconds, and clocks that are apart, in ms. */
const MARGIN_MS = 3_600_000;
/** A run writes its record again this often, in ms: it may last for many ticks. */
export const REWRITE_MS = MARGIN_MS / 4;

/** @param spanMs  how long it is needed beside its ticks */
export function lifeMs(schedule: Schedule, spanMs: number, record: { tick: number; nowMs: number }): number {
  const fromMs = Math.max(record.tick, record.nowMs);
  return afterNext(schedule, fromMs) - record.nowMs + spanMs + MARGIN_MS;
}

/** Records of ticks whose second successor came before this instant may have ended their lives. */
export function endedMs(spanMs: number, nowMs: number): number {
  return nowMs - spanMs - MARGIN_MS / 2;
}

/** Whether the record of a tick would still be there, had it been begun. */
export function isKept(
  schedule: Schedule,
  tick: number,
  { spanMs, nowMs }: { spanMs: number; nowMs: number },
): boolean {
  return afterNext(schedule, tick) > endedMs(spanMs, nowMs);
}

/** The second tick after an instant; in a schedule that ends, the last one. */
function afterNext(schedule: Schedule, afterMs: number): number {
  const next = schedule.next(afterMs) ?? afterMs;
  return schedule.next(next) ?? next;
}
