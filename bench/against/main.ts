/**
 * `npm run bench -- --against COMMIT [usual|shared|crowd] [ROUNDS]`: has the library become slower since a commit? Fresh
 * processes of both, in turns on the same masters: what a process gets by chance (its heap, its compiled code) then falls on
 * both sides. Prints ratios within the round, with the interval that holds their true median in 19 of 20 cases.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { commitOf, EarlierTree } from '../../scripts/earlier.js';
import { startMasters } from '../../scripts/masters.js';
import { compile } from '../compile.js';
import { interval, median } from '../statistics.js';
import { describeSurroundings } from '../surroundings.js';
import { Hogs } from '../hogs.js';
import { relaysTo } from '../relay.js';
import {
  type Comparison,
  type ComparisonName,
  COMPARISONS,
  describeSetting,
  isComparison,
  type Measured,
  type Sample,
  type Setting,
} from './setting.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROCESS_MS = 120_000;
/** Those that are compared; and those of which both values are of interest. */
const RATIOS = [
  { name: 'pairs a second', of: ({ rate }: Sample) => rate },
  { name: 'CPU of the client', of: ({ cpuUs }: Sample) => cpuUs },
];
const VALUES = [
  { name: 'calls to each master', of: ({ calls }: Sample) => calls },
  { name: 'their time there, µs', of: ({ scriptUs }: Sample) => scriptUs },
];

const run = promisify(execFile);
const [revision, ...more] = process.argv.slice(3);
const chosen = more[0] !== undefined && isComparison(more[0]) ? more[0] : 'usual';
const { loads, settings, rounds: usually }: Comparison = COMPARISONS[chosen];
const [rounds = `${usually}`, ...unknown] = more[0] === chosen ? more.slice(1) : more;
if (revision === undefined || unknown.length > 0 || !/^[1-9]\d*$/.test(rounds)) {
  console.error('npm run bench -- --against COMMIT [usual|shared|crowd] [ROUNDS]');
  process.exit(2);
}

using tree = new EarlierTree(commitOf(revision));
const BEFORE = await compile(join(tree.path, 'lib/index.ts'), 'against-before');
const NOW = await compile(join(ROOT, 'lib/index.ts'), 'against-now');
const PROCESS = await compile(fileURLToPath(new URL('process.ts', import.meta.url)), 'against-process');
await using masters = await startMasters(Math.max(...settings.map(({ nodes }) => nodes)));
await compare(chosen, masters.urls);

async function compare(name: ComparisonName, urls: readonly string[]): Promise<void> {
  const pairs = new Map<string, [before: Measured, now: Measured][]>();
  for (let round = 0; round < Number(rounds); round++) {
    for (const [index, setting] of settings.entries()) {
      const measured = await inTurn(round, setting, urls.slice(0, setting.nodes), [name, `${index}`]);
      const key = describeSetting(setting);
      pairs.set(key, [...(pairs.get(key) ?? []), measured]);
    }
    console.error(`round ${round + 1} of ${rounds}`);
  }
  tell(pairs);
}

/** @returns before, now; measured in the one order and in the other by turns */
async function inTurn(
  round: number,
  { delayMs, isBusy }: Setting,
  urls: readonly string[],
  args: readonly string[],
): Promise<[Measured, Measured]> {
  using _hogs = isBusy === true ? new Hogs() : undefined;
  await using relays = delayMs === undefined ? undefined : await relaysTo(urls, delayMs);
  const measure = (lib: string): Promise<Measured> => measureIn(lib, [...args, ...(relays?.urls ?? urls)]);
  if (round % 2 === 0) return [await measure(BEFORE), await measure(NOW)];
  const later = await measure(NOW);
  return [await measure(BEFORE), later];
}

async function measureIn(lib: string, args: readonly string[]): Promise<Measured> {
  const { stdout } = await run(process.execPath, [PROCESS, lib, ...args], { cwd: ROOT, timeout: PROCESS_MS });
  return JSON.parse(stdout) as Measured;
}

function sampleOf(measured: Measured, load: number): Sample {
  const sample = measured[load];
  if (sample === undefined) throw new Error('a process measured fewer loads');
  return sample;
}

function tell(pairs: ReadonlyMap<string, readonly [before: Measured, now: Measured][]>): void {
  for (const [key, measured] of pairs) {
    for (const [i, load] of loads.entries()) {
      const found = measured.map(([before, now]) => [sampleOf(before, i), sampleOf(now, i)] as const);
      const line = (name: string, text: string): void =>
        console.log(`${`${key}, ${load.name}: ${name}`.padEnd(64)} ${text}`);
      for (const { name, of } of RATIOS) {
        const ratios = found.map(([before, now]) => of(now) / of(before));
        const { low, high } = interval(ratios);
        const ratio = `${median(ratios).toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`;
        line(name, `${ratio.padEnd(18)} of ${short(median(found.map(([before]) => of(before))))}`);
      }
      for (const { name, of } of VALUES) {
        const [before, now] = [0, 1].map((side) =>
          short(median(found.map((pair) => of(pair[side as 0 | 1])))),
        ); // both
        line(name, `${now}, before ${before}`);
      }
    }
  }
  const { CPU, Node, server, commit: ours } = describeSurroundings();
  console.log(
    `${ours} over ${revision}; medians of ${rounds} rounds with their 95 % intervals; CPU ${CPU}, Node ${Node}, server ${server}`,
  );
}

function short(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en');
}
