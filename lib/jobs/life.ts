/**
 * How long a job's record lives: until the tick after the next, and beyond it for as long as jitter may delay a claim, the
 * least distance between runs lasts, and missed ticks are wanted, with a margin. So a process that comes to a tick finds what
 * became of it, and of the one before. If there is no record, a tick younger than a record's life was not begun.
 */
import type { Schedule } from './schedule.js';

/** The margin for outages across ticks that come every few seconds, and for clocks that are apart, in ms. */
const MARGIN_MS = 3_600_000;
/** How long after its last write a run writes its record again, in ms: it may last for many ticks. */
export const REWRITE_MS = MARGIN_MS / 4;

/** @param spanMs  how long it is needed beyond its ticks */
export function lifeMs(schedule: Schedule, spanMs: number, record: { tick: number; nowMs: number }): number {
  const fromMs = Math.max(record.tick, record.nowMs);
  return afterNext(schedule, fromMs) - record.nowMs + spanMs + MARGIN_MS;
}

/** Records may have expired whose tick has its second successor before this instant. */
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
