/** Which ticks are due, and which of them are run: pure. */
import type { Policy } from './options.js';
import { type Known, notBeforeMs } from './record.js';
import { type Schedule, ticksIn } from './schedule.js';
import type { MissReason, SkipReason } from './public.js';

/** What is to be done under a lease. */
export interface Plan {
  /** The tick to run; undefined if there is none. */
  readonly run: number | undefined;
  /** Others are to be run after it. */
  readonly hasMore: boolean;
  /** Where there is nothing to run: up to here, ticks are over, and the record does not say so yet. */
  readonly over: number | undefined;
  readonly skipped: readonly { readonly tick: number; readonly reason: SkipReason }[];
  readonly missed: readonly { readonly tick: number; readonly reason: MissReason }[];
}

type Miss = Plan['missed'][number];

/** A process that claims knows what it claims for. */
export interface Claim {
  readonly schedule: Schedule;
  readonly policy: Policy;
  /** The tick that the process was there for; undefined if it only looks for missed ones. */
  readonly own: number | undefined;
}

export function planOf({ schedule, policy, own }: Claim, known: Known): Plan {
  const { record } = known;
  const untilMs = Math.max(known.nowMs, own ?? 0);
  const doneMs = doneUpTo(policy, own, known);
  const due = ticksIn(schedule, doneMs, untilMs, policy.missedMost);
  const current = own === undefined ? [] : due.filter((tick) => tick >= own);
  const past: Miss[] = due
    .filter((tick) => own === undefined || tick < own)
    .map((tick) => miss(tick, 'not started'));
  // where the end of its run may be forgotten, it may be done
  if (record?.state === 'started')
    past.unshift(miss(record.tick, record.tick > known.sinceMs ? 'interrupted' : 'unknown'));
  const wanted = [...wantedOf(past, policy, known.nowMs, current.length > 0), ...ofCurrent(current, policy)];
  const isTooSoon = known.earliestMs < notBeforeMs(known, policy.atLeastForMs);
  const [run] = isTooSoon ? [] : wanted;
  const missed =
    own !== undefined && isForgotten(own, doneMs, known) ? [...past, miss(own, 'unknown')] : past;
  const isOver =
    run === undefined &&
    (past.length > 0 || current.length > 0) &&
    (!isTooSoon || wanted.every((tick) => current.includes(tick)));
  return {
    run,
    hasMore: run !== undefined && wanted.length > 1,
    over: isOver ? (due.at(-1) ?? doneMs) : undefined,
    skipped: skippedOf({ own, current, wanted, isTooSoon, doneMs, known }),
    missed,
  };
}

/** Up to which instant ticks are run, or may be. Without a record, a process runs what it was there for, if that is fresh. */
function doneUpTo({ lifeMs }: Policy, own: number | undefined, { record, sinceMs, nowMs }: Known): number {
  if (record !== undefined) return Math.max(record.tick, sinceMs);
  return Math.max(sinceMs, nowMs - lifeMs / 2, own === undefined ? nowMs : own - 1);
}

/** It may have been run, and forgotten. */
function isForgotten(own: number, doneMs: number, { record }: Known): boolean {
  return own <= doneMs && (record === undefined || own > record.tick);
}

/** Those that are made up for. A current tick makes up for all, if one run is enough. */
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
  readonly doneMs: number;
  readonly known: Known;
}): Plan['skipped'] {
  const { own, current, wanted, isTooSoon, known } = found;
  if (own === undefined) return [];
  const isDone = known.record !== undefined && own <= known.record.tick && known.record.state === 'done';
  if (isDone && !wanted.includes(own)) return [{ tick: own, reason: 'done' }];
  if (isTooSoon) return current.map((tick) => ({ tick, reason: 'too soon' }));
  return current.filter((tick) => !wanted.includes(tick)).map((tick) => ({ tick, reason: 'overlap' }));
}

function miss(tick: number, reason: MissReason): Miss {
  return { tick, reason };
}
