/**
 * `npm run bench`: this library, floors in plain ioredis or node-redis and the other lock libraries side by side, on real
 * masters of its own. docs/BENCHMARKS.md says how it measures.
 */
import { readFile } from 'node:fs/promises';
import { entryOf } from './contenders/index.js';
import { measureLasting } from './lasting/run.js';
import { BRIEF_TERMS, lastingTerms } from './lasting/terms.js';
import { type BenchOptions, parseOptions, USAGE } from './options.js';
import { MOST_MASTERS, SCENARIOS } from './plan.js';
import { report } from './report/index.js';
import type { Results } from './results.js';
import { measureAll } from './run.js';

/** What each of these runs in place of the scenarios; it reads what follows by itself. */
const OTHERS: Readonly<Record<string, () => Promise<unknown>>> = {
  '--against': () => import('./against/main.js'),
  '--readers': () => import('./readers.js'),
  '--shares': () => import('./shares.js'),
  '--scripts': () => import('./scripts/main.js'),
  '--waiters': () => import('./waiters.js'),
};

async function main(): Promise<void> {
  const other = OTHERS[process.argv[2] ?? ''];
  if (other !== undefined) return void (await other());
  let options: BenchOptions | undefined;
  try {
    options = parseOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exitCode = 2;
    return;
  }
  if (options === undefined) {
    console.log(USAGE);
    return;
  }
  const { from, lastingMinutes } = options;
  if (lastingMinutes !== undefined) {
    if (!(await measureLasting(lastingTerms(lastingMinutes), options))) process.exitCode = 1;
    return;
  }
  const results = from === undefined ? await measureAll(options, MOST_MASTERS) : await read(from);
  await report(results, options);
  const isLevel = !isWholeSmoke(options) || (await measureLasting(BRIEF_TERMS, options));
  const wrong = [...findWrong(results), ...(isLevel ? [] : ['the load that lasts: see above'])];
  if (wrong.length === 0) return;
  console.error(`\nwrong: ${wrong.join('; ')}`);
  process.exitCode = 1;
}

/** It proves that everything runs, the load that lasts as well. */
function isWholeSmoke({ mode, scenarios, from }: BenchOptions): boolean {
  return mode === 'smoke' && scenarios.length === SCENARIOS.length && from === undefined;
}

async function read(file: string): Promise<Results> {
  return JSON.parse(await readFile(file, 'utf8')) as Results; // written by an earlier run of this version
}

/** What a peer does wrong is a row. What ours or a floor does wrong, healthy masters, makes all figures worthless. */
function findWrong(results: Results): string[] {
  const isOurs = ({ contender }: { contender: Results['loads'][number]['contender'] }): boolean =>
    entryOf(contender).kind === 'own';
  const {
    loads,
    bursts,
    faults,
    refusals,
    contention,
    crashes,
    cost,
    steps,
    renewal,
    memory,
    names,
    packages,
    uncaught,
  } = results;
  const troubled = [
    ...loads,
    ...bursts,
    ...cost,
    ...steps,
    ...memory,
    ...names,
    ...renewal.filter(isOurs),
    ...packages.filter(isOurs),
  ]
    .filter((row) => row.trouble !== undefined && entryOf(row.contender).kind !== 'peer')
    .concat(
      [...faults, ...contention, ...crashes, ...refusals].filter(
        (row) => row.trouble !== undefined && isOurs(row),
      ),
    );
  return [
    ...troubled.map(({ contender, trouble }) => `${contender}: ${trouble}`),
    ...[...loads, ...faults.filter(isOurs)]
      .filter((row) => entryOf(row.contender).kind !== 'peer' && (row.figures?.failures ?? 0) > 0)
      .map(({ contender, figures }) => `${contender}: ${figures?.failures} failed (${figures?.failure})`),
    ...refusals
      .filter((row) => isOurs(row) && row.code !== undefined && row.code !== 'NO_QUORUM')
      .map(({ contender, fault, code }) => `${contender}, ${fault}: ${code}, and not NO_QUORUM`),
    ...contention
      .filter((row) => isOurs(row) && (row.figures?.overlaps ?? 0) > 0)
      .map(({ contender, figures }) => `${contender}: ${figures?.overlaps} grants overlapped`),
    ...renewal
      .filter((row) => isOurs(row) && (row.lost ?? 0) > 0)
      .map(({ contender, lost }) => `${contender}: ${lost} renewed leases were lost`),
    ...uncaught.filter(isOurs).map(({ contender, first }) => `${contender}: ${first}`),
  ];
}

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.once(signal, () => process.exit(code)); // masters end with this process, workers with its channel
}
await main();
