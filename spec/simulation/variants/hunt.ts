/**
 * Runs the simulation over many seeds in a process of its own, with the production code unchanged or with a known mistake
 * built in. The sources are changed when they are bundled, so the code itself needs no hooks. Where they are Lua, it is
 * compiled for the masters in memory once more.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { made, madeWith } from '../../../scripts/lua/compile.js';
import { PROGRAMS } from '../../../scripts/lua/files.mjs';
import type { Violation } from '../checker/checker.js';
import type { CoordinationOptions } from '../coordination-simulation.js';
import type { ServiceOptions } from '../service-simulation.js';
import type { LongOptions } from '../long/setting.js';
import type { CrashOptions } from '../crash-simulation.js';
import type { SimulationOptions } from '../simulation.js';
import { type Finding, nothing, type Search } from '../small/search.js';
import type { TimestampSimulationOptions } from '../timestamp-simulation.js';
import type { Patch, Simulated } from './variants.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const CACHE = join(ROOT, 'node_modules/.cache/quorate-simulation');

/** The task of a hunt. */
export interface Hunt {
  readonly firstSeed: number;
  readonly seeds: number;
  /** It ends after this time of a core, whatever is left. */
  readonly limitMs: number;
  readonly options:
    | SimulationOptions
    | TimestampSimulationOptions
    | CoordinationOptions
    | ServiceOptions
    | LongOptions
    | CrashOptions;
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

/** Bundles it. @throws if a patch does not fit the sources exactly once */
export async function compile(name: string, patches: readonly Patch[]): Promise<string> {
  mkdirSync(CACHE, { recursive: true });
  const outfile = join(CACHE, `${name.replaceAll(/\W+/g, '-')}.mjs`);
  const used = new Set<Patch>();
  const changed = (file: string, text: string): string => {
    let contents = text;
    for (const patch of patches.filter((one) => one.file === file)) {
      contents = apply(contents, patch);
      used.add(patch);
    }
    return contents;
  };
  const change: Plugin = {
    name: 'change',
    setup(builder) {
      builder.onLoad({ filter: /\/(lib|spec)\/.*\.ts$/ }, ({ path }) => {
        return { contents: changed(relative(ROOT, path), readFileSync(path, 'utf8')), loader: 'ts' };
      });
    },
  };
  // scripts that are changed are compiled anew: the masters in memory run them
  const { files } = made();
  const isOfScripts = patches.some(({ file }) => files.includes(file));
  const recompile: Plugin = {
    name: 'recompile',
    setup(builder) {
      builder.onLoad({ filter: /\/programs\.js$/ }, async ({ path }) =>
        isOfScripts && path === PROGRAMS
          ? { contents: (await madeWith(change, changed)).programs, loader: 'js' }
          : undefined,
      );
    },
  };
  await build({
    stdin: { contents: PROGRAM, resolveDir: ROOT, loader: 'js' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external: ['ioredis', 'croner'],
    plugins: [change, recompile],
    logLevel: 'silent',
  });
  const unused = patches.find((patch) => !used.has(patch));
  if (unused !== undefined) throw new Error(`${name}: ${unused.file} is not part of the simulation`);
  return outfile;
}

/** @throws if it does not fit exactly once */
export function apply(source: string, { file, find, replace }: Patch): string {
  const parts = source.split(find);
  if (parts.length !== 2) {
    throw new Error(`${file} has ${parts.length - 1} times, and not once: ${find}`);
  }
  return parts.join(replace);
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
