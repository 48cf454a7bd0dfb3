/**
 * Runs the simulation over many seeds in a process of its own, with the production code unchanged or with a known mistake
 * built in.
 */
import { spawn } from 'node:child_process';
import { bundle } from '../mistakes/bundle.js';
import type { Patch, SeedOptions, Simulated } from '../mistakes/mistake.js';
import type { Violation } from './checker/checker.js';
import { type Finding, nothing, type Search } from './small/search.js';

/** The task of a hunt. */
export interface Hunt {
  readonly firstSeed: number;
  readonly seeds: number;
  /** It ends after this time of a core, whatever is left. */
  readonly limitMs: number;
  readonly options: SeedOptions;
  /** Which simulation; by default, that of the quorum lock. */
  readonly of?: Simulated | undefined;
  /** Ends at the first seed that breaks one of these; any violation by default. */
  readonly breaks?: readonly string[];
  /** Tells the end of the history that breaks it. */
  readonly showsHistory?: boolean;
}

export interface Quarry {
  /** The seed that broke it; undefined when none did. */
  readonly seed: number | undefined;
  readonly violation: Violation | undefined;
  readonly seedsRun: number;
  readonly events: number;
  /** How often exclusion was broken by faults beyond the model. */
  readonly broken: number;
  /** Why the process failed: a rejection that nobody handled, or runs that did not end. */
  readonly crash: string | undefined;
  /** The history up to the violation, if it was asked for. */
  readonly history?: string;
}

/** The program of the child process: it is bundled with the sources, unchanged or changed. */
const PROGRAM = `
import { simulate } from './spec/simulation/simulation.js';
import { simulateTimestamps } from './spec/simulation/timestamp-simulation.js';
import { simulateOneMaster } from './spec/simulation/one-master.js';
import { simulateCoordination } from './spec/simulation/coordination-simulation.js';
import { simulateService } from './spec/simulation/service-simulation.js';
import { simulateLong } from './spec/simulation/long/long-world.js';
import { simulateCrashes } from './spec/simulation/crash-simulation.js';
import { nothing, search } from './spec/simulation/small/search.js';
import { timeline } from './spec/simulation/timeline.js';
const { search: task, firstSeed, seeds, limitMs, options, of, breaks, showsHistory } = JSON.parse(process.argv[2]);
const others = {
  timestamps: simulateTimestamps,
  'one master': simulateOneMaster,
  coordination: simulateCoordination,
  service: simulateService,
  'long jobs': simulateLong,
  crashes: simulateCrashes,
};
const run = others[of] ?? simulate;
const found = task === undefined ? { seedsRun: 0, events: 0, broken: 0 } : nothing();
const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000; // on a busy machine a hunt takes longer, and goes as far
};
const tell = (more) =>
  process.stdout.write(JSON.stringify({ ...found, cpuMs: cpuMs(), ...more }) + '\\n', () => process.exit(0));
process.on('unhandledRejection', (error) => tell({ crash: String(error?.stack ?? error) }));
if (task !== undefined) tell(await search(task, found));
for (let seed = firstSeed; seed < firstSeed + seeds && cpuMs() < limitMs; seed++) {
  const { events, broken, violations } = await run(seed, options);
  found.seedsRun++;
  found.events += events;
  found.broken += broken;
  const violation = violations.find(({ property }) => breaks === undefined || breaks.includes(property));
  if (violation === undefined) continue;
  const again = showsHistory ? await run(seed, { ...options, history: true }) : undefined;
  const aroundMs = of === 'one master' ? 70_000 : 1_000;
  tell({ seed, violation, history: again && timeline({ ...again, violations: [violation] }, { aroundMs }) });
  break;
}
tell({});
`;

/** Bundles it. @throws if a patch does not belong in exactly one place */
export function compile(name: string, patches: readonly Patch[]): Promise<string> {
  return bundle({ name, patches, program: PROGRAM });
}

/** Runs it. If it does not answer in four times its time, it hangs, which is reported as a crash. */
export function hunt(bundle: string, task: Hunt): Promise<Quarry> {
  const none = { seed: undefined, violation: undefined, seedsRun: 0, events: 0, broken: 0 };
  return ask(bundle, task, none, 4 * task.limitMs + 10_000);
}

/** Goes through a small world. If that takes longer than this, it hangs, which is reported as a crash. */
export function huntSmall(
  bundle: string,
  task: Search,
  limitMs: number,
): Promise<Finding & { readonly crash: string | undefined }> {
  return ask(bundle, { search: task }, nothing(), limitMs);
}

let childrenMs = 0;

/** The time of cores that this process and those of its hunts have taken so far, in ms; without bundling. */
export function coreMs(): number {
  const { system, user } = process.cpuUsage();
  return (user + system) / 1_000 + childrenMs;
}

/** Runs a task in a process of its own. @param none  the answer, if it gives none */
function ask<T extends object>(
  bundle: string,
  task: object,
  none: T,
  limitMs: number,
): Promise<T & { readonly crash: string | undefined }> {
  const child = spawn(process.execPath, [bundle, JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  let wailed = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (wailed += chunk.toString()));
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
  return new Promise((resolve) => {
    child.on('close', () => {
      clearTimeout(timer);
      const line = said.split('\n').find((one) => one.startsWith('{'));
      if (line === undefined) return resolve({ ...none, crash: wailed === '' ? 'it hangs' : wailed });
      const { cpuMs, ...answer } = JSON.parse(line) as Partial<T> & { readonly cpuMs: number }; // our own words
      childrenMs += cpuMs;
      resolve({ ...none, crash: undefined, ...answer });
    });
  });
}
