/**
 * The score of each file that is mutated: how many of its mutants specs notice. It may only rise. A spec that does not end
 * notices its mutant, but on a busy machine any may take too long: so timeouts never lower a score, and never raise it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './bundle.js';
import type { Verdict } from './run.js';

export interface Score {
  readonly killed: number;
  readonly mutants: number;
}

export type Scores = Readonly<Record<string, Score>>;

const FILE = join(ROOT, 'spec/mutation/scores.json');

export function readScores(): Scores {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Scores; // as `writeScores` wrote them
}

export function writeScores(scores: Scores): void {
  const lines = Object.entries(scores)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([file, { killed, mutants }]) => `  "${file}": { "killed": ${killed}, "mutants": ${mutants} }`);
  writeFileSync(FILE, `{\n${lines.join(',\n')}\n}\n`);
}

export type Change = 'below' | 'above' | 'same' | 'new';

/**
 * What a file's verdicts are, compared with its score. Where the number of its mutants has changed, it is below if more of
 * them live and they are a greater part.
 */
export function compared(verdicts: readonly Verdict[], score: Score | undefined): Change {
  if (score === undefined) return 'new';
  const living = verdicts.filter(isAlive).length;
  const [before, now] = [(score.mutants - score.killed) / score.mutants, living / verdicts.length];
  if (living > score.mutants - score.killed && now > before) return 'below';
  const { killed, mutants } = scoreOf(verdicts);
  return killed * score.mutants > score.killed * mutants ? 'above' : 'same';
}

/** Timeouts do not count. */
export function scoreOf(verdicts: readonly Verdict[]): Score {
  return { killed: verdicts.filter(({ fate }) => fate === 'killed').length, mutants: verdicts.length };
}

export function isAlive({ fate }: Verdict): boolean {
  return fate === 'survived' || fate === 'not covered';
}

/** The scores, with what has risen and what is new; with what has fallen only if that is wanted. */
export function recorded(
  scores: Scores,
  files: ReadonlyMap<string, readonly Verdict[]>,
  { lowers }: { readonly lowers: boolean },
): Scores {
  const next = { ...scores };
  for (const [file, verdicts] of files) {
    const change = compared(verdicts, scores[file]);
    if (change === 'above' || change === 'new' || (change === 'below' && lowers))
      next[file] = scoreOf(verdicts);
  }
  return next;
}
