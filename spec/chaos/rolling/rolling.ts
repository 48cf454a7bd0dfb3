/** All scenarios of a rolling run, side by side on masters of their own. */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { compilePrograms } from './actors.js';
import type { RollingOptions } from './options.js';
import { roll } from './roll.js';
import { tableOf } from './table.js';
import { judgeRoll } from './verdict.js';

/** The processes of one scenario start at one instant, and those of all would keep each other from it. */
const APART_MS = 2_000;

/** How many promises were broken, and how many may have been broken by the machine alone. */
export interface RollingCounts {
  readonly violations: number;
  readonly excused: number;
}

export async function runRolling(
  { scenarios, ttlMs, rounds }: RollingOptions,
  signal: AbortSignal,
  say: (text: string) => void,
): Promise<RollingCounts> {
  const programs = await compilePrograms();
  const failing = new AbortController();
  const all = AbortSignal.any([signal, failing.signal]);
  setMaxListeners(0, all); // each scenario waits for it
  try {
    const rolling = scenarios.map(async (scenario, i) => {
      await sleep(i * APART_MS, undefined, { signal: all });
      return roll(scenario, { ttlMs, rounds, programs, signal: all });
    });
    // where one fails, the others put their processes away before this ends
    for (const one of rolling) one.catch((error: unknown) => failing.abort(error));
    await Promise.allSettled(rolling);
    failing.signal.throwIfAborted();
    const records = await Promise.all(rolling);
    const verdicts = records.map((record) => ({ record, verdict: judgeRoll(record) }));
    for (const { record, verdict } of verdicts) say(tableOf(record, verdict));
    return {
      violations: verdicts.reduce((sum, { verdict }) => sum + verdict.violations.length, 0),
      excused: verdicts.reduce((sum, { verdict }) => sum + verdict.excused.length, 0),
    };
  } finally {
    programs.remove();
  }
}
