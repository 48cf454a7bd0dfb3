/** `npm run simulate -- --small`: all schedules of small worlds within a bound, one schedule, or the known mistakes. */
import { availableParallelism } from 'node:os';
import pLimit from 'p-limit';
import { parseSchedule } from '../small/deviations.js';
import type { Bounds } from '../small/explorer.js';
import { runSmall } from '../small/run.js';
import { SMALL_WORLDS, smallWorld } from '../small/worlds.js';
import { timeline } from '../timeline.js';
import { compile, huntSmall } from '../variants/hunt.js';
import { CI_BOUNDS, FULL_BOUNDS, LONGEST_MS } from './bounds.js';

export interface SmallOptions {
  readonly isFull: boolean;
  /** The bounds that were asked for; those of CI, or of its nightly run, by default. */
  readonly k: number | undefined;
  readonly faults: number | undefined;
  /** Only this world. */
  readonly world: string | undefined;
  /** Only this schedule of it. */
  readonly schedule: string | undefined;
}

type Say = (line: string) => void;

/** Goes through all small worlds, or through one. @returns what went wrong, in words */
export async function proveSmall(options: SmallOptions, say: Say): Promise<string[]> {
  const usual = options.isFull ? FULL_BOUNDS : CI_BOUNDS;
  const bounds = { k: options.k ?? usual.k, faults: options.faults ?? usual.faults };
  const worlds = options.world === undefined ? SMALL_WORLDS : [smallWorld(options.world)];
  say(
    `small worlds: delay-bounded scheduling, at most ${bounds.k} deviations, at most ${bounds.faults} of them faults`,
  );
  const bundle = await compile('as it is', []);
  const begun = performance.now();
  const limit = pLimit(Math.max(1, Math.min(2, availableParallelism())));
  const all = await Promise.all(worlds.map(({ name }) => limit(() => proveOne(name, bundle, bounds, say))));
  const seconds = ((performance.now() - begun) / 1_000).toFixed(0);
  const [schedules, events] = [sum(all.map((one) => one.schedules)), sum(all.map((one) => one.events))];
  say(
    `${worlds.length} worlds, ${schedules.toLocaleString('en-US')} schedules, ${events.toLocaleString('en-US')} events, ${seconds} s`,
  );
  return all.flatMap(({ failures }) => failures);
}

interface Proof {
  readonly schedules: number;
  readonly events: number;
  readonly failures: readonly string[];
}

async function proveOne(world: string, bundle: string, bounds: Bounds, say: Say): Promise<Proof> {
  const begun = performance.now();
  const found = await huntSmall(bundle, { world, ...bounds }, LONGEST_MS);
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
