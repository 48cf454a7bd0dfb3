/**
 * Goes through all schedules of a small world that deviate from the usual order at most k times: delay-bounded scheduling
 * (Emmi, Qadeer, Rakamarić: Delay-Bounded Scheduling, POPL 2011). The usual order is deterministic, so a schedule is its
 * deviations; each run starts from the beginning and keeps no state (Godefroid: VeriSoft, POPL 1997). A run shows which
 * steps come after its last deviation, and each deviation at one of them is a schedule with one more. So each schedule
 * within the bound is run exactly once.
 */
import { isDelay, type Schedule } from './deviations.js';
import { runSmall, type SmallReport } from './run.js';
import type { SmallWorld } from './worlds.js';

export interface Bounds {
  /** The most deviations in a schedule. */
  readonly k: number;
  /** The most faults among them. */
  readonly faults: number;
}

/** A schedule that was run. */
export interface Explored {
  readonly schedule: Schedule;
  readonly report: SmallReport;
}

/** All schedules within the bounds, those with fewer deviations first. */
export async function* explore(small: SmallWorld, { k, faults }: Bounds): AsyncGenerator<Explored> {
  let level: Iterable<Schedule> = [[]];
  for (let size = 0; size <= k; size++) {
    const next: Iterable<Schedule>[] = [];
    for (const schedule of level) {
      const report = await runSmall(small, schedule);
      if (size < k) next.push(extensions(schedule, report.steps, faults));
      yield { schedule, report };
    }
    level = chain(next);
  }
}

/** The schedules with one deviation more, at a later step. */
function* extensions(schedule: Schedule, steps: SmallReport['steps'], faults: number): Generator<Schedule> {
  const first = (schedule.at(-1)?.step ?? -1) + 1;
  const isStruck = schedule.filter(({ kind }) => !isDelay(kind)).length >= faults;
  for (let step = first; step < steps.length; step++) {
    for (const kind of steps[step] ?? []) {
      if (isDelay(kind) || !isStruck) yield [...schedule, { step, kind }];
    }
  }
}

function* chain<T>(lists: readonly Iterable<T>[]): Generator<T> {
  for (const list of lists) yield* list;
}
