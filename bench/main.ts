/**
 * `npm run bench`: quorums of 1, 3, 5 and 7 beside a floor in plain ioredis, on real masters of its own.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startMasters } from '../scripts/masters.js';
import { compileWorker, Worker } from './crew.js';
import { type BenchOptions, parseOptions, USAGE } from './options.js';
import { type Results, toChart, toMarkdown, toText } from './report.js';
import {
  type Crew,
  FAULT_SIZES,
  type FaultRow,
  measureFaults,
  measureHealthy,
  measureMemory,
  measureRefusals,
  openAll,
  SIZES,
} from './scenarios.js';
import { describeSurroundings } from './surroundings.js';

async function main(): Promise<void> {
  let options: BenchOptions | undefined;
  try {
    options = parseOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exitCode = 2;
    return;
  }
  if (options === undefined) console.log(USAGE);
  else {
    const results = await measure(options);
    await report(results, options.out);
    const wrong = findWrong(results);
    if (wrong.length === 0) return;
    console.error(`\nwrong: ${wrong.join('; ')}`);
    process.exitCode = 1;
  }
}

/** A figure of something that failed is no figure. */
function findWrong({ healthy, faults, refusals }: Results): string[] {
  const steps = [
    ...healthy.flatMap(({ nodes, quorate, plain, floor }) => [
      { what: `quorate, N = ${nodes}`, figures: quorate.figures },
      { what: `plain, N = ${nodes}`, figures: plain.figures },
      { what: `floor, N = ${nodes}`, figures: floor },
    ]),
    ...faults.map(({ nodes, fault, figures }) => ({ what: `quorate, N = ${nodes}, ${fault}`, figures })),
  ];
  return [
    ...steps
      .filter(({ figures }) => figures.failures > 0)
      .map(({ what, figures }) => `${what}: ${figures.failures} failed (${figures.failure})`),
    ...refusals
      .filter(({ code }) => code !== 'NO_QUORUM')
      .map(({ fault, code }) => `${fault}: ${code}, and not NO_QUORUM`),
  ];
}

async function measure(options: BenchOptions): Promise<Results> {
  const surroundings = describeSurroundings();
  await using masters = await startMasters(Math.max(...SIZES));
  const file = await compileWorker();
  const floor = await Worker.start('floor', file);
  const quorate = await Worker.start('quorate', file);
  const plain = await Worker.start('plain', file);
  try {
    const crew: Crew = { floor, quorate, plain, masters: masters.list, options, say };
    await openAll(crew);
    const healthy = await measureHealthy(crew);
    const faults: FaultRow[] = [];
    for (const nodes of FAULT_SIZES) faults.push(...(await measureFaults(crew, nodes)));
    const refusals = await measureRefusals(crew);
    const memory = await measureMemory(crew);
    const command = ['npm run bench', ...process.argv.slice(2)].join(' ').replace('bench -', 'bench -- -');
    const { isSmoke, rounds } = options;
    return { command, isSmoke, surroundings, rounds, healthy, faults, refusals, memory };
  } finally {
    say('');
    await Promise.all([floor.stop(), quorate.stop(), plain.stop()]);
  }
}

async function report(results: Results, out: string): Promise<void> {
  await mkdir(out, { recursive: true });
  const files = {
    'results.json': `${JSON.stringify(results, null, 2)}\n`,
    'results.md': `${toMarkdown(results)}\n`,
    'results.svg': toChart(results),
  };
  for (const [name, content] of Object.entries(files)) await writeFile(join(out, name), content);
  console.log(
    `${toText(results)}\n\nwritten: ${Object.keys(files)
      .map((name) => join(out, name))
      .join(', ')}`,
  );
}

/** One line that changes on a terminal, a line each elsewhere. */
function say(what: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${what}`);
  else if (what !== '') process.stderr.write(`${what}\n`);
}

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.once(signal, () => process.exit(code)); // masters end with this process, workers with its channel
}
await main();
