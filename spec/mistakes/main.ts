/**
 * `npm run mistakes [-- part of a name | --changed | --ci [--part N]] [--timeline]`: builds known mistakes into the code, one at a
 * time; what each names must notice it. Exits with 1 when something does not, or when a patch does not find its place.
 *
 *   --changed            those of files that were changed since the branch left main, and of specs that were
 *   --ci                 a third of all that small worlds or, else, seeds notice, another one each time; and what --changed tries
 *   --part N             … of these, the N-th third: 1, 2 or 3
 *   --timeline           with the history of the seed that shows it
 *   --in WORLD [--k N]   looks for a schedule of that small world that shows it
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import pLimit from 'p-limit';
import { compile } from '../simulation/hunt.js';
import { changedSince, defaultBase } from '../support/changed.js';
import { MISTAKES } from './known/index.js';
import type { Mistake } from './mistake.js';
import { scheduleOf } from './schedules.js';
import { sources } from './source/patches.js';
import { runSpecs } from './spec-runs.js';
import { type Terms, type Trial, trialsOf } from './trials.js';

const NAME_COLUMN = 76;
const PARTS = 3;
/** Some specs wait more than they work. */
const limit = pLimit(availableParallelism() + 1);

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: {
      changed: { type: 'boolean' },
      ci: { type: 'boolean' },
      part: { type: 'string' },
      timeline: { type: 'boolean' },
      in: { type: 'string' },
      k: { type: 'string' },
    },
    allowPositionals: true,
  });
  const part = positionals.join(' ');
  const named = MISTAKES.filter(({ name }) => name.includes(part));
  if (named.length === 0) throw new Error(`no known mistake has ${JSON.stringify(part)} in its name`);
  if (values.in !== undefined) {
    for (const mistake of named) console.log(await scheduleOf(mistake, values.in, Number(values.k ?? 1)));
    return 0;
  }
  const changed = values.changed === true || values.ci === true ? changedOf(named) : named;
  const bySeeds = values.ci === true ? [...changed, ...partOf(named, values.part)] : changed;
  return tryAll({
    ...{ bySeeds, bySpecs: changed },
    ...{ isBrief: values.ci === true, showsHistory: values.timeline === true },
  });
}

/** A third of them. @param part  which one; by default, one at random */
function partOf(
  mistakes: readonly Mistake[],
  part = String(1 + Math.floor(Math.random() * PARTS)),
): readonly Mistake[] {
  if (!/^[1-3]$/.test(part)) throw new Error(`--part must be 1, 2 or 3; got ${JSON.stringify(part)}`);
  console.log(`part ${part} of ${PARTS}: --ci --part ${part}`);
  return mistakes.filter((_, i) => i % PARTS === Number(part) % PARTS);
}

function changedOf(mistakes: readonly Mistake[]): readonly Mistake[] {
  const files = changedSince(defaultBase());
  return mistakes.filter(({ noticedBy, patches }) => {
    if (noticedBy.specs?.some((file) => files.has(file)) === true) return true;
    try {
      return [...sources().patched(patches).keys()].some((file) => files.has(file));
    } catch {
      return true; // what a patch belongs in was changed so that it is not found: its trial says how
    }
  });
}

interface Chosen {
  readonly bySeeds: readonly Mistake[];
  readonly bySpecs: readonly Mistake[];
  readonly isBrief: boolean;
  readonly showsHistory: boolean;
}

async function tryAll({ bySeeds, bySpecs, isBrief, showsHistory }: Chosen): Promise<number> {
  const startedAtMs = performance.now();
  const specs = new Set(bySpecs.flatMap(({ noticedBy }) => noticedBy.specs ?? []));
  const right = await compile('as it is', []);
  const faults = (await Promise.all([...specs].map((spec) => limit(faultOf, spec)))).flat();
  if (faults.length > 0) throw new Error(faults.join('\n'));
  let [tried, noticed] = [0, 0];
  const tryOne = async (mistake: Mistake): Promise<void> => {
    const terms = {
      right,
      isBrief,
      showsHistory,
      withSeeds: bySeeds.includes(mistake),
      withSpecs: bySpecs.includes(mistake),
    };
    const beganAtMs = performance.now();
    const trials = await trialsOrFault(mistake, terms);
    if (trials.length === 0) return;
    tried++;
    if (trials.every(({ fault }) => fault === undefined)) noticed++;
    tell(mistake, trials, performance.now() - beganAtMs);
  };
  await Promise.all(MISTAKES.map((mistake) => limit(tryOne, mistake)));
  const tookS = Math.round((performance.now() - startedAtMs) / 1_000);
  console.log(`${noticed} of ${tried} known mistakes noticed, in ${tookS} s`);
  return noticed === tried ? 0 : 1;
}

/** @returns why the right code does not pass that spec, if it does not */
async function faultOf(spec: string): Promise<string[]> {
  const { crash, failed } = await runSpecs({ name: spec, patches: [], specs: [spec] });
  const fault = failed ?? crash;
  return fault === undefined ? [] : [`${spec} fails without any mistake: ${fault}`];
}

async function trialsOrFault(mistake: Mistake, terms: Terms): Promise<readonly Trial[]> {
  try {
    return await trialsOf(mistake, terms);
  } catch (error) {
    return [{ by: undefined, fault: error instanceof Error ? error.message : String(error) }];
  }
}

function tell({ name }: Mistake, trials: readonly Trial[], tookMs: number): void {
  const isGood = trials.every(({ fault }) => fault === undefined);
  const by = trials.map(({ by, fault }) => fault ?? by).join('; ');
  console.log(
    `${isGood ? ' ' : '!'} ${name.padEnd(NAME_COLUMN)} ${(tookMs / 1_000).toFixed(1).padStart(5)} s  ${by}`,
  );
  for (const { history } of trials) if (history !== undefined) console.log(history);
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
