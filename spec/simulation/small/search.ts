/** Goes through a small world until a schedule breaks a promise, or until all have been run. */
import type { Violation } from '../checker/checker.js';
import { parseSchedule, scheduleText } from './deviations.js';
import { type Bounds, explore } from './explorer.js';
import { runSmall } from './run.js';
import { smallWorld } from './worlds.js';

export interface Search extends Bounds {
  readonly world: string;
  /** Only this schedule; all within the bounds by default. */
  readonly schedule?: string;
  /** Ends at the first schedule that breaks one of these; any violation by default. */
  readonly breaks?: readonly string[];
  /** It ends after this many schedules, whatever is left. */
  readonly limit?: number;
}

export interface Finding {
  /** The schedule that broke it; undefined if none did. */
  schedule: string | undefined;
  violation: Violation | undefined;
  /** How many schedules were run. */
  schedules: number;
  /** How many steps the usual order has. */
  steps: number;
  events: number;
  /** All schedules within the bounds were run. */
  isWhole: boolean;
}

/** @param found  is kept up to date, for whoever wants to know where it stands */
export async function search(task: Search, found: Finding = nothing()): Promise<Finding> {
  const small = smallWorld(task.world);
  const { breaks, limit = Infinity, schedule } = task;
  const given = schedule === undefined ? undefined : parseSchedule(schedule);
  const all = given === undefined ? explore(small, task) : once(small, given);
  for await (const one of all) {
    found.schedules++;
    found.events += one.report.events;
    if (found.schedules === 1) found.steps = one.report.steps.length;
    found.violation = one.report.violations.find(
      ({ property }) => breaks === undefined || breaks.includes(property),
    );
    if (found.violation !== undefined) {
      found.schedule = scheduleText(one.schedule);
      return found;
    }
    if (found.schedules >= limit) return found;
  }
  found.isWhole = true;
  return found;
}

export function nothing(): Finding {
  return { schedule: undefined, violation: undefined, schedules: 0, steps: 0, events: 0, isWhole: false };
}

async function* once(
  small: Parameters<typeof runSmall>[0],
  schedule: Parameters<typeof runSmall>[1],
): ReturnType<typeof explore> {
  yield { schedule, report: await runSmall(small, schedule) };
}
