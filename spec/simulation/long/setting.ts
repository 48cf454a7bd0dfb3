/** What a long world is drawn to be: the job, the processes that come and go, the outages, and the runs by hand. */
import { dateAt } from '../../../lib/jobs/date.js';
import type { JobOptions } from '../../../lib/jobs/public.js';
import { type Schedule, scheduleOf } from '../../../lib/jobs/schedule.js';
import type { FaultKind } from '../world/faults.js';
import type { Seeded } from '../world/seeded.js';
import { WALL_US } from '../world/world.js';

export const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000] as const;
/** What the masters' clocks show at the beginning, but for how far they are apart. */
export const START_MS = WALL_US / 1_000;
export const TTL_MS = 30 * SECOND;

/** A span of true time. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A process from its start to its end. */
export interface Life extends Span {
  /** It dies; else it stops its job, and closes. */
  readonly crashes: boolean;
}

export interface Outage extends Span {
  readonly kind: FaultKind;
  /** How many masters it strikes. */
  readonly masters: number;
}

export interface ByHand {
  readonly atMs: number;
  readonly takesMs: number;
}

/** What may be asked for; the rest is drawn. */
export interface LongOptions {
  /** For how long, in days; by default as suits the schedule. */
  readonly days?: number;
  /** The number of processes at a time. */
  readonly processes?: number;
  readonly masters?: number;
  readonly job?: Partial<JobOptions>;
  /** Nothing goes wrong. */
  readonly isCalm?: boolean;
  /** Keeps the history, line by line. */
  readonly history?: boolean;
}

export interface LongSetting {
  readonly job: JobOptions;
  readonly schedule: Schedule;
  /** All ticks, by the masters' time. */
  readonly ticks: readonly number[];
  readonly untilMs: number;
  readonly masters: number;
  readonly lives: readonly Life[];
  readonly outages: readonly Outage[];
  readonly byHand: readonly ByHand[];
  /** How long a usual run takes at most, and a long one. */
  readonly runMs: number;
  readonly longRunMs: number;
}

interface Kind {
  readonly timing: { readonly every: number } | { readonly cron: string; readonly timeZone: string };
  /** The usual distance of two ticks. */
  readonly everyMs: number;
  readonly days: number;
}

const BERLIN = 'Europe/Berlin';
const KINDS: readonly Kind[] = [
  { timing: { every: DAY }, everyMs: DAY, days: 40 },
  { timing: { cron: '0 6 * * *', timeZone: BERLIN }, everyMs: DAY, days: 60 },
  { timing: { cron: '30 2 * * *', timeZone: BERLIN }, everyMs: DAY, days: 200 },
  { timing: { cron: '0 9 * * 1-5', timeZone: BERLIN }, everyMs: DAY, days: 60 },
  { timing: { every: HOUR }, everyMs: HOUR, days: 3 },
  { timing: { every: 10 * MINUTE }, everyMs: 10 * MINUTE, days: 0.5 },
];
const MOST_LIVES = 24;

function ticksOf(schedule: Schedule, toMs: number): readonly number[] {
  const ticks: number[] = [];
  for (let tick = schedule.next(START_MS); tick !== undefined && tick < START_MS + toMs;) {
    ticks.push(tick);
    tick = schedule.next(tick);
  }
  return ticks;
}

export async function drawSetting(seeded: Seeded, options: LongOptions): Promise<LongSetting> {
  const kind = kindOf(options) ?? seeded.pick(KINDS);
  const { everyMs } = kind;
  const untilMs = (options.days ?? kind.days) * DAY;
  const schedule = await scheduleOf(kind.timing);
  const ticks = ticksOf(schedule, untilMs);
  const isCalm = options.isCalm === true;
  const terms = {
    missed: seeded.pick(['skip', 'once', 'all'] as const),
    missedWithinMs: seeded.pick([HOUR, 2 * everyMs]),
    overlap: seeded.pick(['skip', 'queue'] as const),
    jitterMs: Math.min(seeded.pick([0, 0, MINUTE, 5 * MINUTE]), everyMs / 4),
    ttlMs: TTL_MS,
  };
  const [masters, processes] = [seeded.pick([1, 1, 3]), seeded.pick([1, 1, 2, 3])];
  return {
    job: { ...kind.timing, ...terms, ...options.job } as JobOptions, // the parts are typed one by one
    ...{ schedule, ticks, untilMs, masters: options.masters ?? masters },
    lives: livesOf(seeded.fork('lives'), options.processes ?? processes, { everyMs, untilMs, isCalm }),
    outages: isCalm ? [] : outagesOf(seeded.fork('outages'), ticks, options.masters ?? masters),
    byHand: byHandOf(seeded.fork('by hand'), ticks, isCalm),
    runMs: seeded.pick([5 * SECOND, MINUTE]),
    longRunMs: isCalm || everyMs > HOUR ? 5 * MINUTE : seeded.pick([2.5, 10]) * everyMs,
  };
}

