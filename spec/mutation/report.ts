/** What came of a run: a line for each file, and what does not agree with the list of survivors. */
import { brief, type Mutant, nameOf } from './mutant.js';
import type { Fate, Verdict } from './run.js';
import type { Survivors } from './survivors/index.js';

const FATES: readonly Fate[] = ['killed', 'timed out', 'survived', 'not covered'];
const COLUMN = 13;
const FILE_COLUMN = 36;

export function heading(): string {
  return row('', ['mutants', ...FATES, 'seconds']);
}

/** One line of the table. */
export function line(name: string, verdicts: readonly Verdict[]): string {
  const counts = FATES.map((fate) => count(verdicts, fate));
  const seconds = verdicts.reduce((sum, { tookMs }) => sum + tookMs, 0) / 1_000;
  return row(name, [verdicts.length, ...counts, seconds.toFixed(1)].map(String));
}

function row(name: string, cells: readonly string[]): string {
  return name.padEnd(FILE_COLUMN) + cells.map((cell) => cell.padStart(COLUMN)).join('');
}

function count(verdicts: readonly Verdict[], fate: Fate): number {
  return verdicts.filter((verdict) => verdict.fate === fate).length;
}

/** The part of all mutants that were noticed, equivalent ones included among all; in percent. */
export function score(verdicts: readonly Verdict[]): number {
  return (100 * (count(verdicts, 'killed') + count(verdicts, 'timed out'))) / verdicts.length;
}

/** Mutants that live and are not listed, and listed ones that do not live. */
export function faults(verdicts: readonly Verdict[], listed: Survivors): string[] {
  const found: string[] = [];
  for (const file of new Set(verdicts.map(({ mutant }) => mutant.file))) {
    const ofFile = verdicts.filter(({ mutant }) => mutant.file === file);
    const names = new Set((listed[file] ?? []).flatMap(({ mutants }) => mutants));
    for (const { mutant, fate } of ofFile.filter(isAlive))
      if (!names.delete(nameOf(mutant))) found.push(`${fate}: ${place(mutant)} ${nameOf(mutant)}`);
    for (const name of names) found.push(`listed as a survivor, and is none: ${file} ${name}`);
  }
  return found;
}

/** What came of one mutant. */
export function each({ mutant, fate, by, tookMs }: Verdict): string {
  return `${fate} ${place(mutant)} ${nameOf(mutant)} [${Math.round(tookMs)} ms] ${brief(by ?? '')}`;
}

function isAlive({ fate }: Verdict): boolean {
  return fate === 'survived' || fate === 'not covered';
}

function place({ file, line }: Mutant): string {
  return `${file}:${line}`;
}
