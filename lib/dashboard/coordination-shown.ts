/** Leaders and jobs, by the notes beside their locks. Pure, but for what a job's ticks are remembered in. */
import type { LockKnown } from './combining.js';
import type { JobShown, LeaderShown, TickShown } from './public.js';

export function leaderOf(lock: LockKnown): LeaderShown | undefined {
  const { name, value, holders, waiting } = lock;
  if (value === undefined) return undefined;
  const [holder] = value.isHolders ? holders : [];
  return {
    ...{ name, value: value.text, fence: value.fence, since: Math.round(value.fence / 1_000) },
    ...(holder === undefined ? {} : { holder }),
    candidates: waiting,
  };
}

/** Version, tick, state, not before, since when, and the schedule: `jobs/record.ts` writes it. */
const RECORD = /^2\|(\d{1,16})\|([sd])\|\d{1,16}\|\d{1,16}\|(.*)$/s;
/** How many ticks of a job are remembered. */
const MOST_TICKS = 8;
/** Of how many jobs. */
const MOST_JOBS = 1_000;

/** Finds the next tick of a schedule by its text. */
export type NextTick = (schedule: string, afterMs: number) => number | undefined;

/** Jobs, and those of their ticks that were seen: a record has only the last one. */
export class JobsSeen {
  readonly #ticks = new Map<string, readonly TickShown[]>();

  jobOf(lock: LockKnown, nowMs: number, nextTick: NextTick): JobShown | undefined {
    const { holders, name, record } = lock;
    const [, at, letter, schedule] = RECORD.exec(record?.text ?? '') ?? [];
    if (record === undefined || schedule === undefined) return undefined;
    const isRunning = letter === 's' && record.isHolders;
    const [runner] = isRunning ? holders : [];
    const tick = { at: Number(at), startedAt: Math.round(record.fence / 1_000) };
    const ticks = this.#remember(name, tickOf(tick, { letter, isRunning, endedMs: record.writtenAtMs }));
    const next = nextTick(schedule, nowMs);
    return {
      ...{ name, schedule, ticks },
      ...(next === undefined ? {} : { next }),
      ...(runner === undefined ? {} : { runner }),
    };
  }

  #remember(name: string, latest: TickShown): readonly TickShown[] {
    const before = (this.#ticks.get(name) ?? []).filter(({ at }) => at !== latest.at);
    const ticks = latest.at === 0 ? before : [latest, ...before].slice(0, MOST_TICKS);
    this.#ticks.delete(name);
    this.#ticks.set(name, ticks);
    if (this.#ticks.size > MOST_JOBS)
      for (const oldest of this.#ticks.keys()) return this.#forget(oldest, ticks);
    return ticks;
  }

  #forget(oldest: string, ticks: readonly TickShown[]): readonly TickShown[] {
    this.#ticks.delete(oldest);
    return ticks;
  }
}

/** A run that succeeds writes the record at its end; a long one writes it also in between. */
function tickOf(
  tick: Pick<TickShown, 'at' | 'startedAt'>,
  found: {
    readonly letter: string | undefined;
    readonly isRunning: boolean;
    readonly endedMs: number;
  },
): TickShown {
  const { endedMs, isRunning, letter } = found;
  if (letter === 'd')
    return { ...tick, state: 'done', tookMs: Math.max(0, Math.round(endedMs - tick.startedAt)) };
  return { ...tick, state: isRunning ? 'running' : 'interrupted' };
}
