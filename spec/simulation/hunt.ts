/**
 * Runs the simulation over many seeds in a process of its own, with the production code unchanged or with a known mistake
 * built in.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
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

/** The program of the child process: it is bundled with the sources, unchanged or changed. A task a line, and an answer each. */
const PROGRAM = `
import { createInterface } from 'node:readline';
import { simulate } from './spec/simulation/simulation.js';
import { simulateTimestamps } from './spec/simulation/timestamp-simulation.js';
import { simulateOneMaster } from './spec/simulation/one-master.js';
import { simulateCoordination } from './spec/simulation/coordination-simulation.js';
import { simulateService } from './spec/simulation/service-simulation.js';
import { simulateLong } from './spec/simulation/long/long-world.js';
import { simulateCrashes } from './spec/simulation/crash-simulation.js';
import { nothing, search } from './spec/simulation/small/search.js';
import { timeline } from './spec/simulation/timeline.js';
const others = {
  timestamps: simulateTimestamps,
  'one master': simulateOneMaster,
  coordination: simulateCoordination,
  service: simulateService,
  'long jobs': simulateLong,
  crashes: simulateCrashes,
};
let toldMs = 0;
let found;
const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000 - toldMs; // on a busy machine a hunt takes longer, and goes as far
};
const tell = (answer, then) => {
  process.stdout.write(JSON.stringify({ ...answer, cpuMs: cpuMs() }) + '\\n', then);
  toldMs += cpuMs();
};
process.on('unhandledRejection', (error) =>
  tell({ ...found, crash: String(error?.stack ?? error) }, () => process.exit(0)),
);
async function seedsOf({ firstSeed, seeds, limitMs, options, of, breaks, showsHistory }) {
  const run = others[of] ?? simulate;
  for (let seed = firstSeed; seed < firstSeed + seeds && cpuMs() < limitMs; seed++) {
    const { events, broken, violations } = await run(seed, options);
    found.seedsRun++;
    found.events += events;
    found.broken += broken;
    const violation = violations.find(({ property }) => breaks === undefined || breaks.includes(property));
    if (violation === undefined) continue;
    const again = showsHistory ? await run(seed, { ...options, history: true }) : undefined;
    const aroundMs = of === 'one master' ? 70_000 : 1_000;
    const history = again && timeline({ ...again, violations: [violation] }, { aroundMs });
    return { ...found, seed, violation, history };
  }
  return found;
}
for await (const line of createInterface({ input: process.stdin })) {
  const task = JSON.parse(line);
  found = task.search === undefined ? { seedsRun: 0, events: 0, broken: 0 } : nothing();
  tell(task.search === undefined ? await seedsOf(task) : await search(task.search, found));
}
process.exit(0); // whatever the last run has left
`;

/** Bundles it. @throws if a patch does not belong in exactly one place */
export function compile(name: string, patches: readonly Patch[]): Promise<string> {
  return bundle({ name, patches, program: PROGRAM });
}

/** Runs it. If it takes twice its time of a core, it hangs, which is reported as a crash. */
export function hunt(bundle: string, task: Hunt): Promise<Quarry> {
  const none = { seed: undefined, violation: undefined, seedsRun: 0, events: 0, broken: 0 };
  return ask(bundle, task, none, 2 * task.limitMs + 10_000);
}

/** Goes through a small world. If that takes more of a core than this, it hangs, which is reported as a crash. */
export function huntSmall(
  bundle: string,
  task: Search,
  limitMs: number,
): Promise<Finding & { readonly crash: string | undefined }> {
  return ask(bundle, { search: task }, nothing(), limitMs);
}

/** A process that takes no time of a core for so long waits for what never comes; one that gives way to others takes some. */
const QUIET_MS = 120_000;
const LOOK_MS = 2_000;
/** `/proc` counts in steps of 10 ms. */
const TICK_MS = 10;

/** The time of a core that a process has taken; where that cannot be seen, a clock. */
function cpuMsOf({ pid }: ChildProcessWithoutNullStreams): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' '); // from the third on: its name may have spaces
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return performance.now();
  }
}

let childrenMs = 0;

/** The time of cores that this process and those of its hunts have taken so far, in ms; without bundling. */
export function coreMs(): number {
  const { system, user } = process.cpuUsage();
  return (user + system) / 1_000 + childrenMs;
}

/** Processes that wait for their next task, by the bundle that they run: a warm one runs seeds several times as fast. */
const idle = new Map<string, ChildProcessWithoutNullStreams[]>();
process.once('exit', () => [...idle.keys()].forEach(dismiss));

/** Ends the processes that run this bundle. */
export function dismiss(bundle: string): void {
  for (const child of idle.get(bundle) ?? []) child.kill('SIGKILL');
  idle.delete(bundle);
}

/** Runs a task in a process that has none. @param none  the answer, if it gives none */
async function ask<T extends object>(
  bundle: string,
  task: object,
  none: T,
  limitMs: number,
): Promise<T & { readonly crash: string | undefined }> {
  const child = idle.get(bundle)?.pop() ?? start(bundle);
  const said = await answerOf(child, task, limitMs);
  if (said.line === undefined) return { ...none, crash: said.wailed === '' ? 'it hangs' : said.wailed };
  const { cpuMs, ...answer } = JSON.parse(said.line) as Partial<T> & { readonly cpuMs: number }; // our own words
  childrenMs += cpuMs;
  if (!('crash' in answer)) idle.set(bundle, [...(idle.get(bundle) ?? []), child]);
  return { ...none, crash: undefined, ...answer };
}

function start(bundle: string): ChildProcessWithoutNullStreams {
  // code that runs a few times only is compiled at once: an eighth of the time
  const child = spawn(process.execPath, ['--always-sparkplug', bundle]);
  child.stdin.on('error', () => undefined); // it has ended, and says so
  return child;
}

/** Its answer, or what it says of its end. */
function answerOf(
  child: ChildProcessWithoutNullStreams,
  task: object,
  limitMs: number,
): Promise<{ readonly line?: string; readonly wailed: string }> {
  return new Promise((resolve) => {
    let [said, wailed] = ['', ''];
    const end = (line?: string): void => {
      clearInterval(timer);
      for (const stream of [child.stdout, child.stderr]) stream.removeAllListeners('data');
      child.removeAllListeners('close');
      keepsAlive(child, false);
      resolve({ wailed, ...(line !== undefined && { line }) });
    };
    const firstMs = cpuMsOf(child);
    let last = { cpuMs: firstMs, atMs: performance.now() };
    const timer = setInterval(() => {
      const now = { cpuMs: cpuMsOf(child), atMs: performance.now() };
      if (now.cpuMs > last.cpuMs) last = now;
      if (now.cpuMs - firstMs > limitMs || now.atMs - last.atMs > QUIET_MS) child.kill('SIGKILL');
    }, LOOK_MS);
    keepsAlive(child, true);
    child.on('close', () => end());
    child.stderr.on('data', (chunk: Buffer) => (wailed += chunk.toString()));
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const line = said.split('\n').find((one, i, all) => i < all.length - 1 && one.startsWith('{'));
      if (line !== undefined) end(line);
    });
    child.stdin.write(`${JSON.stringify(task)}\n`);
  });
}

/** Whether this process waits for it. */
function keepsAlive(child: ChildProcessWithoutNullStreams, isBusy: boolean): void {
  for (const part of [child, child.stdin, child.stdout, child.stderr] as unknown as readonly Socket[])
    if (isBusy) part.ref();
    else part.unref();
}
