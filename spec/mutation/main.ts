/**
 * `npm run mutate [-- FILE… | --changed [BASE]] [--each]`: builds small mistakes into the files of lib that decide, one at a time, and
 * counts those that some spec notices. docs/MUTATION.md has the rest.
 */
import { parseArgs } from 'node:util';
import { MutatedFiles } from './bundle.js';
import { changedSince, defaultBase } from '../support/changed.js';
import { each, faults, heading, line, score } from './report.js';
import { Run, type Verdict } from './run.js';
import { SURVIVORS } from './survivors/index.js';
import { luaSpecs, type Target, TARGETS, virtualSpecs } from './targets.js';

const LOWEST_SCORE = 85;
/** With --changed, mutants of so many seconds at most, by what one takes on average on two cores. */
const MOST_CHANGED_S = 80;
const MUTANT_S = { typescript: 0.3, lua: 1.2 } as const;
/** How long a spec on a real server may take. */
const LUA_SPEC_MS = 20_000;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { changed: { type: 'boolean' }, each: { type: 'boolean' } },
    allowPositionals: true,
  });
  const isEach = values.each === true;
  const targets =
    values.changed === true ? changedTargets(positionals[0] ?? defaultBase()) : namedTargets(positionals);
  if (targets.length === 0) return 0;
  console.log(heading());
  const [inTypeScript, inLua] = [false, true].map((isLua) =>
    targets.filter((target) => target.isLua === isLua),
  );
  const verdicts = [
    ...(await tryTargets(inTypeScript ?? [], { isEach, isLua: false })),
    ...(await tryTargets(inLua ?? [], { isEach, isLua: true })),
  ];
  console.log(line('all', verdicts));
  const wrong = faults(verdicts, SURVIVORS);
  for (const fault of wrong) console.log(`! ${fault}`);
  const percent = score(verdicts);
  console.log(
    `mutation score: ${percent.toFixed(1)} % of ${verdicts.length} mutants; ${wrong.length} faults`,
  );
  const isLow = targets === TARGETS && percent < LOWEST_SCORE;
  if (isLow) console.log(`the score is below ${LOWEST_SCORE} %`);
  return wrong.length > 0 || isLow ? 1 : 0;
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
): Promise<Verdict[]> {
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
  const all: Verdict[] = [];
  for (const target of targets) {
    const verdicts: Verdict[] = [];
    for await (const verdict of run.verdicts(target)) {
      verdicts.push(verdict);
      if (isEach) console.log(each(verdict));
    }
    console.log(line(target.file, verdicts));
    all.push(...verdicts);
  }
  return all;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
