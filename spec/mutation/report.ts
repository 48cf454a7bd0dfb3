/** What came of a run: a line for each file, and what does not agree with the scores. */
import { brief, type Mutant, nameOf } from './mutant.js';
import type { Fate, Verdict } from './run.js';
import { compared, isAlive, type Score, scoreOf } from './scores.js';

const FATES: readonly Fate[] = ['killed', 'timed out', 'survived', 'not covered'];
const COLUMN = 13;
const FILE_COLUMN = 60;

export function heading(): string {
  return row('', ['mutants', ...FATES, 'seconds']);
}

/** One line of the table. */
export function line(name: string, verdicts: readonly Verdict[]): string {
  const counts = FATES.map((fate) => verdicts.filter((verdict) => verdict.fate === fate).length);
  const seconds = verdicts.reduce((sum, { tookMs }) => sum + tookMs, 0) / 1_000;
  return row(name, [verdicts.length, ...counts, seconds.toFixed(1)].map(String));
}

function row(name: string, cells: readonly string[]): string {
  return name.padEnd(FILE_COLUMN) + cells.map((cell) => cell.padStart(COLUMN)).join('');
}

/** What is to be said of a file whose score is not as before; with a `!` if it must not be so. */
export function comparison(
  file: string,
  verdicts: readonly Verdict[],
  score: Score | undefined,
): readonly string[] {
  const now = `${file}: ${textOf(scoreOf(verdicts))}`;
  const living = verdicts
    .filter(isAlive)
    .map(({ fate, mutant }) => `    ${fate}: ${place(mutant)} ${nameOf(mutant)}`);
  switch (compared(verdicts, score)) {
    case 'same':
      return [];
    case 'above':
      return [`${now}, which is above its score of ${textOf(score)}: -- --record ${file}`];
    case 'new':
      return [`${now}, and it has no score yet: -- --record ${file}`];
    case 'below':
      return [`! ${now}, which is below its score of ${textOf(score)}; these live:`, ...living];
  }
}

function textOf(score: Score | undefined): string {
  const { killed, mutants } = score ?? { killed: 0, mutants: 0 };
  return `${killed} of ${mutants}`;
}

/** What came of one mutant. */
export function each({ mutant, fate, by, tookMs }: Verdict): string {
  return `${fate} ${place(mutant)} ${nameOf(mutant)} [${Math.round(tookMs)} ms] ${brief(by ?? '')}`;
}

function place({ file, line }: Mutant): string {
  return `${file}:${line}`;
}