function kindOf({ job = {} }: LongOptions): Kind | undefined {
  if ('every' in job && job.every !== undefined)
    return { timing: { every: job.every }, everyMs: job.every, days: 40 };
  if (!('cron' in job) || job.cron === undefined) return undefined;
  return { timing: { cron: job.cron, timeZone: job.timeZone ?? 'UTC' }, everyMs: DAY, days: 40 };
}

/** In each slot, one process after another. */
function livesOf(
  seeded: Seeded,
  slots: number,
  { everyMs, untilMs, isCalm }: { everyMs: number; untilMs: number; isCalm: boolean },
): readonly Life[] {
  if (isCalm)
    return Array.from({ length: slots }, (_, i) => ({ fromMs: i * SECOND, toMs: untilMs, crashes: false }));
  const lives: Life[] = [];
  for (let slot = 0; slot < slots; slot++) {
    let fromMs = seeded.between(0, everyMs);
    while (fromMs < untilMs && lives.length < (MOST_LIVES * (slot + 1)) / slots) {
      const lastingMs = seeded.chance(0.3)
        ? seeded.between(HOUR, 2 * everyMs)
        : seeded.between(2, 15) * everyMs;
      const toMs = Math.min(untilMs, fromMs + lastingMs);
      lives.push({ fromMs, toMs, crashes: toMs < untilMs && seeded.chance(0.4) });
      const gapMs = seeded.chance(0.5) ? seeded.between(SECOND, MINUTE) : seeded.between(0, 1.7) * everyMs;
      fromMs = toMs + gapMs;
    }
  }
  return lives;
}

/** About every fourth tick: masters are away just before it, or just after it, for long or for a moment. */
function outagesOf(seeded: Seeded, ticks: readonly number[], masters: number): readonly Outage[] {
  const outages: Outage[] = [];
  for (const tick of ticks) {
    if (!seeded.chance(0.25)) continue;
    const kind = seeded.pick(['server stopped', 'server loading', 'server crash'] as const);
    const fromMs =
      tick - START_MS + (seeded.chance(0.5) ? seeded.between(-20, 10) * SECOND : seeded.between(-300, 40));
    const lastingMs = seeded.pick([8, 40, 40, kind === 'server loading' ? 240 : 90]) * SECOND;
    const struck = seeded.chance(0.2) ? Math.ceil(masters / 2) - 1 : masters;
    if (fromMs <= (outages.at(-1)?.toMs ?? 0) || struck === 0) continue;
    outages.push({ kind, fromMs, toMs: fromMs + lastingMs, masters: struck });
  }
  return outages;
}

/** Around ticks, and at any time. */
function byHandOf(seeded: Seeded, ticks: readonly number[], isCalm: boolean): readonly ByHand[] {
  if (isCalm) return [];
  const by: ByHand[] = [];
  for (const tick of ticks) {
    if (!seeded.chance(0.15)) continue;
    const offMs = seeded.chance(0.5) ? seeded.between(0, 30) : seeded.between(-100, 20) * SECOND;
    by.push({ atMs: Math.max(0, tick - START_MS + offMs), takesMs: seeded.pick([1, 20, 120]) * SECOND });
  }
  return by;
}

/** An instant, for people. */
export function shown(tick: number): string {
  return dateAt(tick).toISOString().slice(0, 19);
}
