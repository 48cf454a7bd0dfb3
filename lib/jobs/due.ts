/** Which ticks are due, which of them to run, and how long the record of a run lives. Pure. */
import type { Policy } from './options.js';
import { type Known, notBeforeMs } from './record.js';
import { type Schedule, ticksIn } from './schedule.js';
import type { MissReason, SkipReason } from './public.js';

/** What to do under a lease. */
export interface Plan {
  /** The tick to run; undefined for no run. */
  readonly run: number | undefined;
  /** Whether others will be run after it. */
  readonly hasMore: boolean;
  /** If there is nothing to run: ticks up to here are over, and the record does not say so yet. */
  readonly over: number | undefined;
  /** Ticks up to this instant were looked at. */
  readonly seenMs: number;
  readonly skipped: readonly { readonly tick: number; readonly reason: SkipReason }[];
  readonly missed: readonly { readonly tick: number; readonly reason: MissReason }[];
}

type Miss = Plan['missed'][number];
type Skip = Plan['skipped'][number];

/** What a claiming process knows about its claim. */
export interface Claim {
  readonly schedule: Schedule;
  readonly policy: Policy;
  /** The tick that the process claims for; undefined if it only looks for missed ones. */
  readonly own: number | undefined;
  /** It was there for all ticks after this instant. */
  readonly thereMs: number;
  /** Up to this instant, another program had the name; 0 if none had. */
  readonly elsewhereMs: number;
}

export function planOf(claim: Claim, known: Known): Plan {
  const { schedule, policy, own, thereMs, elsewhereMs } = claim;
  const { record } = known;
  const doneMs = doneUpTo(claim, known);
  const due = ticksIn(schedule, doneMs, Math.max(known.nowMs, own ?? 0), policy.missedMost);
  const elsewhere = due.filter((tick) => tick > thereMs && tick <= elsewhereMs);
  const current = due.filter((tick) => tick > thereMs && tick > elsewhereMs);
  const past: Miss[] = due
    .filter((tick) => tick <= thereMs && tick > newsMs(known))
    .map((tick) => miss(tick, 'not started'));
  // if masters may have forgotten the end of its run, it may be done
  if (record?.state === 'started')
    past.unshift(miss(record.tick, record.tick > known.sinceMs ? 'interrupted' : 'unknown'));
  const wanted = [...wantedOf(past, policy, known.nowMs, current.length > 0), ...ofCurrent(current, policy)];
  const isTooSoon = known.earliestMs < notBeforeMs(known, policy.atLeastForMs);
  const [run] = isTooSoon ? [] : wanted;
  const isOver =
    run === undefined &&
    past.length + current.length + elsewhere.length > 0 &&
    wanted.every((tick) => current.includes(tick));
  return {
    run,
    hasMore: run !== undefined && wanted.length > 1,
    over: isOver ? (due.at(-1) ?? doneMs) : undefined,
    seenMs: due.at(-1) ?? doneMs,
    skipped: [
      ...elsewhere.map((tick): Skip => ({ tick, reason: 'elsewhere' })),
      ...skippedOf({ own, current, wanted, isTooSoon, known }),
    ],
    missed: [...unknownOf(claim, known, doneMs), ...past].toSorted((one, other) => one.tick - other.tick),
  };
}

/**
 * The instant up to which ticks have been run, or may have been. Without a record, a process runs fresh ticks that it was
 * there for.
 */
function doneUpTo({ policy, schedule, thereMs }: Claim, known: Known): number {
  const { isGone, nowMs, record, sinceMs } = known;
  const doneMs = Math.max(record?.tick ?? 0, sinceMs);
  if (record !== undefined && !isGone) return doneMs;
  const { spanMs } = policy;
  const first = schedule.next(thereMs);
  const isFresh = first === undefined || isKept(schedule, first, { spanMs, nowMs });
  return Math.max(doneMs, thereMs, isFresh ? 0 : endedMs(spanMs, nowMs));
}

