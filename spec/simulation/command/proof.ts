/** Proves that the simulation notices faults beyond the model, and that one seed gives one history. */
import { randomInt } from 'node:crypto';
import type { Beyond } from '../world/faults.js';
import { simulateCoordination } from '../coordination-simulation.js';
import { simulateLong } from '../long/long-world.js';
import { DAY, type LongOptions } from '../long/setting.js';
import { simulateCrashes } from '../crash-simulation.js';
import { simulate } from '../simulation.js';
import { simulateService } from '../service-simulation.js';
import { simulateOneMaster } from '../one-master.js';
import { timeline } from '../timeline.js';
import { simulateTimestamps } from '../timestamp-simulation.js';
import { compile, hunt, type Hunt, type Quarry } from '../hunt.js';

/** Room for seeds that were never run. */
export const MOST_SEEDS = 2 ** 31;

/** The first seeds are a little before one that breaks exclusion today; after a change of the protocol it may be another. */
const BEYOND_SEEDS: readonly { readonly beyond: Beyond; readonly firstSeed: number }[] = [
  { beyond: 'clock-steps', firstSeed: 16 },
  { beyond: 'amnesia', firstSeed: 11 },
  { beyond: 'restarts', firstSeed: 38 },
];
/** Seeds are run in parts of this size until exclusion is broken, in this many parts at most. */
const [BEYOND_PART, BEYOND_PARTS] = [6, 20];

/**
 * Faults beyond the model must break exclusion; otherwise the documented model would be too narrow. Fencing tokens must
 * not fall.
 */
export async function proveBeyond(say: (line: string) => void): Promise<string[]> {
  const right = await compile('as it is', []);
  const failures: string[] = [];
  for (const { beyond, firstSeed } of BEYOND_SEEDS) {
    let [broken, runs] = [0, 0];
    for (let part = 0; part < BEYOND_PARTS && broken === 0; part++) {
      const among = { firstSeed: firstSeed + runs, seeds: BEYOND_PART };
      const task: Hunt = { ...among, limitMs: 120_000, options: { beyond } };
      const quarry: Quarry = await hunt(right, task);
      const { seed, violation, crash } = quarry;
      if (violation !== undefined)
        failures.push(`${beyond}, seed ${seed}: ${violation.property}: ${violation.text}`);
      if (crash !== undefined) return [...failures, `${beyond}: ${crash}`];
      broken += quarry.broken;
      runs += quarry.seedsRun;
    }
    say(`beyond the model, ${beyond}: exclusion broken ${broken} times in ${runs} runs, tokens in order`);
    if (broken === 0) failures.push(`${beyond}: exclusion was never broken in ${runs} runs`);
  }
  return failures;
}

const ONE_MASTER_SEEDS = 2_000;

/** What one master accepts rises, whatever coordinators do. */
export function proveOneMaster(say: (line: string) => void, seeds = ONE_MASTER_SEEDS): readonly string[] {
  const failures: string[] = [];
  let accepted = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const report = simulateOneMaster(seed);
    accepted += report.accepted;
    const [first] = report.violations;
    if (first === undefined) continue;
    if (failures.length === 0) say(timeline(report));
    failures.push(`one master, seed ${seed}: ${first.property}: ${first.text}`);
  }
  say(`one master among coordinators that do anything: ${accepted} numbers accepted in ${seeds} runs`);
  return failures;
}

const TIMESTAMP_SEEDS = 150;
/** More than any margin covers. */
const APART_MS = 1_500;

/** Timestamp locks: exclusion holds while wall clocks agree, and must break when they do not. */
export async function proveTimestamps(
  say: (line: string) => void,
  seeds = TIMESTAMP_SEEDS,
): Promise<string[]> {
  const failures: string[] = [];
  let [grants, broken] = [0, 0];
  for (let seed = 1; seed <= seeds; seed++) {
    const report = await simulateTimestamps(seed);
    grants += report.grants;
    const [first] = report.violations;
    if (first !== undefined) failures.push(`timestamp locks, seed ${seed}: ${first.property}: ${first.text}`);
    if (seed <= seeds / 5) broken += (await simulateTimestamps(seed, { apartMs: APART_MS })).broken;
  }
  say(`timestamp locks: ${grants} grants in ${seeds} runs; clocks apart: exclusion broken ${broken} times`);
  if (broken === 0) failures.push('timestamp locks: clocks apart never broke exclusion');
  return failures;
}

