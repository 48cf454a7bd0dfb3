/**
 * Mutants that no spec notices, by file, each with the reason: most of them do the same as the right code, some only cost work. A
 * mutant is named by where it is, what stands there and what takes its place, so that it is found again when lines move.
 * `npm run mutate` fails for one that lives and is not here, and for one that is here and does not live.
 */
export type Survivors = Readonly<Record<string, readonly SurvivorsFor[]>>;

export interface SurvivorsFor {
  readonly why: string;
  readonly mutants: readonly string[];
}
