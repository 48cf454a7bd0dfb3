/**
 * `npm run chaos`: many client processes on real masters, with faults drawn from a seed; a history, a checker and a
 * report page. Exits with 1 if a guarantee was broken, with 2 for an invalid command line, with 130 after Ctrl-C.
 */
import { randomInt } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { commitOf } from '../../scripts/earlier.js';
import { abilitiesOf } from './run/abilities.js';
import { judge } from './run/checker.js';
import { readRun } from './run/run-reader.js';
import { type ChaosOptions, hideSecret, parseOptions, USAGE } from './run/options.js';
import { writePage } from './run/page.js';
import { describePlan, drawPlan } from './run/plan.js';
import { lengthForFaults, run, termsOf } from './run/run.js';
import { isGood, summarize, textReport } from './run/summary.js';
import { parseRolling, ROLLING_USAGE, type RollingOptions } from './rolling/options.js';
import { runRolling } from './rolling/rolling.js';

const OTHERS = 'one that other libraries take, 2 shared ones, an election, a job and a timestamp lock';

async function main(): Promise<number> {
  if (process.argv.includes('--rolling')) return performRolling();
  let options: ChaosOptions;
  try {
    options = parseOptions(process.argv.slice(2));
    if (options.beside !== undefined) commitOf(options.beside);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return 2;
  }
  const seed = options.seed ?? randomInt(2 ** 31);
  switch (options.mode) {
    case 'help':
      console.log(USAGE);
      return 0;
    case 'plan': {
      const abilities = await abilitiesOf(options);
      const without = abilities.without.map((one) => `without ${one}\n`).join('');
      console.log(`seed ${seed}\n${without}${describePlan(drawPlan(termsOf(options, seed, abilities)))}`);
      return 0;
    }
    case 'check':
      return report(options.folder);
    case 'run':
      return perform(options, seed);
  }
}

async function perform(options: ChaosOptions, seed: number): Promise<number> {
  const { masters, clients, keys, guardMs, beside, nodes } = options;
  const over =
    nodes.length > 0 ? nodes.map(hideSecret).join(', ') : `${masters} masters (${options.backend})`;
  const fleet = beside === undefined ? '' : `, every second one of version ${beside}`;
  const guard = guardMs > 0 ? `restart guard ${guardMs} ms` : 'no restart guard';
  console.log(
    `seed ${seed}: ${clients} clients${fleet}, on ${keys} exclusive locks and ${OTHERS} over ${over}, ${guard}`,
  );
  const abilities = await abilitiesOf(options);
  for (const one of abilities.without) console.log(`without ${one}`);
  console.log(`faults for ${Math.round(lengthForFaults(options) / 1_000)} s`);
  clear(options.folder);
  const { signal, forget } = interruptible();
  try {
    await run(options, seed, {
      command: commandOf(seed),
      abilities,
      signal,
      say: (line) => console.log(line),
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    console.log('interrupted: clients and masters are gone, the history so far is in', options.folder);
    return 130;
  } finally {
    forget();
  }
  return report(options.folder);
}

async function performRolling(): Promise<number> {
  let options: RollingOptions;
  try {
    options = parseRolling(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${ROLLING_USAGE}`);
    return 2;
  }
  if (options.mode === 'help') {
    console.log(ROLLING_USAGE);
    return 0;
  }
  const { signal, forget } = interruptible();
  try {
    const { violations, excused } = await runRolling(options, signal, (text) => console.log(text));
    const rest = excused === 0 ? '' : `; ${excused} findings not judged, since the machine was too busy`;
    console.log(violations === 0 ? `No violation${rest}.` : `NOT GOOD: ${violations} violations${rest}`);
    return violations === 0 ? 0 : 1;
  } catch (error) {
    if (!signal.aborted) throw error;
    console.log('interrupted: clients and masters are gone');
    return 130;
  } finally {
    forget();
  }
}

/** Ctrl-C ends the run, which puts its processes away. */
function interruptible(): { readonly signal: AbortSignal; readonly forget: () => void } {
  const interrupt = new AbortController();
  setMaxListeners(0, interrupt.signal); // each blow of the plan waits for its time
  const onSignal = (): void => interrupt.abort(new Error('interrupted'));
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  const forget = (): void =>
    void process.removeListener('SIGINT', onSignal).removeListener('SIGTERM', onSignal);
  return { signal: interrupt.signal, forget };
}

async function report(folder: string): Promise<number> {
  const history = await readRun(folder);
  const summary = summarize(history, judge(history));
  const page = join(folder, 'index.html');
  writePage(page, history, summary);
  console.log(textReport(history, summary, page));
  return isGood(summary) ? 0 : 1;
}

/** The history of an earlier run would be read as part of this one's. */
function clear(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) if (name.endsWith('.jsonl')) rmSync(join(folder, name));
}

/** The command line that repeats this plan, without passwords. */
function commandOf(seed: number): string {
  const args = process.argv.slice(2).map(hideSecret);
  const isSeeded = args.some((arg) => arg.startsWith('--seed'));
  return `npm run chaos -- ${[...args, ...(isSeeded ? [] : ['--seed', `${seed}`])].join(' ')}`;
}

process.exitCode = await main();