/**
 * Ticks up to this instant that nobody was there for do not count as missed: as far as is known, the schedule did not exist yet.
 */
function newsMs({ isOther, record }: Known): number {
  return record === undefined || isOther ? Infinity : record.fromMs;
}

/** Ticks that may have been run and forgotten, or that the job of another schedule has overtaken. */
function unknownOf(
  { own = 0, policy, schedule, thereMs }: Claim,
  known: Known,
  doneMs: number,
): readonly Miss[] {
  const { isOther, nowMs, record } = known;
  const toMs = Math.min(doneMs, Math.max(nowMs, own));
  const fromMs = Math.max(record?.tick ?? 0, Math.min(thereMs, newsMs(known)));
  const forgotten = ticksIn(schedule, fromMs, toMs, policy.missedMost);
  const isOvertaken = isOther && own > 0 && own < fromMs;
  const isForgotten = own > fromMs && own <= toMs && !forgotten.includes(own);
  return [...(isOvertaken || isForgotten ? [own] : []), ...forgotten].map((tick) => miss(tick, 'unknown'));
}

/** The missed ticks to make up for. A current tick makes up for all, if one run is enough. */
function wantedOf(
  past: readonly Miss[],
  policy: Policy,
  nowMs: number,
  hasCurrent: boolean,
): readonly number[] {
  const ticks = past
    .filter(({ reason, tick }) => reason !== 'unknown' && tick >= nowMs - policy.missedWithinMs)
    .map(({ tick }) => tick);
  switch (policy.missed) {
    case 'skip':
      return [];
    case 'once':
      return hasCurrent ? [] : ticks.slice(-1);
    case 'all':
      return ticks;
  }
}

function ofCurrent(current: readonly number[], { overlap }: Policy): readonly number[] {
  return overlap === 'queue' ? current : current.slice(-1);
}

function skippedOf(found: {
  readonly own: number | undefined;
  readonly current: readonly number[];
  readonly wanted: readonly number[];
  readonly isTooSoon: boolean;
  readonly known: Known;
}): readonly Skip[] {
  const { own, current, wanted, isTooSoon } = found;
  const isDone = own !== undefined && isDoneBy(found.known, own);
  const done: readonly Skip[] = isDone ? [{ tick: own, reason: 'done' }] : [];
  const late = current.filter((tick) => isTooSoon || !wanted.includes(tick));
  return [...done, ...late.map((tick): Skip => ({ tick, reason: isTooSoon ? 'too soon' : 'overlap' }))];
}

function isDoneBy({ isOther, record }: Known, own: number): boolean {
  if (record?.state !== 'done') return false;
  return isOther ? own === record.tick : own <= record.tick;
}

function miss(tick: number, reason: MissReason): Miss {
  return { tick, reason };
}

/** The margin for outages across ticks that come every few seconds, and for clocks that are apart, in ms. */
const MARGIN_MS = 3_600_000;
/** How long after its last write a run writes its record again, in ms: it may last for many ticks. */
export const REWRITE_MS = MARGIN_MS / 4;

/**
 * How long a job's record lives: until the tick after the next, and beyond it for as long as jitter may delay a claim, the
 * least distance between runs lasts, and missed ticks are wanted, with a margin. So a process that comes to a tick finds what
 * became of it, and of the one before. If there is no record, a tick younger than a record's life was not begun.
 *
 * @param spanMs  how long it is needed beyond its ticks
 */
export function lifeMs(schedule: Schedule, spanMs: number, record: { tick: number; nowMs: number }): number {
  const fromMs = Math.max(record.tick, record.nowMs);
  return afterNext(schedule, fromMs) - record.nowMs + spanMs + MARGIN_MS;
}

/** Records may have expired whose tick has its second successor before this instant. */
export function endedMs(spanMs: number, nowMs: number): number {
  return nowMs - spanMs - MARGIN_MS / 2;
}

/** Whether the record of a tick would still be there, had it been begun. */
function isKept(
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
