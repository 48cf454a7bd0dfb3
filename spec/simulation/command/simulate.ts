/**
 * `npm run simulate`: the production code under virtual time, with faults drawn from a seed. Exits with 1 if a guarantee
 * was broken, and with 2 for an invalid command line.
 */
import { randomInt } from 'node:crypto';
import { shrink } from '../shrink.js';
import { simulate, type SimulationOptions, type SimulationReport } from '../simulation.js';
import { timeline } from '../timeline.js';
import { CI_FRESH, CI_SEEDS, CI_STEPS } from './bounds.js';
import { parseOptions, type SimulateOptions, USAGE } from './options.js';
import {
  MOST_SEEDS,
  proveBeyond,
  proveCoordination,
  proveLongJobs,
  proveCrashes,
  proveOneMaster,
  proveSameness,
  proveService,
  proveTimestamps,
} from './proof.js';
import { proveSmall, showSchedule } from './small.js';
import { coreMs } from '../hunt.js';
import { Tally } from './tally.js';

const PROGRESS_EVERY_MS = 10_000;

process.on('unhandledRejection', (error) => {
  console.error('a promise rejected and nobody heard:', error);
  process.exit(1);
});

const say = (line: string): void => console.log(line);

async function main(): Promise<number> {
  let options: SimulateOptions;
  try {
    options = parseOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return 2;
  }
  switch (options.mode) {
    case 'help':
      say(USAGE);
      return 0;
    case 'one':
      return one(options);
    case 'small':
      return small(options);
    case 'ci':
      return ci(options);
    case 'minutes':
      return many(fresh(Infinity), options.run, options.minutes * 60_000);
    case 'seeds':
      return many(
        [...Array.from({ length: options.seeds }, (_, i) => i + 1), ...fresh(options.fresh)],
        options.run,
      );
  }
}

/** Seeds that were never run: consecutive numbers from one that is printed. */
function* fresh(count: number): Generator<number> {
  if (count === 0) return;
  const first = randomInt(1_000_000, MOST_SEEDS);
  say(`fresh seeds from ${first} on`);
  for (let i = 0; i < count; i++) yield first + i;
}

async function many(seeds: Iterable<number>, run: SimulationOptions, limitMs = Infinity): Promise<number> {
  const tally = new Tally();
  let toldAtMs = 0;
  for (const seed of seeds) {
    const report = await simulate(seed, run);
    tally.add(report);
    if (report.violations.length > 0) {
      await explain(report, run);
      say(tally.summary());
      return 1;
    }
    if (tally.elapsedMs > limitMs) break;
    if (tally.elapsedMs - toldAtMs > PROGRESS_EVERY_MS) {
      toldAtMs = tally.elapsedMs;
      say(tally.progress());
    }
  }
  say(tally.summary());
  say(
    run.beyond === undefined
      ? 'no violation'
      : `exclusion broken ${tally.broken} times, as it may be; no other violation`,
  );
  return 0;
}

async function one({ seed, run, showsTimeline, about, aroundMs }: SimulateOptions): Promise<number> {
  const report = await simulate(seed, { ...run, history: showsTimeline });
  if (showsTimeline) say(timeline(report, { aroundMs, ...(about === undefined ? {} : { about }) }));
  const { nodes, clients, guardMs, events, tookMs, digest } = report;
  const guard = guardMs > 0 ? `a restart guard of ${guardMs} ms` : 'no restart guard';
  say(
    `seed ${seed}: ${nodes} masters, ${clients} clients, ${guard}; ${events} events, ${Math.round(tookMs)} ms`,
  );
  say(`did ${JSON.stringify(report.deeds)}, met ${JSON.stringify(report.errors)}`);
  say(`struck by ${JSON.stringify(report.struck)}`);
  say(`history ${digest}`);
  if (report.violations.length === 0) {
    say(
      run.beyond === undefined
        ? 'no violation'
        : `exclusion broken ${report.broken} times, as it may be; no other violation`,
    );
    return 0;
  }
  await explain(report, run);
  return 1;
}

/** What was broken, the smallest run that breaks it, and the command that shows it. */
async function explain(report: SimulationReport, run: SimulationOptions): Promise<void> {
  say(`\nseed ${report.seed} breaks a promise:`);
  for (const { property, atMs, text } of report.violations.slice(0, 5))
    say(`  ${property} at ${atMs.toFixed(1)} ms: ${text}`);
  const { faults, runs, report: smallest } = await shrink(report, run);
  say(`shrunk in ${runs} runs from ${report.plan.length} faults to ${faults.length}:`);
  const [first] = smallest.violations;
  if (first !== undefined) say(`  ${first.property} at ${first.atMs.toFixed(1)} ms: ${first.text}`);
  say(
    `again:  npm run simulate -- --seed ${report.seed} --faults ${faults.join(',') || ','}${flags(run)} --timeline --around 2000\n`,
  );
}

function flags({ nodes, clients, guarded, beyond }: SimulationOptions): string {
  const all = { nodes, clients, guarded: guarded === undefined ? undefined : guarded ? 'yes' : 'no', beyond };
  return Object.entries(all)
    .map(([name, value]) => (value === undefined ? '' : ` --${name} ${value}`))
    .join('');
}

/** What CI does. Known mistakes have a command of their own: `npm run mistakes`. */
async function ci({ run, small: smallOptions }: SimulateOptions): Promise<number> {
  const runs = await timed('seeds', () =>
    many([...Array.from({ length: CI_SEEDS }, (_, i) => i + 1), ...fresh(CI_FRESH)], run),
  );
  const parts: Readonly<Record<string, () => Promise<readonly string[]> | readonly string[]>> = {
    sameness: () => proveSameness(7, say),
    'beyond the model': () => proveBeyond(say),
    'timestamp locks': () => proveTimestamps(say),
    'elections and jobs': () => proveCoordination(say),
    'a day of service': () => proveService(say),
    'long jobs': () => proveLongJobs(say),
    'crashes in bulk': () => proveCrashes(say),
    'one master': () => proveOneMaster(say),
    'small worlds': () => proveSmall({ ...smallOptions, mostSteps: CI_STEPS }, say),
  };
  const failures: string[] = [];
  for (const [name, prove] of Object.entries(parts)) failures.push(...(await timed(name, prove)));
  say(`${(coreMs() / 1_000).toFixed(0)} s of a core in all`);
  return Math.max(runs, tell(failures));
}

/** Runs a part, and says what it took. */
async function timed<T>(name: string, part: () => Promise<T> | T): Promise<T> {
  const beganMs = performance.now();
  const result = await part();
  say(`${name}: ${((performance.now() - beganMs) / 1_000).toFixed(0)} s\n`);
  return result;
}

async function small({ small: options }: SimulateOptions): Promise<number> {
  const { schedule, world } = options;
  if (schedule === undefined || world === undefined) return tell(await proveSmall(options, say));
  return tell(await showSchedule(world, schedule, say));
}

function tell(failures: readonly string[]): number {
  for (const failure of failures) console.error(`NOT GOOD: ${failure}`);
  return failures.length === 0 ? 0 : 1;
}

process.exitCode = await main();
