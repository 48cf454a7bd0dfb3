/** Looks for a schedule of a small world that shows a mistake. */
import { compile, huntSmall } from '../simulation/hunt.js';
import type { Mistake } from './mistake.js';

const [MOST_FAULTS, LIMIT_MS] = [2, 3_600_000];

/** @returns the first schedule with at most k deviations that does, in words */
export async function scheduleOf(
  { name, noticedBy, patches }: Mistake,
  world: string,
  k: number,
): Promise<string> {
  const { breaks = [] } = noticedBy;
  const wrong = await compile(name, patches);
  const task = { world, k, faults: MOST_FAULTS, ...(breaks.length > 0 && { breaks }) };
  const { crash, schedule, schedules, violation } = await huntSmall(wrong, task, LIMIT_MS);
  const found = schedule === undefined ? (crash ?? 'nothing') : `${schedule}: ${violation?.property}`;
  return `${name}: ${world}, after ${schedules} schedules: ${found}`;
}