/** One seed must give one history. */
export async function proveSameness(seed: number, say: (line: string) => void): Promise<string[]> {
  const [once, twice] = [await simulate(seed), await simulate(seed, { history: true })];
  say(`seed ${seed} twice: history ${once.digest} and ${twice.digest}`);
  return once.digest === twice.digest
    ? []
    : [`seed ${seed} has two histories: ${once.digest} and ${twice.digest}`];
}

const [LONG_SEEDS, LONG_FRESH] = [9, 3];
/** Over both changes of the clocks, without faults. */
const YEAR: LongOptions = {
  ...{ days: 365, processes: 10, masters: 3, isCalm: true },
  job: { cron: '30 2 * * *', timeZone: 'Europe/Berlin' },
};

/** Days to months of a job: each tick is begun once, or told with the reason that is true. */
export async function proveLongJobs(say: (line: string) => void): Promise<string[]> {
  const failures: string[] = [];
  const sum = { ticks: 0, starts: 0, days: 0 };
  const add = async (seed: number, options?: LongOptions): Promise<void> => {
    const { starts, ticks, tookMs, violations } = await simulateLong(seed, options);
    sum.ticks += ticks;
    sum.starts += starts;
    sum.days += tookMs / DAY;
    for (const { property, text } of violations.slice(0, 1))
      failures.push(`long jobs, seed ${seed}: ${property}: ${text}`);
  };
  const first = randomInt(1_000_000, 2 ** 31);
  for (let seed = 1; seed <= LONG_SEEDS; seed++) await add(seed);
  for (let seed = first; seed < first + LONG_FRESH; seed++) await add(seed);
  await add(1, YEAR);
  const { days, starts, ticks } = sum;
  say(
    `long jobs: ${ticks} ticks, ${starts} runs in ${days.toFixed(0)} days; ${LONG_FRESH} fresh seeds from ${first} on`,
  );
  return failures;
}

/** Elections and jobs under faults: everything that they promise holds. */
export async function proveCoordination(say: (line: string) => void, seeds = 24): Promise<string[]> {
  const failures: string[] = [];
  const sum = { leaders: 0, starts: 0, once: 0 };
  for (let seed = 1; seed <= seeds; seed++) {
    const { leaders, once, starts, violations } = await simulateCoordination(seed);
    sum.leaders += leaders;
    sum.starts += starts;
    sum.once += once;
    for (const { property, text } of violations.slice(0, 1))
      failures.push(`elections and jobs, seed ${seed}: ${property}: ${text}`);
  }
  const { leaders, once, starts } = sum;
  say(`elections and jobs: ${leaders} leaders, ${starts} runs, ${once} successes of once in ${seeds} runs`);
  return failures;
}

/** Locks that are held and waited for while masters fail one at a time: no lease is lost, and none lacks votes for long. */
export async function proveService(say: (line: string) => void, seeds = 8): Promise<string[]> {
  const failures: string[] = [];
  const first = randomInt(1_000_000, MOST_SEEDS);
  const sum = { failures: 0, leases: 0, rested: 0, ms: 0 };
  for (let i = 0; i < seeds; i++) {
    const seed = i < (seeds * 3) / 4 ? i + 1 : first + i;
    const report = await simulateService(seed);
    sum.failures += report.failures;
    sum.leases += report.leases;
    sum.rested += report.rested;
    sum.ms += report.tookMs;
    for (const { property, text } of report.violations.slice(0, 1))
      failures.push(`a day of service, seed ${seed}: ${property}: ${text}`);
  }
  const hours = (sum.ms / 3_600_000).toFixed(1);
  const seen = `${sum.failures} failures in turn, ${sum.leases} leases that were whole after them, ${sum.rested} votes that rested`;
  say(
    `a day of service: ${seen}; ${seeds} runs, the fresh ones from seed ${first} on, ${hours} h of virtual time`,
  );
  return failures;
}

/** Many die at an instant: whoever lives is served. */
export async function proveCrashes(say: (line: string) => void, seeds = 40): Promise<string[]> {
  const failures: string[] = [];
  const sum = { served: 0, dead: 0, longestIdleMs: 0 };
  for (let seed = 1; seed <= seeds; seed++) {
    const { dead, longestIdleMs, served, violations } = await simulateCrashes(seed);
    sum.served += served;
    sum.dead += dead;
    sum.longestIdleMs = Math.max(sum.longestIdleMs, longestIdleMs);
    for (const { property, text } of violations.slice(0, 1))
      failures.push(`crashes, seed ${seed}: ${property}: ${text}`);
  }
  const idle = `a lock was idle for ${sum.longestIdleMs.toFixed(0)} ms at most`;
  say(`crashes: ${sum.served} served behind ${sum.dead} dead in ${seeds} runs; ${idle}`);
  return failures;
}
