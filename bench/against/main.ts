/**
 * `npm run bench -- --against COMMIT [ROUNDS]`: has the library become slower since a commit? Fresh processes of both, in turns on
 * the same masters: what a process gets by chance (its heap, its compiled code) then falls on both sides. Prints ratios
 * within the round, with the interval that holds their true median in 19 of 20 cases.
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
import { LOADS, type Measured, MODES, type Sample } from './setting.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NODES = [1, 5];
const ROUNDS = 25;
const PROCESS_MS = 60_000;
const FIGURES = [
  { name: 'pairs a second', of: ({ rate }: Sample) => rate },
  { name: 'CPU of the client', of: ({ cpuUs }: Sample) => cpuUs },
];

const run = promisify(execFile);
const [revision, rounds = `${ROUNDS}`] = process.argv.slice(3);
if (revision === undefined || !/^[1-9]\d*$/.test(rounds)) {
  console.error('npm run bench -- --against COMMIT [ROUNDS]');
  process.exit(2);
}

using tree = new EarlierTree(commitOf(revision));
const BEFORE = await compile(join(tree.path, 'lib/index.ts'), 'against-before');
const NOW = await compile(join(ROOT, 'lib/index.ts'), 'against-now');
const PROCESS = await compile(fileURLToPath(new URL('process.ts', import.meta.url)), 'against-process');
await using masters = await startMasters(Math.max(...NODES));
await compare(masters.urls);

async function compare(urls: readonly string[]): Promise<void> {
  const pairs = new Map<string, [before: Measured, now: Measured][]>();
  for (let round = 0; round < Number(rounds); round++) {
    for (const nodes of NODES) {
      for (const mode of MODES) {
        const measured = await inTurn(round, mode, urls.slice(0, nodes));
        const key = `N=${nodes}, ${mode}`;
        pairs.set(key, [...(pairs.get(key) ?? []), measured]);
      }
    }
    console.error(`round ${round + 1} of ${rounds}`);
  }
  tell(pairs);
}

/** @returns before, now; measured in the one order and in the other by turns */
async function inTurn(round: number, mode: string, urls: readonly string[]): Promise<[Measured, Measured]> {
  const measure = (lib: string): Promise<Measured> => measureIn(lib, mode, urls);
  if (round % 2 === 0) return [await measure(BEFORE), await measure(NOW)];
  const later = await measure(NOW);
  return [await measure(BEFORE), later];
}

async function measureIn(lib: string, mode: string, urls: readonly string[]): Promise<Measured> {
  const { stdout } = await run(process.execPath, [PROCESS, lib, mode, ...urls], {
    cwd: ROOT,
    timeout: PROCESS_MS,
  });
  return JSON.parse(stdout) as Measured;
}

function sampleOf(measured: Measured, load: number): Sample {
  const sample = measured[load];
  if (sample === undefined) throw new Error('a process measured fewer loads');
  return sample;
}

function tell(pairs: ReadonlyMap<string, readonly [before: Measured, now: Measured][]>): void {
  for (const [key, measured] of pairs) {
    for (const [i, load] of LOADS.entries()) {
      for (const { name, of } of FIGURES) {
        const found = measured.map(
          ([before, now]) => [of(sampleOf(before, i)), of(sampleOf(now, i))] as const,
        );
        const ratios = found.map(([before, now]) => now / before);
        const { low, high } = interval(ratios);
        const before = median(found.map(([one]) => one));
        const ratio = `${median(ratios).toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`;
        console.log(
          `${`${key}, ${load.name}: ${name}`.padEnd(54)} ${ratio.padEnd(18)} of ${Number(before.toPrecision(3)).toLocaleString('en')}`,
        );
      }
    }
  }
  const { CPU, Node, server, commit: ours } = describeSurroundings();
  console.log(
    `${ours} over ${revision}; medians of ${rounds} rounds with their 95 % intervals; CPU ${CPU}, Node ${Node}, server ${server}`,
  );
}
