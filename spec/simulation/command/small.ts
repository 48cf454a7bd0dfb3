/** `npm run simulate -- --small`: all schedules of small worlds within a bound, or one schedule. */
import { availableParallelism } from 'node:os';
import pLimit from 'p-limit';
import { parseSchedule } from '../small/deviations.js';
import type { Bounds } from '../small/explorer.js';
import { runSmall } from '../small/run.js';
import { type Finding, type Search, search } from '../small/search.js';
import { SMALL_WORLDS, type SmallWorld, smallWorld } from '../small/worlds.js';
import { timeline } from '../timeline.js';
import { compile, huntSmall } from '../hunt.js';
import { CI_K, FULL_K, FULL_STEPS, LONGEST_MS, MOST_FAULTS } from './bounds.js';

export interface SmallOptions {
  readonly isFull: boolean;
  /** The bounds that were asked for; by default those of CI, or of its nightly run. */
  readonly k: number | undefined;
  readonly faults: number | undefined;
  /** Only worlds with at most this many steps in the usual order. */
  readonly mostSteps?: number;
  /** Only this world. */
  readonly world: string | undefined;
  /** Only this schedule of it. */
  readonly schedule: string | undefined;
}

type Say = (line: string) => void;

/** Goes through all small worlds, or through one. @returns what went wrong, in words */
export async function proveSmall(options: SmallOptions, say: Say): Promise<string[]> {
  const k = options.k ?? (options.isFull ? FULL_K : CI_K);
  const faults = options.faults ?? Math.min(k, MOST_FAULTS);
  const worlds =
    options.world === undefined ? await worldsUpTo(options.mostSteps) : [smallWorld(options.world)];
  const where =
    options.isFull && options.k === undefined ? ` (${CI_K} in worlds of more than ${FULL_STEPS} steps)` : '';
  say(
    `small worlds: delay-bounded scheduling, at most ${k} deviations${where}, at most ${faults} of them faults`,
  );
  const begun = performance.now();
  const run = await runnerFor(k);
  const limit = pLimit(k <= 1 ? 1 : Math.max(1, availableParallelism()));
  const all = await Promise.all(
    worlds.map(({ name }) =>
      limit(async () => proveOne(name, run, { k: where === '' ? k : await fullK(name), faults }, say)),
    ),
  );
  const seconds = (performance.now() - begun) / 1_000;
  const [schedules, events] = [sum(all.map((one) => one.schedules)), sum(all.map((one) => one.events))];
  const rate = ((events / seconds) * 60) / 1e6;
  say(
    `${worlds.length} worlds, ${schedules.toLocaleString('en-US')} schedules, ${events.toLocaleString('en-US')} events, ${seconds.toFixed(0)} s, ${rate.toFixed(2)} M events a minute`,
  );
  return all.flatMap(({ failures }) => failures);
}

type Runner = (task: Search) => Promise<Finding & { readonly crash?: string | undefined }>;

/** @returns how far CI's nightly run explores that world */
async function fullK(world: string): Promise<number> {
  return (await stepsOf(world)) <= FULL_STEPS ? FULL_K : CI_K;
}

async function worldsUpTo(mostSteps = Infinity): Promise<readonly SmallWorld[]> {
  if (mostSteps === Infinity) return SMALL_WORLDS;
  const worlds: SmallWorld[] = [];
  for (const small of SMALL_WORLDS) if ((await stepsOf(small.name)) <= mostSteps) worlds.push(small);
  return worlds;
}

/** @returns how many steps the usual order has there */
async function stepsOf(world: string): Promise<number> {
  return (await search({ world, k: 0, faults: 0 })).steps;
}

/** Few schedules are run in this process, which is soon warm; many on all cores. */
async function runnerFor(k: number): Promise<Runner> {
  if (k <= 1) return search;
  const bundle = await compile('as it is', []);
  return (task) => huntSmall(bundle, task, LONGEST_MS);
}

interface Proof {
  readonly schedules: number;
  readonly events: number;
  readonly failures: readonly string[];
}

async function proveOne(world: string, run: Runner, bounds: Bounds, say: Say): Promise<Proof> {
  const begun = performance.now();
  const found = await run({ world, ...bounds });
  const { crash, events, isWhole, schedule, schedules, steps, violation } = found;
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
  const told = `${world.padEnd(14)} k=${bounds.k}  ${String(steps).padStart(3)} steps  ${String(schedules).padStart(6)} schedules`;
  say(`${told}  ${isWhole ? 'all were run' : 'NOT ALL'}  ${seconds.padStart(6)} s`);
  if (crash !== undefined) return { schedules, events, failures: [`${world}: crashed: ${crash}`] };
  if (schedule === undefined || violation === undefined) return { schedules, events, failures: [] };
  await showSchedule(world, schedule, say);
  return { schedules, events, failures: [`${world}, ${schedule}: ${violation.property}: ${violation.text}`] };
}

/** One schedule with its history. @returns what it breaks, in words */
export async function showSchedule(world: string, schedule: string, say: Say): Promise<string[]> {
  const report = await runSmall(smallWorld(world), parseSchedule(schedule), true);
  say(timeline(report));
  say(`history ${report.digest.toString(16).padStart(8, '0')}, ${report.steps.length} steps`);
  say(`again:  npm run simulate -- --small --world ${world} --schedule ${schedule}`);
  return report.violations.map(({ property, text }) => `${world}, ${schedule}: ${property}: ${text}`);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
