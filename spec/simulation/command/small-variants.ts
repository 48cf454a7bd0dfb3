/** The known mistakes that small worlds find, each by a schedule of few deviations. */
import pLimit from 'p-limit';
import { availableParallelism } from 'node:os';
import { parseSchedule } from '../small/deviations.js';
import { compile, huntSmall } from '../variants/hunt.js';
import { type SmallFind, type Variant, VARIANTS } from '../variants/variants.js';
import { LONGEST_MS, MOST_FAULTS } from './bounds.js';

type Say = (line: string) => void;

interface Found extends Variant {
  readonly small: SmallFind;
}

/** How a hunt went. */
export interface SmallHunt {
  readonly name: string;
  readonly world: string;
  readonly schedule: string;
  /** How many schedules were run until then. */
  readonly schedules: number;
  readonly seconds: number;
}

export function inSmallWorlds(name: string): readonly Found[] {
  return VARIANTS.filter((one): one is Found => one.small !== undefined && one.name.includes(name));
}

/** Hunts each of them from the usual order on, with more and more deviations, until it breaks a promise. */
export async function huntInSmallWorlds(
  name: string,
  say: Say,
): Promise<{ readonly hunts: readonly SmallHunt[]; readonly failures: readonly string[] }> {
  const chosen = inSmallWorlds(name);
  const failures: string[] = [];
  if (chosen.length === 0) failures.push(`small worlds find no known mistake that is called ${name}`);
  const limit = pLimit(Math.max(1, Math.min(2, availableParallelism())));
  const hunts = await Promise.all(chosen.map((variant) => limit(() => huntOne(variant, say, failures))));
  say(`${chosen.length} known mistakes in small worlds, ${chosen.length - failures.length} found as stated`);
  return { hunts, failures };
}

async function huntOne(
  { breaks, name, patches, small }: Found,
  say: Say,
  failures: string[],
): Promise<SmallHunt> {
  const { world } = small;
  const k = parseSchedule(small.schedule).length;
  const begun = performance.now();
  const bundle = await compile(name, patches);
  const found = await huntSmall(bundle, { world, k, faults: MOST_FAULTS, breaks }, LONGEST_MS);
  const { schedule = 'nothing', schedules, violation } = found;
  const seconds = (performance.now() - begun) / 1_000;
  if (schedule !== small.schedule)
    failures.push(`${name}: ${world} finds it by ${schedule}, and not by ${small.schedule}`);
  say(
    `${name.slice(0, 56).padEnd(56)} ${world.padEnd(12)} ${schedule.padEnd(16)} ${(violation?.property ?? '').padEnd(16)} ${String(schedules).padStart(6)} schedules ${seconds.toFixed(1).padStart(6)} s`,
  );
  return { name, world, schedule, schedules, seconds };
}

/** Each of them must break a promise by the schedule that it states, and the right code must not. */
export async function proveSmallVariants(name: string, say: Say): Promise<string[]> {
  const chosen = inSmallWorlds(name);
  const right = await compile('as it is', []);
  const limit = pLimit(Math.max(1, Math.min(2, availableParallelism())));
  const failures = (await Promise.all(chosen.map((variant) => limit(() => proveOne(variant, right))))).flat();
  say(
    `${chosen.length} known mistakes by a schedule of a small world, ${chosen.length - failures.length} noticed`,
  );
  return failures;
}

async function proveOne({ breaks, name, patches, small }: Found, right: string): Promise<string[]> {
  const task = { ...small, k: 0, faults: 0 };
  const found = await huntSmall(await compile(name, patches), { ...task, breaks }, LONGEST_MS);
  if (found.schedule === undefined)
    return [`${name}: not noticed by ${small.schedule} of ${small.world}${found.crash ?? ''}`];
  const { crash, violation } = await huntSmall(right, task, LONGEST_MS);
  const fault = violation?.text ?? crash;
  return fault === undefined ? [] : [`${name}: the right code fails by ${small.schedule}, too: ${fault}`];
}
