/**
 * `npm run mutate [-- FILE… | --changed [BASE]] [--each] [--record [--lower]]`: builds small mistakes into the files of lib that
 * decide, one at a time, and counts those that some spec notices. docs/MUTATION.md has the rest.
 */
import { parseArgs } from 'node:util';
import { MutatedFiles } from './bundle.js';
import { changedSince, defaultBase } from '../support/changed.js';
import { comparison, each, heading, line } from './report.js';
import { Run, type Verdict } from './run.js';
import { compared, isAlive, readScores, recorded, writeScores } from './scores.js';
import { luaSpecs, type Target, TARGETS, virtualSpecs } from './targets.js';

/** With --changed, mutants of so many seconds at most, by what one takes on average on two cores. */
const MOST_CHANGED_S = 80;
const MUTANT_S = { typescript: 0.3, lua: 1.2 } as const;
/** How long a spec on a real server may take. */
const LUA_SPEC_MS = 20_000;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: {
      changed: { type: 'boolean' },
      each: { type: 'boolean' },
      record: { type: 'boolean' },
      lower: { type: 'boolean' },
    },
    allowPositionals: true,
  });
  const isEach = values.each === true;
  const targets =
    values.changed === true ? changedTargets(positionals[0] ?? defaultBase()) : namedTargets(positionals);
  if (targets.length === 0) return 0;
  console.log(heading());
  const files = new Map<string, readonly Verdict[]>();
  for (const isLua of [false, true]) {
    const some = targets.filter((target) => target.isLua === isLua);
    for (const [file, verdicts] of await tryTargets(some, { isEach, isLua })) files.set(file, verdicts);
  }
  const all = [...files.values()].flat();
  console.log(line('all', all));
  const scores = readScores();
  const told = [...files].flatMap(([file, verdicts]) => comparison(file, verdicts, scores[file]));
  for (const one of told) console.log(one);
  const noticed = all.filter((verdict) => !isAlive(verdict)).length;
  console.log(`mutation score: ${((100 * noticed) / all.length).toFixed(1)} % of ${all.length} mutants`);
  const next = values.record === true ? recorded(scores, files, { lowers: values.lower === true }) : scores;
  if (next !== scores) writeScores(next);
  return [...files].some(([file, verdicts]) => compared(verdicts, next[file]) === 'below') ? 1 : 0;
}

function changedTargets(base: string): readonly Target[] {
  const changed = changedSince(base);
  const targets = TARGETS.filter(({ file }) => changed.has(file));
  if (targets.length === 0) console.log(`none of the files that are mutated was changed since ${base}`);
  return fewest(targets);
}

/** The files whose mutants take the least time, as far as the limit goes; says which are left. */
function fewest(targets: readonly Target[]): readonly Target[] {
  const sorted = targets
    .map((target) => ({ target, takesS: secondsOf(target) }))
    .toSorted((one, other) => one.takesS - other.takesS);
  let sum = 0;
  const chosen = sorted.filter(({ takesS }) => (sum += takesS) <= MOST_CHANGED_S).map(({ target }) => target);
  const left = targets.filter((target) => !chosen.includes(target)).map(({ file }) => file);
  if (left.length > 0)
    console.log(
      `more than ${MOST_CHANGED_S} s of mutants; left to the nightly run: npm run mutate -- ${left.join(' ')}`,
    );
  return chosen;
}

function secondsOf({ file, isLua }: Target): number {
  const files = new MutatedFiles();
  const rules = isLua ? 'lua' : 'typescript';
  files.add(file, rules);
  return files.mutants.length * MUTANT_S[rules];
}

/** @throws if one is not mutated */
function namedTargets(names: readonly string[]): readonly Target[] {
  if (names.length === 0) return TARGETS;
  const unknown = names.find((name) => !TARGETS.some(({ file }) => file === name));
  if (unknown !== undefined) throw new Error(`${unknown} is not mutated: see spec/mutation/targets.ts`);
  return TARGETS.filter(({ file }) => names.includes(file));
}

/** Tells what came of each file as soon as it is known. */
async function tryTargets(
  targets: readonly Target[],
  { isLua, isEach }: { readonly isLua: boolean; readonly isEach: boolean },
): Promise<(readonly [file: string, verdicts: readonly Verdict[]])[]> {
  if (targets.length === 0) return [];
  const files = new MutatedFiles();
  const rules = isLua ? 'lua' : 'typescript';
  for (const { file } of targets) files.add(file, rules);
  const names = targets.map(({ file }) => file);
  const specs = isLua ? luaSpecs(names) : virtualSpecs(names);
  await using run = await Run.start(isLua ? 'lua' : 'virtual', {
    files,
    specs,
    specMs: isLua ? LUA_SPEC_MS : 0,
  });
  const verdictsOn = async (target: Target): Promise<readonly [string, readonly Verdict[]]> => {
    const verdicts = await run.verdictsOn(target);
    if (isEach) for (const verdict of verdicts) console.log(each(verdict));
    console.log(line(target.file, verdicts));
    return [target.file, verdicts];
  };
  return await Promise.all(targets.map(verdictsOn)); // the run goes on until then
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
